"""Some objects are invalid: all others are planned, and each invalid one shows its problem."""

from typing import Any

from planner_world import World, places, pod

from fakes.objects import group, node, queue
from kai.controllers.planning.misfits import STRANDED_S
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Turn

NAN = 'metadata.annotations["gpu-fraction"]: "NaN" is not a number above 0 and up to 1'


def bad_pod(name: str = "bad", **more: Any) -> dict[str, Any]:
    made = pod(name, **more)
    made["metadata"]["annotations"]["gpu-fraction"] = "NaN"
    return made


def bad_group(name: str = "bad") -> dict[str, Any]:
    made = group(name)
    made["spec"]["minMember"] = -2
    return made


def conditions(turn: Turn) -> dict[str, str]:
    """The written conditions, by kind and name."""
    found = {}
    for write in turn.writes:
        status = write.body.get("status", {})
        for each in (*status.get("conditions", ()), *(status.get("schedulingConditions") or ())):
            found[f"{write.kind} {write.name}"] = each["message"]
    return found


def events(turn: Turn) -> dict[str, str]:
    return {f"{each.kind} {each.name} {each.reason}": each.message for each in turn.events}


def ignored(turn: Turn) -> list[tuple[str, str]]:
    """Kind and name of the objects in log lines."""
    text = "an object cannot be used"
    return [
        (each.fields["kind"], each.fields["name"]) for each in turn.lines if each.message == text
    ]


def test_each_invalid_object_shows_its_problem_and_the_rest_is_planned() -> None:
    world = World(
        Node=[node("n1")],
        Queue=[queue("top"), queue("leaf", "top"), queue("orphan", "gone")],
        PodGroup=[group("g"), bad_group(), group("h")],
        Pod=[pod("a"), bad_pod(group="h"), pod("in-bad", "bad"), pod("lost", "nowhere")],
    )
    turn = world.turn()
    assert places(turn) == {"team/a": "n1"}
    less = "spec.minMember: -2 is negative"
    assert conditions(turn) == {
        "Pod bad": NAN,
        "Pod in-bad": f"PodGroup team/bad is ignored: {less}",
        "PodGroup bad": less,
    }
    assert events(turn) == {
        "Pod bad Unschedulable": NAN,
        "Pod in-bad Unschedulable": f"PodGroup team/bad is ignored: {less}",
        "PodGroup bad Unschedulable": less,
        "Queue orphan Invalid": 'spec.parentQueue: parent queue "gone" does not exist',
    }
    assert ("Pod", "team/bad") in ignored(turn)
    assert turn.wake_ns is not None
    later = world.turn(after=STRANDED_S)
    assert conditions(later) == {"Pod lost": "PodGroup team/nowhere does not exist"}
    assert ignored(later) == []


def test_later_invalid_objects_are_reported_and_corrected_ones_planned() -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")])
    world.turn()
    world.event("ADDED", "Pod", bad_pod("p"))
    turn = world.turn(after=2.0)
    assert conditions(turn) == {"Pod p": NAN}
    assert len(ignored(turn)) == 1
    again = bad_pod("p")
    again["metadata"]["labels"] = {"touched": "yes"}
    world.event("MODIFIED", "Pod", again)
    turn = world.turn(after=2.0)
    assert (turn.writes, turn.events, turn.lines) == ([], [], [])
    world.event("MODIFIED", "Pod", pod("p"))
    assert places(world.turn(after=2.0)) == {"team/p": "n1"}


def test_an_invalid_running_pod_is_not_evicted() -> None:
    world = World(
        Node=[node("n1")], PodGroup=[group("g")], Pod=[bad_pod("p", on="n1", phase="Running")]
    )
    turn = world.turn()
    assert conditions(turn) == {}
    assert events(turn) == {}


def test_only_the_scheduler_of_the_default_pool_reports_invalid_objects() -> None:
    lists = {"Node": [node("n1")], "PodGroup": [group("g")], "Pod": [bad_pod("p")]}
    other = World(PlanningOptions(roles=("scheduler",), node_pool="a100"), **lists)
    turn = other.turn()
    assert conditions(turn) == {}
    assert len(ignored(turn)) == 1


def test_conditions_of_a_group_have_the_node_pool_of_the_scheduler() -> None:
    pool = {"kai.scheduler/node-pool": "a100"}
    waits = group("g", queue="nowhere")
    waits["metadata"]["labels"] = pool
    world = World(
        PlanningOptions(roles=("scheduler",), node_pool="a100"), PodGroup=[waits], Pod=[pod("p")]
    )
    [write] = [each for each in world.turn().writes if each.kind == "PodGroup"]
    [condition] = write.body["status"]["schedulingConditions"]
    assert condition["nodePool"] == "a100"
