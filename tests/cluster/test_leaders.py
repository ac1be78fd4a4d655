"""With two processes `kai run all`, one acts at a time. If it is killed, stopped for a while, or
ends, the other one takes over."""

import asyncio
import signal

import pytest
from scene_play import scenario
from testcluster import BINDINGS, SHORT_LEASE, Match, Scene, node, path_of


@pytest.mark.cluster_slow
@scenario
async def test_the_second_process_waits_until_the_first_is_killed(scene: Scene) -> None:
    await scene.nodes(20)
    first = await scene.start(*SHORT_LEASE)
    await scene.until("the first one leads", lambda: "leading" in first.log)
    second = await scene.start(*SHORT_LEASE)
    await scene.until("the second one waits", lambda: "waiting to lead" in second.log)
    await scene.pods(160)
    await scene.bound(40)
    await asyncio.to_thread(first.kill)
    await scene.is_well(bound=160)
    log = await scene.end()
    assert "is held by" in log


@scenario
async def test_two_processes_that_start_together_do_not_both_act(scene: Scene) -> None:
    await scene.nodes(8)
    await asyncio.gather(scene.start(), scene.start())
    await scene.pods(64)
    await scene.is_well(bound=64)
    assert scene.proxy.count("create", "pods", "binding") == 64
    assert sum(kai.log.count("info kai: leading") for kai in scene.kais) == 1


@pytest.mark.parametrize(
    ("arguments", "stopped_s"),
    [
        pytest.param(SHORT_LEASE, 6, id="short leases"),
        pytest.param(
            (*SHORT_LEASE, "--binding", "bind-requests"),
            6,
            id="bind requests",
            marks=pytest.mark.cluster_slow,
        ),
        pytest.param((), 20, id="leases of 15 s", marks=pytest.mark.cluster_slow),
    ],
)
@scenario
async def test_the_leader_is_paused_in_the_middle_of_the_fill_and_continues_later(
    scene: Scene, *, arguments: tuple[str, ...], stopped_s: float
) -> None:
    """When it continues, its plans are outdated."""
    await scene.nodes(40)
    first = await scene.start(*arguments)
    await scene.until("the first one leads", lambda: "leading" in first.log)
    second = await scene.start(*arguments)
    await scene.until("the second one waits", lambda: "waiting to lead" in second.log)
    await scene.pods(320)
    await scene.bound(60)
    assert first.process is not None
    first.process.freeze()
    before = len(scene.history.bound())
    assert before < 320, "it was done before it was stopped"
    await asyncio.sleep(stopped_s)
    first.process.thaw()
    await scene.is_well(bound=320)
    assert "info kai: leading" in second.log
    assert "no longer leading" in first.log


@scenario
async def test_a_process_that_is_stopped_writes_events_and_conditions_of_its_bindings(
    scene: Scene, *, namespace: str
) -> None:
    """SIGTERM arrives while the server binds the first pods: no other process would write these."""
    await scene.nodes(4)
    first = await scene.start()
    process = first.process
    assert process is not None
    scene.proxy.call(BINDINGS, lambda: process.signal(signal.SIGTERM), when="after")
    await scene.pods(32)
    await scene.until("it has ended", lambda: not first.is_running())
    pods = await scene.api.items(path_of("Pod", namespace))
    bound = {each["metadata"]["name"] for each in pods if each["spec"].get("nodeName")}
    assert bound
    found: dict[str, set[str]] = {}
    for event in await scene.api.items(path_of("Event", namespace)):
        found.setdefault(event["involvedObject"]["name"], set()).add(event["reason"])
    for each in pods:
        name = each["metadata"]["name"]
        conditions = {one["type"]: one["status"] for one in each["status"]["conditions"]}
        assert (conditions.get("PodBound") == "True") == (name in bound)
        assert ({"Scheduled", "Bound"} <= found.get(name, set())) == (name in bound)


@scenario
async def test_a_lease_is_not_released_while_a_binding_is_under_way(scene: Scene) -> None:
    """Otherwise the next leader would not know that the room is used."""
    await scene.nodes(1, gpus=1)
    first = await scene.start(*SHORT_LEASE)
    late = scene.proxy.deliver_late(BINDINGS, 3, times=1)
    scene.proxy.drop(BINDINGS)
    await scene.pods(1, "early")
    await late.hit()
    assert await asyncio.to_thread(first.stop) == 0
    assert "" not in await holders(scene)
    scene.proxy.clear()
    await scene.start(*SHORT_LEASE)
    await scene.pods(1)
    await scene.until("the late one was delivered", lambda: scene.proxy.delivered)
    await scene.is_well(bound=1)


@scenario
async def test_a_leader_that_ends_hands_over_at_once(scene: Scene) -> None:
    await scene.nodes(2)
    first = await scene.start()
    await scene.pods(8)
    await scene.bound(8)
    assert await asyncio.to_thread(first.stop) == 0
    assert await holders(scene) == {""}
    await scene.start()
    await scene.pods(8, "next")
    await scene.is_well(bound=16)


async def holders(scene: Scene) -> set[str]:
    leases = await scene.api.items(path_of("Lease", scene.namespace))
    assert len(leases) == 5
    return {each["spec"].get("holderIdentity", "") for each in leases}


@pytest.mark.cluster_slow
@scenario
async def test_a_new_leader_lists_pods_before_it_plans(scene: Scene) -> None:
    """The second process has not seen the first one's bindings: its watch of pods is broken."""
    watches_of_pods = Match("GET", "/api/v1/pods$")
    first = await scene.start(*SHORT_LEASE, direct=True)
    await scene.until("the first one leads", lambda: "leading" in first.log)
    second = await scene.start(*SHORT_LEASE)
    await scene.pods(9)
    await scene.until("the second one waits", lambda: "waiting to lead" in second.log)
    await asyncio.sleep(1)  # it has seen the pods
    broken = scene.proxy.answer(watches_of_pods, 503)
    scene.proxy.cut_open(watches_of_pods)
    await scene.nodes(1)
    await scene.bound(8)
    await asyncio.to_thread(first.kill)
    await scene.until("the second one leads", lambda: "info kai: leading" in second.log)
    await asyncio.sleep(2)
    assert scene.proxy.count("create", "pods", "binding") == 0
    broken.end()
    await scene.api.create(node("later", gpus=1))
    await scene.is_well(bound=9)
    assert scene.proxy.count("create", "pods", "binding") == 1
