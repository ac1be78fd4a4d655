"""Versions that go back mean that the server has forgotten changes: everything is listed again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from fakes.clock import QuickClock, VirtualClock, until
from fakes.http_server import FakeApi, bookmark, event, ok, page, status
from fakes.scenarios import scenarios
from kai.api.writes import Lane, Write
from kai.k8s.leases import LeaderElection
from kai.k8s.sinks import DictSink
from kai.k8s.versions import Versions
from kai.k8s.watching import Watch

PODS = "/api/v1/pods"


def noted(versions: Versions) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    versions.on_back.append(lambda *what: found.append(what))
    return found


def test_a_lower_version_than_was_known_before_the_request_goes_back() -> None:
    versions = Versions()
    back = noted(versions)
    versions.answered(versions.mark("Pod"), "100")
    versions.answered(versions.mark("Pod"), "120")
    versions.answered(versions.mark("Pod"), "120")
    assert back == []
    versions.answered(versions.mark("Pod"), "40")
    assert back == [("Pod", 120, 40)]
    assert versions.generation == 1
    versions.answered(versions.mark("Pod"), "41")
    assert len(back) == 1


def test_answers_that_overtake_each_other_do_not_go_back() -> None:
    versions = Versions()
    back = noted(versions)
    first, second = versions.mark("Pod"), versions.mark("Pod")
    versions.answered(second, "105")
    versions.answered(first, "104")
    assert back == []
    versions.answered(versions.mark("Pod"), "104")
    assert back == [("Pod", 105, 104)]


def test_the_answers_to_requests_of_before_are_ignored() -> None:
    """One restored etcd is one event, however many requests are under way."""
    versions = Versions()
    back = noted(versions)
    versions.answered(versions.mark("Pod"), "100")
    versions.answered(versions.mark("Node"), "100")
    marks = [versions.mark("Pod"), versions.mark("Pod"), versions.mark("Node")]
    for mark, version in zip(marks, ("7", "8", "9"), strict=True):
        versions.answered(mark, version)
    assert back == [("Pod", 100, 7)]


def test_kinds_are_compared_with_themselves() -> None:
    """Events often have an etcd of their own."""
    versions = Versions()
    back = noted(versions)
    versions.answered(versions.mark("Pod"), "1000")
    versions.answered(versions.mark("Event"), "3")
    for text in ("", "abc", "-5", "1.5"):
        versions.answered(versions.mark("Pod"), text)
    assert back == []


Scenario = Callable[[FakeApi, Any], Awaitable[None]]


async def run(scenario: Scenario, clock: QuickClock | None = None) -> None:
    async with FakeApi() as api, api.client(clock or QuickClock()) as client:
        await scenario(api, client)


scenario = scenarios(run)


def initial(version: int, *names: str) -> bytes:
    events = [event("ADDED", name, version) for name in names]
    return b"".join([*events, bookmark(version, ends_list=True)])


@scenario
async def test_a_silent_watch_lists_again_when_any_answer_shows_it(
    api: FakeApi, client: Any
) -> None:
    """The watch would continue from version 90 of an etcd that is at 40, and hear nothing."""
    sink = DictSink()
    again = api.stream(initial(42, "b"), stay=True)
    api.on("GET", PODS, api.stream(initial(90, "a"), stay=True), again)
    watch = Watch(client, "Pod", sink)
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    made = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "41"}}
    api.on("POST", "/api/v1/namespaces/team/pods", ok(made, 201))
    await client.send(Write(Lane.BINDING, "create", "Pod", "team", "x", {}))
    await until(lambda: list(sink.objects) == [("team", "b")])
    assert (watch.relists, watch.reconnects) == (2, 0)
    assert client.versions.generation == 1
    task.cancel()


@scenario
async def test_an_event_with_a_lower_version_lists_again(api: FakeApi, client: Any) -> None:
    sink = DictSink()
    watch = Watch(client, "Pod", sink)

    async def first(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(initial(90, "a"))
        await until(lambda: watch.synced)
        await response.write(event("ADDED", "c", 42))
        await asyncio.sleep(60)
        return response

    api.on("GET", PODS, first, api.stream(initial(42, "c"), stay=True))
    task = asyncio.create_task(watch.run())
    await until(lambda: list(sink.objects) == [("team", "c")])
    assert watch.relists == 2
    task.cancel()


@scenario
async def test_an_event_may_come_after_the_answer_to_a_later_write(
    api: FakeApi, client: Any
) -> None:
    """The watch lags behind: its events are compared with its own, also after it resumes."""
    sink = DictSink()
    watch = Watch(client, "Pod", sink)
    made = {"metadata": {"name": "x", "uid": "u", "resourceVersion": "200"}}
    api.on("POST", "/api/v1/namespaces/team/pods", ok(made, 201))
    is_written = asyncio.Event()

    async def first(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(initial(90, "a"))
        await is_written.wait()
        await response.write(event("ADDED", "b", 150))
        await until(lambda: len(sink.objects) == 2)
        await response.write(event("ADDED", "c", 151))
        return response

    later = event("ADDED", "d", 160) + event("ADDED", "x", 200)
    api.on("GET", PODS, first, api.stream(later, stay=True))
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    await client.send(Write(Lane.BINDING, "create", "Pod", "team", "x", {}))
    is_written.set()
    await until(lambda: len(sink.objects) == 5)
    assert (watch.relists, watch.reconnects) == (1, 1)
    assert client.versions.generation == 0
    task.cancel()


@scenario
async def test_a_list_with_a_lower_version_lists_all_other_kinds_again(
    api: FakeApi, client: Any
) -> None:
    pods, nodes = DictSink(), DictSink()
    client.has_watch_lists = False
    quiet = api.stream(stay=True)
    listed = [
        ok({"metadata": {"resourceVersion": version}, "items": [{"metadata": {"name": name}}]})
        for name, version in (("n", "90"), ("m", "40"))
    ]
    api.on("GET", "/api/v1/nodes", listed[0], quiet, listed[1], quiet)
    api.on("GET", PODS, page(["a"], 90), status(410), page(["b"], 40), quiet)
    tasks = [asyncio.create_task(Watch(client, "Node", nodes).run())]
    await until(lambda: client.streams)
    tasks.append(asyncio.create_task(Watch(client, "Pod", pods).run()))
    await until(lambda: list(nodes.objects) == [("", "m")])
    await until(lambda: list(pods.objects) == [("team", "b")])
    for task in tasks:
        task.cancel()


@scenario
async def test_the_initial_events_of_a_list_may_come_in_any_order(
    api: FakeApi, client: Any
) -> None:
    events = [event("ADDED", "a", 80), event("ADDED", "b", 7), event("ADDED", "c", 30)]
    stream = b"".join([*events, bookmark(90, ends_list=True), event("MODIFIED", "b", 91)])
    api.on("GET", PODS, api.stream(*stream.splitlines(keepends=True), stay=True))
    watch = Watch(client, "Pod", DictSink())
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.events == 5)
    assert client.versions.generation == 0
    task.cancel()


def test_a_renewed_lease_shows_it_within_seconds() -> None:
    """The first answer after a restored etcd, in a cluster in which nothing happens."""
    clock = VirtualClock()

    async def scenario(api: FakeApi, client: Any) -> None:
        leases, version = "/apis/coordination.k8s.io/v1/namespaces/kai/leases", 100

        async def renewed(request: Any) -> Any:
            nonlocal version
            version += 1
            record = json.loads(await request.text())
            record["metadata"] |= {"uid": "u", "resourceVersion": str(version)}
            return await ok(record)(request)

        api.on("POST", leases, renewed)
        api.on("PUT", f"{leases}/a", renewed)
        back = noted(client.versions)
        election = LeaderElection(client, "kai", ["a"])
        task = asyncio.create_task(election.run())
        for _ in range(5):
            await clock.advance(1)
        assert election.is_leading()
        await clock.advance(20)
        assert back == []
        before, version = version, 10
        await clock.advance(6)
        assert [each[:2] for each in back] == [("Lease a", before)]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run(scenario, clock))
