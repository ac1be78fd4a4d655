"""Past usage of queues comes from Prometheus, in the background; failures change nothing."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import kai
from fakes.clock import VirtualClock, until
from fakes.cluster import FakeCluster
from fakes.objects import node, queue
from fakes.prometheus import FakePrometheus
from fakes.scenarios import in_a_loop, scenarios
from kai.engine.usage import Rows
from kai.errors import InvalidConfigError, InvalidInputError
from kai.k8s.client import Client
from kai.live.usage_db import UsageDb, read_usage_db
from kai.live.usage_fetching import fetch, shown
from kai.service.log import Log
from kai.service.metrics import Metrics
from kai.service.options import Options
from kai.service.service import Service
from kai.service.usage_fetching import UsageFetching

GPUS = "kai_queue_allocated_gpus"
PATIENCE_S = 20.0


def db(address: str, **params: Any) -> UsageDb:
    config = {"clientType": "prometheus", "connectionString": address, "usageParams": params}
    found = read_usage_db({"usageDBConfig": config}, {})
    assert found is not None
    return found


async def with_prometheus(story: Callable[[FakePrometheus], Awaitable[None]]) -> None:
    async with FakePrometheus() as prometheus:
        prometheus.used = {GPUS: {"a": 1440.0}}
        prometheus.had = {"nvidia_com_gpu": 6000.0}
        await story(prometheus)


scenario = scenarios(with_prometheus)


async def fetched(found: UsageDb, now_s: float = 1_800_000_000.5) -> Rows:
    async with aiohttp.ClientSession() as session:
        return await fetch(found, session, now_s)


@scenario
async def test_usage_is_fetched_by_six_queries_at_one_moment(prometheus: FakePrometheus) -> None:
    found = db(prometheus.url)
    assert await fetched(found) == {"a": (0.24, 0.0, 0.0)}
    assert {each["query"] for each in prometheus.queries} == {
        *found.queries(1_800_000_000.5).values()
    }
    assert {(each["time"], each["timeout"]) for each in prometheus.queries} == {
        ("1800000000.5", "10s")
    }


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((500, "oops"), "HTTP status 500"),
        ((401, '{"message": "who are you"}'), "HTTP status 401"),
        (
            (400, '{"status": "error", "errorType": "bad_data", "error": "parse error"}'),
            "bad_data: parse error",
        ),
        ((200, "<html>"), "the answer is not one of Prometheus"),
    ],
)
@scenario
async def test_an_invalid_answer_is_one_sentence(
    prometheus: FakePrometheus, *, answer: tuple[int, str], message: str
) -> None:
    prometheus.fails = lambda: web.Response(status=answer[0], text=answer[1])
    with pytest.raises(InvalidInputError) as error:
        await fetched(db(prometheus.url))
    assert str(error.value).startswith("sum_over_time((")
    assert str(error.value).endswith(message)


def test_a_silent_or_unreachable_server_is_one_sentence() -> None:
    async def story(prometheus: FakePrometheus) -> None:
        prometheus.silent = True
        with pytest.raises(InvalidInputError, match=r"no answer within 0.05 s"):
            await fetched(db(prometheus.url, extraParams={"usageQueryTimeout": "50ms"}))

    asyncio.run(with_prometheus(story))
    with pytest.raises(InvalidInputError, match="ClientConnectorError"):
        asyncio.run(fetched(db("http://127.0.0.1:1")))
    with pytest.raises(InvalidInputError, match="the connection string is empty"):
        asyncio.run(fetched(UsageDb(address="", window=db("http://a").window)))


def test_a_password_is_not_shown() -> None:
    assert shown("https://me:secret@prometheus:9090/x") == "https://prometheus:9090/x"


class Fetching:
    """A fetcher with a clock that a test moves."""

    def __init__(self, found: UsageDb) -> None:
        self.clock, self.stream, self.metrics = VirtualClock(), io.StringIO(), Metrics()
        self.got: list[Rows] = []
        log = Log(stream=self.stream)
        times = self.clock, self.clock.wall
        self.usage = UsageFetching(found, *times, log, self.metrics, self.got.append)

    async def __aenter__(self) -> Fetching:
        self._task = asyncio.ensure_future(self.usage.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def until(self, is_so: Callable[[], object]) -> None:
        await until(is_so, self.stream.getvalue)

    def failures(self) -> float:
        return self.metrics.usage_failures.values[()]


@scenario
async def test_a_failed_fetch_keeps_the_earlier_usage(prometheus: FakePrometheus) -> None:
    """Spec 1 F121."""
    async with Fetching(db(prometheus.url)) as it:
        await it.until(lambda: len(it.got) == 1)
        assert it.metrics.usage_query_ms.of().counts[0] == 1
        prometheus.fails = lambda: web.Response(status=503, text="no")
        for times in range(1, 7):
            await it.clock.advance(60.0)
            await it.until(lambda times=times: it.failures() == times)
        assert len(it.got) == 1
        assert it.usage.age() == pytest.approx(360.0)
        output = it.stream.getvalue()
        assert output.count("the usage of queues cannot be fetched") == 6
        assert output.count("the usage of queues is old, but still used age_s=360") == 1
        assert "age_s=300" not in output
        prometheus.fails, prometheus.used = None, {GPUS: {"a": 600.0}}
        await it.clock.advance(60.0)
        await it.until(lambda: len(it.got) == 2)
        assert it.got[-1]["a"][0] == 0.1
        assert it.usage.age() == 0


@scenario
async def test_scheduling_waits_for_the_first_fetch_for_a_limited_time(
    prometheus: FakePrometheus,
) -> None:
    prometheus.fails = lambda: web.Response(status=503, text="no")
    async with Fetching(db(prometheus.url, waitTimeout="30s")) as it:
        await it.until(lambda: it.failures() == 1)
        assert not it.usage.is_ready()
        await it.clock.advance(29.0)
        assert not it.usage.is_ready()
        await it.clock.advance(1.0)
        assert it.usage.is_ready()
        assert it.usage.age() is None


@scenario
async def test_skipped_members_are_logged_once(prometheus: FakePrometheus) -> None:
    async with Fetching(db(prometheus.url, windowsize="1d")) as it:
        await it.until(lambda: it.got)
        await it.clock.advance(60.0)
        await it.until(lambda: len(it.got) == 2)
        assert it.stream.getvalue().count("windowsize is not known") == 1


# ---- a service -----------------------------------------------------------------------------------


def config_of(address: str, **params: Any) -> dict[str, Any]:
    database = {"clientType": "prometheus", "connectionString": address, "usageParams": params}
    return {"usageDBConfig": database}


def test_a_service_plans_with_the_fetched_usage(cluster: FakeCluster) -> None:
    cluster.put(queue("a"), queue("b"), node("n1", 8))

    async def story(prometheus: FakePrometheus) -> None:
        prometheus.used = {GPUS: {"a": 3000.0, "gone": 100.0}}
        stream, config = io.StringIO(), config_of(prometheus.url, fetchInterval="50ms")
        options = Options(
            leader_elect=False, config=config, roles=("scheduler", "queue-controller")
        )
        async with await Client.connect(cluster.kubeconfig) as client:
            service = Service(client, options, Log(stream=stream))
            stop = asyncio.Event()
            running = asyncio.ensure_future(service.run(stop))
            try:
                for wanted in (0.5, 0.25):
                    prometheus.used[GPUS]["a"] = wanted * 6000
                    await is_used(service, wanted)
                snapshot = await service.snapshot()
            finally:
                stop.set()
                await running
        page = (await service.metrics.page()).decode()
        assert "kai_queue_gpu_usage" in page
        assert "\nkai_usage_age_seconds 0." in page
        assert "fetches the usage of queues server=http://127.0.0.1" in stream.getvalue()
        replayed = kai.load(snapshot)
        assert replayed.usage == {"a": {"gpu": 0.25, "cpu": 0.0, "memory": 0.0}}

    async def is_used(service: Service, wanted: float) -> None:
        labels = 'queue_name="a",queue_metadata_name="a",queue_display_name=""'
        message = f"kai_queue_gpu_usage{{{labels}}} {wanted}\n"
        ends = time.monotonic() + PATIENCE_S
        while True:
            page = (await service.metrics.page()).decode()
            planned_with = service._planner.state().usage.get("a", ())
            if message in page and planned_with == (wanted, 0.0, 0.0):
                return
            assert time.monotonic() < ends, page
            await asyncio.sleep(0.05)

    asyncio.run(with_prometheus(story))


def test_an_invalid_database_ends_the_start(cluster: FakeCluster) -> None:
    async def main() -> None:
        async with await Client.connect(cluster.kubeconfig) as client:
            Service(client, Options(config=config_of("")), Log(stream=io.StringIO()))

    with pytest.raises(InvalidConfigError) as error:
        asyncio.run(main())
    assert str(error.value) == (
        "usageDBConfig: connection string and connection string env var are not set, one is"
        " required"
    )


@in_a_loop
async def test_other_roles_fetch_nothing(*, cluster: FakeCluster) -> None:
    async with await Client.connect(cluster.kubeconfig) as client:
        options = Options(config=config_of(""), roles=("queue-controller",))
        assert Service(client, options, Log(stream=io.StringIO()))._usage is None
