"""A node refused the pod for which others were evicted: its group evicts no more for a while."""

from typing import Any

import pytest
from planner_world import World, pod, victims

from fakes.objects import node
from kai.controllers.planning.options import PlanningOptions

NODES = ("n1", "n2", "n3")
CLASSES = [{"metadata": {"name": "low"}, "value": 10}, {"metadata": {"name": "high"}, "value": 90}]
REJECTED = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no device"}


def low(name: str) -> dict[str, Any]:
    metadata = {"namespace": "team", "name": name, "uid": f"uid-{name}"}
    spec = {"queue": "leaf", "minMember": 1, "priorityClassName": "low"}
    return {"metadata": metadata, "spec": spec}


def lowly(node: str) -> dict[str, Any]:
    return pod(f"low-{node}", f"low-{node}", on=node, phase="Running")


def owner(kind: str, name: str) -> dict[str, Any]:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}"}


def of_workload(name: str, of: dict[str, Any], **more: Any) -> dict[str, Any]:
    labels = {"kai.scheduler/queue": "leaf", "priorityClassName": "high"}
    return pod(name, "", labels=labels, ownerReferences=[{**of, "controller": True}], **more)


def manifest(of: dict[str, Any], *above: dict[str, Any]) -> dict[str, Any]:
    metadata = {"namespace": "team", "name": of["name"], "uid": of["uid"], "labels": {}}
    metadata["ownerReferences"] = [*above]
    return {"apiVersion": of["apiVersion"], "kind": of["kind"], "metadata": metadata}


class Full(World):
    """Each of three nodes has one GPU, which a pod of low priority has."""

    def __init__(self) -> None:
        super().__init__(
            PlanningOptions(roles=("scheduler", "pod-grouper")),
            Node=[node(name, gpus=1) for name in NODES],
            PriorityClass=CLASSES,
            PodGroup=[low(f"low-{name}") for name in NODES],
            Pod=[lowly(name) for name in NODES],
        )
        self.owners: dict[str, dict[str, Any]] = {}

    def settle(self) -> list[str]:
        """Plans until owners are known, deletes the victims, and binds the pod. Returns the
        victims."""
        turn = self.turn()
        while turn.grouped.needs:
            known = [(each, self.owners.get(each.name)) for each in turn.grouped.needs]
            turn = self.turn(owners=known)
        found = victims(turn)
        for name in found:
            own = name.partition("/")[2]
            self.event("DELETED", "Pod", lowly(own[4:]))
        return found

    def reject(self, made: dict[str, Any]) -> None:
        """The pod is bound, its node rejects it, and the victim comes back there."""
        [binding] = self.turn().bindings
        assert binding.pod.endswith(made["metadata"]["name"])
        spec = {**made["spec"], "nodeName": binding.node}
        self.event("MODIFIED", "Pod", {**made, "spec": spec})
        self.turn()
        self.event("MODIFIED", "Pod", {**made, "spec": spec, "status": REJECTED})
        self.event("ADDED", "Pod", lowly(binding.node))
        self.turn()


@pytest.mark.parametrize("kind", ["Job", "Deployment"])
def test_the_replacement_of_a_rejected_pod_evicts_no_pod_for_a_while(kind: str) -> None:
    world = Full()
    top, own = owner(kind, "w"), owner(kind, "w")
    world.owners = {"w": manifest(top)}
    if kind == "Deployment":
        own = owner("ReplicaSet", "w-1")
        world.owners["w-1"] = manifest(own, top)
    first = of_workload("a", own)
    world.event("ADDED", "Pod", first)
    assert len(world.settle()) == 1
    world.reject(first)
    for wait in (10, 20, 40):
        again = of_workload(f"again-{wait}", own)
        world.event("ADDED", "Pod", again)
        assert world.settle() == [], "the last eviction was of no use"
        world.now_ns += (wait - 1) * 10**9
        assert world.settle() == []
        world.now_ns += 10**9
        if wait == 40:
            break
        assert len(world.settle()) == 1, "after a while it tries another node"
        world.reject(again)


def test_the_replacement_of_a_rejected_pod_does_not_go_to_its_node_for_a_while() -> None:
    world = Full()
    top, own = owner("Deployment", "w"), owner("ReplicaSet", "w-1")
    world.owners = {"w": manifest(top), "w-1": manifest(own, top)}
    first = of_workload("a", own)
    world.event("ADDED", "Pod", first)
    [victim] = world.settle()
    world.reject(first)
    world.event("DELETED", "Pod", lowly(victim[-2:]))
    world.event("ADDED", "Pod", of_workload("b", own))
    world.settle()
    assert world.turn().bindings == []
    world.now_ns += 10 * 10**9
    [binding] = world.turn().bindings
    assert (binding.pod, binding.node) == ("team/b", victim[-2:])
