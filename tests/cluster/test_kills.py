"""`kai run all` is killed at a write, before or after the server receives it, and started again.
Each action still happens exactly once."""

import asyncio
from typing import Literal

import pytest
from scene_play import scenario
from testcluster import BINDINGS, SHORT_LEASE, Match, Scene, node, pod, queue

WRITES = {
    "a pod group": Match("POST", "/podgroups$"),
    "a binding": BINDINGS,
    "a pod's status": Match("PATCH", r"/pods/[^/]+/status$"),
    "a pod group's status": Match("PATCH", r"/podgroups/[^/]+/status$"),
    "a queue's status": Match("PATCH", r"/queues/[^/]+/status$"),
    "an event": Match("POST", "/events$"),
    "a lease": Match("PUT", "/leases/"),
}
SLOW = pytest.mark.cluster_slow
FAST = ("a binding", "after")
MOMENTS = [
    pytest.param(what, when, marks=[] if (what, when) == FAST else SLOW, id=f"{when} {what}")
    for what in WRITES
    for when in ("before", "after")
]


@pytest.mark.parametrize(("what", "when"), MOMENTS)
@scenario
async def test_the_process_is_killed_at_a_write(
    scene: Scene, *, what: str, when: Literal["before", "after"]
) -> None:
    """16 of 20 pods fit, and the others get messages. Then a node is added."""
    await scene.nodes(2)
    first = await scene.start(*SHORT_LEASE)
    await scene.pods(4, "early")
    await scene.bound(4)
    skip = 0 if what == "a queue's status" else 3
    killed = scene.proxy.call(WRITES[what], first.kill, when=when, skip=skip)
    await scene.pods(16)
    await killed.hit()
    await scene.until("it is killed", lambda: not first.is_running())
    await scene.start(*SHORT_LEASE)
    await scene.api.create(node("later", gpus=4))
    await scene.is_well(bound=20)


@SLOW
@pytest.mark.parametrize("when", ["before", "after"])
@scenario
async def test_the_process_is_killed_at_an_eviction(
    scene: Scene, *, namespace: str, when: Literal["before", "after"]
) -> None:
    """One victim is enough, also for the process that did not see the first one being deleted."""
    await scene.api.create(queue("dept", gpu=2))
    await scene.api.create(queue("a", "dept", gpu=1), queue("b", "dept", gpu=1))
    await scene.api.create(node("n1", gpus=2))
    first = await scene.start(*SHORT_LEASE)
    await scene.pods(2, "a", queue="a", annotations={"sim/stop-delay": "6s"})
    await scene.bound(2)
    killed = scene.proxy.call(Match("DELETE", "/pods/"), first.kill, when=when)
    await scene.api.create(pod("b0", namespace, queue="b"))
    await killed.hit()
    await scene.until("it is killed", lambda: not first.is_running())
    await scene.start(*SHORT_LEASE)
    await scene.until("b has its share", lambda: "b0" in scene.history.bound())
    await scene.is_well(bound=2)


@SLOW
@pytest.mark.parametrize("how", ["kill", "stop"])
@scenario
async def test_the_process_ends_repeatedly(scene: Scene, *, how: Literal["kill", "stop"]) -> None:
    """With SIGKILL, and with SIGTERM as in a rolling update."""
    await scene.nodes(40)
    for number in range(4):
        kai = await scene.start(*SHORT_LEASE)
        await scene.pods(80, f"r{number}-")
        await scene.bound(80 * number + 20)
        await asyncio.to_thread(kai.kill if how == "kill" else kai.stop)
    await scene.start(*SHORT_LEASE)
    await scene.pods(1, "last", gpus=0)
    await scene.is_well(bound=321)
