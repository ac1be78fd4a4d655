"""Changes of the queues above a waiting group: their limits, quotas and weights."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from kai.api import keys
from kai.api.reading import at, mapping
from kai.engine import objects, text
from kai.engine.amounts import RESOURCE_NAMES, part
from kai.engine.fixing.changes import Change, Right, changed, patch, put, with_spec, yaml_of
from kai.engine.fixing.ladders import Ladder, one, several
from kai.engine.fixing.of_group import of_group
from kai.engine.fixing.waiting import Waiting
from kai.engine.left_out import LeftOut
from kai.engine.situation import exact

_RESOURCE = "queues.scheduling.run.ai"
_UNITS: Mapping[str, float] = {"gpu": 1, "cpu": 1, "memory": 2**30}
_OPTIONS = {
    ("quota", "gpu"): "deserved_gpus",
    ("quota", "cpu"): "deserved_cpus",
    ("quota", "memory"): "deserved_memory",
    ("limit", "gpu"): "gpu_limit",
    ("limit", "cpu"): "cpu_limit",
    ("limit", "memory"): "memory_limit",
}


def limits(waiting: Waiting) -> Iterator[Ladder]:
    """The limits that refused it, raised by what is missing; or, if others of the queue would take
    that first, to what all its pods request."""
    for reason in waiting.reasons("over_limit"):
        facts = reason.facts
        needed = (facts["allocated"] or 0) + facts["requested"]
        if facts["limit"] is not None and needed > facts["limit"]:
            wanted = _wanted(waiting, facts["queue"], facts["resource"])
            values = [needed, max(needed, wanted)]
            yield _raised("limit", facts["queue"], facts["resource"], facts["limit"], values)


def quotas_of_non_preemptible(waiting: Waiting) -> Iterator[Ladder]:
    """The quotas into which its non-preemptible pods must fit."""
    for reason in waiting.reasons("non_preemptible_over_quota"):
        facts = reason.facts
        needed = (facts["allocated"] or 0) + facts["requested"]
        if facts["deserved"] is not None and needed > facts["deserved"]:
            yield _raised("quota", facts["queue"], facts["resource"], facts["deserved"], [needed])


def quotas(waiting: Waiting) -> Iterator[Ladder]:
    """More quota for its queue, or for one above it: a larger fair share may be reclaimed."""
    for queue in waiting.path:
        gpu = waiting.plan.queues[queue].gpu if queue in waiting.plan.queues else None
        if gpu is None or gpu.deserved is None or gpu.fair_share is None:
            continue
        needed = waiting.has(queue) + waiting.requested
        lacking = needed - exact(gpu.fair_share)
        if waiting.requested and lacking > 0:
            values = [float(gpu.deserved + lacking), float(needed)]
            values.append(max(values[-1], _wanted(waiting, queue, "gpu")))
            yield _raised("quota", queue, "gpu", gpu.deserved, values)


def weights(waiting: Waiting) -> Iterator[Ladder]:
    """A larger weight of a queue on its path: a larger part of what no queue deserves."""
    for queue in waiting.path:
        if queue not in waiting.plan.queues:
            continue
        gpu = waiting.plan.queues[queue].gpu
        weight, share, quota = gpu.over_quota_weight, gpu.fair_share, gpu.deserved
        if not weight or share is None or quota is None or share <= quota:
            continue
        beside = [each for each in _siblings(waiting, queue) if each.over_quota_weight]
        surplus = sum((each.fair_share or 0) - (each.deserved or 0) for each in beside)
        others = sum(float(each.over_quota_weight or 0) for each in beside)
        wanted = float(waiting.has(queue) + waiting.requested) - quota
        total = surplus + share - quota
        if not others or not share - quota < wanted < total:
            continue
        # The part of the surplus that w out of w + others gets is what it lacks.
        needed = wanted * others / (total - wanted)
        values = sorted({math.ceil(needed), math.ceil(needed) + 1, 2 * math.ceil(needed)})
        yield Ladder(
            [value for value in values if value > weight],
            partial(_weight, queue, weight),
            unit=1,
            now=weight,
        )


def missing_queues(waiting: Waiting) -> Iterator[Ladder]:
    """Its queue is missing, or has queues below it: another queue, or a new one."""
    name = waiting.group.queue
    parents = waiting.situation.queue_parents
    inner = {parent for parent in parents.values() if parent}
    leaves = [queue for queue in parents if queue not in inner]
    if any(waiting.reasons("queue_not_leaf")):
        below = [queue for queue in leaves if name in waiting.situation.path_to_root(queue)]
        if below:
            yield several([_moved(waiting, queue) for queue in below[:3]])
    elif any(waiting.reasons("queue_does_not_exist")):
        for close in difflib.get_close_matches(name, leaves, n=1):
            yield one(_moved(waiting, close))
        if name and ("Queue", name) not in LeftOut(waiting.plan.rejected):
            # An unlimited quota would take GPUs from all other queues.
            quotas = dict.fromkeys((0, math.ceil(waiting.requested)))
            parent = _usual_parent(parents)
            yield several([_created(name, parent, quota) for quota in quotas])


def _wanted(waiting: Waiting, queue: str, resource: str) -> float:
    """What all pods of a queue request, running or waiting, in the unit of reasons."""
    amount = getattr(waiting.plan.queues.get(queue), resource, None)
    return float(amount.request or 0) if amount is not None else 0.0


def _siblings(waiting: Waiting, queue: str) -> list[Any]:
    parents = waiting.situation.queue_parents
    return [
        waiting.plan.queues[each].gpu
        for each, parent in parents.items()
        if each != queue and parent == parents.get(queue) and each in waiting.plan.queues
    ]


def _usual_parent(parents: Mapping[str, str | None]) -> str | None:
    """The parent of most leaf queues."""
    inner = [parent for parent in parents.values() if parent]
    return max(sorted(set(inner)), key=inner.count, default=None)


# ---- the changes ---------------------------------------------------------------------------------


def _raised(what: str, queue: str, resource: str, now: float, needed: list[float]) -> Ladder:
    unit = _UNITS[resource]
    values = sorted({math.ceil(Fraction(each) / Fraction(unit)) * unit for each in needed})
    return Ladder(
        [value for value in values if value > now],
        partial(_amount, what, queue, resource, now),
        unit=unit,
        now=now,
    )


def _amount(what: str, queue: str, resource: str, now: float, value: float) -> Change:
    name = RESOURCE_NAMES[resource]
    shown = f"raise the {what} of {name} of queue {queue} from {_short(resource, now)} to "
    options: Any = {_OPTIONS[what, resource]: value}
    # In the units of the fields, and exactly what the edit writes.
    body = {"spec": {"resources": {resource: objects.queue_resource(resource, options)}}}
    return Change(
        what,
        shown + _short(resource, value),
        patch(_RESOURCE, "", queue, body),
        edit=lambda cluster: cluster.update_queue(queue, **options),
        rights=(Right("patch", "Queue", queue),),
    )


def _short(resource: str, value: float) -> str:
    return part(resource, value)


def _weight(queue: str, now: float, value: float) -> Change:
    body = {"spec": {"resources": {"gpu": {"overQuotaWeight": value}}}}

    def weighted(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
        resources = mapping(at(manifest, "spec", "resources"))
        gpu = {**mapping(resources.get("gpu")), "overQuotaWeight": value}
        return with_spec(manifest, resources={**resources, "gpu": gpu})

    return Change(
        "weight",
        f"raise the GPU weight of queue {queue} from {text.number(now)} to {text.number(value)}",
        patch(_RESOURCE, "", queue, body),
        edit=changed("Queue", [queue], weighted),
        rights=(Right("patch", "Queue", queue),),
    )


def _moved(waiting: Waiting, queue: str) -> Change:
    return of_group(
        waiting,
        "queue",
        f"put {waiting.owner} into queue {queue}",
        {"queue": queue},
        {"metadata": {"labels": {keys.QUEUE_LABEL: queue}}},
    )


def _created(name: str, parent: str | None, quota: int) -> Change:
    options: Any = {"parent": parent} if parent else {}
    manifest = objects.queue(name, deserved_gpus=quota, **options)
    shown = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": manifest["spec"],
    }
    below = f" below {parent}" if parent else ""
    return Change(
        "queue",
        f"create queue {name}{below} with a quota of {text.count(quota, 'GPU')}",
        yaml_of(shown, of="kubectl apply -f -"),
        edit=put("Queue", manifest),
        rights=(Right("create", "Queue", name),),
    )
