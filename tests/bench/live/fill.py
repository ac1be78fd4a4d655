"""500 simulated nodes of 8 GPUs, 4,000 pods of one GPU, created as fast as the server accepts them.

Measures the time until all pods are bound and until no more writes follow, CPU time of each
process, writes for each pod, and the times from creation to binding. The same pods are first
created and bound without a scheduler, for a ratio that also holds on a busy machine.
"""

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from urllib.request import urlopen

from scene import Client, Kai, Meter, Report, Scene, a_pod, ms, until
from testcluster import Object, path_of, queue, together
from testcluster.ports import free_ports

PATIENCE_S = 300.0
IDLE_S = 20.0


def pod(name: str, namespace: str, scheduler: str) -> Object:
    """The same pod as for the figures of KAI itself: kwok ignores it once it is bound."""
    resources = {
        "limits": {"nvidia.com/gpu": "1"},
        "requests": {"cpu": "100m", "memory": "64Mi", "nvidia.com/gpu": "1"},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kai.scheduler/queue": "team-a"},
            "annotations": {"sim/start-delay": "1h"},
        },
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "main", "image": "example/app:1", "resources": resources}],
        },
    }


class Bound:
    """Watches a namespace: when each pod was created, and when it was seen bound. `make` creates
    the pods."""

    def __init__(self, api: Client, namespace: str, make: Callable[..., Object] = pod) -> None:
        self._api, self.namespace, self._make = api, namespace, make
        self.at: dict[str, float] = {}
        self.created: dict[str, float] = {}

    async def follow(self) -> None:
        """The server ends a watch now and then: it resumes from the last version."""
        path, version = path_of("Pod", self.namespace), "0"
        while True:
            async for event in self._api.watch(path, resourceVersion=version):
                found = event["object"]
                if event["type"] == "ERROR":
                    version = "0"
                    break
                version = found["metadata"]["resourceVersion"]
                if found["spec"].get("nodeName"):
                    self.at.setdefault(found["metadata"]["name"], time.monotonic())

    async def create(self, name: str, scheduler: str) -> Object:
        self.created[name] = time.monotonic()
        return await self._api.create_one(self._make(name, self.namespace, scheduler))

    def latencies(self) -> list[float]:
        return sorted(self.at[name] - at for name, at in self.created.items() if name in self.at)


async def bare(scene: Scene, pods: int, nodes: int) -> Report:
    """Creates and binds pods without a scheduler: the cost of the machine and the API server."""
    api = scene.api
    await api.create_namespace("bare")
    bound = Bound(api, "bare")
    watching = asyncio.create_task(bound.follow())
    meter, start = Meter(scene.cluster), time.monotonic()
    names = [f"p-{i:04}" for i in range(pods)]
    await together([partial(bound.create, name, "none") for name in names])
    await together(
        [partial(api.bind, "bare", name, f"node-{i % nodes:04}") for i, name in enumerate(names)]
    )
    await until(lambda: len(bound.at) == pods, PATIENCE_S)
    took, used = time.monotonic() - start, meter.seconds()
    watching.cancel()
    await api.delete(path_of("Pod", "bare"), gracePeriodSeconds=0)
    while (await api.get(path_of("Pod", "bare"), limit=1))["items"]:
        await asyncio.sleep(0.5)
    return {"wall_s": round(took, 1), "cpu_s": used, "ms_a_pod": ms(used, pods)}


async def page(port: int) -> str:
    """The metrics page of kai."""
    url = f"http://127.0.0.1:{port}/metrics"
    return (await asyncio.to_thread(urlopen, url)).read().decode()


def lags(text: str) -> Report:
    """Upper bounds of the event loop's delays, in seconds, from the buckets of its histogram."""
    buckets = [
        (float(bound), int(float(count)))
        for bound, count in re.findall(r'kai_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)', text)
    ]
    total = buckets[-1][1]
    return {
        name: next(bound for bound, count in buckets if count >= part * total)
        for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))
    }


def collections(text: str) -> Report:
    """Python's garbage collections, by generation: the longest in ms, and their number."""
    longest = dict(re.findall(r'kai_gc_longest_pause_seconds\{generation="(.)"\} (\S+)', text))
    counts = dict(re.findall(r'kai_gc_pauses_total\{generation="(.)"\} (\S+)', text))
    return {
        each: {"longest_ms": round(float(longest[each]) * 1e3, 2), "count": int(float(count))}
        for each, count in counts.items()
    }


async def fill(scene: Scene, pods: int, kai: Kai, port: int) -> Report:
    await scene.api.create_namespace("fill")
    bound = Bound(scene.api, "fill")
    watching = asyncio.create_task(bound.follow())
    await asyncio.sleep(1)
    writes = await scene.writes()
    meter, start = Meter(scene.cluster, kai), time.monotonic()
    await together([partial(bound.create, f"p-{i:04}", "kai-scheduler") for i in range(pods)])
    created = time.monotonic() - start
    await until(lambda: len(bound.at) == pods or not kai.is_running(), PATIENCE_S)
    took, used = time.monotonic() - start, meter.seconds()
    then = await scene.writes()
    quiet = await scene.quiet(meter=meter)
    watching.cancel()
    late = bound.latencies()
    text = await page(port)
    assert kai.process is not None
    before = kai.process.usage().cpu_s
    await asyncio.sleep(IDLE_S)
    idle = kai.process.usage().cpu_s - before
    return {
        "bound": len(bound.at),
        "created_s": round(created, 1),
        "bound_s": round(took, 1),
        "quiet_s": round(quiet["at"] - start, 1),
        "cpu_s_until_bound": used,
        "ms_a_pod_until_bound": ms(used, pods),
        "cpu_s_until_quiet": quiet["used"],
        "ms_a_pod_until_quiet": ms(quiet["used"], pods),
        "ours_ms_a_pod": round(quiet["used"]["kai"] / pods * 1000, 2),
        "writes_a_pod_until_bound": a_pod(then, writes, pods),
        "writes_a_pod": a_pod(quiet["writes"], writes, pods),
        "created_to_bound_s": {
            "p50": round(late[len(late) // 2], 2) if late else None,
            "p99": round(late[len(late) * 99 // 100], 2) if late else None,
        },
        "kai_peak_mib": round(kai.process.usage().peak_mib),
        "kai_idle_cpu_percent": round(idle / IDLE_S * 100, 2),
        "loop_lag_s": lags(text),
        "collections": collections(text),
    }


async def run(scene: Scene, pods: int, nodes: int) -> Report:
    await scene.add_nodes(nodes)
    await scene.api.create(queue("dept"), queue("team-a", "dept", gpu=nodes * 8 - 4))
    await asyncio.sleep(5)
    # The first burst of a new server closes watches: a round to warm up, and to compare with.
    report: Report = {"bare": await bare(scene, pods, nodes)}
    [port] = free_ports(1)
    with scene.kai("--listen-address", f"127.0.0.1:{port}") as kai:
        await asyncio.sleep(4)
        report["fill"] = filled = await fill(scene, pods, kai, port)
        alone = report["bare"]["ms_a_pod"]
        report["ratio_to_bare"] = {
            "until_bound": round(filled["ms_a_pod_until_bound"] / alone, 2),
            "until_quiet": round(filled["ms_a_pod_until_quiet"] / alone, 2),
        }
        if flows := await scene.flows():
            report["flows"] = flows
    return report
