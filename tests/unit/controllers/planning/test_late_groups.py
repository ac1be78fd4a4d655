"""Groups that are created after the plan that contained them."""

from dataclasses import replace
from typing import Any

from planner_world import World, places, pod, victims

from fakes.objects import group, node
from kai.api.writes import Outcome, Result
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.verdicts.groups import NOT_READY_S


def alone(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that names no pod group yet."""
    made = pod(name)
    made["metadata"]["annotations"] = {}
    made["metadata"]["labels"] = {"kai.scheduler/queue": "leaf"}
    made["spec"] |= {"schedulerName": "kai-scheduler", **spec}
    return made


def grouped(waits: dict[str, Any]) -> tuple[World, str]:
    """The state after the first plan, and this plan's pod group, once it is created."""
    world = World(
        PlanningOptions(roles=("scheduler", "pod-grouper")), Node=[node("n1")], Pod=[waits]
    )
    [change] = world.turn().grouped.groups
    manifest = {**change.manifest, "kind": "PodGroup"}
    manifest["metadata"] = {**manifest["metadata"], "uid": "uid-of-the-group"}
    world.turn(after=1)
    world.event("ADDED", "PodGroup", manifest)
    return world, str(manifest["metadata"]["name"])


def test_a_late_group_of_a_gated_pod_gets_its_condition() -> None:
    world, name = grouped(alone("p", schedulingGates=[{"name": "example/quota"}]))
    assert world.turn().events == []
    [event] = world.turn(after=NOT_READY_S).events
    assert (event.kind, event.name, event.reason) == ("PodGroup", name, "NotReady")
    assert event.message.endswith("Waiting for 1 pods, currently 1 exist, 1 are gated")
    assert world.turn(after=60).events == []


def test_a_late_group_of_a_pod_without_room_gets_its_condition() -> None:
    world, name = grouped(alone("p", nodeSelector={"no": "such"}))
    turn = world.turn()
    [write] = [each for each in turn.writes if each.kind == "PodGroup"]
    assert write.name == name
    assert write.body["status"]["schedulingConditions"]
    assert [(each.kind, each.reason) for each in turn.events] == [("PodGroup", "Unschedulable")]


JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "uid-j", "controller": True}


def of_a_job(**labels: str) -> dict[str, Any]:
    """A Job's pod that names a group of its own choice."""
    labels = {"kai.scheduler/queue": "leaf", **labels}
    return pod("p", "mine", labels=labels, ownerReferences=[JOB])


def test_a_pod_of_a_job_with_another_group_annotation_is_planned_alone() -> None:
    """Recording 81. The pod was once planned in the group that it names, and bound in it."""
    options = PlanningOptions(roles=("scheduler", "pod-grouper"))
    world = World(options, Node=[node("n1")], PodGroup=[group("mine")], Pod=[of_a_job()])
    turn = world.turn()
    [reference] = turn.grouped.needs
    assert places(turn) == {}
    # Other changes of the pod must not cause planning before the Job exists, and must not undo the
    # decision.
    world.event("MODIFIED", "Pod", of_a_job(first="news"))
    assert places(world.turn()) == {}
    metadata = {"namespace": "team", "name": "j", "uid": "uid-j"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    world.event("MODIFIED", "Pod", of_a_job(second="news"))
    turn = world.turn(owners=[(reference, job)])
    [assignment] = turn.grouped.assignments
    [binding] = turn.bindings
    assert (binding.group, binding.names_group) == ("pg-j-uid-j", False)
    assert assignment.patch == {"annotations": {"pod-group-name": "pg-j-uid-j"}}
    world.event("MODIFIED", "Pod", of_a_job(third="news"))
    [binding] = world.turn(forgotten=[binding.assumption]).bindings
    assert (binding.group, binding.names_group) == ("pg-j-uid-j", False)


def test_a_pod_keeps_its_group_annotation_if_its_job_is_missing() -> None:
    options = PlanningOptions(roles=("scheduler", "pod-grouper"))
    world = World(options, Node=[node("n1")], PodGroup=[group("mine")], Pod=[of_a_job()])
    [reference] = world.turn().grouped.needs
    [binding] = world.turn(owners=[(reference, None)]).bindings
    assert (binding.group, binding.names_group) == ("mine", True)


REFUSED = Outcome(Result.FAILED, 403, "Forbidden", "exceeded quota")


def refused(world: World, name: str) -> dict[str, Any]:
    """The inputs of the next turn after the creation of the pod's group was refused."""
    turn = world.turn()
    [change] = [each for each in turn.grouped.groups if each.name.startswith(f"team/pg-{name}-")]
    made = [each.assumption for each in (*turn.bindings, *turn.removals)]
    return {"answers": [(replace(change.write(), about=None), REFUSED)], "forgotten": made}


def test_a_group_that_cannot_be_created_leaves_the_room_to_others() -> None:
    options = PlanningOptions(roles=("scheduler", "pod-grouper"))
    world = World(options, Node=[node("n1", gpus=1)], Pod=[alone("a")])
    answers = refused(world, "a")
    world.event("ADDED", "Pod", alone("b"))
    assert places(world.turn(**answers)) == {"team/b": "n1"}
    assert [*world.planner.state().groups] == ["team/pg-b-uid-b"], "as in snapshots"


def test_pods_are_placed_again_when_their_group_is_created_at_last() -> None:
    options = PlanningOptions(roles=("scheduler", "pod-grouper"))
    world = World(options, Node=[node("n1", gpus=1)], Pod=[alone("a")])
    answers = refused(world, "a")
    assert places(world.turn(**answers)) == {}
    [(write, _)] = answers["answers"]
    assert places(world.turn(answers=[(write, Outcome(Result.DONE, 201))])) == {}, "not shown yet"
    manifest = {**write.body, "kind": "PodGroup"}
    world.event("ADDED", "PodGroup", {**manifest, "metadata": {**manifest["metadata"], "uid": "g"}})
    assert places(world.turn()) == {"team/a": "n1"}


def test_no_pod_is_evicted_again_for_a_group_that_cannot_be_created() -> None:
    running = pod("low", on="n1", phase="Running")
    classes = [
        {"metadata": {"name": name}, "value": value} for name, value in (("low", 10), ("high", 90))
    ]
    groups = [{**group("g"), "spec": {**group("g")["spec"], "priorityClassName": "low"}}]
    waits = alone("a", priorityClassName="high")
    lists = {"Node": [node("n1", gpus=1)], "PodGroup": groups, "PriorityClass": classes}
    world = World(
        PlanningOptions(roles=("scheduler", "pod-grouper")), Pod=[running, waits], **lists
    )
    answers = refused(world, "a")
    assert answers["forgotten"], "the pod is evicted in the first plan"
    assert victims(world.turn(**answers)) == []
