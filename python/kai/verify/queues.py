"""The amounts that pods use in queues, and the quotas and limits of queues (spec 1 F20-F34).

All are read from the raw objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kai.api import keys
from kai.api.mig import gpus_of_slice
from kai.verify.objects import (
    GPU,
    PodView,
    World,
    device_memory_mib,
    spec_of,
)

__all__ = ["QUEUE_RESOURCES", "ROUNDING", "is_flat", "path", "queue_amounts", "quota_of"]

UNLIMITED = -1
ROUNDING = Fraction(1, 10**6)
QUEUE_RESOURCES = ("cpu", "memory", GPU)
_UNITS = {"cpu": Fraction(1, 1000), "memory": Fraction(10**6), GPU: Fraction(1)}


def is_flat(world: World) -> bool:
    """Whether the parents of queues are ignored, so that all queues are equal (spec 1 F12)."""
    return (world.snapshot.get("schedulerParams") or {}).get("fullHierarchyFairness") is False


def path(world: World, queue: str) -> Iterator[str]:
    """A queue and its ancestors; in a loop of parents, each queue once."""
    flat, seen = is_flat(world), set[str]()
    while queue in world.queues and queue not in seen:
        seen.add(queue)
        yield queue
        queue = "" if flat else spec_of(world.queues[queue]).get("parentQueue") or ""


def quota_of(world: World, queue: str, resource: str, what: str) -> Fraction | None:
    """A ``quota`` or ``limit`` in cores, bytes, devices; ``None`` is unlimited (spec 1 F2-F6)."""
    given = (spec_of(world.queues[queue]).get("resources") or {}).get(resource) or {}
    value = Fraction(str(given.get(what) or 0))
    if value == UNLIMITED or (resource == "memory" and value < 0):
        return None
    return value * _UNITS[resource]


def queue_amounts(world: World, pod: PodView, node_name: str) -> dict[str, Fraction]:
    """The amounts that a pod on this node uses in its queues (spec 1 F21-F25).

    They are 0 if the node is not in the cluster.
    """
    node = world.nodes.get(node_name)
    if node is None:
        return {}
    request = pod.request
    amounts = {r: request.amounts.get(r, Fraction(0)) for r in ("cpu", "memory")}
    gpus = request.amounts.get(GPU, Fraction(0))
    if request.portion is not None:
        gpus = _hundredths(request.portion) * request.devices
    elif request.memory_mib is not None:
        part = Fraction(request.memory_mib, device_memory_mib(node))
        gpus = Fraction(-(-part.numerator * 100 // part.denominator), 100) * request.devices
    return {**amounts, GPU: gpus + gpus_of_slices(world, pod)}


def gpus_of_slices(world: World, pod: PodView) -> Fraction:
    """The MIG part of a pod's GPUs.

    It is part of the amount, but does not make GPUs an "involved" resource (spec 1 F91).
    """
    in_parts = (world.snapshot.get("schedulerParams") or {}).get("countMigAsParts") is True
    slices = (
        amount * gpus_of_slice(name, in_parts=in_parts)
        for name, amount in pod.request.amounts.items()
        if name.startswith(keys.MIG_PREFIX)
    )
    return sum(slices, Fraction(0))


def _hundredths(portion: Fraction) -> Fraction:
    """Rounded half up to two decimals (spec 3 R7)."""
    return Fraction(int(portion * 100 + Fraction(1, 2)), 100)
