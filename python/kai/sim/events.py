"""The changes between two cluster states, as events for a cluster that is updated in place.

    after = step(before, scheduler.plan(cluster, now=now), now=now)
    carry_over(cluster, before, after)

A cluster with events is planned at the cost of the changes, and its scheduler keeps its promises
(docs/concepts/eviction.md). A cluster that is loaded again from each state has no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kai.api import kinds
from kai.sim.objects import key_of

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

__all__ = ["carry_over", "changes"]

Json = dict[str, Any]


def changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, str, Json | None]]:
    """Kind, name and object of every difference; None: it was deleted.

    Objects that both states share, such as those of `kai.sim.world.step`, are not compared.
    """
    for kind, listed in kinds.LISTS.items():
        old = before["rawObjects"].get(listed) or []
        new = after["rawObjects"].get(listed) or []
        if old is new:
            continue
        were = {_name_of(kind, each): each for each in old}
        for each in new:
            name = _name_of(kind, each)
            was = were.pop(name, None)
            if was is not each and was != each:
                yield kind, name, each
        for name in were:
            yield kind, name, None


def carry_over(cluster: Cluster, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Updates the cluster from the state `before` to the state `after`."""
    for kind, name, manifest in changes(before, after):
        if manifest is None:
            cluster.delete(kind, name)
        else:
            cluster.upsert({**manifest, "kind": kind})


def _name_of(kind: str, manifest: Mapping[str, Any]) -> str:
    if kinds.KINDS[kind].cluster_scoped:
        return str(manifest["metadata"]["name"])
    return key_of(manifest)
