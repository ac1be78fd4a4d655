"""Turns while the time is in doubt, and after it was corrected."""

from planner_world import START_NS, World, pod

from fakes.objects import group, node
from kai.api import keys
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.statuses import WAIT_S
from kai.k8s.server_time import ALWAYS

SECOND_NS = 1_000_000_000
TWO_HOURS_S = 7200.0


def stale_gang() -> World:
    gang = group("gang")
    gang["metadata"]["annotations"] = {keys.STALE_ANNOTATION: "2027-01-15T08:00:00Z"}
    gang["spec"] |= {"minMember": 2, "stalenessGracePeriod": "60s"}
    running = pod("a", "gang", on="n1", phase="Running")
    world = World(Node=[node("n1")], PodGroup=[gang], Pod=[running])
    world.turn()
    return world


def test_a_turn_in_a_doubt_evicts_nothing_and_does_not_ask_for_turns_without_end() -> None:
    world = stale_gang()
    at_ns = world.now_ns
    turn = world.turn(after=4 + TWO_HOURS_S, trusted_ns=(ALWAYS[0], at_ns + 4 * SECOND_NS))
    assert turn.removals == []
    assert turn.wake_ns is None or turn.wake_ns > world.now_ns
    world.now_ns = at_ns + 30 * SECOND_NS
    assert world.turn().removals == []
    assert [each.order.pod for each in world.turn(after=31).removals] == ["team/a"]


def test_after_a_step_the_grace_period_begins_again() -> None:
    world = stale_gang()
    world.now_ns += int(TWO_HOURS_S * 1e9)
    step = {"trusted_ns": (world.now_ns, ALWAYS[1]), "shift_ns": int(TWO_HOURS_S * 1e9)}
    assert world.turn(**step).removals == []
    assert world.turn(after=59, **step).removals == []
    assert [each.order.pod for each in world.turn(after=1, **step).removals] == ["team/a"]


def test_waits_of_the_process_go_on_when_the_time_is_set_back() -> None:
    options = PlanningOptions(roles=("pod-group-controller",))
    world = World(options, PodGroup=[group("g")], Pod=[pod("a", "g", on="n1")])
    world.turn()
    world.now_ns = START_NS - int(TWO_HOURS_S * 1e9)
    turn = world.turn(after=WAIT_S, shift_ns=-int(TWO_HOURS_S * 1e9))
    assert [each.name for each in turn.writes] == ["g"]


def test_conditions_have_the_time_after_a_step() -> None:
    waits = pod("a", "g", gpus=9)
    world = World(Node=[node("n1")], PodGroup=[group("g")], Pod=[waits])
    world.now_ns += int(TWO_HOURS_S * 1e9)
    turn = world.turn(shift_ns=int(TWO_HOURS_S * 1e9))
    [write] = [each for each in turn.writes if each.kind == "Pod"]
    [condition] = dict(write.body)["status"]["conditions"]
    assert condition["lastTransitionTime"] == "2027-01-15T10:00:00Z"
