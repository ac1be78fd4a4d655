"""Where the waiting pods of a group could run, and why not elsewhere, in sentences.

The engine surveys the nodes for each class of waiting pods: which of them could take such a pod if
nothing else ran there, and everything that keeps it off the others. No cycle and no pod that ends
changes that, so it is said first, however full the cluster is.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kai.api import keys, times
from kai.api.durations import duration_text
from kai.engine import text
from kai.engine.amounts import RESOURCE_NAMES, amount, part

Facts = Mapping[str, Any]
Amounts = tuple[tuple[Fraction, int], ...]
"""Pairs: a number of GPUs, and how many pods or nodes have it or request it; smallest first."""

PASSING = frozenset(
    (
        "node_not_ready",
        "node_memory_pressure",
        "node_disk_pressure",
        "node_pid_pressure",
        "node_network_unavailable",
        "node_unschedulable",
        "untolerated_taints",
    )
)
"""Causes that nodes, or those who run them, end without a change of the pods."""


def distinct(causes: Sequence[Facts]) -> list[Facts]:
    """The causes without those that only repeat that the nodes have no GPUs, or no MIG slices."""
    short = [each for each in causes if each["cause"] == "shortage"]
    none = [each["resource"] for each in short if not each["largest"]]
    repeated = set()
    if "gpu" in none:
        repeated.add("gpu_memory_unknown")
    if any(each.startswith(keys.MIG_PREFIX) for each in none):
        repeated.add("no_mig")
    return [each for each in causes if each["cause"] not in repeated]


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Nodes that cannot take a pod for the same causes. `first`: the name of one. `causes`: all of
    them, each with the facts of its kind (docs/reference/reasons.md)."""

    nodes: int
    first: str
    causes: Sequence[Facts]

    @property
    def is_without_gpus(self) -> bool:
        """The pod needs GPUs, and that is all that these nodes lack."""
        return all(
            each["cause"] == "shortage" and each["resource"] == "gpu" and not each["largest"]
            for each in self.causes
        )

    @property
    def may_pass(self) -> bool:
        return all(each["cause"] in PASSING for each in self.causes)

    @property
    def phrase(self) -> str:
        """All causes in words that follow "2 nodes"."""
        return " and ".join(phrases(self.causes))


@dataclass(frozen=True)
class Places:
    """Of the waiting pods of one class in a group. `first`: the name of one, `pods`: how many.
    `shared_gpus`: of the GPUs that each requests, those of claims that all of them share.

    `refusals`: of rules that refuse the pod before any node is checked, and `message`: in KAI's
    words. `possible`: how many nodes could take it; `capacity` and `free`: GPUs of these, and how
    many nodes have as many. `lacks_partner`: it must be near other pods, and there are none.
    `most`: of these pods, no more fit on the possible nodes if nothing else runs there, because of
    the resource `limit`, with the amount that each needs. `leaving`: GPUs there that pods are
    leaving and that are promised to no pod.
    """

    first: str
    pods: int
    shared_gpus: Fraction
    refusals: Sequence[Facts]
    message: str
    possible: int
    capacity: Amounts
    free: Amounts
    obstacles: Sequence[Obstacles]
    lacks_partner: bool
    most: int
    limit: tuple[str, float] | None
    leaving: Fraction

    @property
    def shares_claims(self) -> bool:
        """Several of the pods may get the same devices."""
        return self.shared_gpus > 0

    @property
    def others(self) -> list[Obstacles]:
        """Without nodes that have no GPU at all, if others could take the pod."""
        return [each for each in self.obstacles if not (self.possible and each.is_without_gpus)]

    @property
    def is_refused(self) -> bool:
        """No node is checked for such a pod, for another cause than its size."""
        return any(each["cause"] != "larger_than_any_node" for each in self.refusals)

    @property
    def is_too_large(self) -> bool:
        """Its size is among what refuses it, and the nodes show by how much."""
        too_large = any(each["cause"] == "larger_than_any_node" for each in self.refusals)
        return too_large and self.is_nowhere

    @property
    def is_nowhere(self) -> bool:
        """No node could take such a pod, whatever runs there."""
        return not self.possible and bool(self.obstacles)

    @property
    def may_pass(self) -> bool:
        """Only the states of nodes keep it off some of them."""
        return any(each.may_pass for each in self.obstacles)

    def why_nowhere(self, *, shares_gpus: bool = False) -> list[str]:
        """Sentences without a full stop: what all nodes lack, and what each of them lacks besides.
        `shares_gpus`: the pod needs a part of each GPU that it requests."""
        rows = self.obstacles
        others = _without_what_all_lack(rows)
        free = [row for row, other in zip(rows, others, strict=True) if not other.causes]
        found = [
            *_too_large(rows, free, shares_gpus=shares_gpus),
            *_too_little_gpu_memory(rows),
            *map(_no_node_has, _labels_of_no_node(rows)),
        ]
        if not found:
            return [self.excluded()]
        # No smaller request could start on a node without any of the resource.
        able = [other for row, other in zip(rows, others, strict=True) if _has_some(row)] or others
        if all(each.causes for each in able):
            besides = counted((each.phrase, each.nodes, each.first) for each in able)
            which = "node" if len(able) == len(rows) else "suitable node"
            found.append(f"each {which} also has another obstacle: {text.listing(besides, most=4)}")
        return found

    def excluded(self) -> str:
        """ "2 nodes without zone=a, node n1 cordoned"."""
        found = counted((each.phrase, each.nodes, each.first) for each in self.others)
        return text.listing(found, most=4)


@dataclass(frozen=True, slots=True)
class Domain:
    """The best domain for a group whose pods must run in one. `level`: the label; `room`: for how
    many of its pods it has room; `most`: the same if nothing ran on its nodes and all took its
    pods; `obstacles`: of nodes that cannot take any. `lacks`: resources that other nodes have
    too little of, how many nodes, and the name of one."""

    level: str
    name: str
    domains: int
    room: int
    most: int
    obstacles: Sequence[Obstacles]
    lacks: Sequence[tuple[str, int, str]]

    @property
    def lacks_only_gpus(self) -> bool:
        return not self.obstacles and all(resource == "gpu" for resource, *_ in self.lacks)

    @property
    def lacks_gpus(self) -> bool:
        return any(resource == "gpu" for resource, *_ in self.lacks)

    def sentence(self, pods: int) -> str:
        """`pods`: how many must start together."""
        level = self.level.rpartition("/")[2]
        which = f"the best of {text.count(self.domains, level)}, {self.name},"
        if self.domains == 1:
            which = f"the only one, {self.name},"
        rows = [(each.phrase, each.nodes, each.first) for each in self.obstacles]
        rows += [(short_of(resource), nodes, first) for resource, nodes, first in self.lacks]
        found = counted(rows)
        lacks = f": {text.listing(found, most=4)}" if found else ""
        room = text.number(self.room) if self.room else "none"
        if self.most < pods:
            lacks = f", and for {text.number(self.most)} if nothing ran there{lacks}"
        return (
            f"Its {text.count(pods, 'pod')} must start in one {level}; {which} has room for "
            f"{room}{lacks}."
        )


@dataclass(frozen=True, slots=True)
class Holders:
    """Groups of one queue that hold a resource, and stay for the same cause: `why` is
    non_preemptible, protected, not_lower, within_share, over_share or may_leave. `level`: the queue
    that is compared with its fair share, this one or one above it; for over_share, the queue of the
    group that waits. `first`: the name of one group; of those that a minimum run time protects, the
    one whose protection ends first, at `until_ns`.

    With `why` no_group, `groups` is the number of pods that belong to no pod group, and `first` one
    of them; `queue` is "".
    """

    why: str
    resource: str
    queue: str
    level: str | None
    groups: int
    held: Fraction
    first: str
    until_ns: int
    runtime_ns: int

    def subject(self, *, named: bool) -> str:
        """ "b/train", "3 pod groups of queue b (b/train and 2 more)". `named`: False: with the
        number of groups and their queue instead of a name."""
        if named and self.groups == 1 and self.why != "no_group":
            return self.first
        if self.why == "no_group":
            pods = f"{text.count(self.groups, 'pod')} of no pod group"
            others = f" and {text.number(self.groups - 1)} more" if self.groups > 1 else ""
            return f"{pods} ({self.first}{others})" if named else pods
        more = f" ({self.first} and {text.number(self.groups - 1)} more)" if named else ""
        return text.of_queue(self.groups, self.queue) + more

    def sentence(self, own_queue: str, *, named: bool = True) -> str:
        """ "b/train holds 2 GPUs and is not preemptible."; "" if nothing protects them."""
        subject = self.subject(named=named)
        holds, are = ("holds", "is") if self.groups == 1 else ("hold", "are")
        held = amount(self.resource, float(self.held))
        match self.why:
            case "no_group":
                return f"{subject} {holds} {held} and {are} not evicted."
            case "non_preemptible":
                return f"{subject} {holds} {held} and {are} not preemptible."
            case "protected":
                kind = "preempt" if self.queue == own_queue else "reclaim"
                until = f"until {times.to_text(self.until_ns)}"
                runtime = f"({kind}MinRuntime {duration_text(self.runtime_ns / 1e9)})"
                if self.groups > 1:
                    return f"{subject} hold {held} and are protected {runtime}, the first {until}."
                return f"{subject} holds {held} and is protected {until} {runtime}."
            case "not_lower":
                has = "has" if self.groups == 1 else "have"
                return f"{subject} {holds} {held} and {has} no lower priority."
            case "over_share":
                return (
                    f"{subject} {holds} {held}; with more, queue {self.level} would exceed its "
                    "fair share."
                )
            case "within_share":
                return f"{subject} {holds} {held}, within the fair share of queue {self.level}."
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class Held:
    """Of one resource. `holders`: those with most first. `room`: of the nodes that could take the
    pods, what is free or may become free, and how many nodes have as much; `own_room`: if only
    groups of the own queue may leave.

    Of a resource other than GPUs, a pod requests `requested`, and the holders and rooms are those
    of nodes with too little of it. `nearest`: the one with the most free, `free`.
    """

    resource: str
    holders: Sequence[Holders]
    room: Amounts
    own_room: Amounts
    requested: Fraction
    nearest: str | None
    free: Fraction


# ---- facts for all nodes -------------------------------------------------------------------------


def _too_large(
    obstacles: Sequence[Obstacles], free: Sequence[Obstacles], *, shares_gpus: bool
) -> Iterable[str]:
    """One pod requests more of a resource than any node has. `free`: nodes without causes that
    others do not have."""
    for resource in _short_everywhere(obstacles):
        shortages = _shortages(obstacles, resource)
        requested = shortages[0]["requested"]
        largest = max(each["largest"] for each in shortages)
        wanted = amount(resource, requested)
        if resource == "gpu" and shares_gpus:
            wanted = "a part of a GPU" if requested == 1 else f"parts of {wanted}"
        if largest:
            least = max((each["largest"] for each in _shortages(free, resource)), default=0)
            without = ""
            if 0 < least < largest:
                without = f", and the largest without other obstacles has {part(resource, least)}"
            has = f"the largest node has {part(resource, largest)}{without}"
            yield f"one pod requests {wanted}, but {has}"
            continue
        sliced = resource == "gpu" and _are_sliced(obstacles)
        slices = " that is not split into MIG slices" if sliced else ""
        yield f"one pod requests {wanted}, but no node has any{slices}"


def _shortages(obstacles: Sequence[Obstacles], resource: str) -> list[Facts]:
    return [
        each
        for row in obstacles
        for each in row.causes
        if each["cause"] == "shortage" and each["resource"] == resource
    ]


def _has_some(row: Obstacles) -> bool:
    """Whether the nodes have some of all that they have too little of."""
    return all(each["cause"] != "shortage" or each["largest"] for each in row.causes)


def _are_sliced(obstacles: Sequence[Obstacles]) -> bool:
    return any(each["cause"] == "mig_strategy_mixed" for row in obstacles for each in row.causes)


def _short_everywhere(obstacles: Sequence[Obstacles]) -> list[str]:
    """The resources that all these nodes are too small in."""
    short = [
        [each["resource"] for each in row.causes if each["cause"] == "shortage"]
        for row in obstacles
    ]
    return [resource for resource in short[0] if all(resource in row for row in short)]


def _too_little_gpu_memory(obstacles: Sequence[Obstacles]) -> Iterable[str]:
    memories = [each for row in obstacles for each in row.causes if each["cause"] == "gpu_memory"]
    if _is_everywhere("gpu_memory", obstacles):
        yield (
            f"it needs {memories[0]['requested_mib']:,} MiB of one GPU, but the largest has "
            f"{max(each['largest_mib'] for each in memories):,} MiB"
        )


def _is_everywhere(cause: str, obstacles: Sequence[Obstacles]) -> bool:
    return all(any(each["cause"] == cause for each in row.causes) for row in obstacles)


def _labels_of_no_node(obstacles: Sequence[Obstacles]) -> list[Facts]:
    """The requirements of labels that no node meets."""
    unmet = [list(_unmet(row.causes)) for row in obstacles]
    return [
        each
        for each in unmet[0]
        if all(any(_is_same(each, other) for other in row) for row in unmet)
    ]


def _without_what_all_lack(obstacles: Sequence[Obstacles]) -> list[Obstacles]:
    """The nodes with their other causes."""
    short, labels = _short_everywhere(obstacles), _labels_of_no_node(obstacles)
    covered = {"gpu_memory"} if _is_everywhere("gpu_memory", obstacles) else set()
    if "gpu" in short:
        covered.add("mig_strategy_mixed")

    def rest(causes: Sequence[Facts]) -> Iterable[Facts]:
        for each in causes:
            if each["cause"] == "node_affinity" and each["unmet"]:
                unmet = [
                    one for one in each["unmet"] if not any(_is_same(one, all_) for all_ in labels)
                ]
                if unmet:
                    yield {**each, "unmet": unmet}
            elif each["cause"] == "shortage":
                if each["resource"] not in short:
                    yield each
            elif each["cause"] not in covered:
                yield each

    return [Obstacles(row.nodes, row.first, list(rest(row.causes))) for row in obstacles]


def _unmet(causes: Sequence[Facts]) -> Iterable[Facts]:
    for each in causes:
        if each["cause"] == "node_affinity":
            yield from each["unmet"]


def _is_same(one: Facts, other: Facts) -> bool:
    return all(one[name] == other[name] for name in ("label", "operator", "values"))


def _no_node_has(unmet: Facts) -> str:
    there = [each["value"] for each in unmet["there"]]
    wanted = _wanted(unmet)
    if unmet["operator"] in _EXCLUDING:
        return f"every node has {wanted}{_EXCLUDED}"
    if not there or unmet["operator"] not in ("In", "Exists"):
        return f"no node has {wanted}"
    close = [each for value in unmet["values"] for each in near(value, there)]
    nodes = {each["value"]: each["nodes"] for each in unmet["there"]}
    if close:
        has = text.count(nodes[close[0]], "node")
        verb = "has" if nodes[close[0]] == 1 else "have"
        return f"no node has {wanted}, but {has} {verb} {close[0]}"
    values = text.listing((f"{value} ({nodes[value]})" for value in there), most=3)
    return f"no node has {wanted}; there is {values}"


def near(wanted: str, known: Sequence[str]) -> list[str]:
    """The values that a user who wrote `wanted` may have meant, the likeliest first.

    >>> near("A100", ["Tesla-T4", "NVIDIA-A100-SXM4-80GB"])
    ['NVIDIA-A100-SXM4-80GB']
    """
    low = wanted.lower()
    parts = [each for each in known if low and (low in each.lower() or each.lower() in low)]
    return parts or difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)


# ---- phrases -------------------------------------------------------------------------------------


def phrases(causes: Sequence[Facts]) -> list[str]:
    """Each cause in words that follow "2 nodes"."""
    found = []
    for each in causes:
        match each["cause"]:
            case "shortage":
                found.append(_small(each["resource"], each["requested"], each["largest"]))
            case "node_affinity":
                found += [_requirement(unmet) for unmet in each["unmet"]] or [
                    OF_REFUSALS["node_affinity"]
                ]
            case "untolerated_taints":
                noun = "taint" if len(each["taints"]) == 1 else "taints"
                found.append(f"with the {noun} {text.listing(each['taints'])}")
            case "gpu_memory":
                found.append(f"whose GPUs have less than {each['requested_mib']:,} MiB")
            case "gpu_memory_unknown":
                found.append(f"without a number of MiB in the label {keys.GPU_MEMORY_LABEL}")
            case cause:
                found.append(OF_REFUSALS.get(cause, cause.replace("_", " ")))
    return found


def short_of(resource: str) -> str:
    """In words that follow "2 nodes"."""
    if resource == "pods":
        return "full of pods"
    return f"short of free {RESOURCE_NAMES.get(resource, resource)}"


def counted(rows: Iterable[tuple[str, int, str]]) -> list[str]:
    """From phrases, each with a number of nodes and the name of one of them, or "": the nodes of
    each phrase, most first.

    >>> counted([("cordoned", 1, "n1"), ("not ready", 2, "n2"), ("not ready", 1, "n3")])
    ['3 nodes not ready', 'node n1 cordoned']
    >>> counted([("cordoned", 1, "")])
    ['1 node cordoned']
    """
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for phrase, nodes, first in rows:
        counts[phrase] += nodes
        names.setdefault(phrase, first)
    return [
        f"node {names[phrase]} {phrase}"
        if nodes == 1 and names[phrase]
        else f"{text.count(nodes, 'node')} {phrase}"
        for phrase, nodes in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    ]


def _small(resource: str, requested: float, largest: float) -> str:
    if not largest:
        return f"without {RESOURCE_NAMES.get(resource, resource)}"
    fewer = "less" if resource in ("memory", "ephemeral-storage") else "fewer"
    return f"with {fewer} than {amount(resource, requested)}"


_EXCLUDING = ("NotIn", "DoesNotExist")
_EXCLUDED = ", which its node affinity excludes"


def _requirement(unmet: Facts) -> str:
    if unmet["operator"] in _EXCLUDING:
        return f"with {_wanted(unmet)}{_EXCLUDED}"
    return f"without {_wanted(unmet)}"


def _wanted(unmet: Facts) -> str:
    """The label, with the values that it must, or must not, have."""
    label, values = unmet["label"], text.either(unmet["values"])
    if not values:
        return f"the label {label}"
    bound = {"Gt": f"{label} above ", "Lt": f"{label} below "}.get(unmet["operator"], f"{label}=")
    return f"{bound}{values}"


OF_REFUSALS = {
    "node_unschedulable": "cordoned",
    "node_not_ready": "not ready",
    "node_memory_pressure": "under memory pressure",
    "node_disk_pressure": "under disk pressure",
    "node_pid_pressure": "under PID pressure",
    "node_network_unavailable": "without a network",
    "untolerated_taints": "with a taint it does not tolerate",
    "node_affinity": "outside its node selector or affinity",
    "pod_affinity": "not near the pods it must be near",
    "pod_anti_affinity": "near pods it must not be near",
    "existing_pods_anti_affinity": "near pods with an anti-affinity to it",
    "numa": "without NUMA zones that fit it",
    "policy": "refused by your policy",
    "pod_slots": "full of pods",
    "gpu_memory": "whose GPUs have too little memory",
    "gpu_memory_unknown": "whose GPU memory is unknown",
    "not_gpu_worker": "not for pods with GPUs",
    "not_cpu_worker": "not for pods without GPUs",
    "host_ports": "whose ports are in use",
    "volumes": "that cannot access its volumes",
    "volume_count": "with too many volumes",
    "volume_zone": "in another zone than its volumes",
    "topology_spread": "where its pods would be spread too unevenly",
    "topology_spread_label": "without the label of its topology spread",
    "mig_strategy_mixed": "with MIG strategy mixed",
    "mig_strategy_single": "with MIG strategy single",
    "no_mig": "without MIG slices",
    "shared_gpus_on_dra_node": "with GPUs for claims only, so the pod needs a ResourceClaim",
    "gpus_only_for_claims": (
        "with GPUs for claims only, so the pod needs a ResourceClaim, or a DeviceClass with "
        "extendedResourceName"
    ),
    "no_devices": "without free devices for its claims",
    "claimed_gpus": "without free GPUs for its claims",
    "claim_elsewhere": "that cannot access its claims",
    "claim_expression": "for which its claims cannot be evaluated",
    "storage": "short of storage",
}
"""Causes in words that follow "2 nodes"."""
