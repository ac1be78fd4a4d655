"""Texts about bound pods that a short loss of the lease has stopped: the next term writes them."""

from typing import Any

import pytest
from planner_world import World, pod

from fakes.objects import group, node
from fakes.writes import DONE, body_of
from kai.api.writes import NOT_LEADING, Outcome, Result
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.decisions import Binding

NOT_SENT = Outcome(Result.FAILED, 0, NOT_LEADING)


def on_its_node(**more: Any) -> dict[str, Any]:
    return pod("a", on="n1", **more)


def decided() -> tuple[World, Binding]:
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[pod("a")])
    [binding] = world.turn().bindings
    return world, binding


def texts(turn: Turn) -> tuple[list[str], list[str]]:
    """The pod conditions that it writes, and the reasons of its events."""
    bodies = [body_of(write) for write in turn.writes if write.kind == "Pod"]
    conditions = [each for body in bodies for each in body["status"].get("conditions", ())]
    return [each["type"] for each in conditions], [each.reason for each in turn.events]


@pytest.mark.parametrize("answered", ["before", "without", "after"])
def test_a_condition_that_was_not_sent_is_written_in_the_next_term(answered: str) -> None:
    """`answered`: when NotLeading comes, while the planning thread plans or does not."""
    world, binding = decided()
    [write] = world.turn(1, bound=[binding]).writes
    world.event("MODIFIED", "Pod", on_its_node())
    lost = {"answers": [(write, NOT_SENT)]}
    if answered == "before":
        world.turn(0.1, **lost)
    world.turn(1, plans=False, **(lost if answered == "without" else {}))
    turn = world.turn(1, **(lost if answered == "after" else {}))
    if answered == "after":
        assert texts(turn) == ([], [])
        turn = world.turn(1)  # like any write that failed
    assert texts(turn) == (["PodBound"], [])
    [again] = turn.writes
    world.turn(1, answers=[(again, DONE)])
    world.turn(1, plans=False)
    assert texts(world.turn(1)) == ([], [])


@pytest.mark.parametrize("in_next_term", [False, True])
def test_a_condition_that_was_written_before_the_loss_is_not_written_again(
    in_next_term: bool,
) -> None:
    world, binding = decided()
    [write] = world.turn(1, bound=[binding]).writes
    world.event("MODIFIED", "Pod", on_its_node())
    answers = {"answers": [(write, DONE)]}
    world.turn(1, plans=False, **({} if in_next_term else answers))
    assert texts(world.turn(1, **(answers if in_next_term else {}))) == ([], [])


@pytest.mark.parametrize("now", [pod("a", uid="another"), on_its_node(uid="another"), None])
def test_another_pod_of_the_name_gets_no_text(now: dict[str, Any] | None) -> None:
    for accepted_before in (True, False):
        world, binding = decided()
        if accepted_before:
            world.turn(1, bound=[binding])
        world.turn(1, plans=False, bound=[] if accepted_before else [binding])
        world.event("DELETED", "Pod", pod("a"))
        if now is not None:
            world.event("ADDED", "Pod", now)
        assert "PodBound" not in texts(world.turn(1))[0]


def test_a_pod_whose_binding_is_answered_without_the_lease_gets_its_texts_later() -> None:
    world, binding = decided()
    turn = world.turn(1, plans=False, bound=[binding])
    assert texts(turn) == ([], [])
    world.event("MODIFIED", "Pod", on_its_node())
    assert texts(world.turn(1)) == (["PodBound"], ["Scheduled", "Bound"])
    assert texts(world.turn(1)) == ([], [])
