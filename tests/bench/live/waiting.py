"""Pods that wait while one pod ends each second: how many statuses and events are written.

First all pods that do not fit get their verdict. Then a running pod is deleted each second for a
minute, and a waiting one takes its place.
"""

import asyncio
import time
from functools import partial

from fill import pod
from scene import Meter, Report, Scene, Writes
from testcluster import path_of, queue, together

SECONDS = 60
GPUS_A_NODE = 8
NODES = 10


async def run(scene: Scene, pods: int, nodes: int) -> Report:
    """`nodes` is not used: ten nodes are full soon."""
    del nodes
    api = scene.api
    await scene.add_nodes(NODES)
    await api.create(queue("dept"), queue("team-a", "dept", gpu=NODES * GPUS_A_NODE))
    await api.create_namespace("wait")
    names = [f"p-{i:05}" for i in range(pods + NODES * GPUS_A_NODE)]
    with scene.kai() as kai:
        await asyncio.sleep(4)
        began = time.monotonic()
        await together([partial(api.create_one, pod(n, "wait", "kai-scheduler")) for n in names])
        created = time.monotonic() - began
        quiet = await scene.quiet()
        first = quiet["at"] - began
        meter, before, start = Meter(scene.cluster, kai), await scene.writes(), time.monotonic()
        for second in range(SECONDS):
            running = await api.items(path_of("Pod", "wait"), fieldSelector="spec.nodeName!=")
            await api.delete(path_of("Pod", "wait", running[0]["metadata"]["name"]))
            await asyncio.sleep(max(0.0, start + second + 1 - time.monotonic()))
        used, after = meter.seconds(), await scene.writes()
        assert kai.process is not None
        usage = kai.process.usage()
        return {
            "waiting": pods,
            "created_s": round(created, 1),
            "first_verdicts_s": round(first, 1),
            "writes_a_second": a_second(after, before),
            "statuses_and_events_a_second": round(statuses_and_events(after, before) / SECONDS, 1),
            "cpu_s": used,
            "kai_cpu_percent": round(used["kai"] / SECONDS * 100, 1),
            "kai_mib": {"now": round(usage.rss_mib), "peak": round(usage.peak_mib)},
        }


def a_second(after: Writes, before: Writes) -> dict[str, float]:
    return {name: round(count / SECONDS, 2) for name, count in (after - before).most_common()}


def statuses_and_events(after: Writes, before: Writes) -> int:
    """Statuses and events, including those of kwok."""
    return sum(
        count
        for name, count in (after - before).items()
        if name.endswith("/status") or name.endswith(" events")
    )
