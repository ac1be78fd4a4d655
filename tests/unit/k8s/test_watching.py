"""Lists and watches: when objects are listed again, when a watch resumes, and the input of a
sink."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import kai
from fakes.clock import QuickClock, until
from fakes.http_server import FakeApi, bookmark, disconnect, error_event, event, ok, page, status
from fakes.scenarios import in_a_loop, scenarios
from kai.k8s.client import Client
from kai.k8s.sinks import DictSink
from kai.k8s.watching import Watch

PODS = "/api/v1/pods"


class Steps(DictSink):
    """A sink that records its input; `room` sets whether it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = list[str]()
        self.full_for = 0

    @property
    def is_full(self) -> bool:  # type: ignore[override]
        self.full_for -= 1
        return self.full_for >= 0

    def begin_list(self, kind: str, /) -> None:
        self.steps.append("begin")
        super().begin_list(kind)

    def end_list(self, kind: str, /) -> None:
        self.steps.append("end")
        super().end_list(kind)

    def watch_ended(self, kind: str, /) -> None:
        self.steps.append("cut")
        super().watch_ended(kind)

    @property
    def names(self) -> list[str]:
        return sorted(name for _, name in self.objects)


Scenario = Callable[[FakeApi, Client, Steps], Awaitable[Any]]


async def run(scenario: Scenario, clock: QuickClock | None = None) -> Any:
    async with FakeApi() as api, api.client(clock) as client:
        return await scenario(api, client, Steps())


scenario = scenarios(run)


async def watched(
    client: Client, sink: Steps, condition: Callable[[Watch], object], **options: Any
) -> Watch:
    """The watch, cancelled once the condition holds."""
    watch = Watch(client, "Pod", sink, **options)
    task = asyncio.create_task(watch.run())
    waiting = asyncio.create_task(until(lambda: task.done() or condition(watch)))
    await waiting
    assert not task.done(), task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return watch


def initial(*names: str, version: int = 10) -> list[bytes]:
    return [*(event("ADDED", each, 5) for each in names), bookmark(version, ends_list=True)]


# ---- watch-lists ---------------------------------------------------------------------------------


@scenario
async def test_one_stream_has_the_objects_and_then_the_changes(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    api.on("GET", PODS, api.stream(*initial("a", "b"), event("ADDED", "c", 11), stay=True))
    watch = await watched(client, sink, lambda _: len(sink.objects) == 3)
    assert sink.steps == ["begin", "end", "cut"]
    assert watch.synced
    assert (watch.relists, watch.reconnects, watch.events) == (1, 0, 4)
    query = api.seen[0].query
    assert query["sendInitialEvents"] == "true"
    assert query["resourceVersionMatch"] == "NotOlderThan"
    assert query["allowWatchBookmarks"] == "true"
    assert 300 <= int(query["timeoutSeconds"]) <= 600
    assert "resourceVersion" not in query


@scenario
async def test_events_may_be_split_anywhere(api: FakeApi, client: Client, sink: Steps) -> None:
    text = b"".join([*initial("a"), event("MODIFIED", "a", 11, spec={"nodeName": "n1"})])
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    api.on("GET", PODS, api.stream(*pieces, stay=True))
    await watched(client, sink, lambda _: sink.objects.get(("team", "a"), {}).get("spec"))
    assert sink.objects["team", "a"]["spec"] == {"nodeName": "n1"}


@scenario
async def test_a_stream_that_ends_continues_from_its_last_version(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    more = api.stream(event("ADDED", "c", 31), stay=True)
    api.on("GET", PODS, api.stream(*initial("a"), bookmark(30)), more)
    watch = await watched(client, sink, lambda _: len(sink.objects) == 2)
    assert api.seen[1].query["resourceVersion"] == "30"
    assert "sendInitialEvents" not in api.seen[1].query
    assert (watch.relists, watch.reconnects) == (1, 1)
    assert client.clock.slept == []  # type: ignore[attr-defined]


@scenario
async def test_a_stream_that_breaks_in_the_middle_of_an_event_loses_nothing(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    half = event("ADDED", "b", 11)[:25]
    more = api.stream(event("ADDED", "b", 11), stay=True)
    api.on("GET", PODS, api.stream(*initial("a"), half, cut=True), more)
    watch = await watched(client, sink, lambda _: sink.names == ["a", "b"])
    assert api.seen[1].query["resourceVersion"] == "10"
    assert watch.relists == 1


@scenario
async def test_a_stream_that_breaks_before_all_objects_starts_again(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    begun = api.stream(event("ADDED", "old", 5), cut=True)
    api.on("GET", PODS, begun, api.stream(*initial("a"), stay=True))
    watch = await watched(client, sink, lambda each: each.synced)
    assert sink.names == ["a"]
    assert sink.steps == ["begin", "cut", "begin", "end", "cut"]
    assert watch.relists == 2


@pytest.mark.parametrize("code", [400, 422])
@scenario
async def test_a_server_without_watch_lists_is_listed_in_pages(
    api: FakeApi, client: Client, sink: Steps, *, code: int
) -> None:
    no = status(code, message="sendInitialEvents is forbidden")
    api.on("GET", PODS, no, page(["a"], 7, "t1"), page(["b"], 7), api.stream(stay=True))
    await watched(client, sink, lambda _: len(api.seen) >= 4)
    assert sink.names == ["a", "b"]
    assert api.seen[1].query == {"limit": "500"}
    assert api.seen[2].query == {"limit": "500", "continue": "t1"}
    assert api.seen[3].query["resourceVersion"] == "7"
    assert not client.has_watch_lists


# ---- pages ---------------------------------------------------------------------------------------


@scenario
async def test_an_expired_continue_token_starts_the_list_again(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    client.has_watch_lists = False
    gone = status(410, reason="Expired")
    api.on("GET", PODS, page(["old"], 7, "t1"), gone, page(["a"], 9), api.stream(stay=True))
    await watched(client, sink, lambda _: len(api.seen) >= 4)
    assert sink.names == ["a"]
    assert sink.steps[:3] == ["begin", "begin", "end"]
    assert "continue" not in api.seen[2].query


@scenario
async def test_objects_missing_from_a_new_list_are_deleted(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    gone = api.stream(error_event(410))
    again = api.stream(*initial("b", version=50), stay=True)
    api.on("GET", PODS, api.stream(*initial("a", "b")), gone, again)
    watch = await watched(client, sink, lambda _: sink.names == ["b"])
    assert (watch.relists, watch.reconnects) == (2, 1)


@scenario
async def test_an_invalid_list_is_a_problem_and_not_an_empty_cluster(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    client.has_watch_lists = False
    api.on("GET", PODS, ok({"hello": 1}), page(["a"], 9), api.stream(stay=True))
    watch = Watch(client, "Pod", sink)
    problems = []
    sleep = client.clock.sleep

    async def note(seconds: float) -> None:
        problems.append(watch.problem)
        await sleep(seconds)

    client.clock.sleep = note  # type: ignore[method-assign]
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    task.cancel()
    assert problems[0].startswith("/api/v1/pods: the answer is no PodList: ")


@scenario
async def test_a_list_without_a_watch(api: FakeApi, client: Client, sink: Steps) -> None:
    api.on("GET", PODS, page(["a"], 7, "t1"), status(410), page(["b"], 8))
    await Watch(client, "Pod", sink).list_once()
    assert sink.names == ["b"]
    api.on("GET", PODS, status(410))
    with pytest.raises(kai.UnreachableError, match="has expired"):
        await Watch(client, "Pod", sink).list_once()
    api.on("GET", PODS, status(403, message="pods is forbidden"))
    with pytest.raises(kai.RefusedError, match="pods is forbidden"):
        await Watch(client, "Pod", sink).list_once()


# ---- versions that are forgotten -----------------------------------------------------------------


@pytest.mark.parametrize("how", ["status", "event"])
@scenario
async def test_an_expired_version_is_listed_again_at_once(
    api: FakeApi, client: Client, sink: Steps, *, how: str
) -> None:
    clock = client.clock

    async def later(request: Any) -> Any:
        clock.now += 60
        answer = status(410) if how == "status" else api.stream(error_event(410))
        return await answer(request)

    again = api.stream(*initial("a", "b", version=90), stay=True)
    api.on("GET", PODS, api.stream(*initial("a")), later, again)
    watch = await watched(client, sink, lambda _: sink.names == ["a", "b"])
    assert watch.relists == 2
    assert clock.slept == []


@scenario
async def test_repeatedly_expired_versions_are_listed_with_growing_waits(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock
    answers = [api.stream(*initial("a")), status(410)] * 5
    api.on("GET", PODS, *answers, api.stream(*initial("b"), stay=True))
    await watched(client, sink, lambda _: sink.names == ["b"])
    assert clock.slept == sorted(clock.slept)
    assert clock.slept[-1] >= 8 * clock.slept[0]


# ---- trouble -------------------------------------------------------------------------------------


@scenario
async def test_tries_have_growing_waits_and_a_reason(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock
    api.on("GET", PODS, status(403, message="pods is forbidden: User x cannot list"))
    watch = await watched(client, sink, lambda _: len(clock.slept) >= 12)
    assert watch.problem == "/api/v1/pods: pods is forbidden: User x cannot list"
    assert clock.slept[:4] == [0.05, 0.1, 0.2, 0.4]
    assert max(clock.slept) == 15
    assert sink.steps == []


@scenario
async def test_events_end_the_problem(api: FakeApi, client: Client, sink: Steps) -> None:
    api.on("GET", PODS, status(500), disconnect, api.stream(*initial("a"), stay=True))
    watch = await watched(client, sink, lambda each: each.synced)
    assert watch.problem == ""


@scenario
async def test_a_short_outage_needs_no_new_list(api: FakeApi, client: Client, sink: Steps) -> None:
    more = api.stream(event("ADDED", "b", 11), stay=True)
    api.on("GET", PODS, api.stream(*initial("a"), cut=True), *[disconnect] * 8, more)
    watch = await watched(client, sink, lambda _: sink.names == ["a", "b"])
    assert watch.relists == 1
    assert watch.reconnects > 3  # the library repeats some by itself


@scenario
async def test_a_busy_server_sets_the_wait(api: FakeApi, client: Client, sink: Steps) -> None:
    clock = client.clock
    busy = status(429, {"Retry-After": "2"})
    api.on("GET", PODS, busy, api.stream(*initial("a"), stay=True))
    await watched(client, sink, lambda each: each.synced)
    assert clock.slept == [2.0]


@scenario
async def test_errors_other_than_410_lead_to_a_new_list_when_they_stay(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    bad = api.stream(error_event(500, "etcd says no"))
    again = api.stream(*initial("b"), stay=True)
    api.on("GET", PODS, api.stream(*initial("a")), bad, bad, bad, bad, again)
    watch = await watched(client, sink, lambda _: sink.names == ["b"])
    assert watch.relists == 2


@scenario
async def test_a_silent_stream_is_opened_again(api: FakeApi, client: Client, sink: Steps) -> None:
    more = api.stream(event("ADDED", "b", 11), stay=True)
    api.on("GET", PODS, api.stream(*initial("a"), stay=True), more)
    watch = await watched(client, sink, lambda _: sink.names == ["a", "b"], silence=0.05)
    assert watch.relists == 1


@in_a_loop
async def test_an_expired_token_is_renewed(*, tmp_path: Any) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    async with FakeApi() as api, api.client(token_file=file) as client:

        async def refuse(request: Any) -> Any:
            file.write_text("new")
            return await status(401)(request)

        sink = Steps()
        api.on("GET", PODS, refuse, api.stream(*initial("a"), stay=True))
        await watched(client, sink, lambda each: each.synced)
        tokens = [each.headers["Authorization"] for each in api.seen]
        assert tokens == ["Bearer old", "Bearer new"]
        assert client.clock.slept == []  # type: ignore[attr-defined]


@scenario
async def test_another_kind_of_stream_is_a_problem(
    api: FakeApi, client: Client, sink: Steps, *, tmp_path: Any
) -> None:
    page = api.stream(b"<html>log in</html>\n")
    api.on("GET", PODS, page, api.stream(*initial("a"), stay=True))
    watch = await watched(client, sink, lambda each: each.synced)
    assert watch.relists == 2
    assert sink.names == ["a"]


@scenario
async def test_a_quiet_stream_that_ends_in_time_is_not_a_problem(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock

    async def quiet(request: Any) -> Any:
        response = await api.stream()(request)
        clock.now += 400
        return response

    more = api.stream(event("ADDED", "b", 11), stay=True)
    api.on("GET", PODS, api.stream(*initial("a")), *[quiet] * 10, more)
    watch = await watched(client, sink, lambda _: sink.names == ["a", "b"])
    assert watch.relists == 1
    assert clock.slept == []


# ---- sinks and selections ------------------------------------------------------------------------


@scenario
async def test_nothing_is_read_while_the_sink_is_full(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock
    sink.full_for = 6
    api.on("GET", PODS, api.stream(*initial("a"), stay=True))
    watch = await watched(client, sink, lambda each: each.synced)
    assert watch.pauses == 1
    assert clock.slept == [0.02] * 5


@scenario
async def test_selectors_namespaces_and_metadata_are_parameters(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    path = "/api/v1/namespaces/team/pods"
    api.on("GET", path, status(422), page(["a"], 7), api.stream(stay=True))
    options = {"namespace": "team", "label_selector": "a=b", "field_selector": "x!=y"}
    await watched(client, sink, lambda _: len(api.seen) >= 3, **options, metadata_only=True)
    assert all(each.query["labelSelector"] == "a=b" for each in api.seen)
    assert all(each.query["fieldSelector"] == "x!=y" for each in api.seen)
    kinds = [each.headers["Accept"].split(";")[1] for each in api.seen]
    assert kinds == [
        "as=PartialObjectMetadata",
        "as=PartialObjectMetadataList",
        "as=PartialObjectMetadata",
    ]


@scenario
async def test_a_kind_that_may_be_missing_counts_as_empty(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock
    watch = await watched(client, sink, lambda _: len(clock.slept) >= 3, optional=True)
    assert watch.synced
    assert sink.steps == ["begin", "end"]
    assert clock.slept[0] == 30


@scenario
async def test_a_kind_that_must_be_there_does_not_count_as_empty(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    clock = client.clock
    watch = await watched(client, sink, lambda _: len(clock.slept) >= 3)
    assert not watch.synced
    assert "404" in watch.problem


@scenario
async def test_a_kind_is_watched_with_the_version_of_the_server(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    group = "/apis/kubeflow.org"
    versions = [{"version": "v2beta1"}]
    api.on("GET", group, ok({"versions": versions, "preferredVersion": versions[0]}))
    resources = [{"name": "mpijobs", "kind": "MPIJob", "namespaced": True}]
    api.on("GET", f"{group}/v2beta1", ok({"resources": resources}))
    api.on("GET", f"{group}/v2beta1/mpijobs", api.stream(*initial("a"), stay=True))
    watch = Watch(client, "MPIJob", sink)
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    task.cancel()
    assert sink.names == ["a"]


@scenario
async def test_on_sync_follows_each_complete_list(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    again = api.stream(*initial("a", "b"), stay=True)
    api.on("GET", PODS, api.stream(*initial("a")), status(410), again)
    counts = list[int]()
    await watched(
        client,
        sink,
        lambda _: len(counts) == 2,
        on_sync=lambda: counts.append(len(sink.objects)),
    )
    assert counts == [1, 2]


def test_a_sink_of_dicts_reports_changes() -> None:
    changes = list[tuple[Any, Any]]()
    sink = DictSink(lambda kind, before, after: changes.append((before, after)))
    sink.begin_list("Pod")
    item = {"metadata": {"name": "a", "namespace": "team"}}
    page = {"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": [item]}
    assert sink.list_page("Pod", json.dumps(page).encode()).items == 1
    sink.end_list("Pod")
    sink.watch_bytes("Pod", event("MODIFIED", "a", 3))
    assert sink.watch_bytes("Pod", event("MODIFIED", "a", 3)).version == "3"
    sink.watch_bytes("Pod", event("DELETED", "a", 4))
    assert [(before is None, after is None) for before, after in changes] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert sink.objects == {}


@scenario
async def test_the_time_since_the_server_sent_something_is_known(
    api: FakeApi, client: Client, sink: Steps
) -> None:
    api.on("GET", PODS, api.stream(*initial("a"), stay=True))
    watch = Watch(client, "Pod", sink)
    client.clock.now += 7  # type: ignore[attr-defined]
    assert watch.silent_for() == 7, "nothing came yet"
    task = asyncio.create_task(watch.run())
    await until(lambda: watch.synced)
    assert watch.silent_for() == 0
    client.clock.now += 90  # type: ignore[attr-defined]
    assert watch.silent_for() == 90
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
