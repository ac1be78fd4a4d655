"""Changes of nodes and of what runs there: more nodes, nodes that take pods, pods that end."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from kai.api import keys
from kai.api.reading import at, mapping
from kai.engine import text
from kai.engine.cluster import Cluster
from kai.engine.fixing.changes import Change, Right, changed, commands, with_labels, with_spec
from kai.engine.fixing.ladders import Ladder, one, several
from kai.engine.fixing.waiting import Manifest, Waiting, controller_of, owner_of

_MOST_SETS = 3
_ROLE = "node-role.kubernetes.io"
_DESCRIBING = (
    "kubernetes.io",
    "k8s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "cloud.google.com",
    "amazonaws.com",
    "k8s.aws",
    "azure.com",
    "karpenter.sh",
)
"""Ends of the domains of labels that kubelets, clouds and feature discovery write."""


def nodes(waiting: Waiting) -> Iterator[Ladder]:
    """More nodes like one that could take its pods, for each size of node."""
    sizes: dict[Fraction, str] = {}
    for name, _, size in waiting.nodes:
        sizes.setdefault(size, name)
    for size, like in sorted(sizes.items()):
        each = waiting.each
        per_node = int(size // each) if each else 1
        if not per_node:
            continue
        most = math.ceil(waiting.missing / per_node)
        if each:
            least = math.ceil(max(1, waiting.missing - waiting.room) / per_node)
        else:
            least = max(1, math.ceil(waiting.requested / size)) if size else most
        values = sorted({least, most, 2 * most, 8 * most})
        yield Ladder(values, partial(_added, like), unit=1, now=0)


def uncordoned(waiting: Waiting) -> Iterator[Ladder]:
    """Nodes that are cordoned and could take its pods otherwise, one after the other."""
    names = _kept_off(waiting, "node_unschedulable")
    if names:
        counts = sorted({1, min(waiting.missing, len(names)), len(names)})
        yield Ladder(counts, lambda count: _uncordoned(names[: int(count)]), unit=1, now=0)


def untainted(waiting: Waiting) -> Iterator[Ladder]:
    """A node without the taints that keep its pods off."""
    names = _kept_off(waiting, "untolerated_taints")
    if names:
        yield several([_untainted(waiting, name) for name in names[:3]])


def labels(waiting: Waiting) -> Iterator[Ladder]:
    """A node with the label that its pods select."""
    for places in waiting.places:
        for obstacles in places.others:
            if [each["cause"] for each in obstacles.causes] != ["node_affinity"]:
                continue
            unmet = obstacles.causes[0]["unmet"]
            if any(_describes(each["label"]) for each in unmet):
                continue
            if unmet and all(each["operator"] == "In" and each["values"] for each in unmet):
                pairs = {each["label"]: each["values"][0] for each in unmet}
                yield one(_labelled(obstacles.first, pairs))


def ends(waiting: Waiting) -> Iterator[Ladder]:
    """Running groups that would have to end: sets that hold what is missing, the smallest first."""
    sets = list(_smallest_sets(waiting))
    if sets:
        yield several([_ended(waiting, names, gpus) for gpus, names in sets])


def _describes(label: str) -> bool:
    """Whether a program writes the label, from what the node is: another value would be false, and
    would not last."""
    domain = label.rpartition("/")[0]
    return domain.endswith(_DESCRIBING) and domain != _ROLE


# ---- the sets of groups that hold what is missing ------------------------------------------------


def _smallest_sets(waiting: Waiting) -> Iterator[tuple[Fraction, tuple[str, ...]]]:
    """Sets of groups whose GPUs, with those that are free, would hold its next pods."""
    each, missing = waiting.each, waiting.missing
    if not each:
        return
    free = {name: gpus for name, gpus, _ in waiting.nodes}
    held = _held(waiting, free)
    found: dict[tuple[str, ...], Fraction] = {}
    # All pods of one node first; then any group that frees room for enough of them.
    if missing == 1:
        for node, groups in held.items():
            if names := _cover(each - free[node], groups):
                found[names] = sum((groups[name] for name in names), Fraction(0))
    total: dict[str, dict[str, Fraction]] = {}
    for node, groups in held.items():
        for name, gpus in groups.items():
            total.setdefault(name, {})[node] = gpus
    needed = missing - waiting.room
    rooms = {
        name: sum(
            int((free[node] + gpus) // each - free[node] // each) for node, gpus in own.items()
        )
        for name, own in total.items()
    }
    by_room = sorted(rooms, key=lambda name: (-rooms[name], name))
    chosen: list[str] = []
    for name in by_room:
        if rooms[name] >= needed:
            found[(name,)] = sum(total[name].values(), Fraction(0))
        if needed > sum(rooms[one] for one in chosen) and rooms[name]:
            chosen.append(name)
    if sum(rooms[one] for one in chosen) >= needed:
        names = tuple(sorted(chosen))
        found[names] = sum((sum(total[one].values(), Fraction(0)) for one in names), Fraction(0))
    ranked = sorted((gpus, len(names), names) for names, gpus in found.items() if names)
    yield from ((gpus, names) for gpus, _, names in ranked[:_MOST_SETS])


def _cover(needed: Fraction, groups: Mapping[str, Fraction]) -> tuple[str, ...]:
    """Groups that hold as many GPUs: the smallest that suffices alone, or the largest ones."""
    alone = [(gpus, name) for name, gpus in groups.items() if gpus >= needed]
    if alone:
        return (min(alone)[1],)
    chosen: list[str] = []
    for gpus, name in sorted(((gpus, name) for name, gpus in groups.items()), reverse=True):
        chosen.append(name)
        needed -= gpus
        if needed <= 0:
            return tuple(sorted(chosen))
    return ()


def _held(waiting: Waiting, nodes: Mapping[str, Any]) -> dict[str, dict[str, Fraction]]:
    """By node, the GPUs that each running group holds there; not its own."""
    held: dict[str, dict[str, Fraction]] = {}
    for node, group, gpus in waiting.situation.holdings:
        if node in nodes and group != waiting.name:
            held.setdefault(node, {})[group] = gpus
    return held


# ---- the changes ---------------------------------------------------------------------------------


def _kept_off(waiting: Waiting, cause: str) -> list[str]:
    """Nodes that are kept from it by this cause alone: the first of each kind of node, and those
    that are like it."""
    firsts = [
        obstacles.first
        for places in waiting.places
        for obstacles in places.others
        if [each["cause"] for each in obstacles.causes] == [cause]
    ]
    if not firsts or cause != "node_unschedulable":
        return list(dict.fromkeys(firsts))
    every = waiting.cluster._all("Node")
    likes = [_labels_but_name(every[name]) for name in firsts if name in every]
    return [
        name
        for name, node in sorted(every.items())
        if at(node, "spec", "unschedulable") and _labels_but_name(node) in likes
    ] or firsts


def _labels_but_name(node: Manifest) -> dict[str, Any]:
    own = mapping(at(node, "metadata", "labels"))
    return {name: value for name, value in own.items() if name != keys.HOSTNAME_LABEL}


def _added(like: str, value: float) -> Change:
    count = int(value)
    return Change(
        "nodes",
        f"add {text.count(count, 'node')} like {like}",
        commands(f"kai plan ... --what-if --add-nodes {count} --like {like}"),
        edit=lambda cluster: cluster.add_nodes(count, like=like),
        rights=(Right("create", "Node", ""),),
    )


def _uncordoned(names: list[str]) -> Change:
    return Change(
        "uncordon",
        f"uncordon {text.listing(names, most=4)}",
        commands(f"kubectl uncordon {' '.join(names)}"),
        edit=lambda cluster: cluster.uncordon(*names),
        rights=tuple(Right("patch", "Node", name) for name in names),
    )


def _untainted(waiting: Waiting, name: str) -> Change:
    node = waiting.cluster._existing("Node", name)
    taints = at(node, "spec", "taints") or []
    blocking = [each for each in taints if each.get("effect") in ("NoSchedule", "NoExecute")]
    kept = [each for each in taints if each not in blocking]
    return Change(
        "taint",
        f"remove {text.count(len(blocking), 'taint')} from node {name}",
        commands(
            *(f"kubectl taint nodes {name} {each['key']}:{each['effect']}-" for each in blocking)
        ),
        edit=changed("Node", [name], lambda node: with_spec(node, taints=kept)),
        rights=(Right("patch", "Node", name),),
    )


def _labelled(name: str, pairs: Mapping[str, str]) -> Change:
    shown = " ".join(f"{label}={value}" for label, value in pairs.items())
    return Change(
        "label",
        f"label node {name} with {shown}",
        commands(f"kubectl label nodes {name} --overwrite {shown}"),
        edit=changed("Node", [name], lambda node: with_labels(node, pairs)),
        rights=(Right("patch", "Node", name),),
    )


def _end_of(cluster: Cluster, group: str, pods: Sequence[str]) -> str:
    """The command that ends the running pods of a group, for good."""
    namespace, _, _ = group.rpartition("/")
    manifests = [cluster._existing("Pod", pod) for pod in pods]
    kind, _, name = owner_of(cluster, group, manifests).partition(" ")
    short = name.rpartition("/")[2]
    if kind == "Job":
        return f"kubectl delete job {short} -n {namespace}"
    if kind not in ("PodGroup", "Pod"):
        return f"# scale {kind} {name} down, or delete it: it creates deleted pods again"
    if again := next(filter(None, map(controller_of, manifests)), ""):
        return f"# scale down what owns {again}: it creates deleted pods again"
    return f"kubectl delete pods -n {namespace} " + " ".join(pod.rpartition("/")[2] for pod in pods)


def _ended(waiting: Waiting, names: tuple[str, ...], gpus: Fraction) -> Change:
    def running(name: str) -> list[str]:
        pods = waiting.cluster._pods_of(name).items()
        return sorted(pod for pod, manifest in pods if at(manifest, "spec", "nodeName"))

    def how() -> tuple[str, ...]:
        return tuple(_end_of(waiting.cluster, name, running(name)) for name in names)

    def edit(cluster: Cluster) -> None:
        for name in names:
            cluster.remove(*running(name), kind="Pod")

    noun = "pod group" if len(names) == 1 else "pod groups"
    held = text.count(gpus, "GPU")
    return Change(
        "end",
        f"end the running pods of {noun} {text.listing(names, most=4)} ({held})",
        how,
        edit=edit,
        rights=tuple(Right("delete", "Pod", "", name.rpartition("/")[0]) for name in names),
    )
