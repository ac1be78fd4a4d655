"""A gang: how many pods of a group start together, and in which parts.

What reads it from a workload stands in gangs.py, job_sets.py and ray.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kai.grouping.owners import Manifest
from kai.grouping.segments import SubGroup


def in_none(_: Manifest) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Gang:
    """How many pods of a group start together, and in which sub-groups.

    `min_sub_group`: how many of the sub-groups at the top, where that is said instead of a number
    of pods. `coming_up`: its first pods run and the rest is still to come, so that it is not stale
    yet. `sub_group_of` names the sub-group of a pod, "" where it is in none; it raises Nonsense for
    a pod that does not say which one it is.
    """

    min_member: int = 1
    sub_groups: Sequence[SubGroup] = ()
    sub_group_of: Callable[[Manifest], str] = field(default=in_none)
    min_sub_group: int | None = None
    coming_up: bool = False


def leaves(parts: Sequence[SubGroup]) -> frozenset[str]:
    """The sub-groups that pods can be in."""
    return frozenset(part["name"] for part in parts if "minMember" in part)
