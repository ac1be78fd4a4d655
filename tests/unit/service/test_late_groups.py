"""Groups that are created after the plan that had them."""

from __future__ import annotations

from typing import Any

from test_truth import World, node, pod

from kai.controllers.verdicts.groups import NOT_READY_S
from kai.service.options import Options


def alone(name: str, **spec: Any) -> dict[str, Any]:
    """A pod that names no pod group yet."""
    made = pod(name)
    made["metadata"]["annotations"] = {}
    made["metadata"]["labels"] = {"kai.scheduler/queue": "leaf"}
    made["spec"] |= {"schedulerName": "kai-scheduler", **spec}
    return made


def grouped(waits: dict[str, Any]) -> tuple[World, str]:
    """A world after the first plan, and the pod group that this plan made, once it is created."""
    world = World(Options(roles=("scheduler", "pod-grouper")), Node=[node("n1")], Pod=[waits])
    [change] = world.turn().grouped.groups
    manifest = {**change.manifest, "kind": "PodGroup"}
    manifest["metadata"] = {**manifest["metadata"], "uid": "uid-of-the-group"}
    world.turn(after=1)
    world.event("ADDED", "PodGroup", manifest)
    return world, str(manifest["metadata"]["name"])


def test_the_group_of_a_gated_pod_says_so_though_it_was_created_after_the_plan() -> None:
    world, name = grouped(alone("p", schedulingGates=[{"name": "example/quota"}]))
    assert world.turn().events == []
    [event] = world.turn(after=NOT_READY_S).events
    assert (event.kind, event.name, event.reason) == ("PodGroup", name, "NotReady")
    assert event.message.endswith("Waiting for 1 pods, currently 1 exist, 1 are gated")
    assert world.turn(after=60).events == []


def test_so_does_the_group_of_a_pod_that_fits_nowhere() -> None:
    world, name = grouped(alone("p", nodeSelector={"no": "such"}))
    turn = world.turn()
    [write] = [each for each in turn.writes if each.kind == "PodGroup"]
    assert write.name == name
    assert write.body["status"]["schedulingConditions"]
    assert [(each.kind, each.reason) for each in turn.events] == [("PodGroup", "Unschedulable")]
