"""Maintenance windows of single nodes, from the maintenance of a workload.

    windows_of(workload, horizon_s(workload, until_s=None))

Nodes are processed in the order of their names, so the order of pools makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.node_pools import Maintenance, chosen, nodes_by_name
from kai.sim.workload import Workload

__all__ = ["Window", "horizon_s", "windows_of"]

MOST_WINDOWS = 1_000_000


@dataclass(frozen=True)
class Window:
    """A node accepts no new pods from ``from_s`` to ``until_s``."""

    node: str
    from_s: float
    until_s: float
    drains: bool


def horizon_s(workload: Workload, until_s: float | None) -> float:
    """Seconds up to which failures and repeated maintenance are generated.

    That is ``until_s``, otherwise twice the sum of the last arrival and the longest job that ends.
    """
    if until_s is not None:
        return until_s
    jobs = workload.jobs
    longest = jobs.duration_s[np.isfinite(jobs.duration_s)].max(initial=0.0)
    return float(jobs.arrival_s.max(initial=0.0) + longest) * 2


def windows_of(workload: Workload, end_s: float) -> list[Window]:
    """All windows that begin before ``end_s``.

    Raises InvalidInputError for an invalid maintenance, with its name and member.
    """
    return [window for each in workload.maintenance for window in _windows(each, workload, end_s)]


def _windows(given: Maintenance, workload: Workload, end_s: float) -> Iterator[Window]:
    def wrong(problem: str) -> InvalidInputError:
        return InvalidInputError(f"maintenance {given.name}: {problem}")

    for member in ("at_s", "duration_s", "every_s"):
        value = getattr(given, member)
        least = 0.0 if member == "at_s" else 1e-9
        if value is not None and not least <= value < math.inf:
            raise wrong(f"{member} {value:g} is not a time{'' if member == 'at_s' else ' above 0'}")
    if given.count is not None and given.count < 1:
        raise wrong(f"count {given.count} is less than 1")
    nodes = _nodes(given, workload)
    many = min(given.count or len(nodes), len(nodes))
    times = 1
    if given.every_s is not None:
        times = max(math.ceil((end_s - given.at_s) / given.every_s), 1)
    if times * many > MOST_WINDOWS:
        raise wrong(f"every_s {given.every_s:g} makes more than {MOST_WINDOWS:,} windows")
    for turn in range(times):
        from_s = given.at_s + turn * (given.every_s or 0.0)
        for place in range(turn * many, (turn + 1) * many):
            node = nodes[place % len(nodes)]
            yield Window(node, from_s, from_s + given.duration_s, given.drain)


def _nodes(given: Maintenance, workload: Workload) -> list[str]:
    known = nodes_by_name(workload.nodes)
    check_known(given.nodes, known, f"maintenance {given.name}: nodes: there is no node")
    nodes = chosen(given, workload.nodes)
    if not nodes:
        member = "labels" if given.labels else "nodes"
        raise InvalidInputError(f"maintenance {given.name}: {member}: no node has all of them")
    return nodes
