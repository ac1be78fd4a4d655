"""The time of a cluster from the Date headers of its API servers, some with wrong clocks."""

import math
from dataclasses import dataclass, field

import pytest

from kai.k8s.server_time import ALWAYS, ServerTime, moment

NOON = 1_800_000_000.25
HOURS = 3600.0
RESOLUTION = 1.05  # a second, and the time of a request


@dataclass
class World:
    """True time, a machine, and API servers whose clocks are off by some seconds."""

    own_off: float = 0.0
    now: float = NOON
    monotonic: float = 500.0
    time: ServerTime = field(default_factory=ServerTime)

    def passes(self, seconds: float, *, monotonic: float | None = None) -> None:
        self.now += seconds
        self.monotonic += seconds if monotonic is None else monotonic

    def answer(self, off: float = 0.0, *, takes: float = 0.01, way_back: float = 0.0) -> None:
        """The server writes its Date when `takes` of the request has passed."""
        sent = self.monotonic
        self.passes(takes)
        date = math.floor(self.now + off)
        self.passes(way_back)
        self.time.observe(date, sent=sent, received=self.monotonic, wall=self.now + self.own_off)

    def answers(self, *offs: float, seconds: float, every: float = 5.0) -> None:
        """One answer each `every` seconds, of the servers in turn."""
        for turn in range(round(seconds / every)):
            self.answer(offs[turn % len(offs)])
            self.passes(every - 0.01)

    @property
    def error(self) -> float:
        at = self.time.at(self.monotonic)
        assert at is not None
        return at - self.now

    @property
    def is_trusted(self) -> bool:
        return self.time.is_trusted(self.monotonic)

    def is_right(self) -> bool:
        return abs(self.error) <= RESOLUTION

    def may_end(self) -> float:
        """The true time up to which durations may end."""
        return min(self.time.trusted(self.monotonic).until, self.now + self.error)


@pytest.fixture
def world() -> World:
    return World()


def test_the_time_is_the_servers(world: World) -> None:
    assert world.time.at(world.monotonic) is None
    world.answers(0.0, seconds=600)
    assert world.is_right()
    assert world.is_trusted
    assert world.time.take_steps() == []
    assert world.time.trusted(world.monotonic) == (-math.inf, math.inf)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 0.999])
@pytest.mark.parametrize("own_off", [-1.9, -0.5, 0.0, 0.5, 1.9])
def test_a_date_has_whole_seconds(fraction: float, own_off: float) -> None:
    world = World(own_off=own_off, now=math.floor(NOON) + fraction)
    world.answer()
    assert world.is_trusted
    assert world.is_right()
    world.answers(0.0, seconds=60, every=0.7)
    assert world.is_right()


@pytest.mark.parametrize(("takes", "way_back"), [(25.0, 0.0), (0.0, 25.0), (12.0, 13.0)])
def test_a_slow_answer_says_less_and_causes_no_doubt(
    world: World, takes: float, way_back: float
) -> None:
    world.answers(0.0, seconds=60)
    for _ in range(5):
        world.answer(takes=takes, way_back=way_back)
        assert world.is_trusted
        assert world.is_right()


@pytest.mark.parametrize("own_off", [0.0, 2 * HOURS, -2 * HOURS])
def test_a_slow_first_answer_is_no_doubt_about_a_right_clock(own_off: float) -> None:
    world = World(own_off=own_off)
    world.answer(takes=4.0, way_back=4.0)
    assert world.is_trusted == (own_off == 0.0)


@pytest.mark.parametrize("off", [2 * HOURS, -2 * HOURS, 3.5, -3.5])
def test_one_of_three_servers_never_counts(world: World, off: float) -> None:
    world.answer()
    ended = world.may_end()
    for _ in range(100):
        for each in (off, 0.0, 0.0):
            world.answer(each)
            assert world.is_right()
            assert ended <= world.may_end() <= world.now + RESOLUTION
            assert world.is_trusted == (each == 0.0)
            ended = world.may_end()
            world.passes(5)
    assert world.time.take_steps() == []
    assert world.time.shift == 0.0


def test_nothing_ends_during_a_doubt(world: World) -> None:
    world.answers(0.0, seconds=60)
    before = world.may_end()
    world.answers(2 * HOURS, seconds=55)
    assert world.is_right(), "time stamps go on"
    assert before - 5 <= world.may_end() <= before
    world.answer(0.0)
    assert world.is_trusted
    assert world.may_end() > before + 50, "the time of the doubt has passed, too"


@pytest.mark.parametrize("off", [2 * HOURS, -2 * HOURS, 30.0])
def test_all_servers_step(world: World, off: float) -> None:
    world.answers(0.0, seconds=300)
    world.answers(off, seconds=60)
    assert world.time.take_steps() == []
    assert world.is_right()
    assert not world.is_trusted
    world.answer(off)
    [step] = world.time.take_steps()
    assert step.after - step.before == pytest.approx(off, abs=RESOLUTION)
    assert world.error == pytest.approx(off, abs=RESOLUTION)
    assert world.is_trusted
    assert world.time.shift == pytest.approx(off, abs=RESOLUTION)
    since = world.time.trusted(world.monotonic).since
    assert since == pytest.approx(world.now + off, abs=RESOLUTION), "durations begin again"
    world.answers(off, seconds=300)
    assert world.time.take_steps() == []
    assert world.time.trusted(world.monotonic).since == since


def test_servers_that_step_one_after_another(world: World) -> None:
    world.answers(0.0, 0.0, 0.0, seconds=60)
    world.answers(900.0, 0.0, 0.0, seconds=300)
    world.answers(900.0, 900.0, 0.0, seconds=300)
    assert world.is_right()
    assert world.time.take_steps() == []
    world.answers(900.0, 900.0, 900.0, seconds=90)
    assert world.error == pytest.approx(900, abs=RESOLUTION)
    assert len(world.time.take_steps()) == 1


def test_servers_that_all_differ_cause_no_step(world: World) -> None:
    world.answers(0.0, seconds=60)
    world.answers(100.0, 200.0, 300.0, seconds=600)
    assert world.is_right()
    assert not world.is_trusted
    assert world.time.take_steps() == []


@pytest.mark.parametrize("off", [2 * HOURS, -2 * HOURS])
def test_the_first_answer_is_wrong(world: World, off: float) -> None:
    world.answer(off)
    assert not world.is_trusted
    assert world.time.difference() == pytest.approx(-off, abs=RESOLUTION), "of the own clock"
    assert world.may_end() <= world.now
    world.passes(5)
    world.answer(0.0)
    assert world.is_right()
    assert world.is_trusted
    [step] = world.time.take_steps()
    assert step.after - step.before == pytest.approx(-off, abs=RESOLUTION)
    assert "this machine" in step.why
    since = world.time.trusted(world.monotonic).since
    assert since == pytest.approx(world.now, abs=RESOLUTION), "our time stamps were wrong"


@pytest.mark.parametrize("own_off", [2 * HOURS, -2 * HOURS, 120.0, -120.0])
def test_the_own_clock_is_wrong(own_off: float) -> None:
    world = World(own_off=own_off)
    world.answers(0.0, seconds=60)
    assert world.is_right(), "time stamps are right from the start"
    assert not world.is_trusted
    assert world.time.difference() == pytest.approx(own_off, abs=RESOLUTION)
    assert world.may_end() <= NOON + RESOLUTION
    world.answer()
    assert world.is_trusted
    assert world.is_right()
    [step] = world.time.take_steps()
    assert step.after - step.before == pytest.approx(-own_off, abs=RESOLUTION)
    assert world.time.shift == 0.0, "the time itself did not step"
    assert world.time.trusted(world.monotonic).since == -math.inf, "time stamps were right"


def test_the_own_clock_and_one_server_are_wrong() -> None:
    """No two clocks agree for a minute: nothing ends, and the time stays near the first answer."""
    world = World(own_off=-3 * HOURS)
    world.answers(0.0, 0.0, 2 * HOURS, seconds=600)
    assert not world.is_trusted
    assert world.time.is_in_doubt
    assert world.is_right()
    world.answers(0.0, seconds=70)
    assert world.is_trusted


def test_the_first_answer_and_the_own_clock_are_wrong() -> None:
    world = World(own_off=-3 * HOURS)
    world.answer(2 * HOURS)
    world.answers(0.0, seconds=70)
    assert world.is_trusted
    assert world.is_right()


@pytest.mark.parametrize("rate", [2.0, -2.0, 1.0])
def test_a_slow_drift_is_followed(world: World, rate: float) -> None:
    off = 0.0
    for _ in range(20 * 12):
        world.answer(off)
        world.passes(4.99)
        off += rate / 12
        assert world.is_trusted
        assert abs(world.error - off) <= 2 * RESOLUTION
    assert world.time.take_steps() == []
    assert abs(off) > 19


def test_one_answer_a_minute_moves_the_time_by_two_seconds_at_most(world: World) -> None:
    world.answer()
    before = world.error
    world.passes(60)
    world.answer(2.5)
    assert world.error - before <= 2.0
    assert world.is_trusted


def test_a_burst_of_answers_moves_the_time_no_faster(world: World) -> None:
    world.answers(0.0, seconds=60)
    before = world.error
    for _ in range(100):
        world.answer(1.9, takes=0.001)
        world.passes(0.02)
    assert abs(world.error - before) <= 0.3


def test_a_suspended_machine_whose_monotonic_clock_stops(world: World) -> None:
    world.answers(0.0, seconds=60)
    world.passes(2 * HOURS, monotonic=0.0)
    world.answers(0.0, seconds=60)
    assert world.time.take_steps() == []
    assert not world.is_trusted
    world.answer()
    assert world.is_trusted
    assert world.is_right()
    assert len(world.time.take_steps()) == 1


def test_a_suspended_machine_whose_monotonic_clock_goes_on(world: World) -> None:
    world.answers(0.0, seconds=60)
    before = world.may_end()
    world.passes(2 * HOURS)
    assert not world.is_trusted, "no server has confirmed the time since"
    assert world.may_end() <= before
    world.answer()
    assert world.is_trusted
    assert world.is_right()
    assert world.time.take_steps() == []


def test_a_monotonic_clock_that_jumps_ahead(world: World) -> None:
    world.answers(0.0, seconds=60)
    before = world.may_end()
    world.passes(0.0, monotonic=2 * HOURS)
    assert world.may_end() <= before
    world.answers(0.0, seconds=60)
    assert world.may_end() <= before
    world.answer()
    assert world.is_trusted
    assert world.is_right()
    assert len(world.time.take_steps()) == 1


def test_without_answers_no_duration_ends(world: World) -> None:
    world.answer()
    world.passes(60)
    assert world.is_trusted
    world.passes(1)
    assert not world.is_trusted
    assert not world.time.is_in_doubt, "there is nothing to report"
    assert world.is_right()


def test_a_moment_is_in_nanoseconds() -> None:
    time = ServerTime()
    assert moment(time, 10.0, 7.0) == (7_000_000_000, 0, ALWAYS), "this machine's clock alone"
    time.observe(1000.0, sent=10.0, received=10.0, wall=1000.5)
    assert moment(time, 12.0, 7.0) == (1_002_500_000_000, 0, ALWAYS)
    time.observe(5000.0, sent=12.0, received=12.0, wall=1002.5)
    assert moment(time, 13.0, 7.0).trusted_ns == (ALWAYS[0], 1_000_500_000_000)
    time.observe(5060.0, sent=72.0, received=72.0, wall=1002.5)
    after = moment(time, 72.0, 7.0)
    assert after.now_ns == 5_060_500_000_000
    assert after.shift_ns == 3_998_000_000_000
    assert after.trusted_ns == (5_060_500_000_000, ALWAYS[1])
