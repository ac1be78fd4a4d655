"""Node pools with more or fewer nodes: the nodes of a workload in a what-if.

    with_more(workload.nodes, 10, "a100")      # 10 more nodes like those of this pool
    without(workload.nodes, {"a100": 3})       # 3 nodes fewer

All nodes of a pool are equal, so only their number matters. The limits of an autoscaler move with
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kai.api.nearest import check_known
from kai.errors import InvalidInputError, NotFoundError
from kai.sim.workload import NodePool

__all__ = ["with_more", "without"]


def with_more(pools: Sequence[NodePool], count: int, like: str) -> tuple[NodePool, ...]:
    """The pools with `count` more nodes in the pool with this name, or with a node of this name.

    >>> [pool.count for pool in with_more([NodePool("a100", 4)], 2, "a100-3")]
    [6]

    Raises NotFoundError for an unknown name.
    """
    owner = {name: pool.name for pool in pools for name in (*pool.names(), pool.name)}
    check_known([like], owner, "there is no node", NotFoundError)
    return tuple(_resized(pool, count) if pool.name == owner[like] else pool for pool in pools)


def without(pools: Sequence[NodePool], gone: Mapping[str, int]) -> tuple[NodePool, ...]:
    """The pools without a number of nodes each, by the name of the pool; empty pools are left out.

    >>> without([NodePool("a100", 4), NodePool("h100", 2)], {"a100": 1, "h100": 2})[0].count
    3

    Raises InvalidInputError if no node is left.
    """
    left = [_resized(pool, -gone.get(pool.name, 0)) for pool in pools]
    if found := tuple(pool for pool in left if pool.most):
        return found
    raise InvalidInputError("no node is left")


def _resized(pool: NodePool, more: int) -> NodePool:
    count, scale = max(pool.count + more, 0), pool.autoscale
    if scale is None:
        return replace(pool, count=count)
    most = max(scale.most + more, 0)
    least = max(scale.least + more, 0)
    return replace(
        pool, count=min(count, most), autoscale=replace(scale, most=most, least=min(least, most))
    )
