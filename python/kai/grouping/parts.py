"""A gang: how many pods of a group start together, and the sub-groups.

gangs.py, job_sets.py and ray.py read it from a workload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kai.api.owning import Manifest
from kai.grouping.segments import Constraint, SubGroup


def in_none(_: Manifest) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Gang:
    """How many pods of a group start together, and its sub-groups.

    `min_sub_group`: how many of the top sub-groups must start, if this replaces a number of pods.
    `constraint`: that of the whole group, where the workload has it in a field.
    `coming_up`: its first pods run and the others do not exist yet, so it is not stale.
    `sub_group_of` returns the sub-group of a pod, "" for none; it raises InvalidField for a pod
    without the label that identifies it.
    """

    min_member: int = 1
    sub_groups: Sequence[SubGroup] = ()
    sub_group_of: Callable[[Manifest], str] = field(default=in_none)
    min_sub_group: int | None = None
    coming_up: bool = False
    constraint: Constraint | None = None


def leaves(parts: Sequence[SubGroup]) -> frozenset[str]:
    """The sub-groups that contain pods directly."""
    return frozenset(part["name"] for part in parts if "minMember" in part)
