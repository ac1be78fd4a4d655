"""Maintenance windows of single nodes, from the maintenance of a workload.

    windows_of(workload, horizon_s(workload, until_s=None))

Nodes are processed in the order of their names, so the order of pools makes no difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kai.api import keys
from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.workload import Maintenance, NodePool, Workload

__all__ = ["Window", "horizon_s", "labels_of", "maintained", "windows_of"]

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


def labels_of(pool: NodePool) -> list[tuple[str, str]]:
    """Labels of a node, including that of its GPU model."""
    labels = list(pool.labels)
    if pool.model and keys.GPU_PRODUCT_LABEL not in dict(labels):
        labels.append((keys.GPU_PRODUCT_LABEL, pool.model))
    return labels


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


def maintained(workload: Workload, nodes: Sequence[NodePool]) -> tuple[Maintenance, ...]:
    """The maintenance of a workload on other nodes: nodes that are gone need none."""
    if not workload.maintenance:
        return ()  # a wrong number of nodes is found later, and their names are not counted here
    before, after = _by_name(workload.nodes), _by_name(nodes)
    # The only node of a pool has the plain name.
    new_names = {f"{pool.name}-0": pool.name for pool in nodes if pool.names() == [pool.name]}
    kept = []
    for each in workload.maintenance:
        names = (new_names.get(name, name) for name in each.nodes)
        left = tuple(name for name in names if name in after or name not in before)
        changed = replace(each, nodes=left)
        is_gone = not (left if each.nodes else _chosen(changed, nodes))
        if not is_gone or not _chosen(each, workload.nodes):  # a mistake is an error later
            kept.append(changed if not is_gone else each)
    return tuple(kept)


def _by_name(pools: Sequence[NodePool]) -> dict[str, list[str]]:
    """The nodes of each pool, and of each name of a node."""
    nodes = {name: [name] for pool in pools for name in pool.names()}
    return {pool.name: pool.names() for pool in pools} | nodes


def _chosen(given: Maintenance, nodes: Sequence[NodePool]) -> list[str]:
    pools = {name: pool for pool in nodes for name in pool.names()}
    named = _by_name(nodes)
    chosen = {name for each in given.nodes for name in named.get(each, ())}
    wanted = set(given.labels)
    return sorted(
        name for name in (chosen if given.nodes else pools) if wanted <= set(labels_of(pools[name]))
    )


def _nodes(given: Maintenance, workload: Workload) -> list[str]:
    known = _by_name(workload.nodes)
    check_known(given.nodes, known, f"maintenance {given.name}: nodes: there is no node")
    nodes = _chosen(given, workload.nodes)
    if not nodes:
        member = "labels" if given.labels else "nodes"
        raise InvalidInputError(f"maintenance {given.name}: {member}: no node has all of them")
    return nodes
