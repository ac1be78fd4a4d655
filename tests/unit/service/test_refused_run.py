"""`kai run` with a server whose admission refuses writes: from the refusal to the explanation."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fake_cluster import Object, node, pod, small
from living_cluster import LivingCluster

from kai.api import keys
from kai.api.resources import RESOURCES
from kai.cli import main
from kai.controllers.planning.options import ROLES
from kai.k8s.client import Client
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service

PATIENCE_S = 20.0
CALL = 'failed calling webhook "podgroup-validation.kai.scheduler": failed to call webhook: Post'
UNCALLED = f'Internal error occurred: {CALL} "https://x.svc:443/": dial tcp 10.96.7.1:443: refused'
DENIED = 'admission webhook "w.example.com" denied the request: not on Fridays'
POLICY = (
    "pods \"p1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
)

GROUPS = RESOURCES["PodGroup"].path("team")
BIND = RESOURCES["Pod"].path("team", "p1", "binding")
STATUS = RESOURCES["Pod"].path("team", "p1", "status")


class RefusingCluster(LivingCluster):
    """`events`: those that were created, by name."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig)
        self.events: dict[str, Object] = {}
        self._refused: dict[tuple[str, str], tuple[int, str]] = {}
        self.tries = 0

    def refuse(self, method: str, path: str, code: int, message: str) -> None:
        self._refused[method, path] = (code, message)

    def allow(self) -> None:
        self._refused.clear()

    async def _start(self) -> None:
        await super()._start()
        self._api.on("GET", RESOURCES["Event"].path("team"), self._list_events)
        reservations = RESOURCES["Pod"].path(keys.RESERVATION)
        self._api.on("POST", reservations, lambda request: self._created("Pod", request))
        requests = RESOURCES["BindRequest"].path("team")
        self._api.on("POST", requests, lambda request: self._created("BindRequest", request))

    def _refusal(self, request: web.Request) -> web.StreamResponse | None:
        found = self._refused.get((request.method, request.path))
        if found is None:
            return None
        self.tries += 1
        code, message = found
        body = {"kind": "Status", "code": code, "reason": "R", "message": message}
        return web.json_response(body, status=code)

    async def _created(self, kind: str, request: web.Request) -> web.StreamResponse:
        if kind == "Event":
            made = await request.json()
            self.events[made["metadata"]["name"]] = made
        return self._refusal(request) or await super()._created(kind, request)

    async def _bound(self, name: str, request: web.Request) -> web.StreamResponse:
        return self._refusal(request) or await super()._bound(name, request)

    async def _merged(self, kind: str, name: str, request: web.Request) -> web.StreamResponse:
        return self._refusal(request) or await super()._merged(kind, name, request)

    async def _list_events(self, request: web.Request) -> web.StreamResponse:
        name = request.query.get("fieldSelector", "").partition("=")[2]
        found = [each for each in self.events.values() if each["involvedObject"]["name"] == name]
        return web.json_response(
            {"kind": "EventList", "metadata": {"resourceVersion": "1"}, "items": found}
        )

    async def _put(self, objects: tuple[Object, ...]) -> None:
        await super()._put(objects)
        for each in objects:
            if each["kind"] == "BindRequest":
                name = each["metadata"]["name"]
                path = RESOURCES["BindRequest"].path("team", name)
                self._api.on("DELETE", path, lambda _, name=name: self._request_deleted(name))

    async def _request_deleted(self, name: str) -> web.StreamResponse:
        await self._delete("BindRequest", name)
        return web.json_response({"kind": "Status", "code": 200})

    def reasons(self, name: str = "p1") -> list[str]:
        return [
            each["reason"]
            for each in self.events.values()
            if each["involvedObject"]["name"] == name
        ]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RefusingCluster]:
    with RefusingCluster(tmp_path / "kubeconfig.yaml") as made:
        made.put(*small())
        yield made


class Running:
    """`pod`: the pod of the story."""

    pod = "p1"

    def __init__(self, cluster: RefusingCluster, log: io.StringIO) -> None:
        self.cluster, self._log = cluster, log

    @property
    def log(self) -> str:
        return self._log.getvalue()

    async def until(self, is_so: Callable[[], object]) -> None:
        ends = asyncio.get_running_loop().time() + PATIENCE_S
        while not is_so():
            assert asyncio.get_running_loop().time() < ends, self.log
            await asyncio.sleep(0.02)

    def is_bound(self) -> bool:
        return bool(self.cluster._objects["Pod"]["p1"]["spec"].get("nodeName"))

    async def explain(self) -> dict[str, Any]:
        def run() -> str:
            import contextlib

            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                where = ("--kubeconfig", str(self.cluster.kubeconfig))
                assert main(["explain", *where, f"team/{self.pod}", "--json"]) == 0
            return out.getvalue()

        return dict(json.loads(await asyncio.to_thread(run)))


def run(cluster: RefusingCluster, story: Callable[[Running], Any], **more: Any) -> str:
    """The log of a service with all roles during the story."""
    stream = io.StringIO()

    async def scene() -> None:
        async with await Client.connect(cluster.kubeconfig) as client:
            options = Options(roles=tuple(ROLES), leader_elect=False, **more)
            service, stop = Service(client, options, Log(stream=stream)), asyncio.Event()
            running = asyncio.ensure_future(service.run(stop))
            try:
                await story(Running(cluster, stream))
            finally:
                stop.set()
                await running

    asyncio.run(scene())
    return stream.getvalue()


@pytest.mark.parametrize(
    ("path", "code", "message", "what", "fix"),
    [
        (GROUPS, 500, UNCALLED, "create PodGroup", "kai-podgroup-validation-v2alpha2"),
        (GROUPS, 409, DENIED, "create PodGroup", "change what the webhook"),
        (BIND, 500, UNCALLED, "create Pod/binding", "kai-podgroup-validation-v2alpha2"),
        (BIND, 404, DENIED, "create Pod/binding", "change what the webhook"),
        (BIND, 401, POLICY, "create Pod/binding", "change the policy p"),
    ],
)
def test_a_refused_write_is_logged_shown_and_tried_again(
    cluster: RefusingCluster, path: str, code: int, message: str, what: str, fix: str
) -> None:
    cluster.refuse("POST", path, code, message)
    # A group avoids those that refuse.
    cluster.put(*(node(f"n{number}", 8) for number in (2, 3, 4)))

    async def story(it: Running) -> None:
        await it.until(lambda: "WriteRefused" in cluster.reasons())
        await it.until(lambda: "FailedBinding" in cluster.reasons())
        found = await it.explain()
        assert found["waits_for"] in ("binding", "refused")
        assert fix.lower() in found["explanation"].lower()
        assert found["explanation"].endswith("tried again.")
        await it.until(lambda: cluster.tries >= 3)
        assert not it.is_bound()
        cluster.allow()
        await it.until(it.is_bound)
        await it.until(lambda: "WriteAccepted" in cluster.reasons())

    log = run(cluster, story)
    [line] = [each for each in log.splitlines() if "is refused" in each]
    assert f"warning kai: {what} is refused name=team/" in line
    assert " fix=" in line
    assert fix in line
    assert f"info kai: {what} is accepted again" in log
    assert "got no answer" not in log


def test_a_refused_status_does_not_keep_a_pod_from_its_node(cluster: RefusingCluster) -> None:
    cluster.refuse("PATCH", STATUS, 422, f"{POLICY}: object.metadata.uid")

    async def story(it: Running) -> None:
        await it.until(it.is_bound)
        await it.until(lambda: "WriteRefused" in cluster.reasons())
        tries = cluster.tries
        await asyncio.sleep(2.0)
        assert cluster.tries <= tries + 2  # it waits longer and longer
        cluster.allow()
        await it.until(lambda: "WriteAccepted" in cluster.reasons())

    assert "patch Pod/status is refused" in run(cluster, story)


@pytest.mark.parametrize("binding", ["direct", "bind-requests"])
def test_a_reservation_pod_that_does_not_report_is_named_while_it_is_waited_for_and_after(
    cluster: RefusingCluster, binding: str
) -> None:
    """Half a GPU. With direct bindings, the pod has no BindRequest."""
    half = pod("half", gpus=0)
    half["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    cluster.put(half)

    async def story(it: Running) -> None:
        it.pod = "half"
        await it.until(lambda: "Binding" in cluster.reasons("half"))
        found = await it.explain()
        assert found["waits_for"] == "gpu_reservation", found
        assert found["explanation"].startswith("Its binding to n1 has been under way for ")
        assert " to report its GPU. Look at it: `kubectl describe pod " in found["explanation"]
        assert found["layers"]["gpu_reservations"]
        await it.until(lambda: "BindingError" in cluster.reasons("half"))
        found = await it.explain()
        assert found["waits_for"] == "binding"
        assert found["explanation"].startswith("Its binding to n1 failed ")
        assert " did not report its GPU. Look at it: " in found["explanation"]
        await it.until(lambda: cluster.reasons("half").count("Binding") == 2)
        found = await it.explain()
        assert " has been under way for " in found["explanation"]
        assert " The try before failed " in found["explanation"]

    run(cluster, story, binding=binding, resource_reservation_allocation_timeout=4.0)


def test_a_reservation_pod_over_a_quota_is_named(cluster: RefusingCluster) -> None:
    half = pod("half", gpus=0)
    half["metadata"]["annotations"] = {"gpu-fraction": "0.5"}
    cluster.put(half)
    text = (
        'pods "r" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0'
    )
    cluster.refuse("POST", RESOURCES["Pod"].path(keys.RESERVATION), 403, text)

    async def story(it: Running) -> None:
        it.pod = "half"
        await it.until(lambda: {"WriteRefused", "FailedBinding"} <= {*cluster.reasons("half")})
        found = await it.explain()
        assert "the resource quota q refuses it: exceeded quota: q" in found["explanation"]
        assert "Raise the quota" in found["explanation"]

    assert "warning kai: create Pod is refused name=kai-resource-reservation/" in run(
        cluster, story
    )
