"""What `kai run all` assumes of the API server without proof ends by itself: answers that were not
true, events that were lost, an etcd that was restored from a backup, and bodies that are no answer.
No restart is needed."""

import asyncio
import re
import time
from pathlib import Path

import pytest
from scene_play import scenario
from testcluster import (
    BINDINGS,
    SHORT_LEASE,
    WATCHES,
    Cluster,
    Match,
    Scene,
    install,
    path_of,
    play,
)

RECOVERED_S = 30.0
COMPARE_S = 20.0
COMPARES = ("--compare-period", str(COMPARE_S))
POD_WATCHES = Match("GET", "/api/v1/pods$", WATCHES.query)
NODE_WATCHES = Match("GET", "/api/v1/nodes$", WATCHES.query)
NO_EFFECT = "the API server accepted a write that had no effect; it is decided again"
LOST = "a watch has lost events; its kind was listed again"
BACK = "the versions of the API server went back; everything is listed again"


async def recovers(scene: Scene, bound: int, seconds: float = RECOVERED_S) -> float:
    """Waits until this many pods are bound; returns the time that it took."""
    began = time.monotonic()
    await scene.bound(bound, seconds)
    return time.monotonic() - began


async def log_of(scene: Scene) -> str:
    """What was lost is logged when the turn that has listed it again is over, after its pods were
    bound."""
    await asyncio.sleep(1)
    return await scene.end()


@pytest.mark.parametrize("status", [200, pytest.param(201, marks=pytest.mark.cluster_slow)])
@scenario
async def test_bindings_without_effect_are_found_out_within_30_s(
    scene: Scene, *, status: int
) -> None:
    await scene.nodes(3)
    await scene.start()
    untrue = scene.proxy.pretend(BINDINGS, status, skip=2, times=12)
    await scene.pods(24)
    await untrue.hit(12)
    assert await recovers(scene, 24) < RECOVERED_S
    assert scene.history.problems == []
    assert NO_EFFECT in await scene.end()


@pytest.mark.cluster_slow
@scenario
async def test_a_binding_by_a_bind_request_without_effect_is_found_out_within_30_s(
    scene: Scene,
) -> None:
    await scene.nodes(2)
    await scene.start("--binding", "bind-requests")
    untrue = scene.proxy.pretend(BINDINGS, 201, times=4)
    await scene.pods(8)
    await untrue.hit(4)
    assert await recovers(scene, 8) < RECOVERED_S


@pytest.mark.cluster_slow
@scenario
async def test_objects_that_were_not_created_are_created_again(
    scene: Scene, *, namespace: str
) -> None:
    """The proxy answers with the object, as if it had been created."""
    await scene.nodes(2)
    await scene.start()
    made = {"name": "made-up", "namespace": namespace, "uid": "u"}
    group = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": made}
    untrue = scene.proxy.pretend(Match("POST", "/podgroups$"), 201, group, times=3)
    await scene.pods(8)
    await untrue.hit(3)
    await scene.bound(8)

    async def groups() -> int:
        return len(await scene.api.items(path_of("PodGroup", namespace)))

    began = time.monotonic()
    while await groups() < 8:
        assert time.monotonic() - began < RECOVERED_S, scene.report()
        await asyncio.sleep(0.1)
    assert NO_EFFECT in await scene.end()


@pytest.mark.cluster_slow
@scenario
async def test_an_eviction_without_effect_is_found_out(scene: Scene) -> None:
    await scene.nodes(1, gpus=2)
    await scene.start()
    await scene.pods(2, "low")
    await scene.bound(2)
    untrue = scene.proxy.pretend(Match("DELETE", "/pods/low"), 200)
    await scene.pods(1, "high", priorityClassName="build-preemptible")
    await untrue.hit()
    await asyncio.sleep(2)
    scene.proxy.clear()
    await scene.until("high is bound", lambda: "high0" in scene.history.bound(), RECOVERED_S)
    assert NO_EFFECT in await scene.end()


@pytest.mark.cluster_slow
@scenario
async def test_a_lost_deletion_is_found_within_one_comparison(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(1, gpus=2)
    await scene.start(*COMPARES)
    await scene.pods(2)
    await scene.bound(2)
    lost = scene.proxy.lose_events(POD_WATCHES, r'"type":"DELETED".*"name":"p0"')
    await asyncio.sleep(1)
    await scene.api.delete(path_of("Pod", namespace, "p0"), gracePeriodSeconds=0)
    await scene.until("the event is lost", lambda: lost.lost)
    await scene.pods(1, "next")
    assert await recovers(scene, 2, COMPARE_S + 5) < COMPARE_S + 5
    log = await scene.end()
    assert LOST in log
    assert re.search(r"kind=Pod .*went=1.*p0", log)


@scenario
async def test_a_lost_pod_is_found_within_one_comparison(scene: Scene) -> None:
    await scene.nodes(1, gpus=2)
    await scene.start(*COMPARES)
    await scene.pods(1)
    await scene.bound(1)
    lost = scene.proxy.lose_events(POD_WATCHES, r'"name":"late0"', most=100)
    await asyncio.sleep(1)
    await scene.pods(1, "late")
    await scene.until("the event is lost", lambda: lost.lost)
    scene.proxy.clear()
    assert await recovers(scene, 2, COMPARE_S + 5) < COMPARE_S + 5
    assert LOST in await log_of(scene)


@pytest.mark.cluster_slow
@scenario
async def test_a_lost_change_of_a_node_is_found_within_one_comparison(scene: Scene) -> None:
    """The node was cordoned; the event of the end of that was lost."""
    await scene.nodes(1, gpus=2)
    path = path_of("Node", name="n0")
    await scene.api.patch(path, {"spec": {"unschedulable": True}})
    await scene.start(*COMPARES)
    await scene.pods(1)
    await scene.until("it waits", lambda: scene.proxy.count("patch", "pods", "status"))
    lost = scene.proxy.lose_events(NODE_WATCHES, r'"type":"MODIFIED"', most=100)
    await asyncio.sleep(1)
    await scene.api.patch(path, {"spec": {"unschedulable": None}})
    await scene.until("the event is lost", lambda: lost.lost)
    assert await recovers(scene, 1, COMPARE_S + 5) < COMPARE_S + 5
    assert LOST in await log_of(scene)


def test_a_restored_etcd_is_noticed_within_30_s(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """The backup has eight pods that wait. Since then they were bound, others came, and one of the
    eight was deleted."""

    async def story(scene: Scene) -> None:
        backup = tmp_path / "etcd"
        await scene.nodes(2)
        await scene.pods(8)
        await asyncio.to_thread(cluster.save_storage, backup)
        await scene.start(*SHORT_LEASE)
        await scene.bound(8)
        await scene.pods(4, "later")
        await scene.bound(12)
        await scene.api.delete(path_of("Pod", namespace, "p7"), gracePeriodSeconds=0)
        await asyncio.to_thread(cluster.restore_storage, backup)
        began = time.monotonic()
        await scene.until("it is noticed", lambda: BACK in scene.kai.log, RECOVERED_S)

        async def bound() -> int:
            pods = await scene.api.items(path_of("Pod", namespace))
            return sum(bool(each["spec"].get("nodeName")) for each in pods)

        while await bound() < 8:
            assert time.monotonic() - began < RECOVERED_S, scene.report()
            await asyncio.sleep(0.2)
        await scene.pods(4, "after")
        while await bound() < 12:
            assert time.monotonic() - began < 2 * RECOVERED_S, scene.report()
            await asyncio.sleep(0.2)
        assert scene.kai.is_running()

    asyncio.run(play(cluster, namespace, tmp_path, story))
    install(cluster)


ODD = {
    "nothing": b"",
    "an empty object": b"{}",
    "a web page": b"<html><title>Sign in</title></html>",
    "half an object": b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p0","uid":"1"',
    "another kind": b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"x","uid":"1"}}',
    "a list without items": b'{"kind":"PodList","metadata":{"resourceVersion":"1"}}',
}


@scenario
async def test_odd_bodies_are_no_answers(scene: Scene) -> None:
    """Each to all kinds of requests: none ends the process, and all pods are bound once."""
    await scene.nodes(3)
    await scene.start(*SHORT_LEASE)
    await scene.pods(2, "early")
    await scene.bound(2)
    requests = (
        Match("POST", "/binding$"),
        Match("GET", "/pods/"),
        Match("POST", "/podgroups$"),
        Match("PATCH"),
        Match("PUT", "/leases/"),
        WATCHES,
    )
    for number, body in enumerate(ODD.values()):
        faults = [scene.proxy.pretend(each, 200, body, times=2) for each in requests]
        await scene.pods(3, f"p{number}-")
        scene.proxy.cut_open(WATCHES)
        await scene.bound(2 + 3 * (number + 1))
        for fault in faults:
            fault.end()
    await scene.is_well(bound=2 + 3 * len(ODD))
