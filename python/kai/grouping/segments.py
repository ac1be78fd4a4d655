"""Segments: blocks of consecutive pods of a gang that are placed close together (spec 4 G2-G10).

To the scheduler a segment is an ordinary sub-group. This module is the arithmetic: numbers in,
entries of a PodGroup's `spec.subGroups` out. gangs.py reads the numbers. Raises ValueError with
KAI's message for numbers that cannot be split.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SubGroup = dict[str, Any]  # an entry of spec.subGroups
Constraint = Mapping[str, str]  # a topologyConstraint

MOST_SEGMENTS = 10_000  # spec 4 G4, G8


def constraint_of(topology: str, required: str, preferred: str) -> Constraint | None:
    """A topology constraint, or None unless a topology and one of its levels are named.

    KAI also writes a topology without a level, and such a group never starts (spec 4 W3).

    >>> constraint_of("racks", "rack", "")
    {'topology': 'racks', 'requiredTopologyLevel': 'rack'}
    >>> constraint_of("racks", "", "")
    """
    if not topology or not (required or preferred):
        return None
    members = {
        "topology": topology,
        "requiredTopologyLevel": required,
        "preferredTopologyLevel": preferred,
    }
    return {member: each for member, each in members.items() if each}


def leaf(
    name: str, minimum: int, *, parent: str = "", constraint: Constraint | None = None
) -> SubGroup:
    """A sub-group that contains pods, and how many of them must start together."""
    return _sub_group(name, {"minMember": minimum}, parent, constraint)


def branch(name: str, minimum: int, *, constraint: Constraint | None = None) -> SubGroup:
    """A sub-group of sub-groups, and how many of those must be satisfied."""
    return _sub_group(name, {"minSubGroup": minimum}, "", constraint)


def _sub_group(
    name: str, minimum: dict[str, int], parent: str, constraint: Constraint | None
) -> SubGroup:
    made: SubGroup = {"name": name, **minimum}
    if parent:
        made["parent"] = parent
    if constraint:
        made["topologyConstraint"] = dict(constraint)
    return made


def of_workers(
    workers: int, size: int, minimum: int, constraint: Constraint | None = None
) -> list[SubGroup]:
    """`worker`, and below it worker-0, worker-1, ... of `size` workers each (spec 4 G4).

    The minimum is rounded up to whole segments: the first segments are required, the others have
    minimum 0. A sub-group with minimum 0 counts as satisfied, so `worker` can require all of them.

    >>> [part.get("minMember") for part in of_workers(workers=10, size=4, minimum=6)]
    [None, 4, 4, 0]
    """
    count = -(-workers // size)
    if count > MOST_SEGMENTS:
        raise ValueError(
            f"number of subgroups created for the segmentation {count} is greater than max "
            f"allowed segmentation {MOST_SEGMENTS}"
        )
    if count == 0:
        return [leaf("worker", minimum)]
    needed = -(-minimum // size)
    parts = [branch("worker", count)]
    for segment in range(count):
        held = min(size, workers - segment * size) if segment < needed else 0
        parts.append(leaf(f"worker-{segment}", held, parent="worker", constraint=constraint))
    return parts


def of_worker(index: int, size: int) -> str:
    """The segment of the worker with this index (spec 4 G6).

    >>> of_worker(9, size=4)
    'worker-2'
    """
    return f"worker-{index // size}"


def of_replica(
    pods: int, size: int, *, leader_excluded: bool, constraint: Constraint | None = None
) -> list[SubGroup]:
    """segment-0, segment-1, ... of a leader and its workers, `pods` in total (spec 4 G8-G10).

    The leader is in segment-0 next to its `workers`; if `leader_excluded`, it is in no segment.
    Every segment requires exactly its own pods. (With a single segment KAI counts the leader twice,
    and the group never starts: spec 4 W8.)

    >>> [(part["name"], part.get("minMember")) for part in of_replica(6, 4, leader_excluded=False)]
    [('segment-0', None), ('leader', 1), ('workers', 3), ('segment-1', 2)]
    """
    if size <= 1:
        raise ValueError(f"segmentSize {size} is not valid. It must be greater than 1")
    if size > pods:
        raise ValueError(f"segmentSize {size} is greater than replicasSize {pods}")
    if leader_excluded and not _leader_is_extra(pods, size):
        raise ValueError(
            f"replicasSize {pods} is not divisible by segmentSize {size}. LeaderExcluded policy "
            "is only supported when replicasSize is divisible by segmentSize."
        )
    count = segment_of(pods - 1, pods, size) + 1
    if count > MOST_SEGMENTS:
        raise ValueError(
            f"number of subgroups segments {count} is greater than max allowed segmentation "
            f"{MOST_SEGMENTS}"
        )
    parts = [leaf("leader", 1)]
    if not leader_excluded:
        parts = [
            branch("segment-0", 2, constraint=constraint),
            leaf("leader", 1, parent="segment-0"),
            leaf("workers", _workers_in(0, pods, size), parent="segment-0"),
        ]
    for segment in range(0 if leader_excluded else 1, count):
        held = _workers_in(segment, pods, size)
        parts.append(leaf(f"segment-{segment}", held, constraint=constraint))
    return parts


def segment_of(index: int, pods: int, size: int) -> int:
    """The segment of a pod of a replica; the leader has index 0 (spec 4 G9)."""
    if index == 0:
        return 0
    return (index - 1) // size if _leader_is_extra(pods, size) else index // size


def _leader_is_extra(pods: int, size: int) -> bool:
    """Whether the workers alone fill their segments, so that the leader is an additional pod."""
    return (pods - 1) % size == 0


def _workers_in(segment: int, pods: int, size: int) -> int:
    if _leader_is_extra(pods, size):
        return size
    held = min(size, pods - segment * size)
    return held - 1 if segment == 0 else held
