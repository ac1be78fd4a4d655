"""A scheduler whose API servers do not agree about the time."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from test_truth import START_NS, World, group, node, pod

from kai.api import keys
from kai.controllers.planning.statuses import WAIT_S
from kai.k8s.server_time import ALWAYS, ServerTime
from kai.service.log import Log
from kai.service.metrics import Metrics
from kai.service.options import Options
from kai.service.timekeeping import ASK_AFTER_S, ASK_IN_DOUBT_S, TimeKeeping

NOON = 1_800_000_000.5
SECOND_NS = 1_000_000_000
TWO_HOURS_S = 7200.0


@dataclass
class Clock:
    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Asked:
    """A client of a server whose Date is `off`, and its scheduler's log and metrics."""

    clock: Clock = field(default_factory=Clock)
    time: ServerTime = field(default_factory=ServerTime)
    off: float = 0.0
    asked: int = 0
    trusted_again: int = 0
    log: io.StringIO = field(default_factory=io.StringIO)
    metrics: Metrics = field(default_factory=Metrics)

    def __post_init__(self) -> None:
        self.keeping = TimeKeeping(
            self,  # type: ignore[arg-type]
            Log(stream=self.log),
            self.metrics,
            self.is_trusted_again,
        )
        self.answer()

    def is_trusted_again(self) -> None:
        self.trusted_again += 1

    def answer(self) -> None:
        now = self.clock.now
        wall = NOON + now
        date = int(wall + self.off)
        self.time.observe(date, sent=now, received=now, wall=wall)

    async def ask_time(self) -> None:
        self.asked += 1
        self.answer()

    def run(self, seconds: int) -> None:
        """What `TimeKeeping.run` does, second by second."""
        for _ in range(seconds):
            self.keeping.look()
            if self.keeping._is_late():
                self.keeping._asked_at = self.clock.now
                self.asked += 1
                self.answer()
            self.clock.now += 1.0
        self.keeping.look()

    @property
    def is_in_doubt(self) -> bool:
        return self.metrics.time_in_doubt.values[()] == 1

    @property
    def steps(self) -> float:
        return self.metrics.time_steps.values[()]


def test_a_silent_server_is_queried_so_that_durations_go_on() -> None:
    it = Asked()
    it.run(300)
    assert 300 // ASK_AFTER_S - 1 <= it.asked <= 300 // ASK_AFTER_S
    assert not it.is_in_doubt
    assert it.log.getvalue() == ""


def test_a_doubt_is_reported_once_and_its_end_starts_a_cycle() -> None:
    it = Asked()
    it.off = TWO_HOURS_S
    it.answer()
    it.run(30)
    assert it.is_in_doubt
    assert it.asked >= 30 // ASK_IN_DOUBT_S - 1
    [line] = it.log.getvalue().splitlines()
    assert "the time is in doubt" in line
    assert "time=2027-01-15T" in line
    assert "fix=" in line
    it.off = 0.0
    it.run(10)
    assert (it.is_in_doubt, it.trusted_again, it.steps) == (False, 1, 0)
    [_, end] = it.log.getvalue().splitlines()
    assert "info kai: the time is not in doubt any more time=2027-01-15T" in end
    it.off = TWO_HOURS_S
    it.answer()
    it.run(5)
    it.off = 0.0
    it.run(10)
    assert len(it.log.getvalue().splitlines()) == 2, "at most every ten minutes"


def test_a_step_is_logged_with_both_times_and_counted() -> None:
    it = Asked()
    it.off = -TWO_HOURS_S
    it.answer()
    it.run(70)
    assert (it.is_in_doubt, it.trusted_again, it.steps) == (False, 1, 1)
    line = it.log.getvalue().splitlines()[-1]
    for text in ("the time was corrected", "before=", "after=", "seconds=-7200", "fix="):
        assert text in line
    assert it.trusted_again == 1


# ---- what a plan gets ----------------------------------------------------------------------------


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
    options = Options(roles=("pod-group-controller",))
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
