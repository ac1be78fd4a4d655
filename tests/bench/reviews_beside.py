"""How long reviews wait in `kai run all --webhooks`, while it plans a large cluster.

    python tests/bench/reviews_beside.py

A replacement of the API server (tests/bench/live/large.py) shows a full cluster of 1,000 nodes and
32,000 pods, in which 1,000 pod groups wait; each second ten pods change, so that it is planned
again and again. The process answers at two ports: on the event loop of the webhooks' own thread, as
it does, and on that of the scheduler, as it could. This program sends reviews to both in turn,
50 a second, so that both see the same load of the machine: while the cluster is read and the first
statuses are written, and afterwards. docs/decisions/0039 has the figures.
"""

import asyncio
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

import aiohttp
from aiohttp import web

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "live"), str(HERE.parents[0] / "cluster")]

from large import StandIn, _kubeconfig  # noqa: E402
from reviews import PATHS, review  # noqa: E402
from testcluster.ports import free_ports  # noqa: E402
from testcluster.processes import Process  # noqa: E402

NODES, WAITING, GPUS_A_NODE = 1_000, 10_000, 32
EVERY_S = 0.02
START_S, STEADY_S = 30.0, 30.0
ON_BOTH = """
import asyncio, dataclasses, sys
from kai.cli import main
from kai.service.admission.beside import WithWebhooks

in_thread = WithWebhooks._run_in_thread

async def on_both(self, stop):
    other = WithWebhooks(self._service, self._connect, self._options, self._log)
    other._options = dataclasses.replace(self._options, webhook_address=sys.argv[1])
    await asyncio.gather(in_thread(self, stop), other._answer(stop))

WithWebhooks._run_in_thread = on_both
sys.exit(main(sys.argv[2:]))
"""


class FullCluster(StandIn):
    """The last pods wait, and nothing is idle."""

    def __init__(self) -> None:
        self._running = NODES * GPUS_A_NODE
        super().__init__(self._running + WAITING)
        self._nodes = NODES

    def _pod(self, number: int, filler: str) -> dict[str, Any]:
        made = super()._pod(number, filler[:500])  # more would measure the replacement
        if number >= self._running:
            del made["spec"]["nodeName"]
            made["status"] = {"phase": "Pending"}
        return made

    def _objects(self, kind: str) -> Iterator[dict[str, Any]]:
        for made in super()._objects(kind):
            if kind == "queues":
                made["spec"]["resources"] = {"gpu": {"quota": -1}}
            yield made


def serve(pipe: Any) -> None:
    async def run() -> None:
        server = FullCluster()
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", server.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        runner.app.logger.disabled = True  # connections that end together with kai are expected
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        pipe.send(runner.addresses[0][1])
        while not server.listed_at:
            await asyncio.sleep(0.1)
        number = 0
        while True:
            await asyncio.sleep(0.1)
            server.changed.put_nowait(number := (number + 1) % 1000)

    asyncio.run(run())


async def reviews(ports: list[int], seconds: float) -> list[list[float]]:
    """The time to each answer, by port; reviews are sent by the clock, not after an answer."""
    times: list[list[float]] = [[] for _ in ports]
    body = review()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:

        async def one(number: int) -> None:
            at = number % len(ports)
            url = f"https://127.0.0.1:{ports[at]}{PATHS[number // len(ports) % 2]}"
            began = time.perf_counter()
            async with session.post(url, data=body) as answer:
                found: Any = await answer.json()
                assert found["response"]["allowed"], found
            times[at].append(time.perf_counter() - began)

        began = time.perf_counter()
        tasks = []
        for number in range(round(seconds / EVERY_S)):
            await asyncio.sleep(max(0.0, began + number * EVERY_S - time.perf_counter()))
            tasks.append(asyncio.ensure_future(one(number)))
        await asyncio.gather(*tasks)
    return times


def show(when: str, both: list[list[float]]) -> None:
    for name, times in zip(("own thread", "scheduler's event loop"), both, strict=True):
        cuts = quantiles(times, n=100)
        p50, p90, p99 = (f"{cuts[at - 1] * 1e3:.1f}" for at in (50, 90, 99))
        longest = max(times) * 1e3
        print(f"{when}, {name}: p50 {p50}, p90 {p90}, p99 {p99}, longest {longest:.0f} ms")


async def measure(folder: Path, server: int) -> None:
    (kubeconfig := folder / "kubeconfig").write_text(_kubeconfig(f"http://127.0.0.1:{server}"))
    log = folder / "kai.log"
    *ports, pages = free_ports(3)
    own, other = (f"127.0.0.1:{port}" for port in ports)
    command = [sys.executable, "-c", ON_BOTH, other, "run", "all", "--kubeconfig", str(kubeconfig)]
    command += ["--webhooks", "--webhook-url", f"https://{own}", "--webhook-addr", own]
    command += ["--listen-address", f"127.0.0.1:{pages}"]
    kai = Process.start("kai", command, log=log)
    try:
        while log.read_text().count("answers reviews") < len(ports):
            assert kai.is_running(), log.read_text()
            await asyncio.sleep(0.01)
        show("while it starts", await reviews(ports, START_S))
        show("afterwards", await reviews(ports, STEADY_S))
        address = f"http://127.0.0.1:{pages}/metrics"
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            print(*figures(await answer.text()), sep="\n")
    finally:
        kai.stop()


def figures(page: str) -> Iterator[str]:
    names = (
        "kai_e2e_scheduling_latency_milliseconds ",
        "kai_cycle_duration_seconds_sum",
        "kai_cycle_duration_seconds_count",
    )
    return (line for line in page.splitlines() if line.startswith(names))


def main() -> None:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    print(f"{os.cpu_count()} CPUs; a review has {len(review())} bytes")
    try:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(Path(folder), ours.recv()))
    finally:
        process.terminate()
        process.join()


if __name__ == "__main__":
    main()
