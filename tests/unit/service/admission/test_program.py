"""The webhooks' program: reviews over TLS, its pages, and its end."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import aiohttp
import pytest

pytest.importorskip("cryptography")

from kept_objects import KeptObjects

from fakes.clock import until
from fakes.http_server import FakeApi
from fakes.scenarios import in_a_loop, scenarios
from kai.controllers.admission import Guard, Rules
from kai.k8s.clock import Clock
from kai.service.admission.options import AdmissionOptions
from kai.service.admission.program import Program
from kai.service.log import Log

HOST = "127.0.0.1"


class Running:
    """`send(path, request)`: the answer to a review, as (status, response)."""

    def __init__(self, api: FakeApi, kept: KeptObjects, program: Program, log: StringIO) -> None:
        self.api, self.kept, self.program, self.log = api, kept, program, log
        self.stop = asyncio.Event()

    def trusting(self) -> ssl.SSLContext:
        (bundle,) = self.kept.bundles
        tls = ssl.create_default_context(cadata=bundle.decode())
        tls.check_hostname = False  # the name is that of the Service
        return tls

    async def post(self, path: str, body: bytes) -> tuple[int, str, bool]:
        """Status, text, and whether the server closes the connection."""
        url = f"https://{HOST}:{self.program.server.port}{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=body, ssl=self.trusting()) as answer,
        ):
            closes = answer.headers.get("Connection") == "close"
            return answer.status, await answer.text(), closes

    async def send(self, path: str, request: Any) -> dict[str, Any]:
        code, text, _ = await self.post(path, json.dumps({"request": request}).encode())
        assert code == 200, text
        response: dict[str, Any] = json.loads(text)["response"]
        return response

    async def page(self, path: str) -> tuple[int, str]:
        url = f"http://{HOST}:{self.program.pages.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Running]:
    async with FakeApi() as api:
        kept = KeptObjects(api)
        kept.register()
        log = StringIO()
        chosen = AdmissionOptions(
            webhook_address=f"{HOST}:0", listen=f"{HOST}:0", drain_s=0.05, **options
        )
        async with api.client(Clock()) as client:
            program = Program(client, chosen, Log(stream=log))
            found = Running(api, kept, program, log)
            task = asyncio.create_task(program.run(found.stop))
            try:
                await until(lambda: task.done() or program.server.port)
                if task.done():
                    task.result()
                yield found
            finally:
                found.stop.set()
                await task


async def story(work: Callable[[Running], Awaitable[None]], **options: Any) -> None:
    async with running(**options) as found:
        await work(found)


scenario = scenarios(story)


def half(annotation: str = "0.5") -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "team", "annotations": {"gpu-fraction": annotation}}
    spec = {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}]}
    return {"uid": "u", "namespace": "team", "object": {"metadata": metadata, "spec": spec}}


@scenario
async def test_a_pod_is_changed_over_tls(found: Running) -> None:
    response = await found.send("/mutate--v1-pod", half())
    assert (response["uid"], response["patchType"]) == ("u", "JSONPatch")


@scenario
async def test_a_refusal_is_counted_and_logged(found: Running) -> None:
    response = await found.send("/validate--v1-pod", {**half("2"), "name": "p"})
    assert response["allowed"] is False
    _, text = await found.page("/metrics")
    counted = 'kai_admission_reviews_total{kind="Pod",webhook="validating",allowed="false"} 1'
    assert counted in text
    assert "kai_admission_certificate_end_timestamp_seconds 1" in text
    assert "refused a Pod name=team/p why=" in found.log.getvalue()


def test_it_is_required_once_a_review_has_reached_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kai.service.admission.program.LOOK_EVERY_S", 0.02)

    async def work(found: Running) -> None:
        await asyncio.sleep(0.1)
        assert found.kept.policies == {"Ignore"}
        assert b"" not in found.kept.bundles
        await found.send("/validate--v1-pod", half())
        await until(lambda: found.kept.policies == {"Fail"})

    asyncio.run(story(work))


@scenario(rules=Rules(sharing=False))
async def test_the_rules_of_the_installation_apply(found: Running) -> None:
    response = await found.send("/validate--v1-pod", half())
    assert "GPU sharing is disabled" in response["status"]["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"request": 3}', b'{"request": {}}'])
@scenario
async def test_what_is_no_review_is_a_bad_request(found: Running, *, body: bytes) -> None:
    code, text, _ = await found.post("/validate--v1-pod", body)
    assert (code, text) == (400, "this is no AdmissionReview with a request\n")


@scenario
async def test_other_paths_are_not_served(found: Running) -> None:
    code, _, _ = await found.post("/validate-pods", b"{}")
    assert code == 404


@scenario
async def test_it_is_ready_while_it_answers(found: Running) -> None:
    assert await found.page("/readyz") == (200, "ok\n")
    assert await found.page("/healthz") == (200, "ok\n")


@in_a_loop
async def test_it_is_unready_until_it_has_a_certificate() -> None:
    async with FakeApi() as api, api.client(Clock()) as client:
        kept = KeptObjects(api)
        api.forbidden.add("get Secret")
        options = AdmissionOptions(webhook_address=f"{HOST}:0", listen=f"{HOST}:0", drain_s=0.0)
        found = Running(api, kept, Program(client, options, Log(stream=StringIO())), StringIO())
        task = asyncio.create_task(found.program.run(found.stop))
        await until(lambda: found.program.pages.port and api.paths("GET"))
        code, text = await found.page("/readyz")
        assert code == 503
        assert "certificate" in text or "forbidden" in text
        assert found.program.server.port == 0
        found.stop.set()
        await task


@scenario
async def test_it_answers_after_sigterm_and_closes_connections(found: Running) -> None:
    body = json.dumps({"request": half()}).encode()
    _, _, closes = await found.post("/mutate--v1-pod", body)
    assert not closes
    found.stop.set()
    await asyncio.sleep(0.01)
    code, _, closes = await found.post("/mutate--v1-pod", body)
    assert (code, closes) == (200, True)
    assert (await found.page("/readyz"))[0] == 503


@scenario
async def test_queues_of_the_cluster_are_known(found: Running) -> None:
    queue = {
        "metadata": {"name": "a"},
        "spec": {"parentQueue": "all", "resources": {"gpu": {}}},
    }
    request = {"uid": "u", "operation": "CREATE", "object": queue}
    path = "/validate-scheduling-run-ai-v2-queue"
    while (response := await found.send(path, request))["allowed"]:
        await asyncio.sleep(0.01)  # the queues are not listed yet
    assert response["status"]["message"].startswith("there is no queue all")


@scenario(rules=Rules(guard=Guard("kai:1", shares=False)))
async def test_a_queue_chooses_the_guard_for_its_pods(found: Running) -> None:
    chosen = {"annotations": {"kai.scheduler/gpu-guard": "true"}}
    for name, metadata, spec in (
        ("all", chosen, {}),
        ("a", {}, {"parentQueue": "all"}),
        ("free", {}, {}),
    ):
        named = {"metadata": {"name": name, **metadata}, "spec": spec}
        found.kept.put({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", **named})

    async def is_guarded(queue: str) -> bool:
        review = half()
        review["object"]["metadata"]["labels"] = {"kai.scheduler/queue": queue}
        patch = (await found.send("/mutate--v1-pod", review))["patch"]
        return b"KAI_GUARD_LIMIT" in base64.b64decode(patch)

    while not await is_guarded("a"):
        await asyncio.sleep(0.01)  # the queues are not listed yet
    assert not await is_guarded("free")


@in_a_loop
async def test_an_address_that_is_in_use_ends_the_program() -> None:
    async with running() as found:
        port = found.program.server.port
        with pytest.raises(Exception, match=f"--webhook-addr {HOST}:{port}"):
            async with running_at(f"{HOST}:{port}"):
                pass


@asynccontextmanager
async def running_at(address: str) -> AsyncIterator[None]:
    async with FakeApi() as api, api.client(Clock()) as client:
        KeptObjects(api)
        options = AdmissionOptions(webhook_address=address, drain_s=0.0)
        await Program(client, options, Log(stream=StringIO())).run(asyncio.Event())
        yield
