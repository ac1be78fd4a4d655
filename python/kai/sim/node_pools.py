"""Node pools of a workload, and which of their nodes are maintained.

NodePool("a100", 4).names()                               # ["a100-0", "a100-1", ...]
maintained(workload.maintenance, workload.nodes, after)   # as far as these nodes are left
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kai.api import keys

__all__ = [
    "Autoscale",
    "Maintenance",
    "NodePool",
    "chosen",
    "labels_of",
    "maintained",
    "nodes_by_name",
]


@dataclass(frozen=True)
class Autoscale:
    """How an autoscaler grows and shrinks a pool of nodes."""

    most: int  # the most nodes
    least: int = 0
    ready_s: float = 120.0  # from an order until the node accepts pods
    idle_s: float = 600.0  # a node that was empty for this long is removed


@dataclass(frozen=True)
class Maintenance:
    """Nodes that accept no new pods for a while.

    These are the nodes named in ``nodes`` (nodes or pools), those with all ``labels``, or all; with
    ``count`` that many of them, in the order of their names, each time the next ones.
    """

    name: str
    at_s: float
    duration_s: float
    nodes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    count: int | None = None
    drain: bool = False  # pods on them are evicted at the start; otherwise they keep running
    every_s: float | None = None  # repeated; None: once


@dataclass(frozen=True)
class NodePool:
    """Equal nodes, named ``name-0``, ``name-1``, ...; a pool of one uses the plain name.

    A pool with ``autoscale`` starts with ``count`` nodes, and all of its nodes are numbered.
    """

    name: str
    count: int = 1
    gpus: int = 8
    cpu: float = 128.0
    memory_mib: int = 1024 * 1024
    model: str = ""  # of its GPUs
    gpu_memory_mib: int = 0  # of each; 0: unknown
    labels: tuple[tuple[str, str], ...] = ()
    pods: int = 110  # most pods of a node
    autoscale: Autoscale | None = None
    price: float = 0.0  # of a node for an hour, in any currency

    @property
    def most(self) -> int:
        """The most nodes at the same time."""
        return self.count if self.autoscale is None else self.autoscale.most

    def names(self) -> list[str]:
        """The names of its nodes, including those that an autoscaler may add."""
        if self.count == 1 and self.autoscale is None:
            return [self.name]
        return [f"{self.name}-{i}" for i in range(self.most)]


def labels_of(pool: NodePool) -> list[tuple[str, str]]:
    """Labels of a node, including that of its GPU model."""
    labels = list(pool.labels)
    if pool.model and keys.GPU_PRODUCT_LABEL not in dict(labels):
        labels.append((keys.GPU_PRODUCT_LABEL, pool.model))
    return labels


def maintained(
    maintenance: Sequence[Maintenance], before: Sequence[NodePool], after: Sequence[NodePool]
) -> tuple[Maintenance, ...]:
    """The maintenance of nodes on other nodes: those that are gone need none."""
    if not maintenance:
        return ()  # a wrong number of nodes is found later, and their names are not counted here
    known, left_over = nodes_by_name(before), nodes_by_name(after)
    # The only node of a pool has the plain name.
    new_names = {f"{pool.name}-0": pool.name for pool in after if pool.names() == [pool.name]}
    kept = []
    for each in maintenance:
        names = (new_names.get(name, name) for name in each.nodes)
        left = tuple(name for name in names if name in left_over or name not in known)
        changed = replace(each, nodes=left)
        is_gone = not (left if each.nodes else chosen(changed, after))
        if not is_gone or not chosen(each, before):  # a mistake is an error later
            kept.append(changed if not is_gone else each)
    return tuple(kept)


def nodes_by_name(pools: Sequence[NodePool]) -> dict[str, list[str]]:
    """The nodes of each pool, and of each name of a node."""
    nodes = {name: [name] for pool in pools for name in pool.names()}
    return {pool.name: pool.names() for pool in pools} | nodes


def chosen(given: Maintenance, nodes: Sequence[NodePool]) -> list[str]:
    """The names of all nodes that may be maintained, in order."""
    pools = {name: pool for pool in nodes for name in pool.names()}
    named = nodes_by_name(nodes)
    found = {name for each in given.nodes for name in named.get(each, ())}
    wanted = set(given.labels)
    return sorted(
        name for name in (found if given.nodes else pools) if wanted <= set(labels_of(pools[name]))
    )
