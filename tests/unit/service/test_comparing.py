"""The leader compares what its watches have shown with the API server."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web

from fakes.api_server import ApiServer
from fakes.clock import VirtualClock
from fakes.http_server import FakeApi, status
from fakes.scenarios import scenarios
from kai.controllers.planning.turns import Turn
from kai.service.comparing import Comparing, Lost

PODS = "/api/v1/pods"
PERIOD_S = 20.0


class Server:
    """Pods, and their versions that a watch has shown."""

    def __init__(self, api: FakeApi, objects: ApiServer, client: Any) -> None:
        self.api, self.objects, self.clock = api, objects, client.clock
        self.put(*(f"p{number}" for number in range(5)))
        self.shown = self.pods
        self.watched = str(objects.version)
        self.leads = True
        self.listed, self.lost = list[str](), list[Lost]()
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

    def put(self, *names: str) -> None:
        metadata = [{"name": each, "namespace": "team"} for each in names]
        self.objects.put(*({"kind": "Pod", "metadata": each} for each in metadata))

    def remove(self, name: str) -> None:
        self.objects.remove("Pod", "team", name)

    @property
    def pods(self) -> dict[str, int]:
        found = [each["metadata"] for each in self.objects.list("Pod")]
        return {each["name"]: int(each["resourceVersion"]) for each in found}

    @property
    def queries(self) -> list[Mapping[str, str]]:
        return [each.query for each in self.api.seen]

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

    async def passes(self, seconds: float) -> None:
        for _ in range(math.ceil(seconds * 2)):
            await self.clock.advance(0.5)
            await asyncio.sleep(0.01)

    async def _list_anew(self, kind: str) -> None:
        self.listed.append(kind)
        before, self.shown = self.shown, self.pods
        added = self.shown.keys() - before.keys()
        gone = before.keys() - self.shown.keys()
        both = before.keys() & self.shown.keys()
        changed = [name for name in both if before[name] != self.shown[name]]
        names = sorted([*added, *gone, *changed])
        self.turn(("Pod", len(added), len(gone), len(changed), names))


async def run(story: Callable[[Server], Awaitable[None]]) -> None:
    clock, objects = VirtualClock(), ApiServer()
    async with FakeApi(objects) as api, api.client(clock) as client:
        server = Server(api, objects, client)
        task = asyncio.create_task(server.comparing.run())
        await story(server)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


scenario = scenarios(run)


@scenario
async def test_equal_numbers_change_nothing(server: Server) -> None:
    await server.passes(60)
    assert (server.listed, server.lost) == ([], [])
    exact = [each for each in server.queries if "resourceVersionMatch" in each]
    match = {"resourceVersion": server.watched, "resourceVersionMatch": "Exact"}
    assert len(exact) >= 2
    assert all(each == {"limit": "1", **match} for each in exact)


@scenario
async def test_a_lost_deletion_is_found_within_one_comparison(server: Server) -> None:
    server.remove("p3")
    await server.passes(PERIOD_S + 1)
    assert server.listed == ["Pod"]
    assert server.lost == [Lost("Pod", 5, 4, 0, 1, 0, ("p3",))]
    await server.passes(60)
    assert server.listed == ["Pod"]


@scenario
async def test_a_lost_creation_is_found(server: Server) -> None:
    server.put("new", "newer")
    await server.passes(PERIOD_S + 1)
    assert server.lost == [Lost("Pod", 5, 7, 2, 0, 0, ("new", "newer"))]
    assert server.lost[0].events == 2


@scenario
async def test_a_lost_change_is_found_by_its_version(server: Server) -> None:
    server.put("p1")
    await server.passes(PERIOD_S + 1)
    assert server.lost == [Lost("Pod", 5, 5, 0, 0, 1, ("p1",))]


@scenario
async def test_a_difference_that_the_watch_makes_up_for_does_not_count(server: Server) -> None:
    server.put("late")
    while not server.queries or server.queries[-1]["limit"] != "1":
        await server.passes(0.25)
    server.shown, server.watched = server.pods, str(server.objects.version)
    server.turn()
    await server.passes(40)
    assert (server.listed, server.lost) == ([], [])


@scenario
async def test_only_the_leader_compares(server: Server) -> None:
    server.leads = False
    server.remove("p3")
    await server.passes(60)
    assert (server.queries, server.listed) == ([], [])
    server.leads = True
    await server.passes(PERIOD_S + 1)
    assert server.listed == ["Pod"]


@scenario
async def test_a_version_that_the_server_does_not_have_any_more_is_no_difference(
    server: Server,
) -> None:
    server.remove("p3")
    server.api.on("GET", PODS, status(410))
    await server.passes(60)
    assert server.listed == []


@scenario
async def test_a_server_without_a_number_is_no_difference(server: Server) -> None:
    """`remainingItemCount` is optional."""
    server.remove("p3")

    async def listed(request: web.Request) -> web.StreamResponse:
        kind, metadata = "PartialObjectMetadataList", {"resourceVersion": "100"}
        items = [{"metadata": {"name": "p0", "resourceVersion": "1"}}]
        return web.json_response(
            {"kind": kind, "metadata": {**metadata, "continue": "x"}, "items": items}
        )

    server.api.on("GET", PODS, listed)
    await server.passes(60)
    assert server.listed == []


@scenario
async def test_a_kind_that_was_never_listed_is_not_compared(server: Server) -> None:
    server.watched = ""
    server.turn()
    server.remove("p3")
    await server.passes(60)
    assert server.listed == []


@scenario
async def test_pages_are_compared_one_after_the_other(server: Server) -> None:
    server.put(*(f"p{number:04}" for number in range(5, 1200)))
    server.shown = server.pods
    server.turn()
    server.put("p1100")
    await server.passes(3 * PERIOD_S + 1)
    pages = [each.get("continue", "") for each in server.queries if each["limit"] == "500"]
    assert pages[:3] == ["", "500", "1000"]
    assert [each.names for each in server.lost] == [("p1100",)]
