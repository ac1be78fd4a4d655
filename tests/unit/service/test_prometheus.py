"""A real Prometheus scrapes queue metrics, and returns the past usage of queues (spec 1
F118-F120)."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import math
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from fakes.cluster import FakeCluster
from fakes.objects import node, pod, priority_class, queue
from fakes.scenarios import in_a_loop
from kai.engine.windows import Samples, usage_of
from kai.k8s.client import Client
from kai.live.usage_db import UsageDb, read_usage_db
from kai.live.usage_fetching import fetch
from kai.service.log import Log
from kai.service.options import Options
from kai.service.pages import Pages
from kai.service.service import Service

PROGRAM = shutil.which("prometheus")
PATIENCE_S = 60.0
RESOURCES = ("gpu", "cpu", "memory")

pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None, reason="prometheus is not installed: tools/setup.sh prometheus"
    ),
    pytest.mark.timeout(240),
]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Prometheus:
    """A server that scrapes `ports` of this machine each second."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
        config = folder / "prometheus.yml"
        config.write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            f"scrape_configs: [{{job_name: t, static_configs: [{{targets: [{targets}]}}]}}]\n"
        )
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log = (folder / "prometheus.log").open("wb+")
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [
                *(PROGRAM, f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}"),
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    async def ready(self) -> Prometheus:
        ends = time.monotonic() + PATIENCE_S
        while not await asyncio.to_thread(self._answers):
            assert time.monotonic() < ends, "it does not start"
            assert self._process.poll() is None, "it has ended"
            await asyncio.sleep(0.1)
        return self

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/-/ready") as answer:
            return bool(answer.status == 200)
        return False

    def samples(self, query: str, first_s: int, last_s: int) -> dict[str, dict[int, float]]:
        """By queue and second, the value of a metric; each second has the last sample."""
        given = {"query": query, "start": first_s, "end": last_s, "step": "1s"}
        url = f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(given)}"
        with urllib.request.urlopen(url) as answer:
            found = json.load(answer)["data"]["result"]
        return {
            each["metric"].get("queue_name", ""): {
                int(moment): float(value) for moment, value in each["values"]
            }
            for each in found
        }

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._log.close()


@contextlib.contextmanager
def running(folder: Path, ports: list[int]) -> Iterator[Prometheus]:
    made = Prometheus(folder, ports)
    try:
        yield made
    finally:
        made.close()


def db(address: str, **params: Any) -> UsageDb:
    extra = {"queryResolution": "1s"}
    config = {"clientType": "prometheus", "connectionString": address}
    params = {"extraParams": extra, "fetchInterval": "1s", **params}
    found = read_usage_db({"usageDBConfig": {**config, "usageParams": params}}, {})
    assert found is not None
    return found


@contextlib.asynccontextmanager
async def exporting(text: Callable[[], str]) -> Any:
    """Serves a page of metrics, and yields its port."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=text())

    app = web.Application()
    app.router.add_get("/metrics", page)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    finally:
        await runner.cleanup()


def capacity(gpus: int, cpus: int, memory: int) -> str:
    """In kube-state-metrics' format, for one node."""
    amounts = {"nvidia_com_gpu": gpus, "cpu": cpus, "memory": memory}
    return "".join(
        f'kube_node_status_capacity{{node="n",resource="{name}"}} {amount}\n'
        for name, amount in amounts.items()
    )


async def until(is_so: Callable[[], Awaitable[object]], why: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not await is_so():
        assert time.monotonic() < ends, why()
        await asyncio.sleep(0.2)


@in_a_loop
async def test_usage_equals_the_sum_of_the_samples_of_prometheus(*, tmp_path: Path) -> None:
    """Each kind of window, compared with the same sums over Prometheus' samples."""
    now_held = {"a": 8.0, "b": 0.0}

    def text() -> str:
        held = "".join(
            f'kai_queue_allocated_gpus{{queue_name="{name}"}} {gpus}\n'
            f'kai_queue_allocated_cpu_cores{{queue_name="{name}"}} {gpus / 2}\n'
            for name, gpus in now_held.items()
        )
        return held + capacity(10, 64, 1 << 30)

    async with exporting(text) as port:
        with running(tmp_path, [port]) as prometheus:
            await prometheus.ready()
            await asyncio.sleep(6.0)
            now_held.update(a=1.0, b=4.0)
            await asyncio.sleep(6.0)
            await compared(prometheus)


async def compared(prometheus: Prometheus) -> None:
    # Half a second after a full second: no sample is at the border of a window.
    now = math.floor(time.time()) - 0.5
    start = time.strftime("%Y-%m-%dT%H:%M:%S.25Z", time.gmtime(now - 17.0))  # its third one, then
    sliding: dict[str, Any] = {"windowSize": "8s"}
    tumbling = {"windowType": "tumbling", "windowSize": "7s", "tumblingWindowStartTime": start}
    hourly = {"windowType": "cron", "cronString": "0 * * * *"}
    for params in (sliding, {**sliding, "halfLifePeriod": "3s"}, tumbling, hourly):
        found = db(prometheus.url, **params)
        async with aiohttp.ClientSession() as session:
            used = await fetch(found, session, now)
        samples = await asyncio.to_thread(samples_of, prometheus, found, now)
        expected = usage_of(samples, found.window, now)
        assert set(used) == {"a", "b"}, params
        for name, parts in used.items():
            assert parts == pytest.approx(expected[name], rel=1e-6), params
        if params is sliding:
            assert 0 < used["b"][0] < 0.4
            assert used["a"][1] == pytest.approx(used["a"][0] / 2 * 10 / 64)


def samples_of(prometheus: Prometheus, found: UsageDb, now: float) -> Samples:
    """All of the last hour, in the form for our own windows."""
    first, last = int(now) - 3600, int(now)
    held = {r: prometheus.samples(found.metrics[r], first, last) for r in RESOURCES}
    had = {r: prometheus.samples(found.capacities[r], first, last)[""] for r in RESOURCES}
    moments = sorted(had["gpu"])
    names = sorted({name for each in held.values() for name in each})
    rows = [
        {name: tuple(held[r].get(name, {}).get(moment, 0.0) for r in RESOURCES) for name in names}
        for moment in moments
    ]
    capacities = [tuple(had[r][moment] for r in RESOURCES) for moment in moments]
    return Samples.of_rows(moments, rows, capacities)  # type: ignore[arg-type]


def test_kai_run_reads_past_usage_from_its_own_metrics(tmp_path: Path) -> None:
    """`a` uses 2 of 8 GPUs: its pods are bound, its status is written, its gauge is scraped, and
    the scheduler fetches the resulting usage."""

    async def story(living: FakeCluster) -> None:
        stream, port = io.StringIO(), free_port()
        async with exporting(lambda: capacity(8, 8, 64 << 30)) as nodes:
            with running(tmp_path, [port, nodes]) as prometheus:
                await prometheus.ready()
                database = {
                    "clientType": "prometheus",
                    "connectionString": prometheus.url,
                    "usageParams": {
                        "windowSize": "5s",
                        "fetchInterval": "500ms",
                        "waitTimeout": "0s",
                        "extraParams": {"queryResolution": "1s"},
                    },
                }
                options = Options(leader_elect=False, config={"usageDBConfig": database})
                async with await Client.connect(living.kubeconfig) as client:
                    service = Service(client, options, Log(stream=stream))
                    pages = Pages(service.metrics, str, str, service.snapshot)
                    await pages.start(f"127.0.0.1:{port}")
                    stop = asyncio.Event()
                    run = asyncio.ensure_future(service.run(stop))
                    try:
                        await until(lambda: has_used(service, 0.25), lambda: stream.getvalue())
                    finally:
                        stop.set()
                        await run
                        await pages.stop()

    with FakeCluster(tmp_path / "kubeconfig.yaml", kubelets=True) as living:
        living.put(priority_class("train", 50), queue("top"), queue("a", "top", gpus=2))
        living.put(queue("b", "top", gpus=2), node("n1", 8))
        living.put(pod("a1"), pod("a2"))
        asyncio.run(story(living))


async def has_used(service: Service, gpus: float) -> bool:
    """Whether, in the next cycle's input, `a` and its parent used that many GPUs, and `b` none."""
    usage = await asyncio.to_thread(lambda: service._planner.state().usage)
    gpu = {name: parts[0] for name, parts in usage.items()}
    return gpu == {"a": pytest.approx(gpus), "top": pytest.approx(gpus)}
