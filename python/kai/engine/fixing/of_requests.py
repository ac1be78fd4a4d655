"""Changes of what the pods of a waiting group request: fewer GPUs, smaller parts of them, fewer
CPUs, less memory, fewer of any other resource."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, mapping, node_of, whole_number
from kai.engine import requests as of_pod
from kai.engine import text
from kai.engine.amounts import amount, part
from kai.engine.fixing.changes import Change, changed, with_annotations
from kai.engine.fixing.ladders import Ladder, one, several
from kai.engine.fixing.waiting import Manifest, Waiting
from kai.engine.places import near
from kai.engine.situation import exact
from kai.engine.values import Evict

_KINDS = {"cpu": "cpus", "memory": "memory"}
_WITHOUT_LADDER = ("gpu", "pods")
_MOST_PROFILES = 3
_TINY = 1e-6  # for amounts that are no exact floats


def gpus(waiting: Waiting) -> Iterator[Ladder]:
    """Fewer GPUs for each pod, or half of one."""
    totals = {of_pod.total(pod, _name_of_gpus(waiting)) for pod in waiting.pods}
    now = int(max(totals, default=Fraction(0)))
    if not now or any(_is_shared(pod) for pod in waiting.pods):
        return
    frees = {min(math.floor(free), now - 1) for _, free, _ in waiting.nodes}
    sizes = {min(math.floor(size), now - 1) for _, _, size in waiting.nodes}
    largest = {min(math.floor(gpus), now - 1) for gpus, _ in waiting.plan.situation.capacity}
    likely = {*frees, *sizes, *largest, now // 2, 1}
    values = sorted((value for value in likely if 1 <= value < now), reverse=True)
    if values:
        yield _fewer(waiting, "gpus", "gpu", values, Fraction(1))
    if totals == {1} and _name_of_gpus(waiting) == keys.NVIDIA_GPU:
        yield one(_half_a_gpu(waiting))


def _name_of_gpus(waiting: Waiting) -> str:
    """The resource by which its pods request whole GPUs."""
    by_amd = any(of_pod.total(pod, keys.AMD_GPU) for pod in waiting.pods)
    return keys.AMD_GPU if by_amd else keys.NVIDIA_GPU


def profiles(waiting: Waiting) -> Iterator[Ladder]:
    """MIG slices of a size that nodes have, if none has those that its pods request."""
    missing = [
        each["resource"]
        for each in _shortages(waiting)
        if each["resource"].startswith(keys.MIG_PREFIX) and not each["largest"]
    ]
    there = {
        name
        for node in (waiting.cluster._all("Node").values() if missing else ())
        for name, held in mapping(at(node, "status", "allocatable")).items()
        if name.startswith(keys.MIG_PREFIX) and quantities.parse_or_zero(held)
    }
    for wanted in dict.fromkeys(missing):
        close = near(wanted, sorted(there))
        others = [*close, *sorted(there.difference(close))][:_MOST_PROFILES]
        yield several([
            _change_of_containers(
                waiting,
                "gpus",
                f"request {other} instead of {wanted} in {waiting.owner}",
                partial(_renamed, wanted, other),
            )
            for other in others
        ])  # fmt: skip


def _renamed(wanted: str, other: str, pod: Manifest) -> dict[str, Any]:
    return of_pod.renamed(pod, wanted, other)


# ---- CPUs, memory and other resources ------------------------------------------------------------


def amounts(waiting: Waiting) -> Iterator[Ladder]:
    """Less of each resource that lacks, other than GPUs."""
    for resource in _lacking(waiting):
        now = max((of_pod.total(pod, resource) for pod in waiting.pods), default=Fraction(0))
        if not now:
            continue
        likely = _Likely(waiting, resource)
        unit = likely.unit(now)
        if values := likely.values(unit, math.ceil(now / unit) - 1):
            yield _fewer(waiting, _KINDS.get(resource, "resources"), resource, values, unit)


def _lacking(waiting: Waiting) -> list[str]:
    """The resources, other than GPUs, for which nodes or queues refuse its pods."""
    found: dict[str, None] = {}
    for reason in waiting.group.reasons:
        facts = reason.facts
        for cause in (facts, *facts.get("refusals", ()), *facts.get("also", ())):
            found.setdefault(str(cause.get("resource") or "gpu"))
    found.update(dict.fromkeys(each["resource"] for each in _shortages(waiting)))
    return [each for each in found if each not in _WITHOUT_LADDER]


def _shortages(waiting: Waiting) -> Iterator[Mapping[str, Any]]:
    """Of nodes that are too small for its pods even when they are empty."""
    for places in waiting.places:
        for obstacles in places.obstacles:
            yield from (each for each in obstacles.causes if each["cause"] == "shortage")


_OF_QUEUES = ("over_limit", "non_preemptible_over_quota")


def _left(facts: Mapping[str, Any], waiting: Waiting) -> Fraction:
    """What each of its pods may have of a limit or a quota."""
    bound = facts["limit"] if "limit" in facts else facts["deserved"]
    left = exact(bound or 0) - exact(facts["allocated"] or 0)
    return max(left, Fraction(0)) / waiting.missing


@dataclass(frozen=True)
class _Likely:
    """The amounts of a resource with which the group may start: what is free for each of the
    missing pods beside enough GPUs, what nodes have, and what a queue has left."""

    waiting: Waiting
    resource: str

    def unit(self, now: Fraction) -> Fraction:
        """The largest unit in which something is free."""
        units = of_pod.units(self.resource)
        for unit in units:
            if self._largest_free(unit, math.ceil(now / unit) - 1):
                return unit
        return units[0]

    def values(self, unit: Fraction, most: int) -> list[int]:
        """In units and up to `most`, the largest first."""
        left = [
            _left(reason.facts, self.waiting)
            for reason in self.waiting.reasons(*_OF_QUEUES)
            if reason.facts["resource"] == self.resource
        ]
        found = {
            *(math.floor(each / unit) for each in (*self._sizes, *left)),
            self._largest_in_sizes(unit, most),
            self._largest_free(unit, most),
        }
        return sorted({min(value, most) for value in found if min(value, most) >= 1}, reverse=True)

    @cached_property
    def _sizes(self) -> list[Fraction]:
        """Of nodes that are too small."""
        return [
            exact(each["largest"])
            for each in _shortages(self.waiting)
            if each["resource"] == self.resource
        ]

    def _largest_free(self, unit: Fraction, most: int) -> int:
        rows = [(_units(free, unit), pods) for free, pods, _, _ in self._rows]
        return _largest(rows, self.waiting.missing, most)

    def _largest_in_sizes(self, unit: Fraction, most: int) -> int:
        rows = [(_units(size, unit), pods) for _, _, size, pods in self._rows]
        return _largest(rows, self.waiting.missing, most)

    @cached_property
    def _rows(self) -> list[tuple[float, int, float, int]]:
        """For each node: what is free, and pods for which GPUs are free; the same when empty."""
        amounts = self._amounts
        # Nodes that are too small now may do with less.
        gpus = _gpus(self.waiting, only_possible=not self._sizes)
        rows = []
        for node, (free, size) in amounts.items():
            if node in gpus:
                rows.append((free, self._pods(gpus[node][0]), size, self._pods(gpus[node][1])))
        return rows

    def _pods(self, gpus: float) -> int:
        each = self.waiting.each
        return int(gpus / float(each) + _TINY) if each else self.waiting.missing

    @property
    def _amounts(self) -> dict[str, tuple[float, float]]:
        """By node, the amount that the plan leaves free, and the whole."""
        rooms = self.waiting.situation.rooms
        if self.resource == keys.CPU:
            return {row[0]: (row[6], row[5]) for row in rooms}
        if self.resource == keys.MEMORY:
            return {row[0]: (row[8], row[7]) for row in rooms}
        return _held(self.waiting, self.resource)


def _units(amount: float, unit: Fraction) -> int:
    return int(amount / float(unit) + _TINY)


def _largest(rows: Iterable[tuple[int, int]], missing: int, most: int) -> int:
    """The largest amount for each pod with which so many pods fit; 0: none does.

    `rows`: how much a node has, and the most pods that it can take otherwise.
    """
    useful = [row for row in rows if row[0] > 0 and row[1] > 0]

    def fits(value: int) -> bool:
        return sum(min(has // value, pods) for has, pods in useful) >= missing

    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _gpus(waiting: Waiting, *, only_possible: bool) -> dict[str, tuple[float, float]]:
    """By node, free GPUs after the plan and GPUs in all."""
    if only_possible:
        return {name: (float(free), float(size)) for name, free, size in waiting.nodes}
    return {row[0]: (row[2], row[1]) for row in waiting.situation.rooms if not row[9]}


def _held(waiting: Waiting, resource: str) -> dict[str, tuple[float, float]]:
    """By node that has the resource: what the plan leaves free, and the whole."""
    sizes = {
        name: float(size)
        for name, node in waiting.cluster._all("Node").items()
        if (size := quantities.parse_or_zero(at(node, "status", "allocatable", resource)))
    }
    if not sizes:
        return {}
    pods = waiting.cluster._all("Pod")
    places = {name: node_of(pod) for name, pod in pods.items() if at(pod, "spec", "nodeName")}
    for each in waiting.plan.decisions:
        places[each.pod] = "" if isinstance(each, Evict) else each.node
    frees = dict(sizes)
    for name, node in places.items():
        if node in sizes:
            frees[node] -= float(of_pod.total(pods[name], resource))
    return {node: (frees[node], size) for node, size in sizes.items()}


# ---- parts of GPUs -------------------------------------------------------------------------------


def shares(waiting: Waiting) -> Iterator[Ladder]:
    """A smaller part of a GPU, less memory of one, or parts of fewer GPUs."""
    annotations = [annotations_of(pod) for pod in waiting.pods]
    sharer = waiting.facts.sharer
    keys_of = (
        keys.GPU_FRACTION_ANNOTATION,
        keys.GPU_MEMORY_ANNOTATION,
        keys.GPU_DEVICES_ANNOTATION,
    )
    if sharer is None or not annotations:
        return
    if any(each.get(key) != annotations[0].get(key) for each in annotations for key in keys_of):
        return
    parts = _Parts(waiting, *sharer)
    mib = whole_number(annotations[0].get(keys.GPU_MEMORY_ANNOTATION))
    if mib is not None:
        yield from _smaller_memory(waiting, parts, mib)
    elif keys.GPU_FRACTION_ANNOTATION in annotations[0]:
        yield from _smaller_part(waiting, parts)
    devices = whole_number(annotations[0].get(keys.GPU_DEVICES_ANNOTATION))
    if devices is not None and devices > 1:
        yield from _fewer_devices(waiting, parts, devices)


@dataclass(frozen=True)
class _Parts:
    """Free parts of the GPUs of nodes. `devices`, `fraction` and `mib`: of each waiting pod."""

    waiting: Waiting
    devices: int
    fraction: Fraction
    mib: int

    @cached_property
    def free(self) -> list[list[float]]:
        """By node, the free parts of its GPUs; in MiB if the pods request MiB."""
        found = []
        every = self.waiting.cluster._all("Node")
        possible = {name for name, _, _ in self.waiting.nodes}
        for row in self.waiting.situation.rooms:
            name, free, parts, state = row[0], row[2], row[4], row[9]
            if state or (possible and name not in possible):
                continue
            size = _memory_of(every.get(name, {})) if self.mib else 1
            found.append([part * size for part in (*parts, *[1.0] * int(free))])
        return found

    def pods(self, each: Fraction, devices: int) -> int:
        """How many pods with so much of each of so many GPUs fit."""
        if devices == 1:
            return sum(_units(part, each) for parts in self.free for part in parts)
        return sum(sum(_units(part, each) > 0 for part in parts) // devices for parts in self.free)

    def largest(self, unit: Fraction, most: int) -> int:
        """The largest part, in units, with which the missing pods fit."""
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = self.pods(middle * unit, self.devices) >= self.waiting.missing
            low, high = (middle, high) if fits else (low, middle)
        return low

    def most_devices(self, most: int) -> int:
        """The largest number of GPUs with which the missing pods fit."""
        each = Fraction(self.mib) if self.mib else self.fraction
        fitting = (
            devices
            for devices in range(most, 0, -1)
            if self.pods(each, devices) >= self.waiting.missing
        )
        return next(fitting, 0)


def _memory_of(node: Manifest) -> int:
    """MiB of one of its GPUs as they count (spec 1 F24): in hundreds, and a large number is in
    bytes; 0 if that is not known."""
    labelled = whole_number(at(node, "metadata", "labels", keys.GPU_MEMORY_LABEL)) or 0
    mib = labelled // 2**20 if labelled >= 2**20 else labelled
    return max(0, mib // 100 * 100)


def _smaller_part(waiting: Waiting, parts: _Parts) -> Iterator[Ladder]:
    unit = Fraction(1, 100)
    now = math.ceil(parts.fraction / unit)
    left = [
        _left(reason.facts, waiting) / parts.devices
        for reason in waiting.reasons(*_OF_QUEUES)
        if reason.facts["resource"] == "gpu"
    ]
    likely = {parts.largest(unit, now - 1), *(math.floor(each / unit) for each in left)}
    values = sorted({min(each, now - 1) for each in likely if each >= 1}, reverse=True)

    def change(value: float) -> Change:
        wanted = f"{value / 100:g}"
        says = f"request {wanted} of a GPU for each pod instead of {text.number(parts.fraction)}"
        return _annotated(waiting, says, keys.GPU_FRACTION_ANNOTATION, wanted)

    if values:
        yield Ladder(values, change, unit=-1, now=now)


def _smaller_memory(waiting: Waiting, parts: _Parts, now: int) -> Iterator[Ladder]:
    sizes = [
        each["largest_mib"]
        for places in waiting.places
        for obstacles in places.obstacles
        for each in obstacles.causes
        if each["cause"] == "gpu_memory"
    ]
    likely = {parts.largest(Fraction(1), now - 1), *(int(each) for each in sizes)}
    values = sorted({min(each, now - 1) for each in likely if each >= 1}, reverse=True)

    def change(value: float) -> Change:
        says = f"request {int(value):,} MiB of a GPU for each pod instead of {now:,}"
        return _annotated(waiting, says, keys.GPU_MEMORY_ANNOTATION, str(int(value)))

    if values:
        yield Ladder(values, change, unit=-1, now=now)


def _fewer_devices(waiting: Waiting, parts: _Parts, now: int) -> Iterator[Ladder]:
    sizes = [int(each["largest"]) for each in _shortages(waiting) if each["resource"] == "gpu"]
    likely = {parts.most_devices(now - 1), *(min(each, now - 1) for each in sizes), 1}
    values = sorted((each for each in likely if each >= 1), reverse=True)

    def change(value: float) -> Change:
        says = f"request parts of {text.count(int(value), 'GPU')} for each pod instead of {now}"
        return _annotated(waiting, says, keys.GPU_DEVICES_ANNOTATION, str(int(value)))

    yield Ladder(values, change, unit=-1, now=now)


# ---- the changes ---------------------------------------------------------------------------------


def _fewer(
    waiting: Waiting, kind: str, resource: str, values: Sequence[int], unit: Fraction
) -> Ladder:
    """A ladder of smaller requests. `resource`: the engine's name; `values`: in units."""
    name = _name_of_gpus(waiting) if resource == "gpu" else resource
    totals = {of_pod.total(pod, name) for pod in waiting.pods}
    now = max(totals)

    def change(value: float) -> Change:
        most = int(value) * unit
        up_to = "" if len(totals) == 1 else "up to "
        says = (
            f"request {amount(resource, float(most))} for each pod instead of "
            f"{up_to}{part(resource, float(now))}"
        )
        return _change_of_containers(waiting, kind, says, partial(_capped, name, most))

    return Ladder(values, change, unit=-1, now=math.ceil(now / unit))


def _capped(resource: str, most: Fraction, pod: Manifest) -> Manifest:
    if of_pod.total(pod, resource) <= most:
        return pod
    return of_pod.capped(pod, resource, most) or pod


def _half_a_gpu(waiting: Waiting) -> Change:
    # KAI refuses a part of a GPU beside whole ones.
    says = "request half a GPU for each pod instead of 1"
    annotations = {keys.GPU_FRACTION_ANNOTATION: "0.5"}

    def half(pod: Manifest) -> Manifest:
        return with_annotations(of_pod.without(pod, keys.NVIDIA_GPU), annotations)

    return _change_of_containers(waiting, "gpus", says, half, annotations)


def _annotated(waiting: Waiting, says: str, key: str, value: str) -> Change:
    annotations = {key: value}
    return _change_of_containers(
        waiting, "gpus", says, lambda pod: with_annotations(pod, annotations), annotations
    )


def _change_of_containers(
    waiting: Waiting,
    kind: str,
    says: str,
    change: Callable[[Manifest], Manifest],
    annotations: Mapping[str, str] | None = None,
) -> Change:
    """A change of what the containers of its waiting pods request: of the pod templates of its
    workload. What differs is printed, once for pods that differ in the same way."""

    def body(pod: Manifest) -> Manifest:
        spec = of_pod.shown(pod, change(pod))
        made = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
        return made | ({"spec": spec} if spec else {})

    how = partial(waiting.parts, body=body)
    edit = changed("Pod", waiting.pods_of_owner, change)
    return Change(kind, says, how, edit=edit, rights=(waiting.right,))


def _is_shared(pod: Manifest) -> bool:
    own = annotations_of(pod)
    return keys.GPU_FRACTION_ANNOTATION in own or keys.GPU_MEMORY_ANNOTATION in own
