"""Changes of a cluster between a decision and its write are noticed, and decided again."""

from typing import Any

import pytest
from planner_world import World, places, pod, victims

from fakes.objects import READY, group, node, queue
from fakes.played import Scheduler
from kai.api import keys
from kai.api.kinds import LISTS
from kai.controllers.courses import Ask
from kai.controllers.planning.kinds import WATCHED
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.bind_requests import pod_annotations, spec_of
from kai.controllers.pods.decisions import Binding, Removal
from kai.engine.values import Bind, NumaZone
from kai.verify import default_cases, read_cases

# ---- nodes ---------------------------------------------------------------------------------------


def two_bound() -> tuple[World, list[Binding]]:
    """Two pods about to be bound to n1, and another node."""
    nodes = [node("n1"), node("n2")]
    world = World(Node=nodes, PodGroup=[group("g")], Pod=[pod("a"), pod("b")])
    bindings = world.turn().bindings
    assert [each.node for each in bindings] == ["n1", "n1"]
    world.changed.clear()
    return world, bindings


def asks(bindings: list[Binding]) -> list[Ask]:
    return [Ask(each) for each in bindings]


def test_a_heartbeat_does_not_change_a_node() -> None:
    world, _ = two_bound()
    beats = node("n1")
    beats["status"]["conditions"] = [{**READY[0], "lastHeartbeatTime": "2027-01-01T00:00:00Z"}]
    world.event("MODIFIED", "Node", beats)
    world.turn()
    assert world.changed == []


@pytest.mark.parametrize(
    "what",
    [
        ("MODIFIED", node("n1", unschedulable=True)),
        ("MODIFIED", node("n1", taints=[{"key": "k", "effect": "NoSchedule"}])),
        ("MODIFIED", node("n1", gpus=0)),
        ("DELETED", node("n1")),
    ],
)
def test_bindings_to_a_node_that_becomes_unusable_are_planned_again(
    what: tuple[str, dict[str, Any]],
) -> None:
    world, bindings = two_bound()
    world.event(what[0], "Node", what[1])
    places_now = places(world.turn())
    assert world.changed == ["n1"]
    turn = world.turn(to_check=asks(bindings))
    assert [each.about for each in turn.to_check] == bindings
    assert list(turn.broken) == [each.assumption for each in bindings]
    assert {**places_now, **places(turn)} == {"team/a": "n2", "team/b": "n2"}


def test_a_pod_of_another_scheduler_displaces_only_the_later_binding() -> None:
    world, bindings = two_bound()
    world.event("ADDED", "Pod", pod("ds", "", on="n1", scheduler="default-scheduler"))
    world.turn()
    assert world.changed == ["n1"]
    turn = world.turn(to_check=asks(bindings))
    assert list(turn.broken) == [bindings[1].assumption]
    assert places(turn) == {"team/b": "n2"}


def test_a_valid_binding_is_not_decided_again() -> None:
    world, bindings = two_bound()
    world.event("MODIFIED", "Node", node("n1", taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
    world.turn()
    assert world.changed == ["n1"]
    turn = world.turn(to_check=asks(bindings))
    assert (list(turn.broken), turn.bindings) == ([], [])


# ---- rejections ----------------------------------------------------------------------------------


def failed(name: str, on: str, reason: str) -> dict[str, Any]:
    return pod(name, on=on, phase="Failed", status={"reason": reason, "message": "no luck"})


def test_a_node_that_rejected_a_pod_waits_for_its_group() -> None:
    nodes = [node("n1"), node("n2")]
    world = World(Node=nodes, PodGroup=[group("g"), group("h")], Pod=[pod("a")])
    assert places(world.turn()) == {"team/a": "n1"}
    world.event("MODIFIED", "Pod", pod("a", on="n1"))
    world.event("MODIFIED", "Pod", failed("a", "n1", "OutOfnvidia.com/gpu"))
    world.event("ADDED", "Pod", pod("a2", gpus=2))
    world.event("ADDED", "Pod", pod("b", "h", gpus=2))
    turn = world.turn()
    assert places(turn) == {"team/a2": "n2", "team/b": "n1"}  # its place is free for others
    [line] = turn.lines
    assert (line.level, line.message) == ("warning", "a node rejected a pod")
    why = {"reason": "OutOfnvidia.com/gpu", "why": "no luck"}
    where = {"node": "n1", "pod": "team/a", "group": "team/g"}
    assert line.fields == {**where, **why, "avoided_for_s": 10}


def test_after_a_while_the_group_uses_the_node_again() -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    world.turn()
    world.event("MODIFIED", "Pod", failed("a", "n1", "UnexpectedAdmissionError"))
    world.event("ADDED", "Pod", pod("a2"))
    turn = world.turn()
    assert places(turn) == {}
    assert turn.wake_ns is not None
    assert turn.wake_ns <= world.now_ns + 10_000_000_000
    assert places(world.turn(after=9.0)) == {}
    assert places(world.turn(after=1.0)) == {"team/a2": "n1"}
    world.event("MODIFIED", "Pod", failed("a2", "n1", "UnexpectedAdmissionError"))
    world.event("ADDED", "Pod", pod("a3"))
    assert places(world.turn(after=19.0)) == {}
    assert places(world.turn(after=20.0)) == {"team/a3": "n1"}


def test_a_pod_that_fails_by_itself_excludes_no_node() -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    world.turn()
    world.event("MODIFIED", "Pod", failed("a", "n1", "Error"))
    world.event("ADDED", "Pod", pod("a2"))
    assert places(world.turn()) == {"team/a2": "n1"}


# ---- refused bindings ----------------------------------------------------------------------------


def refused(turn: Turn) -> dict[str, Any]:
    """The inputs after the API server refused the only binding of a turn, which is held back for
    now."""
    [binding] = turn.bindings
    why = "the policy allows no pod here"
    return {"refused": [(binding, why)], "forgotten": (binding.assumption,)}


def test_a_group_avoids_a_node_to_which_it_could_not_be_bound() -> None:
    world = World(Node=[node("n1"), node("n2")], PodGroup=[group("g"), group("h")], Pod=[pod("a")])
    turn = world.turn()
    assert places(turn) == {"team/a": "n1"}
    world.event("ADDED", "Pod", pod("b", "h", gpus=2))
    turn = world.turn(**refused(turn))
    assert places(turn) == {"team/a": "n2", "team/b": "n1"}  # the other group may use the node
    [line] = turn.lines
    assert (line.level, line.message) == ("warning", "a binding to a node was refused")
    where = {
        "node": "n1",
        "pod": "team/a",
        "group": "team/g",
        "why": "the policy allows no pod here",
    }
    assert line.fields == {**where, "avoided_for_s": 10}


def messages(turn: Turn, kind: str = "Pod") -> list[str]:
    """In the conditions that a turn writes on pods or on pod groups."""
    found = []
    for write in turn.writes:
        if write.kind == kind and isinstance(write.body, dict):
            status = write.body["status"]
            conditions = status.get("conditions") or status.get("schedulingConditions") or ()
            found += [each["message"] for each in conditions]
    return found


def test_the_messages_of_a_pod_and_its_group_name_the_nodes_that_they_avoid() -> None:
    world = World(Node=[node("n1"), node("n2", gpus=0)], PodGroup=[group("g")], Pod=[pod("a")])
    turn = world.turn(**refused(world.turn()))
    assert places(turn) == {}
    avoids = "Nodes that refused a pod of this pod group are avoided for now: n1."
    [text] = messages(turn)
    assert text.endswith(f"Pod's node affinity/selector. {avoids}")
    [text] = messages(turn, "PodGroup")
    assert text.endswith(avoids)


def test_a_message_names_some_of_many_avoided_nodes() -> None:
    world = World(Node=[node(f"n{i}") for i in range(7)], PodGroup=[group("g")], Pod=[pod("a")])
    turn = world.turn()
    for _ in range(7):
        turn = world.turn(**refused(turn))
    assert places(turn) == {}
    assert [each.partition("now: ")[2] for each in messages(turn)] == [
        "n0, n1, n2, n3, n4 and 2 more."
    ]


def test_other_messages_are_unchanged() -> None:
    world = World(
        Node=[node("n1")], PodGroup=[group("g"), group("h")], Pod=[pod("a"), pod("b", "h", gpus=9)]
    )
    turn = world.turn()
    [before] = messages(turn)
    turn = world.turn(**refused(turn))
    assert [each for each in messages(turn) if "avoided" not in each] == []
    assert "avoided" not in before


def test_a_node_that_refuses_again_is_avoided_for_longer() -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    turn, waits = world.turn(), []
    for _ in range(7):
        assert places(world.turn(**refused(turn))) == {}
        waited = 0
        while not (turn := world.turn(after=5.0)).bindings:
            waited += 5
        waits.append(waited + 5)
    assert waits == [10, 20, 40, 80, 160, 320, 320]


def test_a_pod_without_a_group_in_the_cluster_avoids_no_node() -> None:
    """It was deleted meanwhile."""
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    turn = world.turn()
    world.event("DELETED", "Pod", pod("a"))
    after = world.turn(**refused(turn))
    assert (after.lines, places(after)) == ([], {})


# ---- evictions -----------------------------------------------------------------------------------


def reclaiming() -> tuple[World, list[Removal]]:
    """Queue `poor` requests the GPU that it deserves; `rich` uses both."""
    queues = [queue("top", gpus=2), queue("rich", "top", 1), queue("poor", "top", 1)]
    pods = [pod(name, name, on="n1", phase="Running") for name in ("r1", "r2")]
    world = World(
        Node=[node("n1")],
        Queue=queues,
        PodGroup=[group("r1", "rich"), group("r2", "rich"), group("p", "poor")],
        Pod=[*pods, pod("p", "p")],
    )
    turn = world.turn()
    assert len(turn.removals) == 1
    assert nominated(turn) == {"p": "n1"}
    return world, turn.removals


def nominated(turn: Turn) -> dict[str, str | None]:
    """The status.nominatedNodeName values that this turn writes, by pod."""
    found = {}
    for write in turn.writes:
        if write.kind == "Pod" and isinstance(write.body, dict):
            status = write.body.get("status", {})
            if "nominatedNodeName" in status:
                found[write.name] = status["nominatedNodeName"]
    return found


def test_a_refused_eviction_ends_the_promise_without_another_victim() -> None:
    world, [removal] = reclaiming()
    why = "Cannot evict pod as it would violate the pod's disruption budget."
    turn = world.turn(spared=[(removal, why)], forgotten=[removal.assumption])
    assert victims(turn) == []
    assert nominated(turn) == {"p": None}
    found = {each.reason: (each.type, each.name, each.message) for each in turn.events}
    assert found["EvictionRefused"] == (
        *("Warning", "p"),
        f"Pod {removal.order.pod} was not evicted: {why}",
    )
    for _ in range(9):
        world.event("MODIFIED", "Node", node("n1", gpus=2, podCIDR=str(world.now_ns)))
        assert victims(world.turn(after=1.0)) == []
    turn = world.turn(after=1.0)
    assert len(turn.removals) == 1


def test_a_refused_eviction_has_the_time_of_the_next() -> None:
    world, [removal] = reclaiming()
    turn = world.turn(spared=[(removal, "no")], forgotten=[removal.assumption])
    [condition] = [
        write.body["status"]["schedulingConditions"][0]
        for write in turn.writes
        if write.kind == "PodGroup"
        and isinstance(write.body, dict)
        and "schedulingConditions" in write.body.get("status", {})
    ]
    assert "may not trigger evictions before 2027-01-15T08:00:10Z" in condition["message"]


def test_no_other_pod_is_evicted_while_a_victim_terminates() -> None:
    world, [removal] = reclaiming()
    world.turn(evicted=[removal])
    name = removal.order.pod.partition("/")[2]
    for seconds in range(1, 100):
        if seconds == 50:  # a finalizer holds it
            deleted = {"deletionTimestamp": "2027-01-15T08:00:50Z", "finalizers": ["team/hold"]}
            world.event("MODIFIED", "Pod", pod(name, name, on="n1", phase="Running", **deleted))
        turn = world.turn(after=1.0)
        assert (victims(turn), places(turn), nominated(turn)) == ([], {}, {}), seconds
    world.event("DELETED", "Pod", pod(name, name, on="n1", phase="Running"))
    turn = world.turn(after=1.0)
    assert places(turn) == {"team/p": "n1"}


# ---- promises ------------------------------------------------------------------------------------


def managed(manager: str) -> list[dict[str, Any]]:
    owned = {"f:status": {"f:nominatedNodeName": {}}}
    return [{"manager": manager, "subresource": "status", "fieldsV1": owned}]


@pytest.mark.parametrize(("manager", "place"), [("autoscaler", "n2"), (keys.FIELD_MANAGER, "n1")])
def test_a_nominated_node_of_another_client_counts_and_an_own_one_does_not(
    manager: str, place: str
) -> None:
    wants = pod("a", status={"nominatedNodeName": "n2"}, managedFields=managed(manager))
    world = World(Node=[node("n1"), node("n2")], PodGroup=[group("g")], Pod=[wants])
    assert places(world.turn()) == {"team/a": place}


def test_only_nominated_nodes_of_an_earlier_leader_are_cleared() -> None:
    for manager, written in ((keys.FIELD_MANAGER, {"a": None}), ("autoscaler", {})):
        wants = pod("a", gpus=4, status={"nominatedNodeName": "n1"}, managedFields=managed(manager))
        world = World(Node=[node("n1"), node("n2")], PodGroup=[group("g")], Pod=[wants])
        turn = world.turn()
        assert nominated(turn) == written


def test_a_promise_ends_with_the_binding() -> None:
    world, [removal] = reclaiming()
    world.turn(evicted=[removal])
    name = removal.order.pod.partition("/")[2]
    world.event("DELETED", "Pod", pod(name, name, on="n1", phase="Running"))
    [binding] = world.turn().bindings
    turn = world.turn(bound=[binding])
    assert nominated(turn) == {"p": None}


# ---- what a pod gets with its binding ------------------------------------------------------------


def test_a_pod_gets_the_predicted_zones() -> None:
    zones = (NumaZone("node-0", {"cpu": 2.5, keys.NVIDIA_GPU: 1}),)
    spec = spec_of(Bind("team/a", "n1", gpus=1, numa_zones=zones))
    assert pod_annotations({}, spec) == {
        keys.RECEIVED_TYPE_ANNOTATION: "Regular",
        keys.NUMA_PREDICTED_ANNOTATION: (
            '[{"zone":"node-0","amount":{"cpu":"2500m","nvidia.com/gpu":"1"}}]'
        ),
    }


def test_a_fraction_waits_for_its_device_and_keeps_its_room() -> None:
    half = pod("half", gpus=0)
    half["metadata"]["annotations"]["gpu-fraction"] = "0.5"
    world = World(Node=[node("n1", gpus=1)], PodGroup=[group("g")], Pod=[half])
    [binding] = world.turn().bindings
    assert binding.annotations[keys.RECEIVED_TYPE_ANNOTATION] == "Fraction"
    assert binding.needs == ["a part of a GPU"]
    played = Scheduler()
    steps = played.begin(0.0, "", [binding], [])
    assert steps.writes == []
    assert steps.failed == [(binding, "kai does not support a part of a GPU yet")]
    assert played.tick(0.9).forget == []
    assert played.tick(1.0).forget == [binding.assumption]


# ---- the end -------------------------------------------------------------------------------------


def test_a_stopping_process_writes_results_of_bindings_and_decides_nothing() -> None:
    world, [first, _] = two_bound()
    world.event("ADDED", "Pod", pod("late"))
    turn = world.turn(bound=[first], ends=True)
    assert [event.reason for event in turn.events] == ["Scheduled", "Bound"]
    assert [write.name for write in turn.writes] == ["a"]
    assert turn.bindings == []
    assert places(world.turn()) == {"team/late": "n2"}  # nothing was lost: a turn that plans


def test_a_pod_that_a_plan_evicts_twice_is_deleted_once() -> None:
    """Like KAI, it moves a pod for one group, and evicts it from its new place for another one."""
    [case] = [
        each
        for each in read_cases([default_cases()])
        if (each.area, each.id) == ("random/topology", "topology-007")
    ]
    snapshot = case.data["snapshot"]
    options = PlanningOptions(
        roles=("scheduler",),
        as_kai=True,
        config=snapshot["config"],
        params=snapshot["schedulerParams"],
    )
    lists = {kind: snapshot["rawObjects"].get(LISTS[kind], []) for kind in WATCHED}
    world = World(options, **lists)
    turn = world.turn()
    assert [(each.order.pod, each.order.for_group) for each in turn.removals] == [
        ("ns-team-a/run-02-0", "ns-team-b/job-02"),
        ("ns-team-a/run-05-0", "ns-team-b/job-02"),
        ("ns-team-a/run-04-0", "ns-team-b/job-02"),
    ]
    assert world.turn(after=1.0).removals == []
