"""What pod groups and queues hold and ask for, as their status says it (spec 6 C32-C35).

    write = pod_group_write(GroupAmounts("team/train", requested={"cpu": "2"}), seen={})
    writes = queue_writes(queues, sums_of_groups)

Pure functions: each returns the patch that makes the status right, or nothing where it is right.
After a patch, and after any other change of the object, the caller asks again with what is there
then; so a patch that was worked out from old facts is mended by the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.quantities import parse_or_zero
from kai.api.writes import Lane, Write
from kai.controllers.amounts import Amounts, added, equal

OF_GROUP, OF_QUEUE = "resources-of-group/", "status-of-queue/"
"""The keys of these writes begin so."""
_FIELDS = {
    "requested": "requested",
    "allocated": "allocated",
    "allocated_non_preemptible": "allocatedNonPreemptible",
}


@dataclass(frozen=True, slots=True)
class Sums:
    """What pods ask for, what those that have a node hold, and the part of it that may not be
    preempted."""

    requested: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    allocated_non_preemptible: Amounts = field(default_factory=dict)

    def plus(self, others: Iterable[Sums]) -> Sums:
        """The sum of these and of others."""
        all_of_them = [self, *others]
        return Sums(*(added(*(getattr(each, name) for each in all_of_them)) for name in _FIELDS))


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue as it is in the cluster. `status`: what the object says now."""

    name: str
    parent: str = ""
    display_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    status: Mapping[str, Any] = field(default_factory=dict)


def pod_group_write(name: str, sums: Sums, there: Mapping[str, Any] | None) -> Write | None:
    """The patch of a pod group's status; None where it says so already.

    `name`: "namespace/name". `there`: `status.resourcesStatus` as it is, if it is.
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
    """By queue, what its groups and all queues below it hold; and the queues right below, sorted.

    `of_groups`: by queue, the sum of the pod groups that name it. A circle of parents is cut where
    it closes: its queues hold what is below them, and no sum runs for ever.
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


def queue_writes(queues: Mapping[str, QueueFacts], of_groups: Mapping[str, Sums]) -> list[Write]:
    """The patches of all queues whose status is not what it has to be, the whole tree at once."""
    found = queue_sums(queues, of_groups).items()
    writes = (queue_write(name, *each, queues[name].status) for name, each in found)
    return [write for write in writes if write is not None]


def queue_write(
    name: str, sums: Sums, children: Sequence[str], there: Mapping[str, Any]
) -> Write | None:
    """The patch of one queue's status; None where it says so already.

    `sums`: with those of the queues below it. `children`: these queues, sorted.
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
    """What a merge patch needs to say: null for a resource that is not there any more.

    It has every amount that differs or may be under way, as a later patch takes the place of an
    earlier one that still waits.
    """
    wanted = {said: added(getattr(sums, name)) for name, said in _FIELDS.items()}
    existing = {said: _mapping(there.get(said)) for said in wanted}
    if all(equal(wanted[said], existing[said]) for said in wanted):
        return {}
    return {
        said: {**dict.fromkeys(sorted(set(existing[said]) - set(amounts))), **amounts}
        if amounts
        else None
        for said, amounts in wanted.items()
        if amounts or existing[said]
    }


def _mapping(value: object) -> Mapping[str, str]:
    return value if isinstance(value, Mapping) else {}


_NOTHING = Sums()


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

    `labels`: (label of the queue, label of the metric, its value where the queue has no such
    label).
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
