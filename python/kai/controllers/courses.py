"""Courses: what was decided, carried out from top to bottom, without I/O.

    async def evict(victim: Write) -> Result:
        outcome = await Send(victim)
        while outcome.result is Result.LOST:
            outcome = await Send(victim)
        return outcome.result

    courses = Courses()
    courses.start(evict(write))
    [send] = courses.take()                       # its write goes to the API server
    courses.answer(send, Outcome(Result.DONE))    # the course goes on

A course is a coroutine that awaits requests of this module and nothing else, so it needs no event
loop. It goes on when the caller has an answer, in the order of the calls: the same calls give the
same requests. A request that was sent is always answered; a course cannot be cancelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from kai.api.writes import Outcome, Write

Known = TypeVar("Known")
Answer = TypeVar("Answer")
Course = Coroutine["Request[Any]", Any, None]


class Request(Generic[Answer]):
    """What a course waits for."""

    def __await__(self) -> Generator[Request[Answer], Answer, Answer]:
        return (yield self)


@dataclass(eq=False)
class Send(Request[Outcome]):
    """A write to the API server, for its outcome."""

    write: Write


@dataclass(eq=False)
class Fact(Request[Known]):
    """Something that becomes known once: `await fact` gives it to all courses that wait for it, in
    the order in which they began to wait."""

    known: list[Known] = field(default_factory=list)  # empty or one
    waiting: list[tuple[Courses, Course]] = field(default_factory=list)

    def set(self, what: Known) -> None:
        """Later calls have no effect."""
        if self.known:
            return
        self.known.append(what)
        waiting, self.waiting = self.waiting, []
        for courses, course in waiting:
            courses.ready(course, what)


class Courses:
    """Courses under way."""

    def __init__(self) -> None:
        self._ready: deque[tuple[Course, Any]] = deque()
        self._is_running = False
        self._sent: dict[Send, Course] = {}
        self._to_send: list[Send] = []

    def start(self, course: Course) -> None:
        """It goes on to its first request that has no answer yet."""
        self.ready(course, None)

    def take(self) -> list[Send]:
        """The requests since the last call."""
        taken, self._to_send = self._to_send, []
        return taken

    def answer(self, send: Send, outcome: Outcome) -> None:
        self.ready(self._sent.pop(send), outcome)

    def ready(self, course: Course, answer: Any) -> None:
        """The course has what it waited for: it goes on now, or after the one that goes on now."""
        self._ready.append((course, answer))
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._ready:
                self._go_on(*self._ready.popleft())
        finally:
            self._is_running = False

    def _go_on(self, course: Course, answer: Any) -> None:
        try:
            request = course.send(answer)
        except StopIteration:
            return
        if isinstance(request, Send):
            self._sent[request] = course
            self._to_send.append(request)
        else:
            fact = cast("Fact[Any]", request)
            if fact.known:
                self._ready.append((course, fact.known[0]))
            else:
                fact.waiting.append((self, course))
