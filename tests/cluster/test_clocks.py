"""Schedulers on machines with wrong clocks. They run in this process, so each can have its own
clock."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path

from testcluster import Cluster, Scene, path_of, play

from kai.k8s.client import Client
from kai.k8s.clock import Clock
from kai.service.log import Log
from kai.service.options import Options
from kai.service.service import Service

OFF_S = 120.0
LEASE = {"lease_seconds": 4.0, "renew_seconds": 2.5, "retry_seconds": 0.5}


class WrongClock(Clock):
    """Its time of day is `off` seconds late."""

    def __init__(self, off: float) -> None:
        self._off = off

    def wall(self) -> float:
        return super().wall() + self._off


class Scheduler:
    """All roles, until `stop` is set, or until it is cut off, which it cannot detect."""

    def __init__(self, service: Service, log: io.StringIO) -> None:
        self.service, self.log, self.stop = service, log, asyncio.Event()

    @property
    def leads(self) -> bool:
        return "leading" in self.log.getvalue()


@asynccontextmanager
async def scheduler(scene: Scene, off: float, *, direct: bool = False) -> AsyncIterator[Scheduler]:
    server = "" if direct else scene.proxy.url
    kubeconfig = scene.cluster.kubeconfig_of(server=server)
    log = io.StringIO()
    async with await Client.connect(kubeconfig, clock=WrongClock(off)) as client:
        options = Options(namespace=scene.namespace, **LEASE)
        it = Scheduler(Service(client, options, Log(stream=log)), log)
        running = asyncio.create_task(it.service.run(it.stop))
        try:
            yield it
            assert not running.done(), "it has ended"
        finally:
            it.stop.set()
            await running
            assert "Traceback" not in log.getvalue()


def test_clocks_differ_by_two_minutes_both_ways(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """One leads and is cut off from the server, and the other takes over: after the lease has ended
    by both clocks, and soon after that."""

    async def story(scene: Scene) -> None:
        await scene.nodes(8)
        async with scheduler(scene, -OFF_S) as late:
            await scene.until("the late one leads", lambda: late.leads)
            async with scheduler(scene, OFF_S, direct=True) as early:
                await scene.pods(32)
                await scene.bound(32)
                assert not early.leads
                scene.proxy.pause()
                await scene.pods(40, "next")
                await scene.is_well(bound=64)
                assert early.leads
                await stamps_are_right(scene)
                scene.proxy.resume()

    play(cluster, namespace, tmp_path, story)


async def stamps_are_right(scene: Scene) -> None:
    """The time stamps of both are correct by the server's clock."""
    now = datetime.now(timezone.utc)
    written = dict[str, str]()
    for event in await scene.api.items(path_of("Event", scene.namespace)):
        if event["source"].get("component") in ("kai-scheduler", "binder", "pod-grouper"):
            written[f"event {event['metadata']['name']}"] = event["lastTimestamp"]
    for found in await scene.api.items(path_of("Pod", scene.namespace)):
        for each in found["status"].get("conditions", ()):
            if each["type"] in ("PodScheduled", "PodBound") and each.get("lastTransitionTime"):
                written[f"{each['type']} of {found['metadata']['name']}"] = each[
                    "lastTransitionTime"
                ]
    for group in await scene.api.items(path_of("PodGroup", scene.namespace)):
        for key, value in group["metadata"].get("annotations", {}).items():
            if "timestamp" in key:
                written[f"{key} of {group['metadata']['name']}"] = value
        for each in group.get("status", {}).get("schedulingConditions", ()):
            written[f"condition of {group['metadata']['name']}"] = each["lastTransitionTime"]
    assert len(written) > 64
    wrong = {name: text for name, text in written.items() if not is_near(text, now)}
    assert wrong == {}


def is_near(text: str, now: datetime) -> bool:
    return abs((datetime.fromisoformat(text.replace("Z", "+00:00")) - now).total_seconds()) < 60
