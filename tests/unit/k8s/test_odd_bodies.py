"""An answer 2xx whose body is not the API server's says nothing: it counts as no answer."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import kai
from fakes.clock import QuickClock, until
from fakes.http_server import FakeApi, disconnect, ok, page, raw
from fakes.scenarios import scenarios
from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.k8s.answers import looks_whole, whole
from kai.k8s.client import TRIES
from kai.k8s.leases import LeaderElection
from kai.k8s.sinks import DictSink
from kai.k8s.watching import Watch

POD = "/api/v1/namespaces/team/pods/p"
POD_OBJECT = {"kind": "Pod", "metadata": {"name": "p", "uid": "u", "resourceVersion": "7"}}
ODD = {
    "nothing": b"",
    "an empty object": b"{}",
    "null": b"null",
    "a list of JSON": b"[]",
    "a number": b"7",
    "a web page": b"<html><head><title>Sign in</title></head></html>",
    "half an object": json.dumps(POD_OBJECT).encode()[:-9],
    "two objects": json.dumps(POD_OBJECT).encode() * 2,
    "no UTF-8": b'{"kind": "Pod\xff\xfe"}',
    "another kind": json.dumps({**POD_OBJECT, "kind": "Node"}).encode(),
    "no metadata": b'{"kind": "Pod"}',
    "no name": b'{"kind": "Pod", "metadata": {}}',
    "a failure with status 200": b'{"kind": "Status", "status": "Failure", "code": 500}',
    "very deep": b"[" * 100_000,
}
LISTS = {
    **ODD,
    "no items": b'{"kind": "PodList", "metadata": {"resourceVersion": "9"}}',
    "no version": b'{"kind": "PodList", "metadata": {}, "items": []}',
    "items of no kind": b'{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[7]}',
}
odd = pytest.mark.parametrize("body", ODD.values(), ids=ODD)
odd_list = pytest.mark.parametrize("body", LISTS.values(), ids=LISTS)
Scenario = Callable[[FakeApi, Any], Awaitable[None]]


async def run(scenario: Scenario) -> None:
    async with FakeApi() as api, api.client(QuickClock()) as client:
        await scenario(api, client)


scenario = scenarios(run)


def write(verb: Any = "patch", subresource: str = "") -> Write:
    return Write(Lane.BINDING, verb, "Pod", "team", "p", {"a": 1}, subresource)


def send(client: Any, what: Write) -> Awaitable[Outcome]:
    found: Awaitable[Outcome] = client.send(what)
    return found


@odd
@scenario
async def test_a_read_is_repeated_until_the_object_comes(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    api.on("GET", POD, raw(body), raw(body), ok())
    assert json.loads(await client.get("Pod", "team", "p"))["metadata"]["name"] == "p"
    assert client.unanswered == 2


@odd
@scenario
async def test_a_read_that_brings_nothing_else_fails_as_if_no_answer_came(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    api.on("GET", POD, raw(body))
    with pytest.raises(kai.UnreachableError, match="the answer is no Pod: "):
        await client.get("Pod", "team", "p")
    assert len(api.seen) == TRIES


@odd_list
@scenario
async def test_a_list_is_repeated_until_all_of_it_comes(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    api.on("GET", "/api/v1/namespaces/team/pods", raw(body), page(["a"], 9))
    found = await client.find(Read("Pod", "team", selector="x=y"))
    assert [each["metadata"]["name"] for each in found] == ["a"]


@odd
@scenario
async def test_a_patch_is_repeated_and_a_binding_is_read(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    """A patch may be sent twice; a binding may have been carried out."""
    api.on("PATCH", POD, raw(body), ok())
    assert (await send(client, write())).result is Result.DONE
    api.on("POST", f"{POD}/binding", raw(body, 201))
    lost = await send(client, write("create", "binding"))
    assert lost.result is Result.LOST
    assert "the answer is no Status: " in lost.message
    assert api.paths("POST") == [f"{POD}/binding"]


@odd
@scenario
async def test_a_deletion_is_repeated(api: FakeApi, client: Any, *, body: bytes) -> None:
    api.on("DELETE", POD, raw(body), ok())
    assert (await send(client, write("delete"))).result is Result.DONE
    assert len(api.paths("DELETE")) == 2


def test_the_answers_of_a_server_are_whole() -> None:
    listed = {"kind": "PodList", "metadata": {"resourceVersion": "9"}, "items": None}
    success = {"kind": "Status", "status": "Success"}
    for kind, value in (("Pod", POD_OBJECT), ("PodList", listed), ("Status", success)):
        assert whole(json.dumps(value).encode(), (kind,)) == value


def test_the_quick_look_accepts_nothing_else() -> None:
    text = json.dumps(POD_OBJECT, separators=(",", ":")).encode()
    assert looks_whole(text, "Pod")
    assert looks_whole(text + b"\n", "Pod")
    for body in ODD.values():
        assert not looks_whole(body, "Pod")


@odd
@scenario
async def test_a_404_of_a_proxy_does_not_mean_that_the_pod_is_gone(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    api.on("GET", POD, raw(body, 404))
    if b'"Status"' in body:
        assert await client.get("Pod", "team", "p") is None
        return
    with pytest.raises(kai.NotFoundError, match="does not serve"):
        await client.get("Pod", "team", "p")


@odd_list
@scenario
async def test_a_watch_lists_again_after_half_a_list(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    """An empty page must not count as an empty cluster."""
    client.has_watch_lists = False
    sink = DictSink()
    again = page(["a"], 9)
    api.on("GET", "/api/v1/pods", page(["a"], 8), disconnect, raw(body), again, api.swallow())
    watch = Watch(client, "Pod", sink)
    await watch.list_once()
    assert len(sink.objects) == 1
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.relists + watch.reconnects >= 3)
    assert len(sink.objects) == 1
    task.cancel()


@odd
@scenario
async def test_a_watch_survives_a_stream_of_something_else(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    sink = DictSink()
    metadata = {"name": "a", "resourceVersion": "5"}
    event = {"type": "ADDED", "object": {"kind": "Pod", "metadata": metadata}}
    ends = {"k8s.io/initial-events-end": "true"}
    last = {"kind": "Pod", "metadata": {"resourceVersion": "5", "annotations": ends}}
    lines = [json.dumps(each).encode() for each in (event, {"type": "BOOKMARK", "object": last})]
    good = api.stream(b"\n".join([*lines, b""]), stay=True)
    api.on("GET", "/api/v1/pods", raw(body), raw(body + b"\n"), good)
    watch = Watch(client, "Pod", sink)
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    assert list(sink.objects) == [("", "a")]
    task.cancel()


@odd
@scenario
async def test_a_lease_is_not_held_without_an_answer(
    api: FakeApi, client: Any, *, body: bytes
) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kai/leases"
    api.on("POST", leases, raw(body, 201))
    election = LeaderElection(client, "kai", ["a"])
    task = asyncio.create_task(election.run())
    await until(lambda: election.failures >= 2)
    assert not election.is_leading()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
