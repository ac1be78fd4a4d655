"""Writes that the API server accepted and that no watch shows: what a read finds counts."""

import json
from typing import Any

import pytest
from planner_world import World, places, pod, victims

from fakes.objects import group, node
from fakes.writes import DONE
from kai.api import keys
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Turn
from kai.controllers.unshown import READ_AFTER_S, Accepted


def found(item: dict[str, Any], version: int = 900, **more: Any) -> bytes:
    """The answer to a read."""
    metadata = {**item["metadata"], "resourceVersion": str(version), **more}
    return json.dumps({**item, "kind": "Pod", "metadata": metadata}).encode()


def accepted_binding() -> tuple[World, Accepted]:
    """The API server has accepted a binding, and 15 s later no watch has shown it."""
    world = World(Node=[node("n1"), node("n2")], PodGroup=[group("g")], Pod=[pod("a", gpus=2)])
    [binding] = world.turn().bindings
    assert binding.node == "n1"
    assert world.turn(1, bound=[binding]).unshown == []
    assert world.turn(READ_AFTER_S - 1).unshown == []
    [accepted] = world.turn(1).unshown
    assert accepted.name == "team/a"
    return world, accepted


def test_a_binding_that_a_watch_shows_is_not_read() -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    [binding] = world.turn().bindings
    world.turn(1, bound=[binding])
    world.event("MODIFIED", "Pod", pod("a", on="n1"))
    for _ in range(40):
        assert world.turn(1).unshown == []


def test_a_pod_that_still_waits_is_planned_again() -> None:
    world, accepted = accepted_binding()
    turn = world.turn(0.1, read=[(accepted, found(pod("a", gpus=2)))])
    assert turn.without_effect == [accepted]
    assert places(turn) == {"team/a": "n1"}
    assert [each.message for each in turn.lines] == [
        "the API server accepted a write that had no effect; it is decided again"
    ]


def test_a_pod_on_its_node_is_shown_by_the_read() -> None:
    world, accepted = accepted_binding()
    turn = world.turn(0.1, read=[(accepted, found(pod("a", gpus=2, on="n1")))])
    assert (turn.without_effect, turn.bindings) == ([], [])
    world.event("ADDED", "Pod", pod("b", gpus=2))
    assert places(world.turn(0.1)) == {"team/b": "n2"}
    assert all(world.turn(30).unshown == [] for _ in range(5))


def test_a_pod_on_another_node_is_there() -> None:
    world, accepted = accepted_binding()
    turn = world.turn(0.1, read=[(accepted, found(pod("a", gpus=2, on="n2")))])
    assert (turn.without_effect, turn.bindings) == ([], [])
    world.event("ADDED", "Pod", pod("b", gpus=2))
    assert places(world.turn(0.1)) == {"team/b": "n1"}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_pod_that_is_gone_leaves_its_room(replaced: bool) -> None:
    """Its DELETED event was lost; a new pod of its name arrives by its own event."""
    world, accepted = accepted_binding()
    read = found(pod("a", uid="other")) if replaced else None
    turn = world.turn(0.1, read=[(accepted, read)])
    assert turn.gone == [("Pod", "team/a", "uid-a")]
    assert (turn.without_effect, turn.bindings) == ([], [])
    world.event("ADDED", "Pod", pod("b", gpus=2))
    assert places(world.turn(0.1)) == {"team/b": "n1"}


def test_a_read_that_is_older_than_the_watch_changes_nothing() -> None:
    world, accepted = accepted_binding()
    world.event("MODIFIED", "Pod", pod("a", gpus=2, on="n1"))
    turn = world.turn(0.1, read=[(accepted, found(pod("a", gpus=2), version=1))])
    assert (turn.without_effect, turn.bindings) == ([], [])


def test_it_is_read_again_after_growing_waits_while_no_answer_comes() -> None:
    world, _ = accepted_binding()
    times = [second for second in range(1, 300) if world.turn(1).unshown]
    assert times == [30, 90, 210]


@pytest.mark.parametrize("hours", [2, -2])
def test_a_step_of_the_servers_clock_neither_hurries_nor_stalls_the_read(hours: int) -> None:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    [binding] = world.turn().bindings
    assert world.turn(1, bound=[binding]).unshown == []
    shift_ns = hours * 3_600_000_000_000
    world.now_ns += shift_ns
    turn = world.turn(READ_AFTER_S - 1, shift_ns=shift_ns)
    assert turn.unshown == []
    assert turn.wake_ns is not None
    assert 0 <= turn.wake_ns - world.now_ns <= 1_000_000_000
    assert [each.name for each in world.turn(1, shift_ns=shift_ns).unshown] == ["team/a"]


def victim_world() -> tuple[World, Any]:
    """A pod that was decided to be evicted."""
    queues = [
        {"metadata": {"name": name}, "spec": spec}
        for name, spec in (
            ("top", {"resources": shares(4)}),
            ("leaf", {"parentQueue": "top", "resources": shares(0)}),
            ("poor", {"parentQueue": "top", "resources": shares(2)}),
        )
    ]
    world = World(
        Node=[node("n1")],
        Queue=queues,
        PodGroup=[group("g"), group("h", "poor")],
        Pod=[pod("a", on="n1", phase="Running", gpus=2), pod("b", "h", gpus=2)],
    )
    turn = world.turn(100)
    assert victims(turn) == ["team/a"]
    return world, turn.removals[0]


def shares(gpus: int) -> dict[str, Any]:
    quota = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    return {"cpu": quota, "memory": quota, "gpu": {**quota, "quota": gpus}}


def accepted_eviction() -> tuple[World, Accepted]:
    world, removal = victim_world()
    world.turn(1, evicted=[removal])
    [accepted] = world.turn(READ_AFTER_S).unshown
    return world, accepted


def test_a_victim_that_was_not_deleted_is_evicted_again() -> None:
    world, accepted = accepted_eviction()
    still = found(pod("a", on="n1", phase="Running", gpus=2))
    turn = world.turn(0.1, read=[(accepted, still)])
    assert turn.without_effect == [accepted]
    assert victims(turn) == ["team/a"]


def test_a_victim_that_is_leaving_is_shown_by_the_read() -> None:
    world, accepted = accepted_eviction()
    metadata = {"deletionTimestamp": "2027-01-15T08:00:00Z"}
    leaving = found(pod("a", on="n1", phase="Running", gpus=2), **metadata)
    turn = world.turn(0.1, read=[(accepted, leaving)])
    assert (turn.without_effect, victims(turn)) == ([], [])
    assert world.turn(60).unshown == []


def test_a_victim_that_is_gone_makes_room() -> None:
    world, accepted = accepted_eviction()
    turn = world.turn(0.1, read=[(accepted, None)])
    assert places(turn) == {"team/b": "n1"}


# ---- groups --------------------------------------------------------------------------------------


def grouped() -> tuple[World, Turn]:
    """A pod that names no group yet; its group is created, and the pod is about to be patched."""
    options = PlanningOptions(roles=("scheduler", "pod-grouper"))
    bare = pod("a", "")
    bare["metadata"]["labels"] = {keys.QUEUE_LABEL: "leaf"}
    world = World(options, Pod=[bare])
    turn = world.turn()
    assert len(turn.grouped.groups) == len(turn.grouped.assignments) == 1
    return world, turn


def test_a_pod_group_that_was_not_created_is_created_again() -> None:
    world, first = grouped()
    created = first.grouped.groups[0].write()
    world.turn(1, answers=[(created, DONE)])
    [accepted] = world.turn(READ_AFTER_S).unshown
    assert (accepted.what, accepted.name) == ("pod group", first.grouped.groups[0].name)
    turn = world.turn(0.1, read=[(accepted, None)])
    assert turn.without_effect == [accepted]
    assert [each.name for each in turn.grouped.groups] == [accepted.name]


def test_a_pod_group_that_exists_is_shown_by_the_read() -> None:
    world, first = grouped()
    change = first.grouped.groups[0]
    world.turn(1, answers=[(change.write(), DONE)])
    [accepted] = world.turn(READ_AFTER_S).unshown
    metadata = {**change.manifest["metadata"], "uid": "u", "resourceVersion": "900"}
    body = json.dumps({**change.manifest, "kind": "PodGroup", "metadata": metadata}).encode()
    turn = world.turn(0.1, read=[(accepted, body)])
    assert (turn.without_effect, turn.grouped.groups) == ([], [])
    assert all(world.turn(30).unshown == [] for _ in range(5))


def test_a_pod_that_was_not_patched_is_patched_again() -> None:
    world, first = grouped()
    [assignment] = first.grouped.assignments
    write = assignment.write()
    assert write is not None
    world.turn(1, answers=[(write, DONE)])
    [accepted] = world.turn(READ_AFTER_S).unshown
    assert accepted.what == "group of pod"
    bare = pod("a", "")
    bare["metadata"]["labels"] = {keys.QUEUE_LABEL: "leaf"}
    turn = world.turn(0.1, read=[(accepted, found(bare))])
    assert turn.without_effect == [accepted]
    assert turn.grouped.assignments == [assignment]


def test_a_pod_that_was_patched_is_shown_by_the_read() -> None:
    world, first = grouped()
    [assignment] = first.grouped.assignments
    write = assignment.write()
    assert write is not None
    world.turn(1, answers=[(write, DONE)])
    [accepted] = world.turn(READ_AFTER_S).unshown
    patched = pod("a", assignment.group)
    patched["metadata"]["labels"] = {keys.QUEUE_LABEL: "leaf"}
    turn = world.turn(0.1, read=[(accepted, found(patched))])
    assert (turn.without_effect, turn.grouped.assignments) == ([], [])
    assert all(world.turn(30).unshown == [] for _ in range(5))
