"""Courses: what was decided, carried out from top to bottom, without I/O.

    async def evict(victim: Write) -> Result:
        outcome = await Send(victim)
        while outcome.result is Result.LOST:
            outcome = await Send(victim)
        return outcome.result

    courses = Courses()
    courses.start(evict(write))
    courses.run(now)
    [send] = courses.take()                       # its write goes to the API server
    courses.answer(send, Outcome(Result.DONE))
    courses.run(now)                              # the course goes on

A course is a coroutine that awaits requests of this module and nothing else, so it needs no event
loop. Courses go on in `run`, in the order in which their answers came: the same calls give the same
requests. The time is an argument.

A course that is not wanted any more is overtaken: the exception is raised where it waits, once, and
never in a part that is shielded. A write that was sent is answered before.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kai.api.writes import Outcome, Read, Write

Known = TypeVar("Known")
Answer = TypeVar("Answer")


class Overtaken(Exception):
    """The course is not wanted any more: the usual error with which one is overtaken."""


class Request(Generic[Answer]):
    """What a course waits for. `course`: the one that waits; None: it has its answer, or does not
    wait any more. `whole`: what this is the part of, with its place in there."""

    course: Course | None = None
    whole: tuple[All, int] | None = None
    must_end = False  # the answer is awaited before the course is overtaken

    def __await__(self) -> Generator[Request[Answer], Answer, Answer]:
        return (yield self)


@dataclass(eq=False)
class Send(Request[Outcome]):
    """A write to the API server, for its outcome."""

    write: Write
    must_end = True


@dataclass(eq=False)
class Find(Request[Any]):
    """A read, for the object; None: it does not exist. Without a name: for a list of objects.
    `is_for_plans`: the planning thread needs what was found, too; of a pod, if it has this UID."""

    read: Read
    is_for_plans: bool = False
    uid: str = ""


@dataclass(eq=False)
class Ask(Request[bool]):
    """Whether a decision is still valid: the planning thread knows."""

    about: Any


@dataclass(eq=False)
class Until(Request[None]):
    """A time, or an earlier `wake`. None: only that."""

    at: float | None = None

    def wake(self) -> None:
        """Later calls have no effect."""
        if self.course is not None:
            self.course.courses.answer(self, None)


@dataclass(eq=False)
class Fact(Request[Known]):
    """Something that becomes known once: `await fact` gives it to all courses that wait for it, in
    the order in which they began to wait."""

    known: list[Known] = field(default_factory=list)  # empty or one
    waiting: list[Until] = field(default_factory=list)

    def set(self, what: Known) -> None:
        """Later calls have no effect."""
        if not self.known:
            self.known.append(what)
            for each in self.waiting:
                each.wake()
            self.waiting.clear()

    def __await__(self) -> Generator[Request[Any], Any, Known]:
        until = Until(float("-inf") if self.known else None)  # after those that wait already
        if not self.known:
            self.waiting.append(until)
        yield until
        return self.known[0]


class All(Request["list[Any]"]):
    """Several sends or finds at once, for their answers in this order."""

    def __init__(self, parts: Sequence[Send | Find]) -> None:
        self.parts, self.left = parts, len(parts)
        self.answers: list[Any] = [None] * len(parts)
        self.must_end = any(each.must_end for each in parts)

    def __await__(self) -> Generator[Request[Any], Any, list[Any]]:
        if self.parts:
            yield self
        return self.answers


class Course:
    """One coroutine. `waits`: for what; None: it is about to go on, or has ended. `error`: what
    overtakes it. `is_shielded`: that is not raised where it waits, but after that."""

    courses: Courses
    waits: Request[Any] | None = None
    error: Exception | None = None
    is_shielded = False
    _carry_out: Coroutine[Request[Any], Any, None]
    _has_error = False  # it was raised
    _has_begun = False

    def check(self) -> None:
        """Raises what has overtaken it, if that was not raised yet."""
        if self.error is not None and not self._has_error:
            self._has_error = True
            raise self.error

    def clear_error(self) -> None:
        """What has overtaken it was dealt with: the next one counts again."""
        self.error, self._has_error = None, False


class Courses:
    """Courses under way. `now`: the time of the last `run`, in seconds of any clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self._asks: list[Ask] = []
        self._ready: deque[tuple[Course, Any]] = deque()
        self._requests: list[Send | Find] = []
        self._times: list[tuple[float, int, Until]] = []  # a heap
        self._count = 0

    def start(
        self, carry_out: Coroutine[Request[Any], Any, None], course: Course | None = None
    ) -> Course:
        """The next `run` brings it to its first request. `course`: its identity."""
        course = Course() if course is None else course
        course.courses, course._carry_out = self, carry_out
        self._ready.append((course, None))
        return course

    def answer(self, request: Request[Any], answer: Any) -> None:
        """For the next `run`. Without effect for a request that is not awaited any more."""
        if request.whole is not None:
            whole, place = request.whole
            request.whole = None
            whole.answers[place] = answer
            whole.left -= 1
            if whole.left:
                return
            request = whole
        course, request.course = request.course, None
        if course is not None:
            course.waits = None
            self._ready.append((course, answer))

    def overtake(self, course: Course, error: Exception | None = None) -> None:
        """For the next `run`: raises `Overtaken`, or this error, where the course waits. Only the
        first one counts; `Overtaken` comes before an error that was not raised yet."""
        if course.error is not None and (course._has_error or error is not None):
            return
        course.error = error or Overtaken()
        waits = course.waits
        if waits is not None and not waits.must_end and not course.is_shielded:
            waits.course = course.waits = None
            self._ready.append((course, None))

    def run(self, now: float) -> None:
        """All courses that can go on do so."""
        self.now = now
        while self._times and self._times[0][0] <= now:
            self.answer(heapq.heappop(self._times)[2], None)
        while self._ready:
            self._go_on(*self._ready.popleft())

    def take(self) -> list[Send | Find]:
        """The requests since the last call."""
        taken, self._requests = self._requests, []
        return taken

    def take_asks(self) -> list[Ask]:
        taken, self._asks = self._asks, []
        return taken

    def next(self) -> float | None:
        """The time for which a course waits."""
        while self._times and self._times[0][2].course is None:
            heapq.heappop(self._times)
        return self._times[0][0] if self._times else None

    def _go_on(self, course: Course, answer: Any) -> None:
        run = course._carry_out
        try:
            # An exception cannot be thrown into a coroutine that has not begun.
            may_throw = course._has_begun and not course.is_shielded and not course._has_error
            course._has_begun = True
            if course.error is None or not may_throw:
                request = run.send(answer)
            else:
                course._has_error = True
                request = run.throw(course.error)
        except StopIteration:
            return
        request.course, course.waits = course, request
        if isinstance(request, (Send, Find)):
            self._requests.append(request)
        elif isinstance(request, Until):
            if request.at is not None and request.at <= self.now:
                self.answer(request, None)
            elif request.at is not None:
                self._count += 1
                heapq.heappush(self._times, (request.at, self._count, request))
        elif isinstance(request, All):
            for place, part in enumerate(request.parts):
                part.whole = request, place
                self._requests.append(part)
        elif isinstance(request, Ask):
            self._asks.append(request)
        if course.error is not None and not course._has_error:  # it was overtaken meanwhile
            error, course.error = course.error, None
            self.overtake(course, error)
