"""/explain of a running scheduler: what it says, and which users may read it."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from fakes.clock import until
from fakes.cluster import FakeCluster
from fakes.http_server import status
from fakes.objects import node, pod, priority_class, queue
from kai.cli import main
from kai.k8s.client import Client
from kai.live.asking import TOKEN_HEADER
from kai.service.explaining import ExplainServer
from kai.service.explaining.questions import NotNowError, Questions
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
RIGHTS: Mapping[str, set[tuple[str, ...]]] = {
    "ann": {("get", "pods", "team")},
    "ben": {("get", "pods", "team"), ("list", "pods", "team"), ("list", "pods", "other")},
    "eve": set(),
    "gil": {("get", "podgroups", "team")},
}


def objects() -> list[dict[str, Any]]:
    """team/needs waits for 2 GPUs, which other/busy holds and keeps."""
    classes = [priority_class("train", 50), priority_class("build", 100)]
    queues = [queue("top"), queue("a", "top", 1), queue("b", "top", 1)]
    busy = pod("busy", queue="a", gpus=2, on="n1", phase="Running", priority="build")
    busy["metadata"]["namespace"] = "other"
    return [*classes, *queues, node("n1", 2), busy, pod("needs", queue="a", gpus=2)]


async def reviewed(request: web.Request) -> web.Response:
    spec = (await request.json())["spec"]
    if request.path == TOKENS:
        name = spec["token"]
        is_known = name in RIGHTS
        user = {"username": name} if is_known else {}
        return answer("TokenReview", {"authenticated": is_known, "user": user})
    wanted = spec["resourceAttributes"]
    right = (wanted["verb"], wanted["resource"], wanted.get("namespace", ""))
    return answer("SubjectAccessReview", {"allowed": right in RIGHTS[spec["user"]]})


def answer(kind: str, value: Any) -> web.Response:
    return web.json_response({"kind": kind, "status": value}, status=201)


class Running:
    """A scheduler that answers questions."""

    def __init__(self, cluster: FakeCluster, service: Service, server: ExplainServer) -> None:
        self.cluster, self.service, self.server = cluster, service, server

    async def get(self, path: str, token: str = "", **headers: str) -> tuple[int, str]:
        given = {**headers, **({"Authorization": f"Bearer {token}"} if token else {})}
        url = f"http://127.0.0.1:{self.server.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, headers=given) as found:
            return found.status, await found.text()

    async def data(self, path: str, token: str) -> dict[str, Any]:
        status, text = await self.get(f"{path}?format=json", token)
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)
        return found


Scene = Callable[[Running], Awaitable[None]]


@pytest.fixture
def play(cluster: FakeCluster) -> Callable[[Scene], None]:
    cluster.put(*objects())
    cluster.api.on("POST", TOKENS, reviewed)
    cluster.api.on("POST", ACCESS, reviewed)

    async def run(scene: Scene) -> None:
        log = io.StringIO()
        options = Options(
            roles=("scheduler", "pod-grouper"), leader_elect=False, explain="127.0.0.1:0"
        )
        async with await Client.connect(cluster.kubeconfig) as client:
            service = Service(client, options, Log(stream=log))
            server = ExplainServer(client, options, service.questions)
            stop = asyncio.Event()
            running = asyncio.ensure_future(service.run(stop))
            try:
                await server.start("127.0.0.1:0")
                await until(lambda: running.done() or service._may_explain(), log.getvalue)
                await scene(Running(cluster, service, server))
            finally:
                await server.stop()
                stop.set()
                await running

    return lambda scene: asyncio.run(run(scene))


def test_a_user_who_may_get_the_pod_learns_why_it_waits(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        found = await running.data("/explain/team/needs", "ann")
        assert found["pod"] == "team/needs"
        assert found["waits_for"] == "room"
        assert {"pod", "pod_group", "queues", "plan"} <= found["layers"].keys()
        assert [each["queue"] for each in found["layers"]["queues"]] == ["a", "top"]

    play(scene)


def test_others_pods_are_a_number_and_their_queue(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        found = await running.data("/explain/team/needs", "ann")
        assert "other" not in json.dumps(found)
        assert "1 pod group of queue a holds 2 GPUs and is not preemptible." in json.dumps(found)

    play(scene)


def test_their_names_are_for_users_who_may_list_them(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        found = await running.data("/explain/team/needs", "ben")
        assert "other/pg-busy-uid-of-busy holds 2 GPUs and is not preemptible." in json.dumps(found)

    play(scene)


def test_a_pod_group_has_an_answer_as_well(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        await until(lambda: running.cluster.server.list("PodGroup"))
        found = await running.data("/explain/team/pg-needs-uid-of-needs", "gil")
        assert found["pod_group"] == "team/pg-needs-uid-of-needs"
        assert found["verdict"] == "unschedulable"
        assert "waits in queue a." in found["explanation"]
        code, _ = await running.get("/explain/team/needs", "gil")
        assert code == 404  # no group has this name, and the pod is not for gil

    play(scene)


@pytest.mark.parametrize(
    ("token", "expected"), [("", 401), ("stolen", 401), ("eve", 403), ("ann", 200)]
)
@pytest.mark.parametrize("name", ["needs", "missing"])
def test_without_the_right_it_is_not_said_whether_a_pod_exists(
    play: Callable[[Scene], None], token: str, expected: int, name: str
) -> None:
    async def scene(running: Running) -> None:
        status, text = await running.get(f"/explain/team/{name}", token)
        assert status == (404 if (expected, name) == (200, "missing") else expected)
        if expected != 200:
            assert "needs" not in text.replace("team/needs", "")

    play(scene)


def test_other_namespaces_are_refused(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        status, text = await running.get("/explain/other/busy", "ann")
        assert (status, text) == (403, "user ann may not get pod or pod group other/busy\n")

    play(scene)


def test_an_answer_is_text_or_json(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        status, text = await running.get("/explain/team/needs", "ann")
        assert status == 200
        assert text.startswith("It waits for free resources")
        assert "The decision of kai's next cycle" in text
        for path, headers in (("?format=json", {}), ("", {"Accept": "application/json"})):
            _, text = await running.get(f"/explain/team/needs{path}", "ann", **headers)
            assert json.loads(text)["waits_for"] == "room"
        assert (await running.get("/explain/team/needs?format=xml", "ann"))[0] == 400
        assert (await running.get("/metrics", "ann"))[0] == 404

    play(scene)


def test_the_token_may_be_in_the_header_that_a_proxy_leaves(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        headers = {TOKEN_HEADER: "Bearer ann"}
        assert (await running.get("/explain/team/needs", **headers))[0] == 200

    play(scene)


def test_without_reviews_nothing_is_answered(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        running.cluster.api.on("POST", ACCESS, status(403, message="reviews are forbidden"))
        code, text = await running.get("/explain/team/needs", "ann")
        assert code == 502
        assert "reviews are forbidden" in text

    play(scene)


def test_an_answer_makes_no_plan(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        await until(lambda: running.cluster.server.list("PodGroup"))
        await running.data("/explain/team/needs", "ann")
        await asyncio.sleep(1.0)  # its conditions are written
        planner = running.service._planner
        before = planner._cycle
        for _ in range(5):
            assert (await running.data("/explain/team/needs", "ann"))["waits_for"] == "room"
        assert planner._cycle == before

    play(scene)


def test_a_pod_that_came_later_is_in_the_next_answer(play: Callable[[Scene], None]) -> None:
    async def scene(running: Running) -> None:
        await asyncio.to_thread(running.cluster.put, pod("later", queue="nowhere"))
        await until(lambda: len(running.cluster.server.list("PodGroup")) == 3)
        found = await running.data("/explain/team/later", "ann")
        assert found["waits_for"] == "queue"
        assert "nowhere" in found["explanation"]

    play(scene)


# ---- the command ---------------------------------------------------------------------------------

PROXY = "/api/v1/namespaces/kai-scheduler/services/kai-explain/proxy/explain/team/needs"
Explain = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def explain(
    cluster: FakeCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[[str], Explain]:
    """`kai explain` of a user who may list no pods; with the token of this user, or without one."""

    def of(token: str) -> Explain:
        config = json.loads(cluster.kubeconfig.read_text())
        config["users"] = [{"name": "u", "user": {"token": token} if token else {}}]
        config["contexts"][0]["context"] |= {"user": "u", "namespace": "team"}
        file = tmp_path / "user.yaml"
        file.write_text(json.dumps(config))

        async def run(*arguments: str) -> tuple[int, str, str]:
            given = ["explain", "--kubeconfig", str(file), *arguments]
            code = await asyncio.to_thread(main, given)
            out, err = capfd.readouterr()
            return code, " ".join(out.split()), " ".join(err.split())

        return run

    return of


def passed_on(running: Running, *before: Any) -> None:
    """The API server passes requests on to the scheduler, and no list of pods is allowed."""
    running.cluster.api.forbidden = {"list Pod"}

    async def forward(request: web.Request) -> web.Response:
        headers = {name: each for name, each in request.headers.items() if name != "Authorization"}
        url = f"http://127.0.0.1:{running.server.port}/explain/team/needs"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, params=request.query, headers=headers) as found,
        ):
            return web.Response(status=found.status, body=await found.read())

    running.cluster.api.on("GET", PROXY, *before, forward)


def test_a_user_who_may_not_list_asks_the_scheduler(
    play: Callable[[Scene], None], explain: Callable[[str], Explain]
) -> None:
    async def scene(running: Running) -> None:
        passed_on(running)
        code, page, err = await explain("ann")("team/needs")
        assert (code, err) == (0, "")
        assert "It waits for free resources" in page
        assert "Queues, in GPUs" in page
        assert "may not list pods; kai install --reader prints a role" in page
        assert "the scheduler has answered" in page

    play(scene)


def test_the_namespace_is_that_of_the_context(
    play: Callable[[Scene], None], explain: Callable[[str], Explain]
) -> None:
    async def scene(running: Running) -> None:
        passed_on(running)
        code, out, _ = await explain("ann")("needs", "--json")
        assert code == 0
        found = json.loads(out)
        assert (found["pod"], found["waits_for"]) == ("team/needs", "room")
        assert found["notes"][0].endswith("; the scheduler has answered")

    play(scene)


def test_a_question_for_a_replica_that_does_not_lead_is_repeated(
    play: Callable[[Scene], None], explain: Callable[[str], Explain]
) -> None:
    async def scene(running: Running) -> None:
        async def follower(_: web.Request) -> web.Response:
            return web.Response(status=503, text="this process does not plan now\n")

        passed_on(running, follower, follower)
        code, page, _ = await explain("ann")("team/needs")
        assert code == 0
        assert "It waits for free resources" in page

    play(scene)


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "knows users by their tokens, and this kubeconfig has none"),
        ("eve", "user eve may not get pod or pod group team/needs"),
    ],
)
def test_without_the_right_both_causes_are_named(
    play: Callable[[Scene], None], explain: Callable[[str], Explain], token: str, why: str
) -> None:
    async def scene(running: Running) -> None:
        passed_on(running)
        code, out, err = await explain(token)("team/needs")
        assert (code, out) == (2, "")
        assert "may not list pods" in err
        assert why in err

    play(scene)


def test_a_cluster_without_this_service_is_named(
    play: Callable[[Scene], None], explain: Callable[[str], Explain]
) -> None:
    async def scene(running: Running) -> None:
        running.cluster.api.forbidden = {"list Pod"}
        code, _, err = await explain("ann")("team/needs")
        assert code == 2
        assert "may not list pods" in err
        assert "the scheduler" in err.partition("nor does")[2]

    play(scene)


def test_a_scheduler_has_an_address_for_questions(
    play: Callable[[Scene], None], explain: Callable[[str], Explain]
) -> None:
    async def scene(running: Running) -> None:
        url = f"http://127.0.0.1:{running.server.port}"
        before = len(running.cluster.reads)
        code, page, err = await explain("ann")("team/needs", "--scheduler-url", url)
        assert (code, err) == (0, "")
        assert "It waits for free resources" in page
        assert "/api/v1/pods" not in running.cluster.reads[before:]
        code, out, err = await explain("ann")("team/missing", "--scheduler-url", url)
        assert (code, out) == (1, "")
        assert "there is no pod or pod group team/missing" in err
        code, _, err = await explain("ann")("team/needs", "--scheduler-url", "localhost")
        assert code == 2
        assert "--scheduler-url: 'localhost' is not an address" in err

    play(scene)


# ---- questions -----------------------------------------------------------------------------------


def test_a_process_that_does_not_plan_says_so_at_once() -> None:
    async def scene() -> None:
        questions = Questions(lambda: None, lambda: False)
        with pytest.raises(NotNowError, match="another one leads"):
            await questions.ask(lambda plan: plan)

    asyncio.run(scene())


def test_a_turn_without_a_plan_answers_that_none_was_made() -> None:
    async def scene() -> None:
        questions = Questions(lambda: None, lambda: True)
        asking = asyncio.ensure_future(questions.ask(lambda plan: plan))
        await asyncio.sleep(0)
        assert len(questions.take()) == 1
        questions.told([])
        with pytest.raises(NotNowError):
            await asking

    asyncio.run(scene())


def test_few_questions_take_part_in_a_turn_and_the_others_in_the_next_one() -> None:
    async def scene() -> None:
        woken = []
        questions = Questions(lambda: woken.append(1), lambda: True)
        asking = [asyncio.ensure_future(questions.ask(lambda _, n=n: n)) for n in range(6)]
        await asyncio.sleep(0)
        sizes = []
        while taken := questions.take():
            sizes.append(len(taken))
            questions.told([each(None) for each in taken])  # type: ignore[arg-type]
        assert sizes == [4, 2]
        assert await asyncio.gather(*asking) == [0, 1, 2, 3, 4, 5]
        assert len(woken) == 7  # once for each question, and once for those that were left

    asyncio.run(scene())


def test_a_bug_in_an_explanation_is_raised_to_its_caller_and_not_in_the_planning_thread() -> None:
    def broken(_: object) -> None:
        raise KeyError("a bug")

    async def scene() -> None:
        questions = Questions(lambda: None, lambda: True)
        asking = asyncio.ensure_future(questions.ask(broken))
        await asyncio.sleep(0)
        [question] = questions.take()
        questions.told([question(None)])  # type: ignore[arg-type]
        with pytest.raises(KeyError):
            await asking

    asyncio.run(scene())


def test_a_caller_who_has_gone_is_not_answered() -> None:
    async def scene() -> None:
        questions = Questions(lambda: None, lambda: True)
        asking = asyncio.ensure_future(questions.ask(lambda plan: plan))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.sleep(0)
        assert questions.take() == []

    asyncio.run(scene())


def test_too_many_questions_are_refused() -> None:
    async def scene() -> None:
        questions = Questions(lambda: None, lambda: True)
        asking = [asyncio.ensure_future(questions.ask(lambda plan: plan)) for _ in range(65)]
        await asyncio.sleep(0)
        with pytest.raises(NotNowError, match="too many questions"):
            await asking[64]
        for each in asking:
            each.cancel()

    asyncio.run(scene())
