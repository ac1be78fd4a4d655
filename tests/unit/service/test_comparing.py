"""The leader compares what its watches have shown with the API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web
from fake_api import FakeApi, ManualClock, status

from kai.controllers.planning.turns import Turn
from kai.service.comparing import Comparing, Lost

PODS = "/api/v1/pods"
PERIOD_S = 20.0


class Server:
    """Pods with their versions, and what a watch has shown of them."""

    def __init__(self, api: FakeApi, client: Any) -> None:
        self.pods = {f"p{number}": 10 + number for number in range(5)}
        self.shown = dict(self.pods)
        self.version = 100
        self.watched = "100"
        self.leads = True
        self.listed, self.lost = list[str](), list[Lost]()
        self.answers = list[dict[str, str]]()
        api.on("GET", PODS, self._list)
        thread = ThreadPoolExecutor(1)
        self.comparing = Comparing(
            client,
            self,  # type: ignore[arg-type]
            thread,
            period=PERIOD_S,
            kinds=["Pod"],
            may_compare=lambda: self.leads,
            list_anew=self._list_anew,
            lost=self.lost.append,
        )
        self.turn()

    def turn(self, *relisted: tuple[str, int, int, int, list[str]]) -> None:
        shown = [("Pod", self.watched, len(self.shown))]
        self.comparing.turned(Turn(shown=shown, relisted=relisted))

    def behind(self, kind: str, page: bytes) -> list[str]:
        found = {each["metadata"]["name"]: each["metadata"] for each in json.loads(page)["items"]}
        return [
            name
            for name, metadata in found.items()
            if name in self.shown and self.shown[name] < int(metadata["resourceVersion"])
        ]

    async def _list_anew(self, kind: str) -> None:
        self.listed.append(kind)
        added = self.pods.keys() - self.shown.keys()
        gone = self.shown.keys() - self.pods.keys()
        both = self.pods.keys() & self.shown.keys()
        changed = [name for name in both if self.pods[name] != self.shown[name]]
        self.shown = dict(self.pods)
        names = sorted([*added, *gone, *changed])
        self.turn(("Pod", len(added), len(gone), len(changed), names))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        self.answers.append(query)
        limit = int(query["limit"])
        start = int(query.get("continue", "0"))
        names = sorted(self.pods)[start : start + limit]
        metadata: dict[str, Any] = {"resourceVersion": query.get("resourceVersion", "100")}
        if left := max(0, len(self.pods) - start - limit):
            metadata |= {"continue": str(start + limit), "remainingItemCount": left}
        items = [
            {"metadata": {"name": name, "resourceVersion": str(self.pods[name])}} for name in names
        ]
        kind = "PartialObjectMetadataList"
        return web.json_response({"kind": kind, "metadata": metadata, "items": items})


def run(scenario: Callable[[Server, ManualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = ManualClock()
        async with FakeApi() as api, api.client(clock) as client:
            server = Server(api, client)
            server.api = api  # type: ignore[attr-defined]
            task = asyncio.create_task(server.comparing.run())
            await scenario(server, clock)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


async def passes(clock: ManualClock, seconds: float) -> None:
    for _ in range(int(seconds * 4)):
        await clock.advance(0.25)
        await asyncio.sleep(0.01)


def test_equal_numbers_change_nothing() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        await passes(clock, 60)
        assert (server.listed, server.lost) == ([], [])
        exact = [each for each in server.answers if "resourceVersionMatch" in each]
        match = {"resourceVersion": "100", "resourceVersionMatch": "Exact"}
        assert len(exact) >= 2
        assert all(each == {"limit": "1", **match} for each in exact)

    run(scenario)


def test_a_lost_deletion_is_found_within_one_comparison() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        del server.pods["p3"]
        await passes(clock, PERIOD_S + 1)
        assert server.listed == ["Pod"]
        assert server.lost == [Lost("Pod", 5, 4, 0, 1, 0, ("p3",))]
        await passes(clock, 60)
        assert server.listed == ["Pod"]

    run(scenario)


def test_a_lost_creation_is_found() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.pods |= {"new": 50, "newer": 51}
        await passes(clock, PERIOD_S + 1)
        assert server.lost == [Lost("Pod", 5, 7, 2, 0, 0, ("new", "newer"))]
        assert server.lost[0].events == 2

    run(scenario)


def test_a_lost_change_is_found_by_its_version() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.pods["p1"] = 60
        await passes(clock, PERIOD_S + 1)
        assert server.lost == [Lost("Pod", 5, 5, 0, 0, 1, ("p1",))]

    run(scenario)


def test_a_difference_that_the_watch_makes_up_for_does_not_count() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.pods["late"] = 70
        while not server.answers or server.answers[-1]["limit"] != "1":
            await passes(clock, 0.25)
        server.shown["late"], server.watched = 70, "101"
        server.turn()
        await passes(clock, 40)
        assert (server.listed, server.lost) == ([], [])

    run(scenario)


def test_only_the_leader_compares() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.leads = False
        del server.pods["p3"]
        await passes(clock, 60)
        assert (server.answers, server.listed) == ([], [])
        server.leads = True
        await passes(clock, PERIOD_S + 1)
        assert server.listed == ["Pod"]

    run(scenario)


def test_a_version_that_the_server_does_not_have_any_more_is_no_difference() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        del server.pods["p3"]
        server.api.on("GET", PODS, status(410))  # type: ignore[attr-defined]
        await passes(clock, 60)
        assert server.listed == []

    run(scenario)


def test_a_server_without_a_number_is_no_difference() -> None:
    """`remainingItemCount` is optional."""

    async def scenario(server: Server, clock: ManualClock) -> None:
        del server.pods["p3"]

        async def listed(request: web.Request) -> web.StreamResponse:
            kind, metadata = "PartialObjectMetadataList", {"resourceVersion": "100"}
            items = [{"metadata": {"name": "p0", "resourceVersion": "1"}}]
            return web.json_response(
                {"kind": kind, "metadata": {**metadata, "continue": "x"}, "items": items}
            )

        server.api.on("GET", PODS, listed)  # type: ignore[attr-defined]
        await passes(clock, 60)
        assert server.listed == []

    run(scenario)


def test_a_kind_that_was_never_listed_is_not_compared() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.watched = ""
        server.turn()
        del server.pods["p3"]
        await passes(clock, 60)
        assert server.listed == []

    run(scenario)


def test_pages_are_compared_one_after_the_other() -> None:
    async def scenario(server: Server, clock: ManualClock) -> None:
        server.pods = {f"p{number:04}": 1 for number in range(1200)}
        server.shown = dict(server.pods)
        server.turn()
        server.pods["p1100"] = 90
        await passes(clock, 3 * PERIOD_S + 1)
        pages = [each.get("continue", "") for each in server.answers if each["limit"] == "500"]
        assert pages[:3] == ["", "500", "1000"]
        assert [each.names for each in server.lost] == [("p1100",)]

    run(scenario)
