"""Changes of nodes and of what runs there: more nodes, nodes that take pods, pods that end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, cached_property, partial
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import at, mapping
from kai.engine import requests, text
from kai.engine.amounts import amount
from kai.engine.cluster import Cluster
from kai.engine.fixing.changes import Change, Right, changed, commands, with_labels, with_spec
from kai.engine.fixing.ladders import Ladder, several
from kai.engine.fixing.waiting import Manifest, Waiting, controller_of, owner_of
from kai.engine.situation import Holdings

_MOST_SETS = 3
_TINY = 1e-6  # for amounts that are no exact floats
_DIGITS = 6
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
        per_node = _pods_of_an_empty_node(waiting, like, size)
        if not per_node:
            continue
        most = math.ceil(waiting.missing / per_node)
        if each:
            least = math.ceil(max(1, waiting.missing - waiting.room) / per_node)
        else:
            least = max(1, math.ceil(waiting.requested / size)) if size else 1
        values = sorted({least, most, 2 * most, 8 * most})
        yield Ladder(values, partial(_added, like), unit=1, now=0)


def _pods_of_an_empty_node(waiting: Waiting, name: str, gpus: Fraction) -> int:
    """How many of its pods fit on such a node by their GPUs, CPUs and memory; at most those that
    are missing."""
    allocatable = at(waiting.cluster._existing("Node", name), "status", "allocatable")
    rooms = [int(gpus // waiting.each)] if waiting.each else []
    for resource in (keys.CPU, keys.MEMORY):
        needed = max((requests.total(pod, resource) for pod in waiting.pods), default=Fraction(0))
        if needed:
            size = quantities.parse_or_zero(mapping(allocatable).get(resource))
            rooms.append(max(1, int(size // needed)))
    return min([*rooms, waiting.missing]) if rooms else 1


def uncordoned(waiting: Waiting) -> Iterator[Ladder]:
    """Nodes that are cordoned and could take its pods otherwise, one after the other."""
    firsts = [obstacles.first for obstacles, _ in waiting.kept_off_by("node_unschedulable")]
    if firsts:
        names = _alike(waiting, firsts)
        counts = sorted({1, min(waiting.missing, len(names)), len(names)})
        yield Ladder(counts, lambda count: _uncordoned(names[: int(count)]), unit=1, now=0)


def untainted(waiting: Waiting) -> Iterator[Ladder]:
    """Nodes without the taints that keep its pods off, one after the other."""
    for obstacles, cause in [*waiting.kept_off_by("untolerated_taints")][:3]:
        names = _alike(waiting, [obstacles.first])
        counts = sorted({1, min(waiting.missing, len(names)), len(names)})
        taints = cause["taints"]
        yield Ladder(counts, partial(_untainted, names, taints), unit=1, now=0)


def labels(waiting: Waiting) -> Iterator[Ladder]:
    """Nodes with the labels that its pods require."""
    for obstacles, cause in waiting.kept_off_by("node_affinity"):
        wanted = {each["label"]: _meeting(each) for each in cause["unmet"]}
        if not wanted or any(map(_describes, wanted)) or "" in wanted.values():
            continue
        names = _alike(waiting, [obstacles.first])
        counts = sorted({1, min(waiting.missing, len(names)), len(names)})
        yield Ladder(counts, partial(_labelled, names, wanted), unit=1, now=0)


def _meeting(unmet: Mapping[str, Any]) -> str | None:
    """The value of a label that meets a requirement; None: no label, "": not known."""
    match unmet["operator"]:
        case "In":
            return str(next(iter(unmet["values"]), ""))
        case "Exists":
            return "true"
        case "NotIn" | "DoesNotExist":
            return None
        case _:
            return ""


def ends(waiting: Waiting) -> Iterator[Ladder]:
    """Running groups that would have to end: sets that hold what is missing, the smallest first."""
    if waiting.each is None:
        return
    sets = _Sets(waiting.situation.holdings(waiting.name), waiting.missing).smallest()
    if sets:
        yield several([_ended(waiting, names, held) for names, held in sets])


def _describes(label: str) -> bool:
    """Whether a program writes the label, from what the node is: another value would be false, and
    would not last."""
    domain = label.rpartition("/")[0]
    return domain.endswith(_DESCRIBING) and domain != _ROLE


# ---- the sets of groups that hold what is missing ------------------------------------------------


class _Sets:
    """Sets of groups that hold, with what is free, what the missing pods request. `missing`: how
    many pods."""

    def __init__(self, holdings: Holdings, missing: int) -> None:
        self._of, self._missing = holdings, missing
        self._room = {node: self._pods(free) for node, free in holdings.free.items()}
        self._sizes: dict[str, Sequence[float]] = {}  # by group, what it holds on all these nodes
        self._gained: Counter[str] = Counter()  # by group, places for pods if it ends
        for node, groups in holdings.held.items():
            free = holdings.free[node]
            for name, own in groups.items():
                before = self._sizes.get(name)
                self._sizes[name] = own if before is None else _sum(before, own)
                self._gained[name] += self._pods(_sum(free, own)) - self._room[node]

    def smallest(self) -> list[tuple[tuple[str, ...], str]]:
        """At most three: the groups, and what they hold in words."""
        needed = self._missing - sum(self._room.values())
        if needed <= 0 and "gpu" not in self._of.resources:
            return []  # nothing lacks
        found: set[tuple[str, ...]] = set()
        # All pods of one node first; then any group that frees room for enough of them.
        if self._missing == 1:
            found.update(map(self._cover, self._of.held))
        found.update((name,) for name, gained in self._gained.items() if gained >= needed)
        chosen, gained = [], 0
        for name, own in sorted(self._gained.items(), key=lambda row: (-row[1], row[0])):
            if gained >= needed or not own:
                break
            chosen.append(name)
            gained += own
        if gained >= needed:
            found.add(tuple(sorted(chosen)))
        ranked = sorted((self._size(names), len(names), names) for names in found if names)
        return [(names, self._in_words(names)) for _, _, names in ranked[:_MOST_SETS]]

    def _pods(self, amounts: Sequence[float]) -> int:
        """For how many pods they suffice."""
        rows = zip(amounts, self._of.requested, strict=True)
        return min((int(has / each + _TINY) for has, each in rows), default=0)

    def _cover(self, node: str) -> tuple[str, ...]:
        """Groups on the node that make room for one pod: the smallest that suffices alone, or the
        largest ones."""
        groups: Mapping[str, Sequence[float]] = self._of.held[node]
        free: Sequence[float] = self._of.free[node]
        alone = [
            (self._scarce_of(own), name)
            for name, own in groups.items()
            if self._pods(_sum(free, own))
        ]
        if alone:
            return (min(alone)[1],)
        chosen: list[str] = []
        by_size = sorted(groups, key=lambda name: (self._scarce_of(groups[name]), name))
        for name in reversed(by_size):
            chosen.append(name)
            free = _sum(free, groups[name])
            if self._pods(free):
                return tuple(sorted(chosen))
        return ()

    @cached_property
    def _scarce(self) -> list[int]:
        """The resources with too little that is free for the missing pods; if there are none,
        GPUs."""
        places = range(len(self._of.resources))
        free = self._of.free.values()
        found = [
            place
            for place in places
            if sum(int(row[place] / self._of.requested[place] + _TINY) for row in free)
            < self._missing
        ]
        gpus = [place for place in places if self._of.resources[place] == "gpu"]
        return found or gpus or [*places]

    def _scarce_of(self, amounts: Sequence[float]) -> float:
        """In pods that request as much."""
        return sum(amounts[place] / self._of.requested[place] for place in self._scarce)

    def _held(self, names: Sequence[str]) -> list[float]:
        return [sum(column) for column in zip(*(self._sizes[name] for name in names), strict=True)]

    def _size(self, names: Sequence[str]) -> float:
        return round(self._scarce_of(self._held(names)), _DIGITS)

    def _in_words(self, names: Sequence[str]) -> str:
        held = self._held(names)
        rows = ((self._of.resources[place], round(held[place], _DIGITS)) for place in self._scarce)
        gpus_first = sorted(rows, key=lambda row: row[0] != "gpu")
        return text.listing(amount(*row) for row in gpus_first if row[1])


def _sum(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [a + b for a, b in zip(one, other, strict=True)]


# ---- the changes ---------------------------------------------------------------------------------


def _alike(waiting: Waiting, firsts: list[str]) -> list[str]:
    """These nodes and those that differ from one of them only in name."""
    every = waiting.cluster._all("Node")
    likes = [_marks(every[name]) for name in firsts if name in every]
    return [name for name, node in sorted(every.items()) if _marks(node) in likes] or firsts


def _marks(node: Manifest) -> tuple[dict[str, Any], Any, bool]:
    """Its labels but its name, its taints, and whether it is cordoned."""
    spec = mapping(node.get("spec"))
    return _labels_but_name(node), spec.get("taints") or [], bool(spec.get("unschedulable"))


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


def _untainted(names: list[str], taints: Sequence[str], value: float) -> Change:
    """`taints`: those that keep pods off, "key=value:Effect". Others stay."""
    chosen = names[: int(value)]
    pairs = [
        (each.rpartition(":")[0].partition("=")[0], each.rpartition(":")[2]) for each in taints
    ]
    nodes = f"{'node' if len(chosen) == 1 else 'nodes'} {text.listing(chosen, most=4)}"
    noun = "taint" if len(taints) == 1 else "taints"
    removed = " ".join(f"{key}:{effect}-" for key, effect in dict.fromkeys(pairs))

    def edited(node: Manifest) -> Manifest:
        every = at(node, "spec", "taints") or []
        kept = [each for each in every if (each.get("key"), each.get("effect")) not in pairs]
        return with_spec(node, taints=kept)

    return Change(
        "taint",
        f"remove the {noun} {text.listing(taints)} from {nodes}",
        commands(f"kubectl taint nodes {' '.join(chosen)} {removed}"),
        edit=changed("Node", chosen, edited),
        rights=tuple(Right("patch", "Node", name) for name in chosen),
    )


def _labelled(names: list[str], wanted: Mapping[str, str | None], value: float) -> Change:
    chosen = names[: int(value)]
    pairs = {label: each for label, each in wanted.items() if each is not None}
    gone = [label for label in wanted if label not in pairs]
    given = " ".join(f"{label}={each}" for label, each in pairs.items())
    nodes = f"{'node' if len(chosen) == 1 else 'nodes'} {text.listing(chosen, most=4)}"
    if pairs:
        says = f"label {nodes} with {given}" + (f", without {' '.join(gone)}" if gone else "")
    else:
        says = f"remove the {'label' if len(gone) == 1 else 'labels'} {' '.join(gone)} from {nodes}"
    written = " ".join((*((given,) if given else ()), *(f"{label}-" for label in gone)))

    def edited(node: Manifest) -> Manifest:
        metadata = mapping(with_labels(node, pairs)["metadata"])
        left = {name: each for name, each in metadata["labels"].items() if name not in gone}
        return {**node, "metadata": {**metadata, "labels": left}}

    return Change(
        "label",
        says,
        commands(f"kubectl label nodes {' '.join(chosen)} --overwrite {written}"),
        edit=changed("Node", chosen, edited),
        rights=tuple(Right("patch", "Node", name) for name in chosen),
    )


def _end_of(cluster: Cluster, group: str, pods: Sequence[str]) -> str:
    """The command that ends the running pods of a group, for good; "" for bare pods."""
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
    return ""


def _ended(waiting: Waiting, names: tuple[str, ...], held: str) -> Change:
    """`held`: what they hold, in words."""

    @cache  # a search through all pods
    def running(name: str) -> list[str]:
        pods = waiting.cluster._pods_of(name).items()
        return sorted(pod for pod, manifest in pods if at(manifest, "spec", "nodeName"))

    def how(_: Cluster) -> tuple[str, ...]:
        bare: dict[str, list[str]] = {}
        lines: list[str] = []
        for name in names:
            if line := _end_of(waiting.cluster, name, running(name)):
                lines.append(line)
            else:
                bare.setdefault(name.rpartition("/")[0], []).extend(running(name))
        for namespace, pods in bare.items():
            short = " ".join(pod.rpartition("/")[2] for pod in pods)
            lines.append(f"kubectl delete pods -n {namespace} {short}")
        return tuple(lines)

    def edit(cluster: Cluster) -> None:
        for name in names:
            cluster.remove(*running(name), kind="Pod")

    noun = "pod group" if len(names) == 1 else "pod groups"
    return Change(
        "end",
        f"end the running pods of {noun} {text.listing(names, most=4)} ({held})",
        how,
        edit=edit,
        rights=tuple(Right("delete", "Pod", "", name.rpartition("/")[0]) for name in names),
    )
