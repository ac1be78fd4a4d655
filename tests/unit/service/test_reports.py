"""A running scheduler says what goes wrong, when it began and when it was over."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from kai.api.writes import NOT_LEADING, Lane, Outcome, Result, Write
from kai.k8s.clock import Clock
from kai.service.log import Log
from kai.service.reports import Reports

WRITE = Write(Lane.CONDITION, "patch", "Pod", "team", "a", {}, "status")


class Said:
    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.reports = Reports(Log(stream=self._stream), Clock())
        self.watches: dict[str, Any] = {
            kind: SimpleNamespace(problem="", absent=False, synced=True) for kind in ("Node", "Pod")
        }
        self.election: Any = SimpleNamespace(problem="", is_leading=lambda: False)

    def look(self) -> list[str]:
        """What is said now."""
        self.reports.look(self.watches, self.election)
        return self.lines()

    def lines(self) -> list[str]:
        lines = [line.partition("Z ")[2] for line in self._stream.getvalue().splitlines()]
        self._stream.truncate(0)
        self._stream.seek(0)
        return lines


def test_watches_that_do_not_get_on() -> None:
    it = Said()
    it.watches["Pod"].problem = "connection refused"
    assert it.look() == []  # it may be over in a moment
    assert it.look() == ['warning kai: cannot watch kinds=Pod why="connection refused"']
    it.watches["Node"].problem = "connection refused"
    assert it.look() == []
    it.watches["Pod"].problem = ""
    assert it.look() == []
    it.watches["Node"].problem = ""
    assert it.look() == ["info kai: watches go on"]
    assert it.look() == []


def test_what_leading_waits_for_is_said_once() -> None:
    it = Said()
    it.election.problem = "kai-scheduler is held by other"
    assert it.look() == ['info kai: waiting to lead why="kai-scheduler is held by other"']
    assert it.look() == []
    it.election.is_leading = lambda: True
    assert it.look() == []


def test_writes_that_failed_or_got_no_answer() -> None:
    it = Said()
    it.reports.answered(WRITE, Outcome(Result.DONE, 200))
    it.reports.answered(WRITE, Outcome(Result.FAILED, 0, NOT_LEADING, "the lease is not ours"))
    it.reports.answered(WRITE, Outcome(Result.GONE, 404))
    assert it.lines() == []
    it.reports.answered(WRITE, Outcome(Result.FAILED, 503))
    it.reports.answered(WRITE, Outcome(Result.LOST, 0, message="no answer in time"))
    assert it.lines() == [
        'warning kai: patch Pod/status failed name=team/a why="HTTP status 503"',
        "warning kai: patch Pod/status got no answer, so it is looked at name=team/a"
        ' why="no answer in time"',
    ]
