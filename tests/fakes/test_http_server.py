"""The server behind HTTP gives a client the same outcomes as without HTTP."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from fakes.api_server import ApiServer, Fault, unanswered
from fakes.http_server import FakeApi
from fakes.objects import node, pod
from kai.api.writes import Lane, Outcome, Read, Result, Write, delete_options

TARGET = {"kind": "Node", "name": "n"}
BINDING = {"metadata": {"name": "p", "uid": "uid-of-p"}, "target": TARGET}
BIND = ("create", "Pod", "team", "p", BINDING, "binding")
WRITES: list[tuple[Any, ...]] = [
    ("create", "Pod", "team", "q", {"metadata": {"name": "q"}, "spec": {}}),
    ("create", "Pod", "team", "p", {"metadata": {"name": "p"}}),
    ("patch", "Pod", "team", "p", {"metadata": {"labels": {"a": "b"}}}),
    ("patch", "Pod", "team", "p", {"status": {"conditions": []}}, "status", "strategic"),
    ("patch", "Pod", "team", "p", {"metadata": {"resourceVersion": "7"}}),
    ("patch", "Pod", "team", "x", {"spec": {}}),
    ("patch", "Node", "", "n", {"spec": {"unschedulable": True}}),
    ("create", "Pod", "team", "p", {"deleteOptions": delete_options("v")}, "eviction"),
    ("delete", "Pod", "team", "p", delete_options("uid-of-p")),
    BIND,
]


def made() -> ApiServer:
    return ApiServer(node("n"), pod("p"))


def through(server: ApiServer, method: str, *arguments: Any) -> Any:
    async def run() -> Any:
        async with FakeApi(server) as api, api.client() as client:
            return await getattr(client, method)(*arguments)

    return asyncio.run(run())


@pytest.mark.parametrize("how", WRITES)
def test_writes(how: tuple[Any, ...]) -> None:
    one, other, write = made(), made(), Write(Lane.BINDING, *how)
    assert replace(through(one, "send", write), body=b"") == replace(other.send(write), body=b"")
    assert [*one.all()] == [*other.all()]


@pytest.mark.parametrize("applied", [False, True])
def test_lost_answers(applied: bool) -> None:
    server = made()
    server.fault = lambda each: Fault(unanswered(each), applied=applied)
    assert through(server, "send", Write(Lane.BINDING, *BIND)).result is Result.LOST
    [found] = server.list("Pod")
    assert ("nodeName" in found["spec"]) == applied


def test_refusals() -> None:
    server, refused = made(), Outcome(Result.REFUSED, 422, "Invalid", "no")
    server.fault = lambda _: Fault(refused)
    outcome = through(server, "send", Write(Lane.BINDING, *BIND))
    assert replace(outcome, body=b"") == refused


@pytest.mark.parametrize("named", ["p", "x", ""])
@pytest.mark.parametrize("selector", ["", "a=b", "kai.scheduler/queue=a"])
def test_reads(named: str, selector: str) -> None:
    read = Read("Pod", "team", named, selector)
    assert through(made(), "find", read) == made().find(read)
