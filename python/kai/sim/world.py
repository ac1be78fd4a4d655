"""From one cycle to the next: applies a plan to a cluster state.

The demo, the recorded cases with several cycles and the simulator all use this step::

    world = step(snapshot, plan, now="2026-01-01T12:00:00Z")
    plan = kai.Scheduler().plan(world, now="2026-01-01T12:00:00Z")

The world is a cluster state: a snapshot in KAI's format, ``{"config", "schedulerParams",
"rawObjects": {...}}``. It is never changed: changed objects are copied, all others are shared with
the input.

The rules, in this order:

1. An evicted or terminating pod starts again: pending, without node, GPU group labels and
   ``received-resource-type``. If its pod group is in ``delete_on_evict``, it stays terminating on
   its node instead, also on a node to which the same plan had bound it. A pod that is stuck in
   terminating does not change.
2. A pipelined pod is pending without a node; a scheduler that sees both states knows the promise
   (`kai.sim.events`), and the state itself does not contain it.
3. A bound pod runs on its node, with the received resource type as annotation and its GPU groups
   as labels. Its resource claims are allocated on the node and reserved for it; the reservation
   of a restarted pod is removed, and with the last reservation the allocation. The claim for
   its extended resources is created with the bound pod and removed with the restarted pod.
4. A pod group with a running pod started a minute before ``now``; the others have no start.
5. ``now`` and all other time stamps stay.

There is no binder here: binding succeeds at once, so the next state has no BindRequests.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

from kai.api import keys
from kai.api.arguments import in_a_sentence
from kai.engine.edits import parts_copied, set_or_remove, waiting, without_gpu_groups
from kai.sim.extended_claims import next_extended_claims, with_claim_status
from kai.sim.objects import key_of, namespace_of

__all__ = ["PlanLike", "step"]

Json = dict[str, Any]

SHARED_GPU_ANNOTATIONS = (keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION)
STUCK_AFTER = timedelta(minutes=2)  # KAI's default for stuckInReleasingThreshold
TERMINATING_SINCE = timedelta(seconds=5)
STARTED_BEFORE = timedelta(seconds=60)


class PlanLike(Protocol):
    """Any object with decisions in the order in which they must be carried out."""

    @property
    def decisions(self) -> Sequence[Any]: ...


@in_a_sentence
def step(
    snapshot: Mapping[str, Any],
    plan: PlanLike,
    *,
    now: datetime | str,
    delete_on_evict: Collection[str] = (),
) -> Json:
    """The state after ``plan`` was carried out; ``snapshot`` itself is not changed.

    ``delete_on_evict`` names pod groups (``namespace/name``) whose evicted pods keep terminating.
    """
    clock = _time(now)
    objects: Json = dict(snapshot["rawObjects"])
    outcome, bound = _last_outcome(plan), _bound_to(plan)
    bind_requests = _live_bind_requests(objects)
    stuck_after = _stuck_after(snapshot)

    pods: list[Json] = []
    restarted: set[str] = set()
    placed: dict[str, Any] = {}  # pod -> the decision that bound it
    for pod in objects.get("pods") or []:
        key = key_of(pod)
        decision: Any = outcome.get(key)
        kind = decision.kind if decision is not None else None
        terminating = _terminating_since(pod)
        stuck = terminating is not None and clock - terminating > stuck_after
        if _phase(pod) not in ("Running", "Pending") or (stuck and _phase(pod) == "Running"):
            pods.append(pod)
        elif kind == "bind":
            pods.append(_bound(pod, decision))
            placed[key] = decision
        elif kind == "evict" or (kind is None and terminating is not None):
            node = _node(pod, bind_requests) or bound.get(key, "")
            if _group_key(pod) in delete_on_evict and node:
                pods.append(_terminating(pod, node, clock))
            else:
                pods.append(waiting(pod))
                restarted.add(key)
        elif kind == "pipeline":
            pods.append(waiting(pod) if _was_placed(pod, bind_requests) else pod)
            restarted.add(key)
        else:
            pods.append(_bound_before(pod, bind_requests))

    objects["pods"] = pods
    objects["podGroups"] = _with_start_times(objects.get("podGroups") or [], pods, clock)
    if objects.get("bindRequests"):
        objects["bindRequests"] = []
    claims = _all_next_claims(objects.get("resourceClaims") or [], pods, restarted, placed)
    if claims or objects.get("resourceClaims"):
        objects["resourceClaims"] = claims
    world: Json = dict(snapshot)
    world["rawObjects"] = objects
    return world


# --- what the plan decided -----------------------------------------------------------------------


def _last_outcome(plan: PlanLike) -> dict[str, Any]:
    """The last decision about each pod: a moved pod is pipelined, a lost one evicted."""
    return {decision.pod: decision for decision in plan.decisions}


def _bound_to(plan: PlanLike) -> dict[str, str]:
    """The node of each pod that the plan bound."""
    return {d.pod: d.node for d in plan.decisions if d.kind == "bind"}


# --- reading objects -----------------------------------------------------------------------------


def _group_key(pod: Mapping[str, Any]) -> str | None:
    metadata = pod["metadata"]
    name = (metadata.get("annotations") or {}).get(keys.POD_GROUP_ANNOTATION)
    return f"{namespace_of(pod)}/{name}" if name else None


def _phase(pod: Mapping[str, Any]) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _terminating_since(pod: Mapping[str, Any]) -> datetime | None:
    stamp = pod["metadata"].get("deletionTimestamp")
    return _time(stamp) if stamp else None


def _node(pod: Mapping[str, Any], bind_requests: Mapping[str, Json]) -> str:
    named = (pod.get("spec") or {}).get("nodeName")
    if named:
        return str(named)
    return str(bind_requests.get(key_of(pod), {}).get("selectedNode") or "")


def _was_placed(pod: Mapping[str, Any], bind_requests: Mapping[str, Json]) -> bool:
    return bool(_node(pod, bind_requests)) or pod["metadata"].get("deletionTimestamp") is not None


def _live_bind_requests(objects: Mapping[str, Any]) -> dict[str, Json]:
    """The specs of BindRequests that count (spec 2 S3), by their pod."""
    nodes = {node["metadata"]["name"] for node in objects.get("nodes") or []}
    live: dict[str, Json] = {}
    for request in objects.get("bindRequests") or []:
        spec = request.get("spec") or {}
        status = request.get("status") or {}
        limit = spec.get("backoffLimit")
        attempts = status.get("failedAttempts") or 0
        failed = status.get("phase") == "Failed" and (limit is None or attempts >= limit)
        if not failed and spec.get("selectedNode") in nodes:
            namespace = namespace_of(request)
            live[f"{namespace}/{spec.get('podName')}"] = spec
    return live


def _stuck_after(snapshot: Mapping[str, Any]) -> timedelta:
    nanoseconds = (snapshot.get("schedulerParams") or {}).get("stuckInReleasingThreshold") or 0
    return timedelta(microseconds=nanoseconds / 1000) if nanoseconds > 0 else STUCK_AFTER


# --- pods ----------------------------------------------------------------------------------------


def _terminating(pod: Mapping[str, Any], node: str, now: datetime) -> Json:
    copy = parts_copied(pod)
    if "deletionTimestamp" not in copy["metadata"]:
        copy["metadata"]["deletionTimestamp"] = _stamp(now - TERMINATING_SINCE)
    copy["spec"]["nodeName"] = node
    return copy


def _running(pod: Mapping[str, Any], node: str, gpu_groups: tuple[str, ...]) -> Json:
    copy = parts_copied(pod)
    metadata = copy["metadata"]
    received = _received_type(pod)
    metadata["annotations"] = {
        **(metadata.get("annotations") or {}),
        keys.RECEIVED_TYPE_ANNOTATION: received,
    }
    labels = without_gpu_groups(metadata) if gpu_groups else dict(metadata.get("labels") or {})
    if len(gpu_groups) == 1:
        labels[keys.GPU_GROUP_LABEL] = gpu_groups[0]
    else:
        labels.update({f"{keys.GPU_GROUP_LABEL_PREFIX}{group}": group for group in gpu_groups})
    set_or_remove(metadata, "labels", labels)
    copy["spec"]["nodeName"] = node
    copy["status"]["phase"] = "Running"
    return copy


def _bound(pod: Mapping[str, Any], decision: Any) -> Json:
    """The pod after its binding."""
    running = _running(pod, decision.node, tuple(decision.gpu_groups or ()))
    running = _in_zones(running, getattr(decision, "numa_zones", ()))
    running = _with_rank(running, decision)
    return with_claim_status(running, getattr(decision, "extended_claim", None))


def _bound_before(pod: Json, bind_requests: Mapping[str, Json]) -> Json:
    """The pod, running where an earlier cycle bound it, by name or by a BindRequest."""
    node = _node(pod, bind_requests)
    if _phase(pod) != "Pending" or not node:
        return pod
    request = bind_requests.get(key_of(pod)) or {}
    return _running(pod, node, tuple(request.get("selectedGPUGroups") or ()))


def _in_zones(pod: Json, zones: Sequence[Any]) -> Json:
    """The pod with the binder's record of its NUMA zones (spec 3 U12)."""
    if zones:
        record = [
            {"zone": each.zone, "amount": {name: str(n) for name, n in each.amount.items()}}
            for each in zones
        ]
        pod["metadata"]["annotations"][keys.NUMA_PREDICTED_ANNOTATION] = json.dumps(record)
    return pod


def _with_rank(pod: Json, decision: Any) -> Json:
    """The pod with its rank in its group, as the binder writes it."""
    rank = getattr(decision, "topology_rank", None)
    if rank is not None:
        annotations = pod["metadata"]["annotations"]
        annotations[keys.TOPOLOGY_RANK_ANNOTATION] = str(rank)
        if decision.topology_domain is not None:
            annotations[keys.TOPOLOGY_DOMAIN_ANNOTATION] = decision.topology_domain
    return pod


def _received_type(pod: Mapping[str, Any]) -> str:
    annotations = pod["metadata"].get("annotations") or {}
    if any(name in annotations for name in SHARED_GPU_ANNOTATIONS):
        return "Fraction"
    names = [
        name
        for container in (pod.get("spec") or {}).get("containers") or []
        for name in ((container.get("resources") or {}).get("requests") or {})
    ]
    if any(name.startswith(keys.MIG_PREFIX) for name in [*names, *annotations]):
        return "MigInstance"
    return "Regular"


# --- pod groups and claims -----------------------------------------------------------------------


def _with_start_times(groups: Sequence[Json], pods: Sequence[Json], now: datetime) -> list[Json]:
    """Rule 4. Groups are identified by name alone, as everywhere in KAI's snapshots (spec 2 G1)."""
    running = {
        (pod["metadata"].get("annotations") or {}).get(keys.POD_GROUP_ANNOTATION)
        for pod in pods
        if _phase(pod) == "Running" and not pod["metadata"].get("deletionTimestamp")
    }
    started = _stamp(now - STARTED_BEFORE)
    result: list[Json] = []
    for group in groups:
        annotations = dict(group["metadata"].get("annotations") or {})
        before = annotations.get(keys.LAST_START_ANNOTATION)
        after = started if group["metadata"]["name"] in running else None
        if before == after:
            result.append(group)
            continue
        if after is None:
            del annotations[keys.LAST_START_ANNOTATION]
        else:
            annotations[keys.LAST_START_ANNOTATION] = after
        copy = dict(group)
        copy["metadata"] = dict(group["metadata"])
        set_or_remove(copy["metadata"], "annotations", annotations)
        result.append(copy)
    return result


def _all_next_claims(
    claims: Sequence[Json], pods: Sequence[Json], restarted: set[str], placed: Mapping[str, Any]
) -> list[Json]:
    """The claims that pods name, and those for extended resources."""
    extended = {
        key: decision.extended_claim
        for key, decision in placed.items()
        if getattr(decision, "extended_claim", None) is not None
    }
    named = _next_claims(claims, pods, restarted=restarted, placed=placed)
    return next_extended_claims(named, pods, restarted=restarted, given=extended)


def _next_claims(
    claims: Sequence[Json],
    pods: Sequence[Json],
    *,
    restarted: Collection[str],
    placed: Mapping[str, Any],
) -> list[Json]:
    """The second half of rule 3: allocations and reservations of resource claims."""
    users: dict[str, list[Json]] = {}
    for pod in pods:
        namespace = namespace_of(pod)
        for name in _claim_names(pod):
            users.setdefault(f"{namespace}/{name}", []).append(pod)
    result: list[Json] = []
    for claim in claims:
        key = key_of(claim)
        status = dict(claim.get("status") or {})
        gone = {pod["metadata"]["name"] for pod in users.get(key, []) if key_of(pod) in restarted}
        reserved = [r for r in status.get("reservedFor") or [] if r.get("name") not in gone]
        for pod in users.get(key, []):
            if key_of(pod) not in placed:
                continue
            decision = placed[key_of(pod)]
            if not status.get("allocation"):
                status["allocation"] = _allocation(claim, decision.node, decision)
            if all(r.get("name") != pod["metadata"]["name"] for r in reserved):
                uid = pod["metadata"].get("uid", "")
                reserved.append({"resource": "pods", "name": pod["metadata"]["name"], "uid": uid})
        if reserved:
            status["reservedFor"] = reserved
        else:
            status.pop("reservedFor", None)
            if gone:
                status.pop("allocation", None)
        if status == (claim.get("status") or {}):
            result.append(claim)
        else:
            copy = dict(claim)
            copy["status"] = status
            result.append(copy)
    return result


def _claim_names(pod: Mapping[str, Any]) -> list[str]:
    """The claims of a pod: named in its spec, or created for it from a template."""
    made = {
        entry.get("name"): entry.get("resourceClaimName")
        for entry in (pod.get("status") or {}).get("resourceClaimStatuses") or []
    }
    names = [
        entry.get("resourceClaimName") or made.get(entry.get("name"))
        for entry in (pod.get("spec") or {}).get("resourceClaims") or []
    ]
    return [name for name in names if name]


def _allocation(claim: Mapping[str, Any], node: str, decision: Any) -> Json:
    """The allocation of this claim in the decision; otherwise one that only names the node."""
    for carried in getattr(decision, "claims", ()):
        if carried.claim == claim["metadata"]["name"]:
            allocation: Json = carried.to_dict()["allocation"]
            return allocation
    term = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": []},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [term]}]},
    }


# --- time ----------------------------------------------------------------------------------------


def _time(value: datetime | str) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def _stamp(value: datetime) -> str:
    return value.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
