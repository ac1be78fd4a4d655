"""Kinds outside the table, and versions that differ from ours."""

import asyncio
import json
from typing import Any

from fakes.clock import QuickClock
from fakes.scenarios import in_a_loop
from kai.api.resources import Resource
from kai.k8s.discovery import Discovery

SERVER: dict[str, Any] = {
    "/apis": {"groups": [{"name": "batch"}, {"name": "example.test"}]},
    "/api/v1": {
        "resources": [
            {"name": "pods/status", "kind": "Pod", "namespaced": True},
            {"name": "pods", "kind": "Pod", "namespaced": True},
        ]
    },
    "/apis/batch": {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    "/apis/batch/v1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True}]},
    "/apis/example.test": {
        "versions": [{"version": "v1beta1"}, {"version": "v1"}],
        "preferredVersion": {"version": "v1"},
    },
    "/apis/example.test/v1": {"resources": [{"name": "widgets", "kind": "Widget"}]},
    "/apis/kubeflow.org": {
        "versions": [{"version": "v2beta1"}],
        "preferredVersion": {"version": "v2beta1"},
    },
    "/apis/kubeflow.org/v2beta1": {
        "resources": [{"name": "mpijobs", "kind": "MPIJob", "namespaced": True}]
    },
}


class Server:
    def __init__(self) -> None:
        self.clock, self.calls = QuickClock(), list[str]()
        self.discovery = Discovery(self.fetch, self.clock)

    async def fetch(self, path: str) -> tuple[int, bytes]:
        self.calls.append(path)
        found = SERVER.get(path)
        return (200, json.dumps(found).encode()) if found else (404, b"")


def test_a_kind_is_found_with_its_version() -> None:
    discovery = Server().discovery
    found = asyncio.run(discovery.find("Widget", "example.test/v1"))
    assert found == Resource("Widget", "example.test", "v1", "widgets", False)
    assert asyncio.run(discovery.find("Widget", "example.test/v1beta1")) is None
    assert asyncio.run(discovery.find("Pod", "v1")) == Resource("Pod", "", "v1", "pods")


def test_an_unknown_kind_is_searched_in_all_groups() -> None:
    found = asyncio.run(Server().discovery.served("Widget"))
    assert found is not None
    assert found.path("", "w") == "/apis/example.test/v1/widgets/w"
    assert asyncio.run(Server().discovery.served("Widget", "batch")) is None
    assert asyncio.run(Server().discovery.served("Gadget")) is None


def test_a_known_kind_is_found_with_the_version_of_the_server() -> None:
    found = asyncio.run(Server().discovery.served("MPIJob"))
    assert found is not None
    assert found.api_version == "kubeflow.org/v2beta1"
    assert asyncio.run(Server().discovery.served("RayJob")) is None


@in_a_loop
async def test_answers_are_cached_for_a_minute() -> None:
    server = Server()
    for later, calls in ((0, 1), (50, 1), (20, 2)):
        server.clock.now += later
        await server.discovery.find("Job", "batch/v1")
        assert len(server.calls) == calls
