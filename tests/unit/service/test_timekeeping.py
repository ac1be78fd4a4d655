"""A scheduler whose API servers do not agree about the time."""

import io
from dataclasses import dataclass, field

from fakes.clock import VirtualClock
from kai.k8s.server_time import ServerTime
from kai.service.log import Log
from kai.service.metrics import Metrics
from kai.service.timekeeping import ASK_AFTER_S, ASK_IN_DOUBT_S, TimeKeeping

NOON = 1_800_000_000.5
TWO_HOURS_S = 7200.0


@dataclass
class Asked:
    """A client of a server whose Date is `off`, and its scheduler's log and metrics."""

    clock: VirtualClock = field(default_factory=VirtualClock)
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
