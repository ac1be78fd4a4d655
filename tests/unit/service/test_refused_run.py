"""`kai run` with a server whose admission refuses writes: from the refusal to the explanation."""

import asyncio
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fakes.api_server import Fault
from fakes.clock import until
from fakes.cluster import FakeCluster
from fakes.objects import node, pod, small
from kai.api import keys
from kai.api.writes import Outcome, Result, Write
from kai.cli import main
from kai.controllers.planning.options import ROLES
from kai.k8s.client import Client
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service

CALL = 'failed calling webhook "podgroup-validation.kai.scheduler": failed to call webhook: Post'
UNCALLED = f'Internal error occurred: {CALL} "https://x.svc:443/": dial tcp 10.96.7.1:443: refused'
DENIED = 'admission webhook "w.example.com" denied the request: not on Fridays'
POLICY = (
    "pods \"p1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
)

Kind = tuple[str, str, str, str]  # verb, kind, namespace, subresource
GROUPS: Kind = ("create", "PodGroup", "team", "")
BIND = ("create", "Pod", "team", "binding")
STATUS = ("patch", "Pod", "team", "status")
RESERVATIONS = ("create", "Pod", keys.RESERVATION, "")


class RefusingCluster(FakeCluster):
    """`tries`: of refused writes."""

    tries = 0

    def refuse(self, what: Kind, code: int, message: str) -> None:
        def fault(write: Write) -> Fault | None:
            if (write.verb, write.kind, write.namespace, write.subresource) != what:
                return None
            self.tries += 1
            return Fault(Outcome(Result.REFUSED, code, "R", message))

        self.server.fault = fault

    def allow(self) -> None:
        self.server.fault = lambda write: None

    def reasons(self, name: str = "p1") -> list[str]:
        events = self.do(partial(self.server.list, "Event", fields=f"involvedObject.name={name}"))
        return [each["reason"] for each in events]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RefusingCluster]:
    with RefusingCluster(tmp_path / "kubeconfig.yaml", kubelets=True) as made:
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
        await until(is_so, self._log.getvalue)

    def is_bound(self) -> bool:
        found = self.cluster.server.get("Pod", "team", "p1")
        return found is not None and bool(found["spec"].get("nodeName"))

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
    ("write", "code", "message", "what", "fix"),
    [
        (GROUPS, 500, UNCALLED, "create PodGroup", "kai-podgroup-validation-v2alpha2"),
        (GROUPS, 409, DENIED, "create PodGroup", "change what the webhook"),
        (BIND, 500, UNCALLED, "create Pod/binding", "kai-podgroup-validation-v2alpha2"),
        (BIND, 404, DENIED, "create Pod/binding", "change what the webhook"),
        (BIND, 401, POLICY, "create Pod/binding", "change the policy p"),
    ],
)
def test_a_refused_write_is_logged_shown_and_tried_again(
    cluster: RefusingCluster, write: Kind, code: int, message: str, what: str, fix: str
) -> None:
    cluster.refuse(write, code, message)
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
    cluster.refuse(STATUS, 422, f"{POLICY}: object.metadata.uid")

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
    cluster.refuse(RESERVATIONS, 403, text)

    async def story(it: Running) -> None:
        it.pod = "half"
        await it.until(lambda: {"WriteRefused", "FailedBinding"} <= {*cluster.reasons("half")})
        found = await it.explain()
        assert "the resource quota q refuses it: exceeded quota: q" in found["explanation"]
        assert "Raise the quota" in found["explanation"]

    assert "warning kai: create Pod is refused name=kai-resource-reservation/" in run(
        cluster, story
    )
