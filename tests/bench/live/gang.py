"""Gangs of ten that cannot be placed: the time until the pod group has a reason.

From the creation of a gang's last pod until its pod group has a scheduling condition.
"""

import asyncio
import time

from scene import Report, Scene
from testcluster import path_of, pod

GANGS = 20
MEMBERS = 10


async def run(scene: Scene, pods: int, nodes: int) -> Report:
    del pods
    api = scene.api
    await scene.add_nodes(nodes)
    await api.create_namespace("gangs")
    seen_at: dict[str, float] = {}
    groups = path_of("PodGroup", "gangs")

    async def follow() -> None:
        async for event in api.watch(groups):
            found = event["object"]
            if found.get("status", {}).get("schedulingConditions"):
                seen_at.setdefault(found["metadata"]["name"], time.monotonic())

    waits = []
    with scene.kai():
        await asyncio.sleep(4)
        watching = asyncio.create_task(follow())
        for number in range(GANGS):
            name = f"gang-{number}"
            await api.post(
                groups,
                {
                    "apiVersion": "scheduling.run.ai/v2alpha2",
                    "kind": "PodGroup",
                    "metadata": {"name": name, "namespace": "gangs"},
                    "spec": {"queue": "default-queue", "minMember": MEMBERS},
                },
            )
            members = [
                pod(f"{name}-{i}", "gangs", gpus=9, annotations={"pod-group-name": name})
                for i in range(MEMBERS)
            ]
            await api.create(*members)
            since = time.monotonic()
            while name not in seen_at and time.monotonic() < since + 30:
                await asyncio.sleep(0.005)
            waits.append(seen_at.get(name, float("inf")) - since)
            await asyncio.sleep(0.5)
        watching.cancel()
    waits.sort()
    return {
        "gangs": GANGS,
        "seconds": {
            "p50": round(waits[len(waits) // 2], 3),
            "max": round(waits[-1], 3),
        },
    }
