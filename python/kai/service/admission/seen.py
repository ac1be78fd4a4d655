"""The queues and pod groups of the cluster, for the reviews of queues."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, mapping, text
from kai.controllers.admission import Known, KnownQueue
from kai.k8s.sinks import DictSink
from kai.k8s.watching import Watch

if TYPE_CHECKING:
    from kai.k8s.client import Client


class Seen(Known):
    """What the watches have shown. Nothing is known before the first complete list."""

    def __init__(self, client: Client) -> None:
        self._queues = DictSink(keep=_queue)
        self._groups = DictSink(keep=_queue_in_use)
        self._watches = [
            Watch(client, kind, sink, optional=True)
            for kind, sink in (("Queue", self._queues), ("PodGroup", self._groups))
        ]

    async def run(self) -> None:
        await asyncio.gather(*(each.run() for each in self._watches))

    def parents(self) -> Mapping[str, str | None] | None:
        if not self._queues.synced:
            return None
        return {name: each.parent or None for (_, name), each in self._queues.objects.items()}

    @property
    def knows_queues(self) -> bool:
        return self._queues.synced

    def queue(self, name: str) -> KnownQueue | None:
        return self._queues.objects.get(("", name))

    def groups_of(self, queue: str) -> Iterable[str]:
        return ["/".join(key) for key, used in self._groups.objects.items() if used == queue]


def _queue(queue: Mapping[str, Any]) -> KnownQueue:
    return KnownQueue(
        parent=text(at(queue, "spec", "parentQueue")),
        guard=text(annotations_of(queue).get(keys.GUARD_ANNOTATION)),
    )


def _queue_in_use(pod_group: Mapping[str, Any]) -> str:
    """The queue of a group; "" if all its pods have ended, as its status says."""
    requested = at(pod_group, "status", "resourcesStatus", "requested")
    amounts = mapping(requested).values()
    has_ended = requested is not None and not any(map(quantities.parse_or_zero, amounts))
    return "" if has_ended else text(at(pod_group, "spec", "queue"))
