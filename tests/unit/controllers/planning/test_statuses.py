"""The statuses of queues, by a process that also writes those of pod groups and by one that does
not."""

from typing import Any

import pytest
from planner_world import World, pod

from fakes.objects import group, queue
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.statuses import WAIT_S

ALONE = PlanningOptions(roles=("queue-controller",))
BOTH = PlanningOptions(roles=("pod-group-controller", "queue-controller"))
QUEUES = [queue("top"), queue("left", "top"), queue("right", "top")]


def reports(name: str, of: str, gpus: int, **more: Any) -> dict[str, Any]:
    """A pod group whose status another process has written."""
    sums = {"requested": {"nvidia.com/gpu": str(gpus)}, **more}
    return {**group(name, of), "status": {"resourcesStatus": sums}}


def written(world: World) -> dict[str, Any]:
    """The patches of the statuses of queues."""
    world.turn()
    writes = world.turn(after=WAIT_S).writes
    assert {each.kind for each in writes} <= {"Queue"}
    return {each.name: dict(each.body)["status"] for each in writes}


def gpus(number: int) -> dict[str, Any]:
    return {"requested": {"nvidia.com/gpu": str(number)}}


def test_alone_it_sums_what_pod_groups_report() -> None:
    groups = [
        reports("a", "left", 2, allocated={"cpu": "1500m"}, allocatedNonPreemptible={"cpu": "1"}),
        reports("b", "left", 3, allocated={"cpu": "500m"}),
        reports("c", "right", 4),
        group("d", "right"),
    ]
    world = World(ALONE, Queue=QUEUES, PodGroup=groups)
    held = {"allocated": {"cpu": "2"}, "allocatedNonPreemptible": {"cpu": "1"}}
    assert written(world) == {
        "top": {**gpus(9), **held, "childQueues": ["left", "right"]},
        "left": {**gpus(5), **held},
        "right": gpus(4),
    }
    assert world.planner._statuses.queue_sums["top"].allocated == {"cpu": "2"}, "for the metrics"


@pytest.mark.parametrize("change", ["reports more", "moves", "is deleted", "reports nothing"])
def test_alone_it_follows_each_change_of_a_pod_group(change: str) -> None:
    world = World(ALONE, Queue=QUEUES, PodGroup=[reports("a", "left", 2), reports("b", "left", 1)])
    written(world)
    after, what = {
        "reports more": (reports("a", "left", 8), "MODIFIED"),
        "moves": (reports("a", "right", 2), "MODIFIED"),
        "is deleted": (reports("a", "left", 2), "DELETED"),
        "reports nothing": (group("a", "left"), "MODIFIED"),
    }[change]
    world.event(what, "PodGroup", after)
    found = written(world)
    left, right = {"reports more": (9, 0), "moves": (1, 2)}.get(change, (1, 0))
    assert found["left"] == gpus(left)
    assert found.get("right", {}) == (gpus(right) if right else {})
    assert found["top"]["requested"] == {"nvidia.com/gpu": str(left + right)}


def test_alone_it_follows_the_tree_of_queues() -> None:
    world = World(ALONE, Queue=QUEUES, PodGroup=[reports("a", "left", 2), reports("b", "later", 3)])
    assert written(world)["top"]["requested"] == {"nvidia.com/gpu": "2"}
    world.event("ADDED", "Queue", queue("later", "left"))
    assert written(world)["top"]["requested"] == {"nvidia.com/gpu": "5"}
    world.event("MODIFIED", "Queue", queue("left"))
    assert written(world)["left"]["childQueues"] == ["later"]


def test_alone_it_reads_no_pods() -> None:
    """It has no right to: what it writes is what pod groups report, right or wrong."""
    world = World(ALONE, Queue=QUEUES, PodGroup=[reports("g", "left", 2)])
    world.event("ADDED", "Pod", pod("p", on="n"))
    assert written(world)["left"] == gpus(2)


def test_with_the_pod_group_controller_it_counts_pods_at_once() -> None:
    world = World(BOTH, Queue=QUEUES, PodGroup=[reports("g", "left", 7)], Pod=[pod("p", on="n")])
    world.turn()
    writes = {each.name: dict(each.body)["status"] for each in world.turn(after=WAIT_S).writes}
    assert writes["left"]["requested"]["nvidia.com/gpu"] == "1"
    assert writes["g"]["resourcesStatus"]["requested"]["nvidia.com/gpu"] == "1"
