"""The server behind HTTP gives a client the same outcomes as without HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from fakes.api_server import ApiServer, Fault, unanswered
from fakes.http_server import FakeApi
from fakes.objects import node, pod
from kai.api.writes import Lane, Outcome, Read, Result, Write, delete_options
from kai.k8s.client import Client

BINDING = {"metadata": {"name": "p", "uid": "uid-of-p"}, "target": {"kind": "Node", "name": "n"}}
WRITES: dict[str, tuple[Any, ...]] = {
    "create": ("create", "Pod", "team", "q", {"metadata": {"name": "q"}, "spec": {}}),
    "create again": ("create", "Pod", "team", "p", {"metadata": {"name": "p"}}),
    "patch": ("patch", "Pod", "team", "p", {"metadata": {"labels": {"a": "b"}}}),
    "strategic": (
        "patch",
        "Pod",
        "team",
        "p",
        {"status": {"conditions": []}},
        "status",
        "strategic",
    ),
    "conflict": ("patch", "Pod", "team", "p", {"metadata": {"resourceVersion": "7"}}),
    "a missing pod": ("patch", "Pod", "team", "x", {"spec": {}}),
    "a node": ("patch", "Node", "", "n", {"spec": {"unschedulable": True}}),
    "binding": ("create", "Pod", "team", "p", BINDING, "binding"),
    "eviction": ("create", "Pod", "team", "p", {"deleteOptions": delete_options("v")}, "eviction"),
    "delete": ("delete", "Pod", "team", "p", delete_options("uid-of-p")),
}


def made() -> ApiServer:
    return ApiServer(node("n", gpus=2), pod("p"))


def write(name: str) -> Write:
    how = WRITES[name]
    found = Write(Lane.BINDING, *how[:6])
    return replace(found, patch_type=how[6]) if len(how) > 6 else found


def through(server: ApiServer, work: Any) -> Any:
    async def run() -> Any:
        async with FakeApi(server) as api, api.client() as client:
            return await work(client)

    return asyncio.run(run())


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    one, other = made(), made()
    outcome = through(one, lambda client: client.send(write(name)))
    direct = other.send(write(name))
    assert replace(outcome, body=b"") == replace(direct, body=b"")
    assert [*one.all()] == [*other.all()]


@pytest.mark.parametrize("applied", [False, True])
def test_lost_answers(applied: bool) -> None:
    server = made()
    server.fault = lambda each: Fault(unanswered(each), applied=applied)
    outcome = through(server, lambda client: client.send(write("binding")))
    assert outcome.result is unanswered(write("binding")).result is Result.LOST
    [found] = server.list("Pod")
    assert ("nodeName" in found["spec"]) == applied


def test_refusals() -> None:
    server = made()
    refused = Outcome(Result.REFUSED, 422, "Invalid", "no")
    server.fault = lambda _: Fault(refused)
    outcome = through(server, lambda client: client.send(write("patch")))
    assert replace(outcome, body=b"") == refused


def test_reads() -> None:
    server = made()
    for read in (
        *(Read("Pod", "team", "p"), Read("Pod", "team", "x"), Read("Node", "", "n")),
        *(Read("Pod", "team"), Read("Pod", "team", selector="a=b")),
        Read("Pod", "team", selector="kai.scheduler/queue=a"),
    ):

        async def find(client: Client, read: Read = read) -> Any:
            return await client.find(read)

        assert through(server, find) == server.find(read)
