"""The steps of the chart's hooks: their requests, and what they leave alone."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from fake_api import FakeApi, QuickClock, ok, status

from kai.api import webhooks
from kai.api.resources import OURS, resource
from kai.errors import KaiError, NotFoundError, RefusedError
from kai.install import manifests
from kai.install.definitions import with_version
from kai.k8s.client import Client
from kai.service.log import Log
from kai.service.programs.chart_hooks import (
    Release,
    apply_definitions,
    check_release,
    remove_registrations,
)

VERSION = "0.2.0"
NAMES = [each["metadata"]["name"] for each in manifests.crds()]
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RELEASE = Release("mine", "gpu")

Step = Callable[[Client, Log], Awaitable[None]]


def young(definition: dict[str, Any]) -> dict[str, Any]:
    """As the server answers just after the definition was created."""
    return {**definition, "metadata": {**definition["metadata"], "uid": "u1"}}


def served(definition: dict[str, Any]) -> dict[str, Any]:
    return {**young(definition), "status": ESTABLISHED}


def story(prepare: Callable[[FakeApi], None], step: Step) -> tuple[FakeApi, list[str]]:
    """The server with the requests that it got, and the log."""
    stream = io.StringIO()

    async def run() -> FakeApi:
        async with FakeApi() as api:
            prepare(api)
            async with api.client(QuickClock()) as client:
                await step(client, Log(stream=stream))
            return api

    api = asyncio.run(run())
    return api, [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]


async def apply(client: Client, log: Log) -> None:
    await apply_definitions(client, VERSION, log)


async def remove(client: Client, log: Log) -> None:
    await remove_registrations(client, RELEASE, log)


async def check(client: Client, log: Log) -> None:
    await check_release(client, "gpu", log)


# ---- definitions ---------------------------------------------------------------------------------


def test_missing_definitions_are_applied_and_awaited() -> None:
    def prepare(api: FakeApi) -> None:
        for each in manifests.crds():
            path = f"{CRDS}/{each['metadata']['name']}"
            api.on("GET", path, status(404), ok(young(each)), ok(served(each)))
            api.on("PATCH", path, ok(young(each)))

    api, log = story(prepare, apply)
    patches = [each for each in api.seen if each.method == "PATCH"]
    assert [each.path for each in patches] == [f"{CRDS}/{name}" for name in NAMES]
    for each in patches:
        assert each.query == {"fieldManager": "kai-sched", "force": "true"}
        assert each.headers["Content-Type"] == "application/apply-patch+yaml"
        assert each.body["metadata"]["annotations"]["kai.scheduler/kai-sched-version"] == VERSION
    assert log == [
        f"info kai: applied the definition name={name} version={VERSION}" for name in NAMES
    ]


def test_newer_definitions_are_not_written() -> None:
    def prepare(api: FakeApi) -> None:
        for each in manifests.crds():
            path = f"{CRDS}/{each['metadata']['name']}"
            api.on("GET", path, ok(served(with_version(each, "0.3.0"))))

    api, log = story(prepare, apply)
    assert api.paths("PATCH") == []
    assert all('why="it is of the newer version 0.3.0 of kai-sched"' in line for line in log)


def test_a_definition_that_is_never_served_ends_the_step() -> None:
    def prepare(api: FakeApi) -> None:
        [first, *_] = manifests.crds()
        path = f"{CRDS}/{first['metadata']['name']}"
        api.on("GET", path, status(404), ok(young(first)))
        api.on("PATCH", path, ok(young(first)))

    with pytest.raises(KaiError, match=r"queues\.scheduling\.run\.ai is not served after 30 s"):
        story(prepare, apply)


def test_a_missing_right_is_named() -> None:
    def prepare(api: FakeApi) -> None:
        api.on("GET", f"{CRDS}/{NAMES[0]}", status(403))

    with pytest.raises(RefusedError):
        story(prepare, apply)


# ---- registrations -------------------------------------------------------------------------------


def registration(kind: str, name: str, *owner: str) -> dict[str, Any]:
    names = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
    annotations = dict(zip(names, owner, strict=False))
    return {"kind": kind, "metadata": {"name": name, "uid": "u1", "annotations": annotations}}


def every_registration() -> list[tuple[str, str, str]]:
    return [
        (kind, name, resource(kind).path(name=name))
        for name, kind in webhooks.CONFIGURATIONS.items()
    ]


def test_the_releases_registrations_are_deleted() -> None:
    def prepare(api: FakeApi) -> None:
        for kind, name, path in every_registration():
            api.on("GET", path, ok(registration(kind, name, *RELEASE)))
            api.on("DELETE", path, ok({}))

    api, _ = story(prepare, remove)
    assert api.paths("DELETE") == [path for _, _, path in every_registration()]


def test_registrations_of_kai_stay() -> None:
    def prepare(api: FakeApi) -> None:
        for kind, name, path in every_registration():
            api.on("GET", path, ok(registration(kind, name)))

    api, log = story(prepare, remove)
    assert api.paths("DELETE") == log == []


def test_registrations_that_do_not_exist_are_no_problem() -> None:
    def prepare(api: FakeApi) -> None:
        for *_, path in every_registration():
            api.on("GET", path, status(404))

    api, _ = story(prepare, remove)
    assert api.paths("DELETE") == []


# ---- helm test -----------------------------------------------------------------------------------


def lease(holder: str, age: float) -> dict[str, Any]:
    """`age`: seconds since it was renewed, by this machine's clock: the fake server dates its
    answers."""
    renewed = datetime.now(timezone.utc) - timedelta(seconds=age)
    then = renewed.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    spec = {"holderIdentity": holder, "renewTime": then, "leaseDurationSeconds": 15}
    return {"metadata": {"name": "kai-scheduler"}, "spec": spec}


def cluster(*leases: dict[str, Any], without: str = "") -> Callable[[FakeApi], None]:
    def prepare(api: FakeApi) -> None:
        for version in {each.api_version for each in OURS}:
            listed = [
                {"name": each.plural, "kind": each.kind, "namespaced": each.namespaced}
                for each in OURS
                if each.api_version == version and each.kind != without
            ]
            api.on("GET", f"/apis/{version}", ok({"kind": "APIResourceList", "resources": listed}))
        path = resource("Lease").path("gpu")
        listed = {"resourceVersion": "1"}
        api.on("GET", path, ok({"kind": "LeaseList", "metadata": listed, "items": list(leases)}))

    return prepare


def test_a_release_whose_program_leads_is_well() -> None:
    _, log = story(cluster(lease("kai-1_a", 3)), check)
    assert log == ["info kai: a program leads lease=kai-scheduler holder=kai-1_a"]


@pytest.mark.parametrize(
    "leases", [[], [("", 0.0)], [("kai-1_a", 60.0)]], ids=["none", "free", "old"]
)
def test_a_release_without_a_leader_is_not_well(leases: list[tuple[str, float]]) -> None:
    with pytest.raises(NotFoundError, match="no program in namespace gpu holds a lease"):
        story(cluster(*(lease(*each) for each in leases)), check)


def test_a_missing_kind_is_named() -> None:
    with pytest.raises(NotFoundError, match=r"does not serve podgroups\.scheduling\.run\.ai"):
        story(cluster(lease("kai-1_a", 0), without="PodGroup"), check)
