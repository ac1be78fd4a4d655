"""The resources that pod groups and queues use and request, for their status (spec 6 C32-C35).

    write = pod_group_write("team/train", Sums(requested={"cpu": "2"}), there={})
    for name, (sums, children) in queue_sums(queues, sums_of_groups).items():
        write = queue_write(name, sums, children, queues[name].status)

Pure functions: each returns the patch that corrects a status, or nothing if it is correct. After a
patch, and after any other change of the object, the caller calls again with the new state. A patch
from outdated facts is therefore corrected by the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.quantities import parse_or_zero
from kai.api.reading import mapping
from kai.api.writes import Lane, Write
from kai.controllers.amounts import Amounts, added, equal

OF_GROUP, OF_QUEUE = "resources-of-group/", "status-of-queue/"
"""Prefixes of the keys of these writes."""
_FIELDS = {
    "requested": "requested",
    "allocated": "allocated",
    "allocated_non_preemptible": "allocatedNonPreemptible",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """The requests of pods, the requests of those that have a node, and the non-preemptible part of
    these."""

    requested: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    allocated_non_preemptible: Amounts = field(default_factory=dict)

    def plus(self, others: Iterable[Sums]) -> Sums:
        """The sum of this and the others."""
        all_of_them = [self, *others]
        return Sums(*(added(*(getattr(each, name) for each in all_of_them)) for name in _FIELDS))


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue in the cluster. `status`: the current status of the object."""

    name: str
    parent: str = ""
    display_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)


def pod_group_write(name: str, sums: Sums, there: Mapping[str, Any] | None) -> Write | None:
    """The patch of a pod group's status; None if it is up to date.

    `name`: "namespace/name". `there`: the current `status.resourcesStatus`, if any.
    """
    patch = _patch(sums, there or {})
    if not patch:
        return None
    namespace, _, own = name.partition("/")
    body = {"status": {"resourcesStatus": patch}}
    key = f"{OF_GROUP}{name}"
    return Write(Lane.CONDITION, "patch", "PodGroup", namespace, own, body, "status", key=key)


def queue_sums(
    queues: Mapping[str, QueueFacts], of_groups: Mapping[str, Sums]
) -> dict[str, tuple[Sums, tuple[str, ...]]]:
    """For each queue the sum of its groups and of all queues below it, and its child queues,
    sorted.

    `of_groups`: for each queue, the sum of the pod groups that name it. A cycle of parents is cut
    where it closes: its queues have the sums of the queues below them, and the computation ends.
    """
    below: dict[str, list[str]] = {}
    for name, queue in queues.items():
        if queue.parent:
            below.setdefault(queue.parent, []).append(name)
    done: dict[str, tuple[Sums, tuple[str, ...]]] = {}
    for start in sorted(queues):
        stack = [start]
        open_ones: set[str] = set()
        while stack:
            name = stack[-1]
            if name in done:
                stack.pop()
                continue
            children = sorted(below.get(name, ()))
            missing = [each for each in children if each not in done and each not in open_ones]
            if missing and name not in open_ones:
                open_ones.add(name)
                stack += missing
                continue
            held = [done[each][0] for each in children if each in done]
            done[name] = (of_groups.get(name, _NOTHING).plus(held), tuple(children))
            open_ones.discard(name)
            stack.pop()
    return done


def queue_write(
    name: str, sums: Sums, children: Sequence[str], there: Mapping[str, Any]
) -> Write | None:
    """The patch of one queue's status; None if it is up to date.

    `sums`: including the queues below it. `children`: these queues, sorted.
    """
    patch = _patch(sums, there)
    if list(there.get("childQueues") or ()) != list(children):
        patch["childQueues"] = list(children) or None
    if not patch:
        return None
    body = {"status": patch}
    key = f"{OF_QUEUE}{name}"
    return Write(Lane.CONDITION, "patch", "Queue", "", name, body, "status", key=key)


def _patch(sums: Sums, there: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of a merge patch: null for a resource that is not there any more.

    It has every amount that differs or may be under way, because a later patch replaces an earlier
    one that still waits.
    """
    wanted = {member: added(getattr(sums, name)) for name, member in _FIELDS.items()}
    existing = {member: mapping(there.get(member)) for member in wanted}
    if all(equal(wanted[member], existing[member]) for member in wanted):
        return {}
    return {
        member: {**dict.fromkeys(sorted(set(existing[member]) - set(amounts))), **amounts}
        if amounts
        else None
        for member, amounts in wanted.items()
        if amounts or existing[member]
    }


_NOTHING = Sums()


class Reported:
    """The sums of each queue's pod groups, from the statuses of these groups: for a process that
    does not write them itself.

    A change of a group costs time proportional to the groups of its queue.
    """

    def __init__(self) -> None:
        self._queue_of: dict[str, str] = {}  # by pod group
        self._groups: dict[str, dict[str, Sums]] = {}  # by queue and pod group
        self._sums: dict[str, Sums] = {}  # by queue, of those that have not changed since

    def put(self, group: str, queue: str, status: object) -> None:
        """`queue`: that the group names; "": it does not exist. `status`: its
        `status.resourcesStatus`, if any."""
        before = self._queue_of.pop(group, "")
        if before:
            self._sums.pop(before, None)
            del self._groups[before][group]
        if not queue:
            return
        there = status if isinstance(status, Mapping) else {}
        amounts = (mapping(there.get(member)) for member in _FIELDS.values())
        self._queue_of[group] = queue
        self._groups.setdefault(queue, {})[group] = Sums(*amounts)
        self._sums.pop(queue, None)

    def of_queues(self) -> Mapping[str, Sums]:
        for queue, groups in self._groups.items():
            if queue not in self._sums:
                self._sums[queue] = _NOTHING.plus(groups.values())
        return self._sums


# ---- metrics -------------------------------------------------------------------------------------

Sample = tuple[str, Mapping[str, str], float]
"""Name, labels and value of a gauge."""


def queue_metrics(
    queues: Mapping[str, QueueFacts],
    sums: Mapping[str, tuple[Sums, tuple[str, ...]]],
    *,
    namespace: str = "kai",
    labels: Sequence[tuple[str, str, str]] = (),
) -> list[Sample]:
    """KAI's gauges of every queue (spec 6 C35).

    `labels`: (label of the queue, label of the metric, its value for a queue without that label).
    """
    samples: list[Sample] = []
    for name in sorted(queues):
        queue = queues[name]
        allocated = sums[name][0].allocated if name in sums else {}
        named = {
            "queue_name": name,
            "queue_metadata_name": name,
            "queue_display_name": queue.display_name,
            **{metric: queue.labels.get(own, default) for own, metric, default in labels},
        }
        gpus = next(
            (amount for each, amount in sorted(allocated.items()) if each.endswith("/gpu")), ""
        )
        values = {
            "queue_info": 1.0,
            "queue_deserved_gpus": _quota(queue, "gpu", 1),
            "queue_quota_cpu_cores": _quota(queue, "cpu", 1 / 1000),
            "queue_quota_memory_bytes": _quota(queue, "memory", 10**6),
            "queue_allocated_gpus": round(float(parse_or_zero(gpus)), 4),
            "queue_allocated_cpu_cores": float(parse_or_zero(allocated.get("cpu", ""))),
            "queue_allocated_memory_bytes": float(parse_or_zero(allocated.get("memory", ""))),
        }
        samples += [(f"{namespace}_{metric}", named, value) for metric, value in values.items()]
    return samples


def _quota(queue: QueueFacts, resource: str, unit: float) -> float:
    """Unlimited stays -1, whatever the unit."""
    share = queue.resources.get(resource)
    quota = share.get("quota", 0) if isinstance(share, Mapping) else 0
    if isinstance(quota, bool) or not isinstance(quota, (int, float)):
        return 0.0
    return -1.0 if quota == -1 else quota * unit
