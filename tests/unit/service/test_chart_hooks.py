"""The steps of the chart's hooks: their requests, and what they leave alone."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from fakes.api_server import ApiServer
from fakes.clock import QuickClock
from fakes.http_server import FakeApi, ok, status
from kai.api import webhooks
from kai.api.resources import OURS, resource
from kai.controllers.admission import Rules
from kai.errors import KaiError, NotFoundError, RefusedError
from kai.install import manifests
from kai.install.definitions import with_version
from kai.k8s.client import Client
from kai.service.admission import AdmissionOptions
from kai.service.log import Log
from kai.service.options import Options
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


def registered(*owner: str) -> Callable[[FakeApi], None]:
    made = [registration(kind, name, *owner) for name, kind in webhooks.CONFIGURATIONS.items()]

    def prepare(api: FakeApi) -> None:
        api.objects = ApiServer(*made)

    return prepare


def test_the_releases_registrations_are_deleted() -> None:
    api, _ = story(registered(*RELEASE), remove)
    assert [*api.objects.all()] == []


def test_registrations_of_kai_stay() -> None:
    api, log = story(registered(), remove)
    assert len([*api.objects.all()]) == len(webhooks.CONFIGURATIONS)
    assert api.paths("DELETE") == log == []


def test_registrations_that_do_not_exist_are_no_problem() -> None:
    def prepare(api: FakeApi) -> None:
        api.objects = ApiServer()

    api, _ = story(prepare, remove)
    assert api.paths("DELETE") == []


# ---- helm test -----------------------------------------------------------------------------------

DEPLOYMENT, LEASE = (
    resource("Deployment").path("gpu", "binder"),
    resource("Lease").path("gpu", "2ad35f9c.kai.scheduler"),
)


def lease(holder: str, second: int) -> dict[str, Any]:
    """`second`: when it was renewed."""
    spec = {"holderIdentity": holder, "renewTime": f"2026-01-01T00:00:{second:02}.000000Z"}
    return {
        "kind": "Lease",
        "metadata": {"name": "2ad35f9c.kai.scheduler", "uid": "u1"},
        "spec": spec,
    }


def deployment(generation: int = 1, replicas: int = 2, **status: int) -> dict[str, Any]:
    shown = {"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
    return {
        "kind": "Deployment",
        "metadata": {"name": "binder", "uid": "u1", "generation": generation},
        "spec": {"replicas": replicas},
        "status": shown | status,
    }


def cluster(
    deployments: list[dict[str, Any] | None],
    leases: Sequence[dict[str, Any]] = (lease("a", 1), lease("a", 2)),
    *,
    without: str = "",
) -> Callable[[FakeApi], None]:
    """A cluster that answers the reads with these objects, one after the other, and with the last
    one from then on."""

    def prepare(api: FakeApi) -> None:
        for version in {each.api_version for each in OURS}:
            listed = [
                {"name": each.plural, "kind": each.kind, "namespaced": each.namespaced}
                for each in OURS
                if each.api_version == version and each.kind != without
            ]
            api.on("GET", f"/apis/{version}", ok({"kind": "APIResourceList", "resources": listed}))
        for path, found in ((DEPLOYMENT, deployments), (LEASE, leases)):
            api.on("GET", path, *(status(404) if each is None else ok(each) for each in found))

    return prepare


async def check(client: Client, log: Log) -> None:
    await check_release(client, "gpu", {"binder": Options(roles=("binder",))}, log)


def test_a_release_whose_program_renews_its_lease_is_well() -> None:
    _, log = story(cluster([deployment()]), check)
    assert log == ["info kai: the program runs deployment=binder leases=2ad35f9c.kai.scheduler"]


def test_a_program_may_still_start_and_take_its_lease() -> None:
    starting = deployment(availableReplicas=0)
    leases = [lease("gone", 1), lease("gone", 1), lease("", 1), lease("new", 5)]
    story(cluster([None, starting, deployment()], leases), check)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (None, "does not exist"),
        (deployment(replicas=0), "has no replicas"),
        (deployment(availableReplicas=1), "2 replicas of its current version and 1 available"),
        (deployment(updatedReplicas=1, replicas=2), "has 1 replicas of its current version"),
        (deployment(2), "has 2 replicas"),
    ],
    ids=["missing", "none", "crash", "old", "unseen"],
)
def test_a_release_with_an_incomplete_deployment_is_not_well(
    wrong: dict[str, Any] | None, why: str
) -> None:
    with pytest.raises(NotFoundError, match=f"Deployment binder in namespace gpu .*{why}"):
        story(cluster([wrong]), check)


@pytest.mark.parametrize("leases", [[None], [lease("", 1)], [lease("kai-1_a", 1)]])
def test_a_release_whose_lease_is_not_renewed_is_not_well(
    leases: list[dict[str, Any] | None],
) -> None:
    sentence = (
        r"Deployment binder in namespace gpu does not renew the lease 2ad35f9c\.kai\.scheduler"
    )
    with pytest.raises(NotFoundError, match=sentence):
        story(cluster([deployment()], leases), check)


@pytest.mark.parametrize(
    "options",
    [
        Options(roles=("binder",), leader_elect=False),
        Options(roles=("scheduler",), shadow=True),
        AdmissionOptions(rules=Rules()),
    ],
    ids=["no election", "shadow", "webhooks"],
)
def test_some_programs_have_no_lease(options: Options | AdmissionOptions) -> None:
    async def check(client: Client, log: Log) -> None:
        await check_release(client, "gpu", {"binder": options}, log)

    api, _ = story(cluster([deployment()]), check)
    assert LEASE not in api.paths("GET")


def test_a_missing_kind_is_named() -> None:
    with pytest.raises(NotFoundError, match=r"does not serve podgroups\.scheduling\.run\.ai"):
        story(cluster([deployment()], without="PodGroup"), check)
