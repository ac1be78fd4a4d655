"""Checks for errors that must not happen under any fault: a pod that is bound twice, a node with
more pods than it can hold.

    async with Watcher(api, namespace) as watcher:
        ...
        watcher.history.problems        # [] or sentences
        watcher.history.stuck()         # pods that wait although there is room for them

A history processes all versions of nodes and pods in order, so it also detects a node that was
overcommitted only for a moment.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass
from types import TracebackType

from .client import Client, Object, path_of
from .objects import GPU, SCHEDULER


@dataclass
class Known:
    """A pod as it was last seen."""

    name: str
    node: str = ""
    gpus: int = 0
    ended: bool = False
    """It uses nothing: it has ended, or is deleted."""
    waits: bool = False
    """It waits for the scheduler under test."""


class History:
    """The versions of the pods of a test, in the order of the server."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.room: dict[str, int] = {}  # GPUs of each node
        self.pods: dict[str, Known] = {}  # by UID
        self.uids: defaultdict[str, set[str]] = defaultdict(set)  # by name

    def take_node(self, kind: str, node: Object) -> None:
        """An event of a watch: "ADDED", "MODIFIED" or "DELETED", and the object."""
        name = node["metadata"]["name"]
        if kind == "DELETED":
            self.room.pop(name, None)
        else:
            self.room[name] = int(node["status"]["allocatable"].get(GPU, 0))

    def take(self, kind: str, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        name, node = metadata["name"], spec.get("nodeName", "")
        known = self.pods.setdefault(metadata["uid"], Known(name))
        self.uids[name].add(metadata["uid"])
        if known.node and node != known.node:
            self.problems.append(f"pod {name} was bound to {known.node}, and then to {node}")
        known.node, known.gpus = node, gpus_of(spec)
        phase = pod.get("status", {}).get("phase")
        known.ended = kind == "DELETED" or phase in ("Succeeded", "Failed")
        known.waits = (
            not node
            and not known.ended
            and "deletionTimestamp" not in metadata
            and spec.get("schedulerName") == SCHEDULER
        )
        if node:
            self._check(node)

    def forget_all_but(self, uids: set[str]) -> None:
        """A list contains only these pods."""
        for uid, pod in self.pods.items():
            if uid not in uids:
                pod.ended, pod.waits = True, False

    def used(self) -> Counter[str]:
        """The GPUs that are used on each node."""
        held: Counter[str] = Counter()
        for pod in self.pods.values():
            if pod.node and not pod.ended:
                held[pod.node] += pod.gpus
        return held

    def bound(self) -> set[str]:
        """The names of pods that are on a node."""
        return {pod.name for pod in self.pods.values() if pod.node and not pod.ended}

    def stuck(self) -> set[str]:
        """The names of pods that wait although a node has enough free GPUs."""
        held = self.used()
        most = max((gpus - held[name] for name, gpus in self.room.items()), default=-1)
        return {pod.name for pod in self.pods.values() if pod.waits and pod.gpus <= most}

    def _check(self, node: str) -> None:
        held, room = self.used()[node], self.room.get(node)
        if room is None:
            self.problems.append(f"pods are bound to {node}, which is not there")
        elif held > room:
            self.problems.append(f"node {node} has {room} GPUs, and its pods hold {held}")


def gpus_of(spec: Object) -> int:
    limits = (each.get("resources", {}).get("limits", {}) for each in spec["containers"])
    return sum(int(each.get(GPU, 0)) for each in limits)


class Watcher:
    """Keeps a history of a namespace's pods by its own watches, without the fault proxy."""

    def __init__(self, api: Client, namespace: str) -> None:
        self.history = History()
        self._api, self._namespace = api, namespace
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Watcher:
        for kind in ("Node", "Pod"):
            self._take_all(kind, await self._api.items(self._path(kind)))
        self._tasks = [asyncio.create_task(self._follow(kind)) for kind in ("Node", "Pod")]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take_all(self, kind: str, items: list[Object]) -> None:
        if kind == "Pod":
            self.history.forget_all_but({each["metadata"]["uid"] for each in items})
        else:
            self.history.room.clear()
        for each in items:
            self._take(kind, "ADDED", each)

    def _take(self, kind: str, what: str, item: Object) -> None:
        (self.history.take if kind == "Pod" else self.history.take_node)(what, item)

    def _path(self, kind: str) -> str:
        return path_of(kind, self._namespace if kind == "Pod" else "")

    async def _follow(self, kind: str) -> None:
        async for what, found in self._api.follow(self._path(kind)):
            if what == "LISTED":
                self._take_all(kind, found)
            else:
                self._take(kind, what, found)
