"""`kai run all` while requests fail. After each fault every pod is bound once, no node has had more
pods than GPUs, and no pod that fits waits (`Scene.is_well`)."""

import asyncio

import pytest
from scene_play import scenario
from testcluster import (
    BINDINGS,
    SHORT_LEASE,
    WATCHES,
    WRITES,
    Cluster,
    Match,
    Scene,
    node,
    path_of,
    pod,
)

GROUPS = Match("POST", "/podgroups$")


def binding_of(name: str) -> Match:
    return Match("POST", f"/pods/{name}/binding$")


@scenario
async def test_answers_and_then_requests_are_lost(scene: Scene) -> None:
    await scene.nodes(3)
    await scene.start()
    faults = [
        scene.proxy.swallow(BINDINGS, skip=2, times=6),
        scene.proxy.swallow(GROUPS, skip=2, times=3),
        scene.proxy.drop(BINDINGS, times=6),
        scene.proxy.drop(GROUPS, times=3),
    ]
    await scene.pods(24)
    await scene.is_well(bound=24)
    assert [each.hits for each in faults] == [6, 3, 6, 3]
    log = await scene.end()
    assert "create Pod/binding got no answer; kai checks the result" in log


@scenario
async def test_bursts_of_conflicts_refusals_and_errors(scene: Scene) -> None:
    await scene.nodes(4)
    await scene.start()
    await scene.pods(4, "early")
    await scene.bound(4)
    writes = Match(WRITES.method, r"^(?!.*/leases)")
    bursts = [
        scene.proxy.answer(writes, status, times=25, retry_after=after)
        for status, after in ((409, ""), (429, "1"), (500, ""), (503, "1"), (504, ""))
    ]
    await scene.pods(28)
    await bursts[0].hit(25)
    await scene.is_well(bound=32)
    await bursts[-1].hit()


@pytest.mark.cluster_slow
@scenario
async def test_a_server_that_refuses_bindings_is_not_flooded(scene: Scene) -> None:
    await scene.nodes(1)
    await scene.start()
    await scene.pods(1, "early")
    await scene.bound(1)
    scene.proxy.answer(BINDINGS, 403, "policy says no")
    scene.proxy.answer(GROUPS, 403, "policy says no", times=2)
    before = scene.proxy.count("create", "pods", "binding")
    await scene.pods(4)
    await asyncio.sleep(3)
    assert 4 <= scene.proxy.count("create", "pods", "binding") - before <= 4 * 4
    scene.proxy.clear()
    await scene.is_well(bound=5)
    log = await scene.end()
    assert "create PodGroup failed" in log
    assert "a pod cannot be bound" in log
    assert "policy says no" in log
    assert len(log.splitlines()) < 20


@pytest.mark.cluster_slow
@scenario
async def test_a_late_request_finds_its_room_reserved(scene: Scene, *, namespace: str) -> None:
    """The first binding of p0 is still on its way while later ones are rejected. If its room were
    given to p1, n1 would have two pods when it arrives."""
    await scene.api.create(node("n1", gpus=1))
    await scene.start()
    late = scene.proxy.deliver_late(binding_of("p0"), 5, times=1)
    scene.proxy.answer(binding_of("p0"), 403)
    await scene.api.create(pod("p0", namespace))
    await late.hit()
    await scene.until("more came", lambda: scene.proxy.count(subresource="binding") > 1)
    await scene.api.create(node("n0", gpus=1))
    await scene.api.create(pod("p1", namespace))
    await scene.is_well(bound=2)
    assert scene.proxy.delivered == [201]


@pytest.mark.cluster_slow
@scenario
async def test_an_answer_is_delayed_for_a_minute(scene: Scene, *, namespace: str) -> None:
    """The outcome of the binding is unknown otherwise: the pod is neither read nor watched."""
    await scene.nodes(1, gpus=2)
    await scene.start(*SHORT_LEASE)
    await scene.pods(1, "early")
    await scene.bound(1)
    held = scene.proxy.hold(binding_of("p0"), 60)
    scene.proxy.hold(Match("GET", "/pods/p0$"), 60)
    scene.proxy.drop(Match("GET", "/api/v1/pods$", WATCHES.query))
    await scene.api.create(pod("p0", namespace), pod("p1", namespace))
    await scene.until("it is known", lambda: scene.proxy.count("create", "podgroups") >= 2)
    scene.proxy.cut_open(Match("GET", "/api/v1/pods$", WATCHES.query))
    await held.hit()
    await asyncio.sleep(4)  # a leader with such a lease waits 1.5 s for an answer
    assert len(scene.history.bound()) == 2
    scene.proxy.clear()
    await scene.is_well(bound=2)
    assert scene.proxy.count("create", "pods", "binding") <= 4


@scenario
async def test_watches_are_broken_pods_deleted_and_versions_expired(
    scene: Scene, *, namespace: str
) -> None:
    await scene.nodes(16)
    await scene.start()
    await scene.pods(128)
    await scene.bound(128)
    scene.proxy.answer(WATCHES, 503)
    scene.proxy.cut_open(WATCHES)
    deletions = [
        scene.api.delete(path_of("Pod", namespace, f"p{number}"), gracePeriodSeconds=0)
        for number in range(100)
    ]
    await asyncio.gather(*deletions)
    await scene.pods(100, "next")
    await scene.until("they are gone", lambda: len(scene.history.bound()) == 28)
    await scene.until("the log has the problem", lambda: "cannot watch" in scene.kai.log)
    scene.proxy.clear()
    scene.proxy.expire(times=7)
    await scene.is_well(bound=128)
    await scene.until("it says so", lambda: "watches continue" in scene.kai.log)
    assert "cannot watch" in await scene.end()


@pytest.mark.cluster_slow
@scenario
async def test_the_server_restarts_in_the_middle_of_the_fill(
    scene: Scene, *, cluster: Cluster
) -> None:
    await scene.nodes(40)
    await scene.pods(320)
    await scene.start()
    await scene.bound(60)
    await asyncio.to_thread(cluster.restart, "kube-apiserver")
    await scene.is_well(bound=320)


@scenario
async def test_storage_is_slow(scene: Scene, *, cluster: Cluster) -> None:
    await scene.nodes(12)
    await scene.pods(96)
    await scene.start()
    await scene.bound(8)
    try:
        for _ in range(2):
            cluster.freeze("etcd")
            await asyncio.sleep(2)
            cluster.thaw("etcd")
            await asyncio.sleep(0.1)
    finally:
        cluster.thaw("etcd")
    await scene.is_well(bound=96)
