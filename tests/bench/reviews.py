"""The cost of a review: CPU time, latency and memory of `kai run admission`.

    python tests/bench/reviews.py --requests 20000

The program runs in a process of its own, with a certificate of its own and no API server; the load
comes over TLS from this process, one request after the other on a few connections, as from an API
server. A review has about 8 KB: a pod with 90 environment variables. docs/performance.md has the
figures.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import ssl
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiohttp

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "unit" / "service" / "admission")]

PATHS = ("/mutate--v1-pod", "/validate--v1-pod")
CONNECTIONS = 4


def review() -> bytes:
    env = [{"name": f"VARIABLE_{index}", "value": "v" * 48} for index in range(90)]
    limits = {"limits": {"cpu": "4", "memory": "16Gi"}}
    container = {"name": "main", "image": "registry/train:1", "env": env, "resources": limits}
    annotations = {"gpu-fraction": "0.5"}
    metadata = {"name": "train-0", "namespace": "team", "annotations": annotations}
    pod = {"metadata": metadata, "spec": {"schedulerName": "kai-scheduler"}}
    pod["spec"]["containers"] = [container]
    request = {"uid": "u", "namespace": "team", "operation": "CREATE", "object": pod}
    kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**kind, "request": request}).encode()


def serve(pipe: Connection) -> None:
    """Runs the program; answers "figures" with CPU seconds, memory and times of reviews."""
    asyncio.run(_serve(pipe))


async def _serve(pipe: Connection) -> None:
    from kept_objects import KeptObjects

    from fakes.http_server import FakeApi
    from kai.controllers.admission import Rules
    from kai.k8s.clock import Clock
    from kai.service.admission.options import AdmissionOptions
    from kai.service.admission.program import Program
    from kai.service.log import Log

    async with FakeApi() as api, api.client(Clock()) as client:
        kept = KeptObjects(api)
        kept.register()
        options = AdmissionOptions(rules=Rules(), webhook_address="127.0.0.1:0", drain_s=0.0)
        program = Program(client, options, Log())
        times: list[float] = []
        reviewed = program.metrics.reviewed

        def note(kind: str, *, mutates: bool, allowed: bool, took: float) -> None:
            times.append(took)
            reviewed(kind, mutates=mutates, allowed=allowed, took=took)

        program.metrics.reviewed = note  # type: ignore[method-assign]
        stop = asyncio.Event()
        task = asyncio.create_task(program.run(stop))
        while not program.server.port:
            await asyncio.sleep(0.01)
        (authority,) = kept.bundles
        pipe.send((program.server.port, authority.decode()))
        while True:
            await asyncio.to_thread(pipe.poll, None)
            if pipe.recv() == "end":
                break
            memory = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
            pipe.send((time.process_time(), memory, times[:]))
            times.clear()
        stop.set()
        await task


async def load(port: int, authority: str, requests: int) -> None:
    tls = ssl.create_default_context(cadata=authority)
    tls.check_hostname = False
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=tls)
    body = review()
    left = iter(range(requests))
    async with aiohttp.ClientSession(connector=connector) as session:

        async def work() -> None:
            for number in left:
                url = f"https://127.0.0.1:{port}{PATHS[number % 2]}"
                async with session.post(url, data=body) as answer:
                    found: Any = await answer.json()
                    assert found["response"]["allowed"], found

        await asyncio.gather(*(work() for _ in range(CONNECTIONS)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=20_000, help="per run")
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,))
    process.start()
    port, authority = ours.recv()
    print(f"a review has {len(review())} bytes; {os.cpu_count()} CPUs")
    asyncio.run(load(port, authority, 2_000))
    rows = []
    for number in range(chosen.runs):
        ours.send("figures")
        before, _, _ = ours.recv()
        asyncio.run(load(port, authority, chosen.requests))
        ours.send("figures")
        after, memory, times = ours.recv()
        cpu = (after - before) / chosen.requests * 1e3
        p99 = quantiles(times, n=100)[98] * 1e3
        rows.append((cpu, p99))
        print(f"run {number + 1}: {cpu:.3f} ms CPU, p99 {p99:.2f} ms, {memory / 2**20:.0f} MiB")
    cpu, p99 = (median(each) for each in zip(*rows, strict=True))
    print(f"median: {cpu:.3f} ms CPU a request, p99 {p99:.2f} ms from request read to answer")
    ours.send("end")
    process.join()


if __name__ == "__main__":
    main()
