"""Schedulers on machines with wrong clocks. They run in this process, so each can have its own
clock."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path

import pytest
from scene_play import scenario
from testcluster import Cluster, Scene, path_of, play, pod_group
from testcluster.scene import until

from kai.k8s import server_time
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


@scenario
async def test_clocks_differ_by_two_minutes_both_ways(scene: Scene) -> None:
    """One leads and is cut off from the server, and the other takes over: after the lease has ended
    by both clocks, and soon after that."""
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


# ---- one server of several has a wrong clock -----------------------------------------------------

TWO_HOURS_S = 7200.0


async def stale_gang(scene: Scene, grace: str) -> None:
    """A gang of two pods; one of them is deleted."""
    await scene.api.create(pod_group("gang", scene.namespace, 2, stalenessGracePeriod=grace))
    await scene.pods(2, "gang-", annotations={"pod-group-name": "gang"})
    await scene.bound(2)
    path = path_of("Pod", scene.namespace, "gang-1")
    await scene.api.delete(path, gracePeriodSeconds=0)

    async def is_stale() -> bool:
        found = await scene.api.get(path_of("PodGroup", scene.namespace, "gang"))
        return "kai.scheduler/stale-podgroup-timestamp" in found["metadata"].get("annotations", {})

    await until(scene, "the gang is stale", is_stale)


async def stays(scene: Scene, seconds: float) -> None:
    """The rest of the gang is not evicted."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while loop.time() < ends:
        found = await scene.api.get(path_of("Pod", scene.namespace, "gang-0"))
        assert "deletionTimestamp" not in found["metadata"], scene.report()
        await asyncio.sleep(0.2)


async def is_evicted(scene: Scene) -> bool:
    pods = await scene.api.items(path_of("Pod", scene.namespace))
    return not any(each["metadata"]["name"] == "gang-0" for each in pods)


def lines_of(it: Scheduler, message: str) -> list[str]:
    return [line for line in it.log.getvalue().splitlines() if message in line]


@scenario
async def test_no_gang_is_evicted_because_a_server_is_two_hours_ahead(scene: Scene) -> None:
    """A gang was stale for 4 s and was evicted, with a grace period of a minute."""
    await scene.nodes(1)
    async with scheduler(scene, 0.0) as it:
        await stale_gang(scene, "60s")
        await stays(scene, 2)
        scene.proxy.shift_dates(TWO_HOURS_S, one_in=3)
        await stays(scene, 12)
        scene.proxy.clear()
        scene.proxy.shift_dates(TWO_HOURS_S)
        await stays(scene, 12)
        assert len(lines_of(it, "the time is in doubt")) == 1
        assert lines_of(it, "the time was corrected") == []
        assert "\nkai_time_in_doubt 1\n" in (await it.service.metrics.page()).decode()


@pytest.mark.cluster_slow
def test_after_all_servers_have_stepped_a_gang_has_its_whole_grace_period(
    cluster: Cluster, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_time, "AFTER_S", 6.0)

    async def story(scene: Scene) -> None:
        await scene.nodes(1)
        async with scheduler(scene, 0.0) as it:
            await stale_gang(scene, "12s")
            scene.proxy.shift_dates(TWO_HOURS_S)
            corrected = "the time was corrected"
            await scene.until(corrected, lambda: lines_of(it, corrected), 30)
            await stays(scene, 8)
            await until(scene, "it is evicted", lambda: is_evicted(scene), 30)
            [line] = lines_of(it, corrected)
            assert "seconds=7200" in line or "seconds=7199" in line
            assert "\nkai_time_steps_total 1\n" in (await it.service.metrics.page()).decode()

    asyncio.run(play(cluster, namespace, tmp_path, story))
