"""Requests: the outcome of a write, retries, and missing answers."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import kai
from fakes.clock import QuickClock, settle, until
from fakes.http_server import FakeApi, disconnect, ok, status
from fakes.scenarios import scenarios
from kai.api.writes import Lane, Outcome, Result, Write
from kai.k8s.client import READS_AT_ONCE, Client, must_not_repeat
from kai.k8s.kubeconfig import Access

BINDING = "/api/v1/namespaces/team/pods/train-0/binding"
POD = "/api/v1/namespaces/team/pods/train-0"


def bind() -> Write:
    body = {"target": {"kind": "Node", "name": "n1"}}
    return Write(Lane.BINDING, "create", "Pod", "team", "train-0", body, "binding")


def label() -> Write:
    return Write(
        Lane.CONDITION, "patch", "Pod", "team", "train-0", {"metadata": {"labels": {"a": "b"}}}
    )


def delete(uid: str = "u1") -> Write:
    body = {"preconditions": {"uid": uid}}
    return Write(Lane.EVICTION, "delete", "Pod", "team", "train-0", body)


def evict() -> Write:
    body = {"kind": "Eviction", "deleteOptions": {"preconditions": {"uid": "u1"}}}
    return Write(Lane.EVICTION, "create", "Pod", "team", "train-0", body, "eviction")


async def run(scenario: Callable[[FakeApi], Awaitable[Any]]) -> Any:
    async with FakeApi() as api:
        return await scenario(api)


scenario = scenarios(run)


def sent(write: Write, *answers: Any, clock: QuickClock | None = None, **how: Any) -> Any:
    """The outcome of a write with these answers, and the requests that arrived."""
    path = {"binding": BINDING, "eviction": f"{POD}/eviction"}.get(write.subresource, POD)
    method = {"create": "POST", "patch": "PATCH", "delete": "DELETE"}[write.verb]

    async def scenario(api: FakeApi) -> Any:
        api.on(method, path, *(each(api) if each is FakeApi.swallow else each for each in answers))
        async with api.client(clock) as client:
            return await client.send(write, **how), api.seen

    return asyncio.run(run(scenario))


# ---- what is sent --------------------------------------------------------------------------------


def test_a_binding_is_posted_to_the_pod() -> None:
    outcome, seen = sent(bind(), ok(code=201))
    assert outcome.result is Result.DONE
    assert outcome.status == 201
    assert [(each.method, each.path) for each in seen] == [("POST", BINDING)]
    assert seen[0].body == {"target": {"kind": "Node", "name": "n1"}}
    assert seen[0].headers["User-Agent"].startswith(f"kai-sched/{kai.__version__} (")


@pytest.mark.parametrize(
    ("patch_type", "body", "content"),
    [
        ("merge", {"a": 1}, "application/merge-patch+json"),
        ("strategic", {"a": 1}, "application/strategic-merge-patch+json"),
        ("json", [{"op": "add", "path": "/a", "value": 1}], "application/json-patch+json"),
    ],
)
def test_a_patch_has_its_content_type(patch_type: Any, body: Any, content: str) -> None:
    write = Write(Lane.CONDITION, "patch", "Pod", "team", "train-0", body, patch_type=patch_type)
    _, seen = sent(write, ok())
    assert seen[0].headers["Content-Type"] == content
    assert seen[0].body == body


def test_a_deletion_has_the_uid() -> None:
    _, seen = sent(delete("u7"), ok())
    assert seen[0].body == {"preconditions": {"uid": "u7"}}


@scenario
async def test_an_object_is_created_in_the_collection_of_its_namespace(api: FakeApi) -> None:
    path = "/apis/scheduling.run.ai/v2alpha2/namespaces/team/podgroups"
    api.on("POST", path, ok(code=201))
    async with api.client() as client:
        write = Write(Lane.BINDING, "create", "PodGroup", "team", "g", {"metadata": {}})
        assert (await client.send(write)).result is Result.DONE


# ---- what answers mean ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "result"),
    [(404, Result.GONE), (409, Result.CONFLICT), (403, Result.REFUSED), (422, Result.REFUSED)],
)
def test_status_codes_are_mapped_to_results(code: int, result: Result) -> None:
    outcome, seen = sent(bind(), status(code, reason="R", message="100%s of it"))
    assert outcome.result is result
    assert (outcome.status, outcome.reason, outcome.message) == (code, "R", "100%s of it")
    assert len(seen) == 1


def test_a_write_with_a_missing_right_is_not_repeated_at_once() -> None:
    text = 'pods "a" is forbidden: User "ann" cannot create resource "pods/binding" in API group ""'
    outcome, seen = sent(bind(), status(403, reason="Forbidden", message=text))
    assert (outcome.result, outcome.status) == (Result.FAILED, 403)
    assert len(seen) == 1


def test_an_unknown_path_is_not_a_deleted_object() -> None:
    async def scenario(api: FakeApi) -> Outcome:
        async with api.client() as client:
            return await client.send(bind())

    outcome = asyncio.run(run(scenario))
    assert outcome.result is Result.REFUSED
    assert outcome.message == "404 page not found"


def test_a_disruption_budget_refuses_an_eviction() -> None:
    budget = status(429, {"Retry-After": "10"}, causes=("DisruptionBudget",))
    outcome, seen = sent(evict(), budget)
    assert outcome.result is Result.REFUSED
    assert len(seen) == 1


# ---- what is tried again -------------------------------------------------------------------------


def test_a_write_to_a_busy_server_is_repeated_after_retry_after() -> None:
    clock, pauses = QuickClock(), list[float]()
    busy = status(429, {"Retry-After": "3"})
    outcome, seen = sent(bind(), busy, busy, ok(code=201), clock=clock, busy=pauses.append)
    assert outcome.result is Result.DONE
    assert len(seen) == 3
    assert all(3 <= each < 4 for each in clock.slept)
    assert [round(each, 3) for each in pauses] == clock.slept


def test_retry_after_is_bounded() -> None:
    clock = QuickClock()
    outcome, _ = sent(
        bind(), status(429, {"Retry-After": "3600"}), ok(), clock=clock, timeout=100.0
    )
    assert outcome.result is Result.DONE
    assert clock.slept[0] < 40


def test_waits_grow_and_are_random() -> None:
    clock = QuickClock()
    outcome, seen = sent(label(), status(503), clock=clock)
    assert outcome.result is Result.FAILED
    assert outcome.status == 503
    assert len(seen) == 5
    assert clock.slept == [0.05, 0.1, 0.2, 0.4]
    clock = QuickClock()
    clock.dice = 1.0
    sent(label(), status(503), clock=clock)
    assert clock.slept == [0.1, 0.2, 0.4, 0.8]


def test_a_write_ends_at_its_timeout() -> None:
    clock = QuickClock()
    busy = status(429, {"Retry-After": "3"})
    outcome, seen = sent(bind(), busy, clock=clock, timeout=5.0)
    assert outcome.result is Result.FAILED
    assert len(seen) == 2
    assert sum(clock.slept) == pytest.approx(5.0, abs=0.01)


def test_nothing_is_sent_after_the_lease_is_lost() -> None:
    outcome, seen = sent(bind(), ok(), guard=lambda: False)
    assert outcome.result is Result.FAILED
    assert outcome.reason == "NotLeading"
    assert seen == []


def test_the_lease_is_checked_before_each_try() -> None:
    answers = [True, False]
    outcome, seen = sent(label(), status(503), guard=lambda: answers.pop(0))
    assert outcome.reason == "NotLeading"
    assert len(seen) == 1


def test_without_a_connection_nothing_was_sent() -> None:
    async def scenario(api: FakeApi) -> Any:
        client = api.client()
        await api.__aexit__()
        async with client:
            outcome = await client.send(bind())
            with pytest.raises(kai.UnreachableError, match=r"http://127.*: connection refused"):
                await client.get("Pod", "team", "train-0")
            return outcome, client.requests

    outcome, requests = asyncio.run(run(scenario))
    assert outcome.result is Result.FAILED
    assert outcome.message == "connection refused"
    assert requests > 10  # for the whole time limit


DENIED = 'admission webhook "w" denied the request: not today'
UNCALLED = 'Internal error occurred: failed calling webhook "w": failed to call webhook: refused'
POLICY = (
    "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
)
QUOTA = 'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'


@pytest.mark.parametrize("write", [bind(), label(), delete(), evict()])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        *((code, DENIED) for code in (400, 401, 403, 404, 409, 422, 429, 500, 503, 504)),
        (500, UNCALLED),
        *((code, POLICY) for code in (401, 403, 413, 422)),
        (403, QUOTA),
    ],
)
def test_a_refused_write_was_not_applied_whatever_its_code(
    write: Write, code: int, text: str
) -> None:
    """A webhook chooses the code of its refusal. Nothing is in doubt, and the controller decides
    when the write is tried again."""
    outcome, seen = sent(write, status(code, reason="R", message=text))
    assert (outcome.result, outcome.status, outcome.message) == (Result.FAILED, code, text)
    assert outcome.refusal is not None
    assert outcome.refusal.answered is (text != UNCALLED)
    assert len(seen) == 1


def test_a_text_of_a_proxy_is_no_refusal() -> None:
    async def proxy(request: web.Request) -> web.StreamResponse:
        return web.Response(status=403, text=DENIED)

    outcome, _ = sent(bind(), proxy)
    assert (outcome.result, outcome.refusal) == (Result.REFUSED, None)


def test_a_refusal_after_a_lost_answer_leaves_the_binding_in_doubt() -> None:
    outcome, _ = sent(bind(), status(500), status(403, message=DENIED))
    assert outcome.result is Result.LOST
    assert outcome.refusal is not None


# ---- what may have been done ---------------------------------------------------------------------


@pytest.mark.parametrize("answer", [disconnect, FakeApi.swallow])
def test_a_binding_without_an_answer_is_lost_and_not_repeated(answer: Any) -> None:
    outcome, seen = sent(bind(), answer, timeout=0.2)
    assert outcome.result is Result.LOST
    assert outcome.status == 0
    assert len(seen) == 1


@pytest.mark.parametrize("write", [label(), delete(), evict()])
def test_idempotent_writes_are_repeated(write: Write) -> None:
    outcome, seen = sent(write, disconnect, ok())
    assert outcome.result is Result.DONE
    assert len(seen) >= 2


@pytest.mark.parametrize("code", [500, 504])
def test_a_conflict_after_an_error_leaves_the_binding_in_doubt(code: int) -> None:
    outcome, seen = sent(bind(), status(code), status(409, message="is already assigned"))
    assert outcome.result is Result.LOST
    assert outcome.status == 409
    assert len(seen) == 2


def test_a_conflict_after_a_busy_answer_is_a_conflict() -> None:
    outcome, _ = sent(bind(), status(503), status(409))
    assert outcome.result is Result.CONFLICT


def test_a_binding_that_ends_in_errors_is_lost() -> None:
    outcome, _ = sent(bind(), status(500))
    assert outcome.result is Result.LOST


@pytest.mark.parametrize(
    ("body", "once"),
    [
        ({"metadata": {"labels": {"a": "b"}}}, False),
        ({"metadata": {"resourceVersion": "7"}}, True),
        ([{"op": "add", "path": "/metadata/labels/a", "value": "b"}], False),
        ([{"op": "add", "path": "/status/conditions/-", "value": {}}], True),
        ([{"op": "add", "path": "/status/conditions/0", "value": {}}], True),
        ([{"op": "test", "path": "/metadata/uid", "value": "u"}], True),
    ],
)
def test_patches_with_a_precondition_are_not_repeated(body: Any, once: bool) -> None:
    kind = "json" if isinstance(body, list) else "merge"
    write = Write(Lane.CONDITION, "patch", "Pod", "team", "p", body, patch_type=kind)
    assert must_not_repeat(write) is once


@scenario
async def test_a_closed_client_opens_no_connections(api: FakeApi) -> None:
    client = api.client()
    await client.close()
    assert (await client.send(bind())).result is Result.FAILED
    with pytest.raises(kai.UnreachableError, match="the client is closed"):
        await client.get("Pod", "team", "train-0")
    with pytest.raises(kai.UnreachableError, match="the client is closed"):
        client.stream("/api/v1/pods", {}, {})
    assert api.seen == []


# ---- credentials ---------------------------------------------------------------------------------


def test_a_refused_token_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    async def scenario(api: FakeApi) -> Outcome:
        async def check(request: Any) -> Any:
            if request.headers["Authorization"] == "Bearer new":
                return await ok(code=201)(request)
            file.write_text("new\n")
            return await status(401, message="Unauthorized")(request)

        api.on("POST", BINDING, check)
        async with api.client(token_file=file) as client:
            outcome = await client.send(bind())
            assert [each.headers["Authorization"] for each in api.seen] == [
                "Bearer old",
                "Bearer new",
            ]
            return outcome

    assert asyncio.run(run(scenario)).result is Result.DONE


@scenario
async def test_an_unchanged_token_is_tried_once(api: FakeApi, *, tmp_path: Path) -> None:
    api.on("GET", POD, status(401, message="Unauthorized"))
    async with api.client(name="ann", token="wrong") as client:
        with pytest.raises(kai.RefusedError, match=r"credentials of ann \(test\): Unauth"):
            await client.get("Pod", "team", "train-0")
    assert len(api.seen) == 1


@scenario
async def test_a_token_file_is_read_again_every_minute(api: FakeApi, *, tmp_path: Path) -> None:
    file, clock = tmp_path / "token", QuickClock()
    file.write_text("one")
    api.on("GET", POD, ok())
    async with api.client(clock, token_file=file) as client:
        for token in ("one", "two", "two"):
            await client.get("Pod", "team", "train-0")
            assert api.seen[-1].headers["Authorization"] == f"Bearer {token}"
            file.write_text("two")
            clock.now += 61
        assert len(api.seen) == 3


@scenario
async def test_a_token_file_may_be_missing_for_a_moment(api: FakeApi, *, tmp_path: Path) -> None:
    file, clock = tmp_path / "token", QuickClock()
    file.write_text("one")
    api.on("GET", POD, ok())
    async with api.client(clock, token_file=file) as client:
        await client.get("Pod", "team", "train-0")
        file.unlink()
        clock.now += 61
        await client.get("Pod", "team", "train-0")
        assert api.seen[-1].headers["Authorization"] == "Bearer one"


@scenario
async def test_requests_go_through_the_proxy(proxy: FakeApi, *, tmp_path: Path) -> None:
    proxy.on("GET", POD, ok())
    access = Access(server="http://api.example.test:8080", source="test", proxy=proxy.url)
    async with Client(access) as client:
        assert await client.get("Pod", "team", "train-0") is not None
    assert proxy.seen[0].headers["Host"] == "api.example.test:8080"


def test_a_missing_certificate_authority_is_an_invalid_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "config"
    cluster = "{name: c, cluster: {server: 'https://10.0.0.1', certificate-authority: no.crt}}"
    context = "{name: x, context: {cluster: c}}"
    file.write_text(f"current-context: x\ncontexts: [{context}]\nclusters: [{cluster}]\n")
    with pytest.raises(
        kai.InvalidInputError, match=r"config: certificate-authority: .*no\.crt: No"
    ):
        asyncio.run(Client.connect(file))


@scenario
async def test_a_user_with_a_password_and_impersonation(api: FakeApi) -> None:
    api.on("GET", POD, ok())
    groups = {"Impersonate-User": ("bo",), "Impersonate-Group": ("a", "b")}
    async with api.client(username="ann", password="p", impersonate=groups) as client:
        await client.get("Pod", "team", "train-0")
    headers = api.seen[0].headers
    assert headers["Authorization"] == "Basic YW5uOnA="
    assert headers["Impersonate-User"] == "bo"


# ---- reading -------------------------------------------------------------------------------------


@scenario
async def test_a_missing_object_is_none(api: FakeApi) -> None:
    api.on("GET", POD, status(404))
    async with api.client() as client:
        assert await client.get("Pod", "team", "train-0") is None


@scenario
async def test_a_read_is_repeated_after_a_busy_answer(api: FakeApi) -> None:
    api.on("GET", POD, status(429), disconnect, ok())
    async with api.client() as client:
        found = json.loads(await client.get("Pod", "team", "train-0") or b"")
        assert found["metadata"]["name"] == "train-0"


@scenario
async def test_a_write_does_not_wait_for_a_hundred_reads(api: FakeApi) -> None:
    api.on("GET", POD, api.swallow())
    api.on("POST", BINDING, ok(code=201))
    async with api.client() as client:
        reads = [asyncio.create_task(client.get("Pod", "team", "train-0")) for _ in range(100)]
        await until(lambda: api.paths("GET").count(POD) >= READS_AT_ONCE)
        assert (await client.send(bind())).result is Result.DONE
        await settle()
        assert api.paths("GET").count(POD) == READS_AT_ONCE
        for each in reads:
            each.cancel()


@scenario
async def test_a_right_that_is_missing_is_named(api: FakeApi) -> None:
    api.on("GET", POD, status(403, message='pods "train-0" is forbidden'))
    async with api.client() as client:
        with pytest.raises(kai.RefusedError, match=r"pods \"train-0\" is forbidden") as raised:
            await client.get("Pod", "team", "train-0")
        assert raised.value.status == 403


@scenario
async def test_ages_use_the_servers_clock(api: FakeApi) -> None:
    clock = QuickClock()
    api.on("GET", POD, ok({}, Date="Tue, 24 Nov 2026 00:00:00 GMT"))
    async with api.client(clock) as client:
        assert client.server_time() == clock.wall()
        await client.get("Pod", "team", "train-0")
        clock.now += 60
        assert client.server_time() == 1795478400 + 60.5


@pytest.mark.parametrize("odd", ["Tue, 24 Nov 2026 02:00:00 GMT", "yesterday", "", "0"])
@scenario
async def test_an_odd_date_of_one_answer_does_not_count(api: FakeApi, *, odd: str) -> None:
    clock = QuickClock()
    api.on("GET", POD, ok({}, Date="Tue, 24 Nov 2026 00:00:00 GMT"))
    async with api.client(clock) as client:
        await client.get("Pod", "team", "train-0")
        before = client.server_time() - clock.now
        api.on("GET", POD, ok({}, Date=odd))
        clock.now += 10
        await client.get("Pod", "team", "train-0")
        await client.ask_time()
        assert client.server_time() - clock.now == before
        assert client.moment().now_ns == int((before + clock.now) * 1e9)


@scenario
async def test_another_http_server_is_not_an_api_server(api: FakeApi, *, tmp_path: Path) -> None:
    file = tmp_path / "config"
    cluster = f"{{name: c, cluster: {{server: '{api.url}'}}}}"
    context = "{name: x, context: {cluster: c}}"
    file.write_text(f"current-context: x\ncontexts: [{context}]\nclusters: [{cluster}]\n")
    async with await Client.connect(file) as client:
        assert client.version == "v1.36.3"
    api.on("GET", "/version", ok(["hello"]))
    with pytest.raises(kai.UnreachableError, match="is not a Kubernetes API server"):
        await Client.connect(file)
    api.on("GET", "/version", status(401, message="Unauthorized"))
    with pytest.raises(kai.RefusedError, match="refuses the credentials"):
        await Client.connect(file)
