"""What happened between two worlds, as events for a cluster that lives on.

    after = step(before, scheduler.plan(cluster, now=now), now=now)
    carry_over(cluster, before, after)

A cluster that gets events is planned at the cost of what changed, and its scheduler keeps what it
has promised (docs/concepts/eviction.md); one that is read anew from each world has no past.
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
    """Kind, name and object of everything that differs; None: it is gone.

    Objects that both worlds share, as those of `kai.sim.world.step` do, are not compared.
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
    """The cluster, which was as `before` says, is as `after` says from now on."""
    for kind, name, manifest in changes(before, after):
        if manifest is None:
            cluster.delete(kind, name)
        else:
            cluster.upsert({**manifest, "kind": kind})


def _name_of(kind: str, manifest: Mapping[str, Any]) -> str:
    if kinds.KINDS[kind].cluster_scoped:
        return str(manifest["metadata"]["name"])
    return key_of(manifest)
