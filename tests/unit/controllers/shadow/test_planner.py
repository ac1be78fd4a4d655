"""A shadow with real plans: for a difference, the state is planned again."""

from collections.abc import Mapping
from typing import Any

import pytest

import kai
from fakes.api_server import Object, parsed
from fakes.watches import Watches
from kai.api import keys
from kai.api.kinds import LISTS
from kai.api.times import to_ns
from kai.controllers.planning.kinds import WATCHED
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Inputs
from kai.controllers.shadow import Compared
from kai.controllers.shadow.planner import ShadowPlanner
from kai.engine.values import Evict

NOW = "2026-01-01T00:00:00Z"


class World:
    """A cluster of the builder as an API server shows it, and a shadow that watches."""

    def __init__(self, cluster: kai.Cluster, config: Mapping[str, Any] | None = None) -> None:
        options = PlanningOptions(roles=("scheduler",), config=config)
        self.planner, self.now_ns = ShadowPlanner(options, patience=5.0), to_ns(NOW)
        self.objects: dict[tuple[str, str], Object] = {}
        watches = Watches(self.planner.feed, self.planner.sinks())
        self.event = watches.event
        raw = cluster.to_snapshot()["rawObjects"]
        for kind in WATCHED:
            watches.list(kind, [self.made(kind, each) for each in raw.get(LISTS[kind]) or ()])

    def made(self, kind: str, found: Object) -> Object:
        made = parsed(found)
        if kind == "Pod":
            made["spec"]["schedulerName"] = "kai-scheduler"
            metadata = made["metadata"]
            self.objects[kind, f"{metadata['namespace']}/{metadata['name']}"] = made
        return made

    def asks_for(self, pod: str, node: str, *gpu_groups: str) -> None:
        """The other scheduler creates a BindRequest."""
        namespace, _, name = pod.partition("/")
        metadata = {"namespace": namespace, "name": name, "uid": f"request-{name}"}
        spec = {"podName": name, "selectedNode": node, "selectedGPUGroups": [*gpu_groups]}
        self.event("ADDED", "BindRequest", {"metadata": metadata, "spec": spec})

    def turn(self, after: float = 0.0) -> list[Compared]:
        self.now_ns += int(after * 1e9)
        turn = self.planner.turn(Inputs(now_ns=self.now_ns))
        return [self.planner.explained(each) for each in turn.cases]


def test_a_shadow_plans_with_past_usage() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").queue("b").node("n", gpus=1)
    world = World(cluster.pending("a/x", gpus=1).pending("b/x", gpus=1))
    usage = {"a": (0.9, 0.0, 0.0)}
    world.planner.turn(Inputs(now_ns=world.now_ns, usage=usage))
    assert world.planner._core.cluster.usage() == usage
    assert [each.pod for each in world.turn(after=30.0)] == ["b/x-0"]


def test_a_decision_of_kai_is_explained_by_its_switch() -> None:
    """b deserves a GPU; in KAI a group that can never be placed prevents it from getting one (A in
    docs/compatibility.md)."""
    owed = kai.Cluster(now=NOW).queue("a", deserved_gpus=2).queue("b", deserved_gpus=2)
    owed.node("n", gpus=4).running("a/x", gpus=2, node="n").running("a/y", gpus=1, node="n")
    owed.running("b/z", gpus=1, node="n").pending("b/huge", gpus=3).pending("b/small", gpus=1)
    world = World(owed)
    assert world.turn() == []
    assert world.turn(after=4.0) == []
    [found] = world.turn(after=1.0)
    assert (found.subject, found.pod, found.outcome) == ("evict", "a/y-0", "missed")
    assert (found.cause, found.switches) == ("switch", ("unrelated_blockers",))


def test_a_placement_of_kai_is_explained_by_its_switch_under_the_same_configuration() -> None:
    """P in docs/compatibility.md: the device is still held."""
    held = kai.Cluster(now=NOW).queue("a").node("n", gpus=2)
    held.releasing("a/old", gpus=1, node="n")
    held.running("a/half", gpu_fraction=0.5, node="n", gpu_groups=["g"])
    held.pending("a/x", gpu_fraction=0.5)
    spread = {"plugins": {"gpuspread": True, "gpupack": False, "gpusharingorder": False}}
    world = World(held, {**kai.Config(**spread).to_dict()})
    world.turn()
    world.asks_for("a/x-0", "n", "5c1e")
    [found] = world.turn()
    assert (found.outcome, found.ours) == ("extra", "wait for room on n")
    assert (found.cause, found.switches) == ("switch", ("held_gpus",))


def test_node_names_break_ties() -> None:
    world = World(kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=2).pending("a/x", gpus=1))
    world.turn()
    world.asks_for("a/x-0", "n2")
    [found] = world.turn()
    assert (found.outcome, found.ours, found.cause) == ("other_node", "bind to n1", "equal_score")


def test_a_node_with_a_lower_score_is_not_a_tie() -> None:
    """kai packs."""
    packed = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=2)
    packed.running("a/y", gpus=1, node="n2").pending("a/x", gpus=1)
    world = World(packed)
    world.turn()
    world.asks_for("a/x-0", "n1")
    [found] = world.turn()
    assert (found.outcome, found.ours, found.cause) == ("other_node", "bind to n2", "unknown")


def test_the_state_is_that_of_the_plan_after_later_events() -> None:
    """n1 is deleted between the plan and the search for the cause."""
    world = World(kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=2).pending("a/x", gpus=1))
    world.turn()
    world.asks_for("a/x-0", "n2")
    turn = world.planner.turn(Inputs(now_ns=world.now_ns))
    world.event("DELETED", "Node", {"metadata": {"name": "n1"}})
    world.turn()
    assert [world.planner.explained(each).cause for each in turn.cases] == ["equal_score"]


def test_an_invalid_pod_that_the_other_scheduler_runs_is_explained() -> None:
    odd = kai.Cluster(now=NOW).queue("a").node("n", gpus=1)
    odd.pending("a/x", annotations={"gpu-fraction": "NaN"})
    world = World(odd)
    world.turn()
    world.asks_for("a/x-0", "n")
    [found] = world.turn()
    assert (found.outcome, found.cause) == ("extra", "left_out")


def test_a_waiting_pod_has_its_reason() -> None:
    full = kai.Cluster(now=NOW).queue("a").node("n", gpus=1).pending("a/x", gpus=2)
    world = World(full)
    world.turn()
    world.asks_for("a/x-0", "n")
    [found] = world.turn()
    assert (found.ours, found.reason) == ("wait", "larger_than_any_node")


def test_promises_that_the_other_scheduler_does_not_keep_are_dropped() -> None:
    """The plan moves a/low for a/mid; the other scheduler leaves the place free, and a pod with a
    higher priority arrives."""
    room = kai.Cluster(now=NOW).queue("a").node("n", gpus=1)
    room.releasing("a/low", gpus=1, priority=10, node="n").pending("a/mid", gpus=1, priority=20)
    assert not any(isinstance(each, Evict) for each in kai.Scheduler().plan(room).decisions)
    world = World(room)
    world.turn()
    top = kai.Cluster(now=NOW).queue("a").pending("a/top", gpus=1, priority=30).to_snapshot()
    for kind in ("PriorityClass", "PodGroup", "Pod"):
        for each in top["rawObjects"][LISTS[kind]]:
            world.event("ADDED", kind, world.made(kind, each))
    world.turn()
    _, plan = world.planner._comparison._plans[-1]
    assert {pod: each.kind for pod, each in plan.chosen.items()} == {"a/top-0": "pipeline"}


# ---- pods that are bound before any plan has them as waiting -------------------------------------


def arrives(world: World, pod: str, **more: Any) -> Object:
    """A pod like this one is created."""
    made = parsed(world.objects["Pod", pod])
    name = pod.partition("/")[2]
    made["metadata"] |= {"name": f"{name}-late", "uid": f"uid-late-{name}"}
    made["spec"] |= {"schedulerName": "kai-scheduler", **more}
    world.event("ADDED", "Pod", made)
    return made


def comes_bound(world: World, pod: str, node: str, **more: Any) -> None:
    """It is created, and bound before the next plan."""
    made = arrives(world, pod, **more)
    world.event("MODIFIED", "Pod", {**made, "spec": {**made["spec"], "nodeName": node}})


def one_waits() -> kai.Cluster:
    """n1 has the better place: kai packs."""
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=4)
    cluster.running("a/y", gpus=2, node="n1")
    return cluster.pending("a/x", gpus=1, min_member=1)


@pytest.mark.parametrize(("node", "outcome"), [("n1", "same"), ("n2", "other_node")])
def test_a_pod_that_no_plan_had_as_waiting_is_compared_as_if_it_waited(
    node: str, outcome: str
) -> None:
    world = World(one_waits())
    world.turn()
    comes_bound(world, "a/x-0", node)
    [found] = world.turn()
    assert (found.pod, found.outcome, found.ours) == ("a/x-0-late", outcome, "bind to n1")


def test_the_cause_of_a_late_difference_is_found() -> None:
    world = World(kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=2).pending("a/x", gpus=1))
    world.turn()
    world.event("DELETED", "Pod", world.objects["Pod", "a/x-0"])
    world.turn()
    comes_bound(world, "a/x-0", "n2")
    [found] = world.turn()
    assert (found.outcome, found.ours, found.cause) == ("other_node", "bind to n1", "equal_score")


def test_a_bind_request_for_such_a_pod_is_compared() -> None:
    world = World(one_waits())
    world.turn()
    arrives(world, "a/x-0")
    world.asks_for("a/x-0-late", "n2")
    [found] = world.turn()
    assert (found.pod, found.outcome, found.ours) == ("a/x-0-late", "other_node", "bind to n1")


def test_such_a_pod_is_bound_again_after_the_comparison() -> None:
    """Otherwise plans would bind it, and count that as missed."""
    world = World(one_waits())
    world.turn()
    comes_bound(world, "a/x-0", "n1")
    assert [each.outcome for each in world.turn()] == ["same"]
    missed = [*world.turn(after=1.0), *world.turn(after=5.0)]
    assert [each.pod for each in missed] == ["a/x-0"]  # which still waits


def test_several_such_pods_wait_together() -> None:
    """The last two GPUs of n1 are for two of them."""
    cluster = one_waits().pending("a/z", gpus=1, min_member=1)
    world = World(cluster)
    for name in ("x", "z"):
        world.event("DELETED", "Pod", world.objects["Pod", f"a/{name}-0"])
    world.turn()
    comes_bound(world, "a/x-0", "n1")
    comes_bound(world, "a/z-0", "n1")
    assert [each.outcome for each in world.turn()] == ["same", "same"]


@pytest.mark.parametrize(
    "more",
    [
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"volumes": [{"name": "v", "ephemeral": {}}]},
        {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]},
    ],
)
def test_volumes_and_claims_are_bound_already_so_their_pods_are_not_compared(
    more: dict[str, Any],
) -> None:
    world = World(one_waits())
    world.turn()
    comes_bound(world, "a/x-0", "n2", **more)
    [found] = world.turn()
    assert found.outcome == "not_compared"


def test_a_pod_whose_group_does_not_come_is_not_compared() -> None:
    world = World(one_waits())
    world.turn()
    made = parsed(world.objects["Pod", "a/x-0"])
    made["metadata"] |= {"name": "alone", "uid": "uid-alone"}
    made["metadata"]["annotations"] = {keys.POD_GROUP_ANNOTATION: "missing"}
    world.event("ADDED", "Pod", made)
    world.event("MODIFIED", "Pod", {**made, "spec": {**made["spec"], "nodeName": "n1"}})
    assert world.turn() == []
    assert world.turn(after=1.0) == []
    [found] = world.turn(after=1.5)
    assert (found.pod, found.outcome) == ("a/alone", "not_compared")
