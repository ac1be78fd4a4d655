"""500 simulated nodes of 8 GPUs, 8,000 pods of half a GPU: two on each device, then all are
deleted.

As in fill.py; admission has changed the pods before they are created. Measures the cost until all
are bound, until all run, and until everything of them is deleted. A separate thread plays the
program in reservation pods.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import threading
import time
from collections import Counter
from functools import partial
from types import TracebackType

import fill
from fill import IDLE_S, Bound, collections, lags, page
from scene import Client, Kai, Meter, Report, Scene, a_pod, ms, until
from testcluster import Cluster, Object, Reservations, path_of, queue, together
from testcluster.admission import LETTERS
from testcluster.ports import free_ports

from kai.controllers.admission import Rules, mutate

PATIENCE_S = 600.0
A_DEVICE = 2
NAMESPACE, RESERVATIONS = "fill", "kai-resource-reservation"
GROUP, DEVICE = "runai-gpu-group", "run.ai/reserve_for_gpu_index"
RULES = Rules(runtime_class="")


def pod(name: str, namespace: str, scheduler: str) -> Object:
    """As in fill.py, with half a GPU, after admission."""
    made = fill.pod(name, namespace, scheduler)
    made["metadata"]["annotations"]["gpu-fraction"] = "0.5"
    resources = made["spec"]["containers"][0]["resources"]
    del resources["limits"], resources["requests"]["nvidia.com/gpu"]
    letters = random.Random(name)
    return mutate(made, RULES, draw=lambda count: "".join(letters.choices(LETTERS, k=count)))


class Program:
    """Answers reservations in a thread, so that it does not disturb the measurement."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self.cpu_s = cluster, 0.0
        self._is_over, self._is_ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def __aenter__(self) -> Program:
        self._thread.start()
        await asyncio.to_thread(self._is_ready.wait)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        await asyncio.to_thread(self._thread.join)

    async def _run(self) -> None:
        async with self._cluster.client() as api, Reservations(api):
            self._is_ready.set()
            while not self._is_over.is_set():
                await asyncio.sleep(0.2)
                self.cpu_s = time.thread_time()


async def wrong(api: Client, pods: int) -> list[str]:
    """What is wrong once all pods are bound."""
    held = await api.items(path_of("Pod", RESERVATIONS))
    maps = {
        each["metadata"]["name"]: each.get("data", {})
        for each in await api.items(path_of("ConfigMap", NAMESPACE))
    }
    devices = {
        each["metadata"]["labels"][GROUP]: each["metadata"]["annotations"].get(DEVICE, "")
        for each in held
    }
    found = []
    if (len(held), len(devices), len(set(devices.values()))) != (pods // A_DEVICE,) * 3:
        found.append(
            f"{len(held)} reservations of {len(devices)} groups and {len(set(devices.values()))}"
            " devices"
        )
    users: Counter[str] = Counter()
    for each in await api.items(path_of("Pod", NAMESPACE)):
        metadata, device = each["metadata"], devices.get(each["metadata"]["labels"].get(GROUP), "")
        users[device] += 1
        variables = each["spec"]["containers"][0]["env"]
        name = variables[0]["valueFrom"]["configMapKeyRef"]["name"]
        visible = maps.get(name, {}).get("NVIDIA_VISIBLE_DEVICES")
        if not device or visible != device:
            found.append(f"{metadata['name']} sees {visible}, and its device is {device}")
    found += [f"{count} pods on {name}" for name, count in users.items() if count != A_DEVICE]
    return found


async def left(api: Client) -> dict[str, int]:
    """What still exists of the pods and their devices."""
    counts = {
        "pods": len(await api.items(path_of("Pod", NAMESPACE))),
        "reservations": len(await api.items(path_of("Pod", RESERVATIONS))),
        # The one of the CA
        "ConfigMaps": len(await api.items(path_of("ConfigMap", NAMESPACE))) - 1,
        "pod groups": len(await api.items(path_of("PodGroup", NAMESPACE))),
    }
    return {name: count for name, count in counts.items() if count}


async def cycles_of(port: int) -> int:
    """The number of plans so far."""
    found = re.search(r"^kai_cycle_duration_seconds_count (\S+)$", await page(port), re.M)
    assert found is not None
    return int(float(found[1]))


async def share(scene: Scene, pods: int, kai: Kai, port: int, *, starts: bool) -> Report:
    """All pods are created, bound, and deleted; if `starts`, they also start to run before that."""
    await scene.api.create_namespace(NAMESPACE)
    async with Program(scene.cluster) as program:
        bound = Bound(scene.api, NAMESPACE, pod)
        watching = asyncio.create_task(bound.follow())
        await asyncio.sleep(1)
        writes, cycles = await scene.writes(), await cycles_of(port)
        reads = await gets(scene)
        meter, start = Meter(scene.cluster, kai), time.monotonic()
        await together([partial(bound.create, f"p-{i:04}", "kai-scheduler") for i in range(pods)])
        created = time.monotonic() - start
        await until(lambda: len(bound.at) == pods or not kai.is_running(), PATIENCE_S)
        took, used, program_s = time.monotonic() - start, meter.seconds(), program.cpu_s
        then = await scene.writes()
        quiet = await scene.quiet(meter=meter)
        watching.cancel()
        late, text = bound.latencies(), await page(port)
        assert kai.process is not None
        report: Report = {
            "bound": len(bound.at),
            "created_s": round(created, 1),
            "bound_s": round(took, 1),
            "quiet_s": round(quiet["at"] - start, 1),
            "cpu_s_until_bound": used,
            "of_that_the_program_in_reservation_pods": round(program_s, 2),
            "ms_a_pod_until_bound": ms(used, pods),
            "cpu_s_until_quiet": quiet["used"],
            "ms_a_pod_until_quiet": ms(quiet["used"], pods),
            "ours_ms_a_pod": round(quiet["used"]["kai"] / pods * 1000, 2),
            "writes_a_pod_until_bound": a_pod(then, writes, pods),
            "writes_a_pod": a_pod(quiet["writes"], writes, pods),
            "reads_of_pods_a_pod": round((await gets(scene) - reads) / pods, 2),
            "cycles": await cycles_of(port) - cycles,
            "created_to_bound_s": {
                "p50": round(late[len(late) // 2], 2) if late else None,
                "p99": round(late[len(late) * 99 // 100], 2) if late else None,
            },
            "kai_peak_mib": round(kai.process.usage().peak_mib),
            "loop_lag_s": lags(text),
            "collections": collections(text),
            "wrong": (await wrong(scene.api, pods))[:5],
        }
        if starts:
            report["start"] = await start(scene, pods, kai)
        report["idle"] = await idle(scene, kai, port)
        print(report, file=sys.stderr, flush=True)  # the rest takes minutes
        report["gone"] = await going(scene, pods, kai, port)
    return report


async def gets(scene: Scene) -> int:
    return (await scene.api.request_counts())["GET", "pods", ""]


async def start(scene: Scene, pods: int, kai: Kai) -> Report:
    """The pods, which kwok ignores, start to run."""
    meter = Meter(scene.cluster, kai)
    at_once = {"metadata": {"annotations": {"sim/start-delay": None}}}
    names = [path_of("Pod", NAMESPACE, f"p-{i:04}") for i in range(pods)]
    await together([partial(scene.api.patch, name, at_once) for name in names])
    return {"cpu_s": (await scene.quiet(meter=meter))["used"]}


async def idle(scene: Scene, kai: Kai, port: int) -> Report:
    """Nothing happens for a while."""
    assert kai.process is not None
    before, cycles = kai.process.usage().cpu_s, await cycles_of(port)
    writes = await scene.writes()
    await asyncio.sleep(IDLE_S)
    used = kai.process.usage().cpu_s - before
    return {
        "cpu_percent": round(used / IDLE_S * 100, 2),
        "cycles": await cycles_of(port) - cycles,
        "writes": (await scene.writes() - writes).total(),
    }


async def going(scene: Scene, pods: int, kai: Kai, port: int) -> Report:
    """All pods are deleted: the time until everything of them is gone."""
    api, writes, meter = scene.api, await scene.writes(), Meter(scene.cluster, kai)
    start = time.monotonic()
    # One by one: the server stops a request for all of them after 60 s.
    paths = [path_of("Pod", NAMESPACE, f"p-{i:04}") for i in range(pods)]
    await together([partial(api.delete, path, gracePeriodSeconds=0) for path in paths])
    deleted, free = time.monotonic() - start, 0.0
    while time.monotonic() - start < PATIENCE_S:
        if not free and not (await api.get(path_of("Pod", RESERVATIONS), limit=1))["items"]:
            free = time.monotonic() - start
        if free and not await left(api):
            break
        await asyncio.sleep(1)
    took = time.monotonic() - start
    quiet, text = await scene.quiet(meter=meter), await page(port)
    return {
        "pods_s": round(deleted, 1),
        "reservations_s": round(free, 1),
        "all_s": round(took, 1),
        "left": await left(api),
        "cpu_s": quiet["used"],
        "ours_ms_a_pod": round(quiet["used"]["kai"] / pods * 1000, 2),
        "writes_a_pod": a_pod(quiet["writes"], writes, pods),
        "loop_lag_s": lags(text),
        "collections": collections(text),
    }


async def run(scene: Scene, pods: int, nodes: int, *, starts: bool = False) -> Report:
    await scene.add_nodes(nodes)
    await scene.api.create(queue("dept"), queue("team-a", "dept", gpu=nodes * 8 - 4))
    await asyncio.sleep(5)
    report: Report = {"bare": await fill.bare(scene, pods // 4, nodes)}
    [port] = free_ports(1)
    with scene.kai("--listen-address", f"127.0.0.1:{port}") as kai:
        await asyncio.sleep(4)
        report["shares"] = await share(scene, pods, kai, port, starts=starts)
        report["log"] = Counter(
            re.sub(r"[\d.]+", "N", line.partition(" kai: ")[2])[:100]
            for line in kai.log.splitlines()
            if " info " not in line
        ).most_common(5)
    return report
