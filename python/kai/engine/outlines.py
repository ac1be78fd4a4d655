"""A short outline of each pod group of a plan, so that only changed groups are read in full.

    names = [each.name for each in outlines(plan) if each.bound or each.reason]
    for group in groups_named(plan, names): ...

Most groups of a cluster run without changes: they cost nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kai.engine.plan import Plan
from kai.engine.values import GroupPlan, group_plan_of


class Outline(NamedTuple):
    """A pod group: its verdict, the code and message of its first reason ("": none), and how many
    pods the cycle bound, promised a place and evicted."""

    name: str
    verdict: str
    reason: str
    message: str
    bound: int
    pipelined: int
    evicted: int


def outlines(plan: Plan, names: Collection[str] | None = None) -> list[Outline]:
    """Outlines of pod groups, by name.

    `names`: among groups that run, without a reason or a decision, only these; None: all.
    """
    wanted = None if names is None else list(names)
    return [Outline._make(row) for row in sorted(plan._compiled.outlines(wanted))]


def groups_named(plan: Plan, names: Sequence[str]) -> list[GroupPlan]:
    """The groups with these names. Raises KeyError for an unknown name."""
    rows = plan._compiled.groups(list(names), evictions=False)
    return [group_plan_of(name, *row) for name, (row, _) in zip(names, rows, strict=True)]
