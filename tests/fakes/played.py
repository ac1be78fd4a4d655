"""Courses of pods, played step by step: each call returns the steps that follow it.

played = Played(by="bind-requests")
[write] = played.begin(0, STAMP, [binding], ()).writes
steps = played.answered(1, write, DONE)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.writes import Lane, Outcome, Read, Result, Write
from kai.controllers.courses import Ask, Courses, Find, Overtaken, Send, Until
from kai.controllers.grouper import Assignment, GroupChange
from kai.controllers.pods import evicting
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.binder import RequestBinder
from kai.controllers.pods.course import (
    NotLeading,
    Pod,
    PodCourse,
    Refused,
    Reserver,
    Stage,
    check_lease,
)
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.pods.pods import Pods
from kai.controllers.pods.results import Results
from kai.controllers.verdicts import Event, orders
from kai.controllers.waits import earliest


@dataclass
class Steps:
    """The requests, and what is known. `look`: the objects that are read."""

    writes: list[Write] = field(default_factory=list)
    look: list[Read] = field(default_factory=list)
    to_check: list[Binding] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    refused: list[tuple[Binding, str]] = field(default_factory=list)
    stuck: list[tuple[Binding, str]] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class Played:
    """Requests that were not answered yet, and the courses that wait for them."""

    def __init__(self, courses: Courses | None = None) -> None:
        self.courses = courses or Courses()
        self._sends: list[Send] = []
        self._finds: list[Find] = []
        self._asks: list[Ask] = []

    def results(self) -> Results:
        raise NotImplementedError

    @property
    def sent(self) -> list[Write]:
        """Writes without an answer."""
        return [each.write for each in self._sends]

    def steps(self, now: float, *more: Write) -> Steps:
        self.courses.run(now)
        steps = Steps(list(more))
        for each in self.courses.take():
            if isinstance(each, Send):
                self._sends.append(each)
                steps.writes.append(each.write)
            else:
                self._finds.append(each)
                steps.look.append(each.read)
        asks = self.courses.take_asks()
        self._asks += asks
        steps.to_check = [each.about for each in asks]
        results = self.results()
        for name in Results.__dataclass_fields__:
            setattr(steps, name, getattr(results, name))
        return steps

    def answered(self, now: float, write: Write, outcome: Outcome) -> Steps:
        """The answer to a write; without effect after the first one."""
        self.courses.now = now
        for send in [each for each in self._sends if each.write is write]:
            self._sends.remove(send)
            self.courses.answer(send, outcome)
        return self.steps(now)

    def given_back(self, unsent: Iterable[Write]) -> Steps:
        """By the writer."""
        for write in unsent:
            for send in [each for each in self._sends if each.write is write]:
                self.courses.answer(send, Outcome(Result.TAKEN_BACK))
        return self.steps(self.courses.now)

    def seen(self, now: float, read: Read, found: Any) -> Steps:
        """The result of a read."""
        self.courses.now = now
        for find in [each for each in self._finds if each.read is read]:
            self._finds.remove(find)
            self.courses.answer(find, found)
        return self.steps(now)


class Scheduler(Played):
    """A scheduler role."""

    def __init__(
        self,
        *,
        courses: Courses | None = None,
        reservers: Sequence[Reserver] = (),
        **options: Any,
    ) -> None:
        super().__init__(courses)
        self.pods = Pods(self.courses, reservers=reservers, **options)
        self.groups = self.pods.groups

    def results(self) -> Results:
        return self.pods.take_results()

    def add_group(self, change: GroupChange) -> None:
        self.groups.add(change)

    def assign(self, now: float, assignment: Assignment) -> None:
        self.courses.now = now
        self.groups.assign(assignment)

    def begin(
        self, now: float, stamp: str, bindings: Iterable[Binding], removals: Iterable[Removal]
    ) -> Steps:
        self.courses.now = now
        self.pods.begin(stamp, bindings, removals)
        return self.steps(now)

    def tick(self, now: float) -> Steps:
        self.courses.run(now)
        self.pods.tick()
        return self.steps(now)

    def hold(self, nodes: Iterable[str], unsent: Iterable[Write] = ()) -> Steps:
        """`unsent`: the writer gives them back."""
        self.pods.hold(nodes)
        return self.given_back(unsent)

    def checked(self, now: float, to_check: Iterable[Binding], broken: Iterable[int] = ()) -> Steps:
        gone = frozenset(broken)
        for binding in to_check:
            for ask in [each for each in self._asks if each.about is binding]:
                self._asks.remove(ask)
                self.courses.answer(ask, binding.assumption not in gone)
        return self.steps(now)

    def with_name(self, now: float, write: Write) -> Steps:
        self.courses.now = now
        plain = self.groups.with_name(write)
        return self.steps(now, *([] if plain is None else [plain]))

    def pod_gone(self, pod: str, uid: str) -> Steps:
        self.pods.pod_gone(pod, uid)
        return self.steps(self.courses.now)

    def next_tick(self) -> float | None:
        return self.pods.next_tick()

    @property
    def under_way(self) -> int:
        return self.pods.under_way

    @property
    def in_doubt(self) -> int:
        return self.pods.in_doubt

    def held_back(self) -> list[str]:
        return self.pods.held_back()

    # ---- BindRequests ----------------------------------------------------------------------------

    def request_seen(self, now: float, request: Request) -> Steps:
        self.courses.now = now
        self.pods.request_seen(request)
        return self.steps(now)

    def requests_to_check(self, now: float) -> list[Request]:
        self.courses.now = now
        return self.pods.requests.unchecked()

    def request_checked(self, now: float, request: Request, target: Target) -> Steps:
        self.courses.now = now
        self.pods.requests.checked(request, target)
        return self.steps(now)


class Things:
    """A reserver in its simplest form: one write each. `reserved`, `kept` and `left`: pods."""

    def __init__(self, what: str, key: str) -> None:
        self.what, self.key = what, key
        self.reserved: list[str] = []
        self.kept: list[str] = []
        self.left: list[str] = []

    def needs(self, binding: Binding) -> bool:
        return self.key in binding.spec

    def step(self, course: PodCourse, pod: Pod) -> Thing:
        assert pod["metadata"]["uid"] == course.binding.uid
        return Thing(self, course)


class Thing:
    def __init__(self, things: Things, course: PodCourse) -> None:
        self.things, self.course = things, course
        self.pod = course.binding.pod

    async def reserve(self) -> None:
        self.things.reserved.append(self.pod)
        outcome = await Send(self.write("create"))
        if outcome.result is not Result.DONE:
            raise Refused(f"no {self.things.what}: {outcome.message}")

    async def unreserve(self) -> None:
        outcome = await Send(self.write("delete"))
        check_lease(outcome)
        self.things.reserved.remove(self.pod)

    def leave(self) -> None:
        self.things.left.append(self.pod)

    def keep(self) -> None:
        self.things.kept.append(self.pod)

    @property
    def waits_for(self) -> str:
        return f"{self.things.what} of {self.course.binding.own_name}"

    def write(self, verb: Any) -> Write:
        return Write(Lane.BINDING, verb, "ConfigMap", "team", self.things.key, about=self.course)


class Reserving(Played):
    """One reserver, with a course for each binding that ends where the pod would be bound. `ready`:
    the pods that got there. `failed`: the reasons of the others."""

    def __init__(self) -> None:
        super().__init__()
        self.ready: list[str] = []
        self.failed: list[str] = []
        self._of: dict[str, PodCourse] = {}  # those that are not over, by pod

    def __len__(self) -> int:
        """The number of courses that are not over."""
        return sum(not each.over.known for each in self._of.values())

    def results(self) -> Results:
        return Results()

    def start(self, reserver: Reserver, binding: Binding, pod: Mapping[str, Any]) -> None:
        course = PodCourse(binding)
        before, self._of[binding.pod] = self._of.get(binding.pod), course
        self.courses.start(self._reserve(course, reserver, pod, before), course)

    async def _reserve(
        self,
        course: PodCourse,
        reserver: Reserver,
        pod: Mapping[str, Any],
        before: PodCourse | None,
    ) -> None:
        try:
            if before is not None:
                await before.over
            course.stage = Stage.RESERVES
            course.steps.append(reserver.step(course, pod))
            await course.steps[0].reserve()
            self.ready.append(course.binding.pod)
            await Until()
        except Refused as end:
            self.failed.append(end.why)
        except NotLeading:
            course.stage = Stage.ENDS
            self.failed.append("not leading")
            course.steps[0].leave()
        except Overtaken:
            pass
        if course.stage is Stage.RESERVES:
            await self._undo(course)
        course.over.set(None)

    async def _undo(self, course: PodCourse) -> None:
        course.is_shielded = True
        with contextlib.suppress(NotLeading):
            await course.steps[0].unreserve()

    def take_back(self, binding: Binding) -> None:
        """The pod is not bound."""
        self.courses.overtake(self._of[binding.pod])

    def keep(self, binding: Binding) -> None:
        """The pod is bound."""
        course = self._of[binding.pod]
        course.steps[0].keep()
        course.stage = Stage.BOUND
        self.courses.overtake(course)


class Evictor(Played):
    def __init__(self, how: orders.How = "delete") -> None:
        super().__init__()
        self._results = Results()
        self.evictor = evicting.Evictor(self.courses, self._results, how)

    def __len__(self) -> int:
        return len(self.evictor)

    def results(self) -> Results:
        return self._results.take()

    def begin(self, removals: Iterable[Removal]) -> Steps:
        self.evictor.begin(removals)
        return self.steps(0)

    def pod_gone(self, pod: str, uid: str) -> None:
        self.evictor.pod_gone(pod, uid)


class Binder(Played):
    """A binder role."""

    def __init__(self, reservers: Sequence[Reserver] = ()) -> None:
        super().__init__()
        self.binder = RequestBinder(self.courses, reservers, lambda: 1_800_000_000.0)

    def __len__(self) -> int:
        return len(self.binder)

    @property
    def in_doubt(self) -> int:
        return self.binder.in_doubt

    def results(self) -> Results:
        return self.binder.take_results()

    def put(self, now: float, request: Request) -> Steps:
        self.courses.now = now
        self.binder.put(request)
        return self.steps(now)

    def take(self) -> list[Request]:
        return self.binder.unchecked()

    def checked(self, now: float, request: Request, target: Target) -> Steps:
        self.binder.checked(request, target)
        return self.steps(now)

    def gone(self, name: str, uid: str) -> Steps:
        self.binder.gone(name, uid)
        return self.steps(self.courses.now)

    def pod_gone(self, pod: str, uid: str) -> Steps:
        self.binder.pod_gone(pod, uid)
        return self.steps(self.courses.now)

    def hold(self, nodes: Iterable[str], unsent: Iterable[Write]) -> Steps:
        """`unsent`: the writer gives them back."""
        self.binder.hold(nodes)
        return self.given_back(unsent)

    def next_tick(self) -> float | None:
        return earliest((self.courses.next(), self.binder.next_tick()))
