"""The fill: 500 simulated nodes of 8 GPUs, 4,000 pods of one GPU, created as fast as the API
server takes them, and `kai run all` beside it.

    python tests/bench/fill_cluster.py DIR [--pods 4000] [--nodes 500] [--json] [-- kai run options]

DIR is a running test cluster (tests/cluster). It says when all pods are bound and when everything
is quiet, CPU time per process, writes per pod, and the times from creation to binding. The same
pods are created and bound by the client alone first, which gives the ratio to compare with on a
busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import json
import os
import re
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

TICKS = os.sysconf("SC_CLK_TCK")
QUIET_S = 3.0


class Api:
    """The API server of the cluster in this folder, as its administrator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = json.loads((folder / "state.json").read_text())
        self.server = self.state["server"]
        self._token = self.state["tokens"]["admin"]

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[Api]:
        tls = ssl.create_default_context(cafile=str(self.folder / "pki" / "ca.crt"))
        async with aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}"},
            connector=aiohttp.TCPConnector(ssl=tls, limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as self.session:
            yield self

    async def call(
        self, method: str, path: str, body: Any = None, good: tuple[int, ...] = ()
    ) -> bytes:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        async with self.session.request(
            method, self.server + path, data=data, headers=headers
        ) as answer:
            text = await answer.read()
            if answer.status >= 300 and answer.status not in good:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
            return text

    def pids(self) -> dict[str, int]:
        return {name: each["pid"] for name, each in self.state["processes"].items()}

    async def writes(self) -> collections.Counter[str]:
        """Writes by verb, resource and subresource, from the server's own count."""
        found: collections.Counter[str] = collections.Counter()
        for line in (await self.call("GET", "/metrics")).decode().splitlines():
            if not line.startswith("apiserver_request_total{"):
                continue
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            if labels["verb"] in ("POST", "PUT", "PATCH", "DELETE", "APPLY"):
                name = f"{labels['verb']} {labels['resource']}"
                if labels["subresource"]:
                    name += f"/{labels['subresource']}"
                found[name] += int(float(line.rsplit(" ", 1)[1]))
        return found


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text()
    fields = fields[fields.rindex(")") + 2 :]
    parts = fields.split()
    return (int(parts[11]) + int(parts[12])) / TICKS


def peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


class Meter:
    """CPU seconds of every process since it was made."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._start = self._now()

    def _now(self) -> dict[str, float]:
        used = os.times()
        found = {name: cpu_of(pid) for name, pid in self._pids.items()}
        return found | {"client": used.user + used.system}

    def seconds(self) -> dict[str, float]:
        return {name: round(now - self._start[name], 2) for name, now in self._now().items()}


async def each(count: int, work: Callable[[int], Awaitable[Any]], at_once: int = 32) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    await asyncio.gather(*(worker() for _ in range(at_once)))


def node(name: str) -> dict[str, Any]:
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
    labels = {
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.memory": "81559",
    }
    return {
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": room, "allocatable": room},
    }


def queue(name: str, parent: str = "", quota: float = -1) -> dict[str, Any]:
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": unlimited, "memory": unlimited, "gpu": {**unlimited, "quota": quota}}
    spec: dict[str, Any] = {"resources": resources}
    if parent:
        spec["parentQueue"] = parent
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def pod(name: str) -> dict[str, Any]:
    """The same as for the figures of KAI itself: kwok leaves it alone once it is bound."""
    resources = {
        "limits": {"nvidia.com/gpu": "1"},
        "requests": {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"},
    }
    return {
        "metadata": {
            "name": name,
            "labels": {"kai.scheduler/queue": "team-a"},
            "annotations": {"sim/start-delay": "1h"},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "main", "image": "example/app:1", "resources": resources}],
        },
    }


class Bound:
    """Watches a namespace: when each pod was seen bound."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self.at: dict[str, float] = {}
        self.created: dict[str, float] = {}

    async def follow(self) -> None:
        version = "0"
        while True:
            path = f"/api/v1/namespaces/{self._namespace}/pods?watch=1&resourceVersion={version}"
            async with self._api.session.get(
                self._api.server + path + "&allowWatchBookmarks=true", timeout=None
            ) as answer:
                rest = b""
                async for chunk in answer.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    now = time.monotonic()
                    for line in lines:
                        event = json.loads(line)
                        found = event["object"]
                        version = found["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK" and found["spec"].get("nodeName"):
                            self.at.setdefault(found["metadata"]["name"], now)

    def latencies(self) -> list[float]:
        return sorted(self.at[name] - at for name, at in self.created.items() if name in self.at)


async def prepare(api: Api, nodes: int) -> None:
    await each(nodes, lambda i: api.call("POST", "/api/v1/nodes", node(f"node-{i:04}"), (409,)))
    queues = "/apis/scheduling.run.ai/v2/queues"
    for made in (queue("dept"), queue("team-a", "dept", quota=nodes * 8 - 4)):
        await api.call("POST", queues, made, (409,))


async def bare(api: Api, pods: int, nodes: int) -> dict[str, Any]:
    """Creates and binds pods without any scheduler: what the machine and the API server take."""
    namespace = f"bare-{int(time.time())}"
    await new_namespace(api, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"
    bound = Bound(api, namespace)
    watching = asyncio.create_task(bound.follow())
    meter, start = Meter(api.pids()), time.monotonic()
    await each(
        pods,
        lambda i: api.call(
            "POST",
            path,
            {**pod(f"p-{i:04}"), "spec": {**pod("")["spec"], "schedulerName": "nobody"}},
        ),
    )

    def binding(i: int) -> dict[str, Any]:
        return {
            "metadata": {"name": f"p-{i:04}"},
            "target": {"kind": "Node", "name": f"node-{i % nodes:04}"},
        }

    await each(pods, lambda i: api.call("POST", f"{path}/p-{i:04}/binding", binding(i)))
    while len(bound.at) < pods:
        await asyncio.sleep(0.05)
    took, used = time.monotonic() - start, meter.seconds()
    watching.cancel()
    await api.call("DELETE", path + "?gracePeriodSeconds=0")
    while json.loads(await api.call("GET", path + "?limit=1"))["items"]:
        await asyncio.sleep(0.5)
    return {
        "wall_s": round(took, 1),
        "cpu_s": used,
        "ms_a_pod": round(sum(used.values()) / pods * 1000, 2),
    }


async def new_namespace(api: Api, name: str) -> None:
    await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    while b'"uid"' not in await api.call("GET", account, good=(404,)):
        await asyncio.sleep(0.05)


async def fill(
    api: Api, pods: int, scheduler: subprocess.Popen[bytes], log: Path
) -> dict[str, Any]:
    namespace = f"fill-{int(time.time())}"
    await new_namespace(api, namespace)
    path = f"/api/v1/namespaces/{namespace}/pods"
    bound = Bound(api, namespace)
    watching = asyncio.create_task(bound.follow())
    await asyncio.sleep(1)
    writes = await api.writes()
    meter, start = Meter({**api.pids(), "kai": scheduler.pid}), time.monotonic()

    async def create(i: int) -> None:
        bound.created[f"p-{i:04}"] = time.monotonic()
        await api.call("POST", path, pod(f"p-{i:04}"))

    await each(pods, create)
    created = time.monotonic() - start
    while len(bound.at) < pods and scheduler.poll() is None and time.monotonic() - start < 300:
        await asyncio.sleep(0.05)
    took, used = time.monotonic() - start, meter.seconds()
    before = await api.writes()
    quiet_since, last = time.monotonic(), before
    quiet_used = meter.seconds()
    while time.monotonic() - quiet_since < QUIET_S:
        await asyncio.sleep(0.25)
        now = await api.writes()
        if any(now[name] != last[name] for name in now if "leases" not in name):
            quiet_since, last, quiet_used = time.monotonic(), now, meter.seconds()
    quiet = quiet_since - start
    watching.cancel()
    late = bound.latencies()

    def a_pod(counts: collections.Counter[str]) -> dict[str, float]:
        found = {name: (counts[name] - writes[name]) / pods for name in counts}
        return {name: round(value, 2) for name, value in sorted(found.items()) if value >= 0.005}

    return {
        "bound": len(bound.at),
        "created_s": round(created, 1),
        "bound_s": round(took, 1),
        "quiet_s": round(quiet, 1),
        "cpu_s_until_bound": used,
        "ms_a_pod_until_bound": round(sum(used.values()) / pods * 1000, 2),
        "cpu_s_until_quiet": quiet_used,
        "ms_a_pod_until_quiet": round(sum(quiet_used.values()) / pods * 1000, 2),
        "ours_ms_a_pod": round(quiet_used["kai"] / pods * 1000, 2),
        "writes_a_pod_until_bound": a_pod(before),
        "writes_a_pod": a_pod(last),
        "created_to_bound_s": {
            "p50": round(late[len(late) // 2], 2) if late else None,
            "p99": round(late[len(late) * 99 // 100], 2) if late else None,
        },
        "kai_peak_mib": round(peak_mib(scheduler.pid)),
        "log": str(log),
    }


async def main(options: argparse.Namespace) -> dict[str, Any]:
    folder = Path(options.folder).absolute()
    async with Api(folder).connected() as api:
        await prepare(api, options.nodes)
        await asyncio.sleep(5)
        # The first burst of a young server closes watches: a round to warm up, and to compare with.
        result = {"bare": await bare(api, options.pods, options.nodes)}
        log = folder / "logs" / "kai.log"
        with log.open("ab") as output:
            scheduler = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "kai",
                    "run",
                    "all",
                    "--kubeconfig",
                    str(folder / "kubeconfig"),
                    *options.run,
                ],
                stdout=output,
                stderr=output,
            )
        try:
            await asyncio.sleep(4)
            result["fill"] = await fill(api, options.pods, scheduler, log)
        finally:
            scheduler.terminate()
            scheduler.wait(20)
        filled, alone = result["fill"], result["bare"]["ms_a_pod"]
        result["ratio_to_bare"] = {
            "until_bound": round(filled["ms_a_pod_until_bound"] / alone, 2),
            "until_quiet": round(filled["ms_a_pod_until_quiet"] / alone, 2),
        }
        return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--pods", type=int, default=4000)
    parser.add_argument("--nodes", type=int, default=500)
    parser.add_argument("run", nargs="*", help="options for kai run")
    print(json.dumps(asyncio.run(main(parser.parse_args())), indent=1))
