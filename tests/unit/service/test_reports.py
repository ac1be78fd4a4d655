"""A running scheduler logs problems, with their start and their end."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from kai.api.writes import NOT_LEADING, Lane, Outcome, Result, Write
from kai.controllers.planning.lines import Line, LogLevel
from kai.controllers.planning.turns import Turn
from kai.controllers.pods.decisions import Binding
from kai.k8s.clock import Clock
from kai.service.log import Log
from kai.service.reports import LINES_AT_ONCE, Reports

WRITE = Write(Lane.CONDITION, "patch", "Pod", "team", "a", {}, "status")


class Logged:
    def __init__(self, level: LogLevel = "info") -> None:
        self._stream = io.StringIO()
        self.reports = Reports(Log(stream=self._stream, level=level), Clock())
        self.watches: dict[str, Any] = {
            kind: SimpleNamespace(problem="", absent=False, synced=True) for kind in ("Node", "Pod")
        }
        self.election: Any = SimpleNamespace(problem="", is_leading=lambda: False)

    def look(self) -> list[str]:
        """The new log lines."""
        self.reports.look(self.watches, self.election)
        return self.lines()

    def lines(self) -> list[str]:
        lines = [line.partition("Z ")[2] for line in self._stream.getvalue().splitlines()]
        self._stream.truncate(0)
        self._stream.seek(0)
        return lines


@pytest.fixture
def it() -> Logged:
    return Logged()


def test_failing_watches_are_reported(it: Logged) -> None:
    it.watches["Pod"].problem = "connection refused"
    assert it.look() == []  # it may end in a moment
    assert it.look() == ['warning kai: cannot watch kinds=Pod why="connection refused"']
    it.watches["Node"].problem = "connection refused"
    assert it.look() == []
    it.watches["Pod"].problem = ""
    assert it.look() == []
    it.watches["Node"].problem = ""
    assert it.look() == ["info kai: watches continue"]
    assert it.look() == []


def test_the_reason_to_wait_for_leadership_is_logged_once(it: Logged) -> None:
    it.election.problem = "kai-scheduler is held by other"
    assert it.look() == ['info kai: waiting to lead why="kai-scheduler is held by other"']
    assert it.look() == []
    it.election.is_leading = lambda: True
    assert it.look() == []


def test_a_webhook_that_refuses_the_lease_has_a_fix(it: Logged) -> None:
    text = 'admission webhook "w" denied the request: no leases here'
    it.election.problem = f"https://10.0.0.1:6443: {text}"
    [line] = it.look()
    assert line.startswith("warning kai: waiting to lead why=")
    assert "refuses it: no leases here" in line
    assert " fix=" in line
    assert it.look() == []


def test_failed_and_unanswered_writes_are_reported(it: Logged) -> None:
    it.reports.answered(WRITE, Outcome(Result.DONE, 200))
    it.reports.answered(WRITE, Outcome(Result.FAILED, 0, NOT_LEADING, "the lease is not ours"))
    it.reports.answered(WRITE, Outcome(Result.GONE, 404))
    assert it.lines() == []
    it.reports.answered(WRITE, Outcome(Result.FAILED, 503))
    it.reports.answered(WRITE, Outcome(Result.LOST, 0, message="no answer in time"))
    assert it.lines() == [
        'warning kai: patch Pod/status failed name=team/a why="HTTP status 503"',
        "warning kai: patch Pod/status got no answer; kai checks the result name=team/a"
        ' why="no answer in time"',
    ]


def test_a_write_to_an_earlier_pod_of_the_name_is_not_a_problem(it: Logged) -> None:
    why = 'Pod "a" is invalid: metadata.uid: Invalid value: "u-1": field is immutable'
    it.reports.answered(WRITE, Outcome(Result.REFUSED, 422, "Invalid", why))
    assert it.lines() == []
    it.reports.answered(WRITE, Outcome(Result.REFUSED, 422, "Invalid", "status.phase: no"))
    assert len(it.lines()) == 1


# ---- cycles --------------------------------------------------------------------------------------


def cycle(number: int, *lines: Line) -> Turn:
    timing = {"total": 3.14159, "open": 1.0, "plan_total": 2.0}
    bindings = [Binding(f"team/{number}", "u", "n1", number, "g")]
    return Turn(number, True, bindings, lines=[*lines], timing_ms=timing, waiting=2)


def test_a_verbose_log_has_a_line_for_each_cycle() -> None:
    it = Logged("debug")
    it.reports.turned(cycle(7))
    it.reports.turned(Turn())  # one without a plan
    assert it.lines() == [
        "debug kai: planned cycle=7 binds=1 evicts=0 waiting=2 groups=0 writes=0 events=0"
        " ms=3.14 open_ms=1.0 plan_ms=2.0"
    ]
    quiet = Logged()
    quiet.reports.turned(cycle(7))
    assert quiet.lines() == []


def test_bound_and_evicted_pods_are_one_line_a_second(it: Logged) -> None:
    for number in range(1, 4):
        it.reports.turned(cycle(number))
        it.reports.placed(bound=100)
    it.reports.placed(evicted=2)
    assert it.lines() == []
    assert it.look() == ["info kai: pods were bound or evicted cycle=3 bound=300 evicted=2"]
    assert it.look() == []


def test_lines_of_a_cycle_have_its_number_and_are_limited(it: Logged) -> None:
    line = Line("warning", "a node rejected a pod", {"node": "n1", "pod": "team/a"})
    it.reports.turned(cycle(9, *[line] * (LINES_AT_ONCE + 5)))
    lines = it.lines()
    assert len(lines) == LINES_AT_ONCE
    assert set(lines) == {"warning kai: a node rejected a pod cycle=9 node=n1 pod=team/a"}
    it.reports.lines([Line("info", "another one", {})])
    assert it.lines() == ["info kai: another one"]


def test_unreadable_owners_share_a_line(it: Logged) -> None:
    for number in range(50):
        it.reports.not_read("Job", f"team/j{number}", "gone")
    assert it.lines() == ["warning kai: Job cannot be read name=team/j0 why=gone"]
