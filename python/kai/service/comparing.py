"""Compares what the watches have shown with the API server: events can be lost on their way.

    comparing = Comparing(client, period, kinds, may_compare, list_anew, lost)
    task = asyncio.create_task(comparing.run())
    comparing.turned(turn)                   # after every turn

Every `period` seconds the objects of each kind are counted at the version that its watch has come
to: a list with `limit=1` returns one object and the number of all others. A difference that is
there a moment later as well means a lost event (or one that was shown twice). Then the kind is
listed again, which corrects the store, and `lost` is called with what the list has changed.

An object that has changed without an event leaves the number as it was. For these, one page of 500
objects of each kind is read each time, without spec and status, and their versions are compared.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kai.errors import KaiError
from kai.k8s.client import version_in
from kai.k8s.sinks import METADATA_LIST_KIND
from kai.k8s.watching import METADATA_LIST

if TYPE_CHECKING:
    from kai import _core
    from kai.controllers.planning.turns import Turn
    from kai.k8s.answers import Answer
    from kai.k8s.client import Client

AGAIN_AFTER_S = 2.0
"""A difference counts if it is still there after this time."""
LONGEST_S = 30.0
"""Time limit for what a list has changed to arrive from the planning thread."""
PAGE = "500"


Changes = tuple[int, int, int, list[str]]
"""What a list has changed: objects that came, went and changed, and some of their names."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What was found: `shown` objects by the watch, `there` on the server, and what the list has
    changed, with some of the names."""

    kind: str
    shown: int
    there: int
    added: int
    gone: int
    changed: int
    names: tuple[str, ...]

    @property
    def events(self) -> int:
        return max(1, self.added + self.gone + self.changed)


class Comparing:
    """For the event loop. `may_compare`: this process leads. `list_anew`: lists kinds again.
    `thread`: for calls of `feed`, which may wait for a plan."""

    def __init__(
        self,
        client: Client,
        feed: _core.Feed,
        thread: Executor,
        *,
        period: float,
        kinds: Iterable[str],
        may_compare: Callable[[], bool],
        list_anew: Callable[[str], Awaitable[None]],
        lost: Callable[[Lost], None],
    ) -> None:
        self._client, self._feed, self._thread = client, feed, thread
        self._period, self._kinds = period, tuple(kinds)
        self._may_compare, self._list_anew, self._lost = may_compare, list_anew, lost
        self._shown: dict[str, tuple[str, int]] = {}  # by kind: version and objects
        self._relisted: dict[str, Changes] = {}  # by kind
        self._next: dict[str, str] = {}  # by kind: the token of the next page to compare

    def turned(self, turn: Turn) -> None:
        """A turn is over."""
        self._shown = {kind: (version, objects) for kind, version, objects in turn.shown}
        for kind, added, gone, changed, names in turn.relisted:
            self._relisted[kind] = (added, gone, changed, names)

    async def run(self) -> None:
        """Compares until it is cancelled. If the server does not answer, the next time follows."""
        clock = self._client.clock
        while True:
            await clock.sleep(max(self._period - AGAIN_AFTER_S, self._period / 2))
            for kind in self._kinds:
                if not self._may_compare():
                    break
                try:
                    await self._compare(kind)
                except KaiError:
                    continue

    async def _compare(self, kind: str) -> None:
        page = await self._page(kind)
        version = self._shown.get(kind, ("", 0))[0]
        if not await self._difference(kind, version) and not await self._behind(kind, page):
            return
        await self._client.clock.sleep(AGAIN_AFTER_S)
        difference = await self._difference(kind, version)
        if not difference and not await self._behind(kind, page):
            return
        shown = self._shown[kind][1]
        self._relisted.pop(kind, None)
        await self._list_anew(kind)
        ends = self._client.clock.monotonic() + LONGEST_S
        while kind not in self._relisted and self._client.clock.monotonic() < ends:
            await self._client.clock.sleep(0.05)
        added, gone, changed, names = self._relisted.pop(kind, (0, 0, 0, []))
        self._lost(Lost(kind, shown, shown + difference, added, gone, changed, tuple(names)))

    async def _difference(self, kind: str, since: str) -> int:
        """How many objects more the server has than the watch has shown; 0 also if that is unknown.

        The numbers are of the same version. If the watch has shown nothing since the version
        `since`, the number of today counts as well: the lost event may be the last one.
        """
        version, objects = self._shown.get(kind, ("", 0))
        if not version:
            return 0
        at_it = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
        there = await self._number(kind, at_it)
        if there in (None, objects) and version == since:
            there = await self._number(kind, {})
            if self._shown[kind][0] != since:
                return 0
        return 0 if there is None else there - objects

    async def _number(self, kind: str, version: dict[str, str]) -> int | None:
        """The number of objects; None if the server does not have the version, or no number."""
        answer = await self._list(kind, {"limit": "1", **version})
        if answer.status >= 300:
            return None
        page = json.loads(answer.body)
        metadata, items = page["metadata"], page["items"] or ()
        if metadata.get("continue") and "remainingItemCount" not in metadata:
            return None
        return len(items) + int(metadata.get("remainingItemCount") or 0)

    async def _page(self, kind: str) -> bytes:
        """The next page of the kind; after the last one comes the first. b"": none this time."""
        token = self._next.pop(kind, "")
        answer = await self._list(kind, {"limit": PAGE, **({"continue": token} if token else {})})
        if answer.status == 410:  # the token is old; the answer has one for the objects of today
            token = json.loads(answer.body).get("metadata", {}).get("continue", "")
            answer = await self._list(kind, {"limit": PAGE, "continue": token})
        if answer.status >= 300:
            return b""
        self._next[kind] = json.loads(answer.body)["metadata"].get("continue", "")
        return answer.body

    async def _behind(self, kind: str, page: bytes) -> list[str]:
        """The objects in the page that the watch has shown only at earlier versions."""
        if not page or kind not in self._shown:
            return []
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._feed.behind, kind, page)

    async def _list(self, kind: str, parameters: dict[str, str]) -> Answer:
        """A list without specs; status 410: the server does not have this version any more."""
        client = self._client
        path, kinds = (await client.resource(kind)).path(), (METADATA_LIST_KIND,)
        mark = client.versions.mark(kind)
        answer = await client.read(path, parameters, kinds=kinds, accept=METADATA_LIST)
        if answer.status < 300 and parameters.keys() == {"limit"}:
            client.versions.answered(mark, version_in(answer.body))
        return answer
