"""An independent check that a plan can be carried out on its snapshot.

It shares no code with the engine and ignores scores and scenarios. It checks only the rules that
*every* plan must keep:

- no node and no device is over-committed,
- selectors, taints and the state of the node allow each placement,
- gangs are whole, and topology constraints are kept,
- no queue exceeds its limit, or its quota with pods that cannot be preempted,
- no protected pod is evicted.

    violations = validate(snapshot, plan, now="2026-01-01T12:00:00Z")

``as_kai`` accepts faults of KAI that kai corrects: it evicts pods that the same plan has placed, it
evicts a pod twice, and it breaks the rules that follow from this (`kai.verify.evictions`).

Only the changes of the plan are checked: the plan does not cause an earlier over-commitment.
Devices from dynamic resource allocation are not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any

from kai.verify.evictions import check_evictions
from kai.verify.objects import (
    ACTIVE_ALLOCATED,
    ACTIVE_USED,
    ALLOCATED,
    GPU,
    GroupNode,
    PodView,
    Request,
    Violation,
    World,
    allocatable_of,
    device_memory_mib,
    group_tree,
    key_of,
    labels_of,
    parse_time,
    plain,
    preemptible,
    read_world,
    satisfied,
    spec_of,
    unready_reasons,
)
from kai.verify.queues import QUEUE_RESOURCES, ROUNDING, path, queue_amounts, quota_of

__all__ = ["Violation", "check_decisions", "validate"]

# Each portion is rounded to hundredths of a device (spec 3 R7, G2): an error of up to 1/200.
PORTION_SLACK = Fraction(1, 200)


@dataclass
class _Pod:
    """A pod, with its status and place after the plan."""

    view: PodView
    status: str
    node: str
    gpu_groups: tuple[str, ...]
    placed: bool = False  # bound or pipelined by the plan, and not evicted afterwards
    evicted: bool = False  # evicted by the plan; its place becomes free later
    old_node: str = ""
    old_gpu_groups: tuple[str, ...] = ()


@dataclass
class _After:
    """The cluster after the plan, and the violations found so far."""

    world: World
    pods: dict[str, _Pod]
    as_kai: bool
    violations: list[Violation] = field(default_factory=list)

    def report(self, rule: str, about: str, text: str) -> None:
        self.violations.append(Violation(rule, about, text))


def validate(
    snapshot: Mapping[str, Any],
    plan: Any,
    *,
    now: str | datetime | None = None,
    as_kai: bool = False,
) -> list[Violation]:
    """The rules that ``plan`` breaks on ``snapshot``: of nodes, groups, queues, then victims."""
    world = read_world(snapshot, now=now)
    after = _carry_out(world, plan, as_kai=as_kai)
    for check in (
        _check_capacity,
        _check_devices,
        _check_node_rules,
        _check_affinity,
        _check_gangs,
        _check_topology,
        _check_queues,
    ):
        check(after)
    clock = parse_time(now) if isinstance(now, str) else now
    return after.violations + check_evictions(world, plan, now=clock, as_kai=as_kai)


def check_decisions(world: World, plan: Any, *, as_kai: bool = False) -> list[Violation]:
    """Checks only the order of the decisions, such as evict before move."""
    return _carry_out(world, plan, as_kai=as_kai).violations


# --- decisions -----------------------------------------------------------------------------------


def _carry_out(world: World, plan: Any, *, as_kai: bool) -> _After:
    pods = {
        key: _Pod(view, view.status, view.node, view.gpu_groups) for key, view in world.pods.items()
    }
    after = _After(world, pods, as_kai)
    for decision in plan.decisions:
        pod = pods.get(decision.pod)
        if pod is None:
            after.report("decision", decision.pod, f"pod {decision.pod} is not in the cluster")
        elif decision.kind == "evict":
            _evict(after, pod)
        else:
            _place(after, pod, decision)
    return after


def _evict(after: _After, pod: _Pod) -> None:
    key = pod.view.key
    if pod.status not in ACTIVE_ALLOCATED:
        # KAI can list a victim twice; the second eviction changes nothing.
        if pod.status != "Releasing" or not pod.evicted or not after.as_kai:
            after.report("decision", key, f"pod {key} is {pod.status}, it cannot be evicted")
        return
    if after.world.foreign(pod.view):
        after.report("decision", key, f"pod {key} belongs to another scheduler")
    if pod.placed and not after.as_kai:
        done = "bound" if pod.status == "Binding" else "pipelined"
        after.report("decision", key, f"pod {key} is {done} and evicted by one plan")
    if pod.placed and pod.status == "Pipelined":
        pod.status = "Releasing" if pod.evicted else "Gone"
        pod.node, pod.gpu_groups = pod.old_node, pod.old_gpu_groups
    else:
        pod.status, pod.evicted = "Releasing", True
    pod.placed = False


def _place(after: _After, pod: _Pod, decision: Any) -> None:
    key = pod.view.key
    if decision.node not in after.world.nodes:
        after.report("decision", key, f"pod {key}: there is no node {decision.node}")
        return
    # KAI also moves a pending pod that the same cycle has pipelined. A pod that an earlier cycle
    # moved may still be Releasing.
    leaves = pod.status == "Releasing" and decision.node != pod.node
    moved = decision.kind == "pipeline" and (pod.evicted or pod.status == "Gone" or leaves)
    if pod.status != "Pending" and not moved:
        done = "bound" if decision.kind == "bind" else "pipelined"
        after.report("decision", key, f"pod {key} is {pod.status}, it cannot be {done}")
        return
    if after.world.foreign(pod.view):
        after.report("decision", key, f"pod {key} belongs to another scheduler")
    if not pod.view.group or pod.view.group not in after.world.groups:
        after.report("decision", key, f"pod {key} has no pod group")
    if pod.evicted or leaves:
        pod.old_node, pod.old_gpu_groups = pod.node, pod.gpu_groups
    pod.status = "Binding" if decision.kind == "bind" else "Pipelined"
    pod.node, pod.gpu_groups = decision.node, tuple(decision.gpu_groups or ())
    pod.placed = True


# --- capacity ------------------------------------------------------------------------------------


def _check_capacity(after: _After) -> None:
    """Bound pods must fit beside all pods on the node, pipelined pods beside those that stay."""
    for name, pods in _by_node(after, "bind").items():
        _compare_amounts(after, name, pods, bound=True)
    for name, pods in _by_node(after, "pipeline").items():
        _compare_amounts(after, name, pods, bound=False)


def _by_node(after: _After, kind: str) -> dict[str, list[tuple[PodView, tuple[str, ...]]]]:
    """For each node that gets a bound or pipelined pod: the pods that count there.

    ``bind`` counts the pods that are there now, including evicted pods that are not gone yet.
    ``pipeline`` counts the pods that will be there when all leaving pods are gone.
    """
    status = "Binding" if kind == "bind" else "Pipelined"
    filled = {pod.node for pod in after.pods.values() if pod.placed and pod.status == status}
    found: dict[str, list[tuple[PodView, tuple[str, ...]]]] = {node: [] for node in sorted(filled)}
    for pod in after.pods.values():
        places: list[tuple[str, tuple[str, ...]]] = []
        if pod.status in ALLOCATED or pod.status == "StuckInReleasing":
            places.append((pod.node, pod.gpu_groups))
        elif pod.status == "Pipelined":
            if kind == "pipeline":
                places.append((pod.node, pod.gpu_groups))
            elif pod.old_node:
                places.append((pod.old_node, pod.old_gpu_groups))
        elif pod.status == "Releasing" and kind == "bind":
            places.append((pod.node, pod.gpu_groups))
        for node, groups in places:
            if node in found:
                # The device label of a pod that shares no device is ignored (spec 3 N5).
                found[node].append((pod.view, groups if pod.view.request.shares else ()))
    return found


def _compare_amounts(
    after: _After, name: str, pods: Sequence[tuple[PodView, tuple[str, ...]]], *, bound: bool
) -> None:
    room = allocatable_of(after.world.nodes[name])
    used: dict[str, Fraction] = defaultdict(Fraction)
    for pod, groups in pods:
        for resource, amount in pod.request.amounts.items():
            if resource == GPU and after.world.reservation(pod):
                continue
            used[resource] += amount
        if pod.request.shares and not groups and not after.world.reservation(pod):
            used[GPU] += pod.request.devices  # unknown devices: counted as whole
    used[GPU] += len({group for _, groups in pods for group in groups})
    by_claims = bool(after.world.snapshot.get("rawObjects", {}).get("deviceClasses"))
    for resource in sorted(used):
        have, need = room.get(resource, Fraction(0)), used[resource]
        if need <= have + ROUNDING or (by_claims and not have):
            continue
        when = "" if bound else " once everything leaving it has left"
        text = f"node {name} has {plain(have)} {resource}, its pods take {plain(need)}{when}"
        after.report("capacity", name, text)


def _check_devices(after: _After) -> None:
    """The portions of each shared device must not sum to more than 1."""
    seen = set()
    for kind in ("bind", "pipeline"):
        for name, pods in _by_node(after, kind).items():
            memory = device_memory_mib(after.world.nodes[name])
            shares: dict[str, list[Fraction]] = {}
            for pod, groups in pods:
                for group in groups:
                    shares.setdefault(group, []).append(_share(pod.request, memory))
            for group, parts in sorted(shares.items()):
                if sum(parts) > 1 + PORTION_SLACK * len(parts) and (name, group) not in seen:
                    seen.add((name, group))
                    total = plain(sum(parts, Fraction(0)))
                    text = f"device {group} of node {name} is given out {total} times"
                    after.report("device", group, text)
    for placed in _placed(after):
        request, given = placed.view.request, len(set(placed.gpu_groups))
        if request.shares and given != request.devices:
            key = placed.view.key
            text = f"pod {key} requests {request.devices} devices, but has {given}"
            after.report("device", key, text)


def _share(request: Request, memory_mib: int) -> Fraction:
    if request.portion is not None:
        return request.portion
    if request.memory_mib is not None:
        return Fraction(request.memory_mib, memory_mib)
    return Fraction(0)


# --- rules of nodes ------------------------------------------------------------------------------


def _check_node_rules(after: _After) -> None:
    ports: dict[str, dict[tuple[str, int, str], str]] = {}
    for pod in after.pods.values():
        if not pod.placed and pod.status in ACTIVE_USED:
            for port in _host_ports(pod.view.raw):
                ports.setdefault(pod.node, {})[port] = pod.view.key
    for pod in _placed(after):
        key, name = pod.view.key, pod.node
        node = after.world.nodes[name]
        spec = spec_of(pod.view.raw)
        if not after.world.in_pool(node):
            after.report("node", key, f"pod {key}: node {name} belongs to another node pool")
        for reason in unready_reasons(node):
            after.report("node", key, f"pod {key}: node {name} {reason}")
        if not _selected(spec.get("nodeSelector") or {}, labels_of(node)):
            after.report("node", key, f"pod {key}: its node selector does not match node {name}")
        required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
        if required and not _node_terms(required.get("nodeSelectorTerms") or [], node):
            after.report("node", key, f"pod {key}: its node affinity does not match node {name}")
        for taint in spec_of(node).get("taints") or []:
            if taint.get("effect") in ("NoSchedule", "NoExecute") and not any(
                _tolerates(toleration, taint) for toleration in spec.get("tolerations") or []
            ):
                text = f"pod {key} does not tolerate taint {taint.get('key')} of node {name}"
                after.report("node", key, text)
        for port in _host_ports(pod.view.raw):
            holder = ports.setdefault(name, {}).setdefault(port, key)
            if holder != key:
                text = f"pod {key}: port {port[1]} of node {name} belongs to pod {holder}"
                after.report("node", key, text)


def _placed(after: _After) -> Iterator[_Pod]:
    return (pod for pod in after.pods.values() if pod.placed)


def _selected(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(label) == value for label, value in selector.items())


def _node_terms(terms: Sequence[Mapping[str, Any]], node: Mapping[str, Any]) -> bool:
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_holds(e, labels_of(node)) for e in term.get("matchExpressions") or [])
        and all(_holds(e, fields) for e in term.get("matchFields") or [])
        for term in terms
    )


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = expression.get("key", ""), expression.get("operator")
    values, have = expression.get("values") or [], labels.get(key)
    if operator == "In":
        return have in values
    if operator == "NotIn":
        return have is None or have not in values
    if operator == "Exists":
        return have is not None
    if operator == "DoesNotExist":
        return have is None
    if have is None or len(values) != 1 or operator not in ("Gt", "Lt"):
        return False
    try:
        left, right = int(have), int(values[0])
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    same = (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(toleration.get("key")) and same


def _host_ports(pod: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    return [
        (port.get("protocol") or "TCP", port["hostPort"], port.get("hostIP") or "0.0.0.0")
        for container in spec_of(pod).get("containers") or []
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


# --- pod affinity --------------------------------------------------------------------------------


def _check_affinity(after: _After) -> None:
    """Required affinity and anti-affinity between pods, in both directions.

    Leaving pods do not repel other pods here: they are gone when a pipelined pod arrives. Any pod
    with a node can attract.
    """
    staying = [
        pod
        for pod in after.pods.values()
        if pod.status in ACTIVE_ALLOCATED and pod.node in after.world.nodes
    ]
    repelling = [pod for pod in staying if _terms(pod, "podAntiAffinity")]
    for pod in _placed(after):
        for term in _terms(pod, "podAntiAffinity"):
            for other in staying:
                if other is not pod and _meets(after, term, pod, other):
                    _report_repelled(after, pod, other)
        for other in repelling:
            if other is pod or other.placed:  # if placed, it has its own turn
                continue
            if any(_meets(after, term, other, pod) for term in _terms(other, "podAntiAffinity")):
                _report_repelled(after, pod, other)
        for term in _terms(pod, "podAffinity"):
            if any(_meets(after, term, pod, other) for other in after.pods.values() if other.node):
                continue  # the pod itself counts: it may be the first that matches
            text = f"pod {pod.view.key}: no pod it wants to be near is near node {pod.node}"
            after.report("affinity", pod.view.key, text)


def _report_repelled(after: _After, pod: _Pod, other: _Pod) -> None:
    text = f"pod {pod.view.key} on node {pod.node} is too near pod {other.view.key}"
    after.report("affinity", pod.view.key, text)


def _terms(pod: _Pod, kind: str) -> list[Mapping[str, Any]]:
    affinity = (spec_of(pod.view.raw).get("affinity") or {}).get(kind) or {}
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or [])


def _meets(after: _After, term: Mapping[str, Any], owner: _Pod, other: _Pod) -> bool:
    """Whether the term matches ``other``, and ``other`` is in the owner's topology domain."""
    if term.get("namespaceSelector") is not None:
        return False  # namespaces are not part of a snapshot
    spaces = term.get("namespaces") or [_namespace(owner.view)]
    if _namespace(other.view) not in spaces:
        return False
    if term.get("labelSelector") is None or not _matches(
        term["labelSelector"], labels_of(other.view.raw)
    ):
        return False
    nodes = after.world.nodes
    if owner.node not in nodes or other.node not in nodes:
        return False
    key = term.get("topologyKey") or ""
    here, there = labels_of(nodes[owner.node]).get(key), labels_of(nodes[other.node]).get(key)
    return here is not None and here == there


def _namespace(pod: PodView) -> str:
    return pod.key.partition("/")[0]


def _matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    return _selected(selector.get("matchLabels") or {}, labels) and all(
        _holds(expression, labels) for expression in selector.get("matchExpressions") or []
    )


# --- gangs and topology --------------------------------------------------------------------------


def _check_gangs(after: _After) -> None:
    for name, members in _members(after).items():
        group = after.world.groups[name]
        tree = group_tree(group)
        # A succeeded pod counts for its gang; KAI does not count it (spec 2 W21).
        done = set() if after.as_kai else {"Succeeded"}
        before = _counts(members, ACTIVE_ALLOCATED | done, before=True)
        now = _counts(members, ACTIVE_ALLOCATED | done)
        title = key_of(group)
        # A moved gang may stay below its minimum, even if one of its pending pods is placed too.
        moved = any(pod.placed and pod.evicted for pod in members)
        started = not moved and any(pod.placed for pod in members)
        if started and not satisfied(tree, now):
            text = f"group {title} is placed below its minimum: {_state(tree, now)}"
            after.report("gang", title, text)
        else:
            _check_what_is_left(after, group, members, before, now)
        real = _counts(members, ALLOCATED | done)
        for leaf in tree.leaves():
            pods = [pod for pod in members if pod.view.subgroup == leaf.name]
            bound = any(pod.placed and pod.status == "Binding" for pod in pods)
            # KAI may also have moved a pod that it bound and evicted in the same cycle.
            waiting = any(
                pod.status == "Pipelined" and not (after.as_kai and pod.evicted) for pod in pods
            )
            if bound and waiting and real[leaf.name] < leaf.needed:
                text = (
                    f"group {title} is bound in part while the rest of its minimum of "
                    f"{leaf.needed} waits for room"
                )
                after.report("gang", title, text)


def _check_what_is_left(
    after: _After,
    group: Mapping[str, Any],
    members: Sequence[_Pod],
    before: Counter[str],
    now: Counter[str],
) -> None:
    """A set of the group that loses pods must keep its minimum or lose all pods (spec 2 G14).

    A moved pod is not lost, even if its gang was below its minimum before.
    """
    title = key_of(group)
    for subset in group_tree(group).sets():
        leaves = {leaf.name for leaf in subset.leaves()}
        lost = any(
            pod.evicted and not pod.placed and pod.view.subgroup in leaves for pod in members
        )
        stays = any(
            pod.status in ACTIVE_ALLOCATED and pod.view.subgroup in leaves for pod in members
        )
        if lost and stays and satisfied(subset, before) and not satisfied(subset, now):
            named = subset.name and subset.name != "default"
            what = f"sub-group {subset.name} of group" if named else "group"
            text = f"{what} {title} is left running below its minimum: {_state(subset, now)}"
            after.report("gang", title, text)
            return


def _members(after: _After) -> dict[str, list[_Pod]]:
    """The pods of every pod group that the plan touches."""
    members: dict[str, list[_Pod]] = {}
    for pod in after.pods.values():
        if pod.view.group in after.world.groups:
            members.setdefault(pod.view.group, []).append(pod)
    return {
        name: pods
        for name, pods in sorted(members.items())
        if any(pod.placed or pod.evicted for pod in pods)
    }


def _counts(
    members: Iterable[_Pod], statuses: Collection[str], *, before: bool = False
) -> Counter[str]:
    """The number of pods with one of these statuses, by sub-group.

    ``before`` uses the statuses at the start of the plan.
    """
    return Counter(
        pod.view.subgroup
        for pod in members
        if (pod.view.status if before else pod.status) in statuses
    )


def _state(tree: GroupNode, counts: Mapping[str, int]) -> str:
    return ", ".join(
        f"{counts.get(leaf.name, 0)} of {leaf.needed}"
        + ("" if leaf.name == "default" else f" in {leaf.name}")
        for leaf in tree.leaves()
        if counts.get(leaf.name, 0) < leaf.needed
    )


def _check_topology(after: _After) -> None:
    """Pods placed by this plan must keep the required topology level of each of their sets.

    Domains that the set used before do not count: the set may already be in several domains, and
    KAI can place a part that is added later in another domain (spec 4 L3).
    """
    levels = {
        topology["metadata"]["name"]: [
            level["nodeLabel"] for level in spec_of(topology).get("levels") or []
        ]
        for topology in after.world.snapshot.get("rawObjects", {}).get("topologies") or []
    }
    for name, members in _members(after).items():
        group = after.world.groups[name]
        tree = group_tree(group)
        for subset in tree.sets():
            required = subset.topology.get("requiredTopologyLevel")
            chain = levels.get(subset.topology.get("topology", ""), [])
            if not required or required not in chain:
                continue
            keys = chain[: chain.index(required) + 1]
            leaves = {leaf.name for leaf in subset.leaves()}
            inside = [pod for pod in members if pod.view.subgroup in leaves]
            domains = {_domain(after, pod.node, keys) for pod in inside if pod.placed} - {
                _domain(after, pod.view.node, keys)
                for pod in inside
                if pod.view.status in ACTIVE_ALLOCATED and pod.view.node in after.world.nodes
            }
            if len(domains) > 1:
                what = f"sub-group {subset.name} of group" if subset.name else "group"
                places = " and ".join(sorted("/".join(str(d) for d in dom) for dom in domains))
                text = f"{what} {key_of(group)} needs one {required}, it is spread over {places}"
                after.report("topology", key_of(group), text)


def _domain(after: _After, node: str, keys: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(labels_of(after.world.nodes[node]).get(key) for key in keys)


# --- queues --------------------------------------------------------------------------------------


def _check_queues(after: _After) -> None:
    """No queue that gained pods may exceed its limit, or its quota with non-preemptible pods."""
    world = after.world
    used: dict[str, dict[str, Fraction]] = {name: defaultdict(Fraction) for name in world.queues}
    fixed: dict[str, dict[str, Fraction]] = {name: defaultdict(Fraction) for name in world.queues}
    gained: dict[str, set[str]] = {name: set() for name in world.queues}
    gained_fixed: dict[str, set[str]] = {name: set() for name in world.queues}
    for pod in after.pods.values():
        group = world.groups.get(pod.view.group)
        if group is None or pod.status not in ACTIVE_ALLOCATED:
            continue
        stays = not preemptible(world, group)
        amounts = queue_amounts(world, pod.view, pod.node)
        for queue in path(world, spec_of(group).get("queue") or ""):
            for resource, amount in amounts.items():
                used[queue][resource] += amount
                if stays:
                    fixed[queue][resource] += amount
                if pod.placed and amount > 0:
                    gained[queue].add(resource)
                    if stays:
                        gained_fixed[queue].add(resource)
    for name in sorted(world.queues):
        for resource in QUEUE_RESOURCES:
            limit = quota_of(world, name, resource, "limit")
            have = used[name][resource]
            if resource in gained[name] and limit is not None and have > limit + ROUNDING:
                text = f"queue {name} has {plain(have)} {resource}, its limit is {plain(limit)}"
                after.report("limit", name, text)
            quota = quota_of(world, name, resource, "quota")
            have = fixed[name][resource]
            if resource in gained_fixed[name] and quota is not None and have > quota + ROUNDING:
                text = (
                    f"queue {name} has {plain(have)} {resource} that cannot be preempted, "
                    f"its quota is {plain(quota)}"
                )
                after.report("quota", name, text)
