"""Prepares pods before they are bound: GPU fractions, claims, volumes.

    preparing = Preparing([giver, ...])
    preparing.begin(now, binding)                  # if preparing.needs(binding)
    preparing.answered(now, write, outcome)
    prepared = preparing.take()                    # writes to send, and bindings that are ready

No I/O. A giver provides one kind of thing, for bindings of the scheduler role (`--binding direct`)
and of the binder role. A pod is read once; then its givers run one after the other, in the order of
the list. If the binding fails or the pod is deleted, everything is undone; until then a binding
that is sent again finds it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from kai.api.writes import Outcome, Read, Write
from kai.controllers.one_binding import Binding
from kai.controllers.progress import SLOW_S
from kai.controllers.waits import earliest

Pod = Mapping[str, Any]


@dataclass(slots=True)
class Given:
    """The result of a giver's step.

    `ready`: bindings for which this giver is done. `failed`: bindings that do not get the thing, or
    have lost it, each with the reason; "": write nothing about it. `problems`: sentences for the
    log.
    """

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    ready: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, more: Given) -> None:
        """Adds the result of another step."""
        for each in fields(self):
            getattr(self, each.name).extend(getattr(more, each.name))


class Giver(Protocol):
    """Gives pods one kind of thing; `what` is its name in words.

    Every method is also called for bindings, writes and reads of others, and ignores them. A
    binding may come as another object later: pod and UID identify it.
    """

    what: str

    def needs(self, binding: Binding) -> bool:
        """Whether the binding needs something of this kind."""
        ...

    def give(self, now: float, binding: Binding, pod: Pod) -> Given:
        """Starts; the binding appears in `ready` or `failed` now or later. `pod`: as it was
        read."""
        ...

    def answered(self, now: float, write: Write, outcome: Outcome) -> Given:
        """The next steps after the answer to one of its writes."""
        ...

    def read(self, now: float, read: Read, found: Any) -> Given:
        """The result of one of its reads: an object, None if it does not exist, or a list."""
        ...

    def waits_for(self, binding: Binding) -> str:
        """What the giver waits for before this binding is ready: a noun, for people."""
        ...

    def take_back(self, binding: Binding) -> Given:
        """The binding is not carried out: undo what it was given or is about to get."""
        ...

    def keep(self, binding: Binding) -> None:
        """The pod is bound."""
        ...

    def tick(self, now: float) -> Given:
        """Retries what failed, and fails what took too long."""
        ...

    def next_tick(self) -> float | None:
        """The time of the next `tick`; None: no tick is needed before another event."""
        ...


@dataclass(slots=True)
class Prepared:
    """The next steps, for the event loop.

    `ready`: bindings that may be sent. `to_check`: the same, but their node changed meanwhile.
    `failed`: bindings that failed. `seen`: bindings whose pod is gone, is bound, or is being
    deleted, with the pod. `slow`: bindings that have waited for a second, with what they wait for.
    """

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    ready: list[Binding] = field(default_factory=list)
    to_check: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    seen: list[tuple[Binding, Pod | None]] = field(default_factory=list)
    slow: list[tuple[Binding, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def has_bindings(self) -> bool:
        return bool(self.ready or self.to_check or self.failed or self.seen or self.slow)


@dataclass(slots=True, eq=False)
class _Course:
    """A binding on its way through its givers. `pod`: as read, in JSON: with thousands of waiting
    pods that uses a tenth of the memory. `at`: the current giver; -1: the pod is being read.
    `since`: the start of the current giver. `has_changed`: its node changed since the start. A
    binding that is over may have been sent, so no giver fails it any more."""

    binding: Binding
    givers: Sequence[Giver]
    pod: str = ""
    at: int = -1
    since: float = 0.0
    has_changed: bool = False

    @property
    def is_over(self) -> bool:
        return self.at == len(self.givers)


class Preparing:
    """`givers`: in the order in which they run."""

    def __init__(self, givers: Sequence[Giver] = ()) -> None:
        self._givers = givers
        self._courses: dict[str, _Course] = {}  # by pod
        self._steps: dict[str, _Course] = {}  # whose step is not slow yet, by pod, oldest first
        self._prepared = Prepared()
        self._now = 0.0  # the time of the last event

    def __len__(self) -> int:
        """The number of bindings in progress or prepared."""
        return len(self._courses)

    def needs(self, binding: Binding) -> bool:
        return any(giver.needs(binding) for giver in self._givers)

    def lacks(self, binding: Binding) -> str:
        """The needs of the binding that no giver provides, in words; "": none."""
        given = [giver.what for giver in self._givers]
        return next((each for each in binding.needs if each not in given), "")

    def begin(self, now: float, binding: Binding) -> None:
        """Starts a binding that needs something; also one that was started, or was ready,
        before."""
        course = self._courses.get(binding.pod)
        if course is not None and _is_same(course.binding, binding):
            course.binding, course.has_changed = binding, False
            if course.is_over:
                self._prepared.ready.append(binding)
            return
        if course is not None:
            self.drop(course.binding)
        needed = [giver for giver in self._givers if giver.needs(binding)]
        course = self._courses[binding.pod] = _Course(binding, needed)
        self._prepared.reads.append(Read("Pod", binding.namespace, binding.own_name, about=course))

    def drop(self, binding: Binding) -> None:
        """The binding is not carried out, or failed: everything is undone."""
        course = self._of(binding)
        if course is None:
            return
        self._forget(course)
        for giver in reversed(course.givers[: course.at + 1]):
            self._absorb(self._now, giver, giver.take_back(course.binding))

    def keep(self, binding: Binding) -> None:
        """The pod is bound."""
        course = self._of(binding)
        if course is not None:
            self._forget(course)
            for giver in course.givers:
                giver.keep(course.binding)

    def hold(self, nodes: Collection[str]) -> None:
        """These nodes changed: bindings to them are checked again before they are sent."""
        for course in self._courses.values():
            if course.binding.node in nodes and not course.is_over:
                course.has_changed = True

    def answered(self, now: float, write: Write, outcome: Outcome) -> None:
        for giver in self._givers:
            self._absorb(now, giver, giver.answered(now, write, outcome))

    def read(self, now: float, read: Read, found: Any) -> None:
        """The result of a read: an object, None if it does not exist, or a list of objects."""
        if not isinstance(read.about, _Course):
            for giver in self._givers:
                self._absorb(now, giver, giver.read(now, read, found))
            return
        course = read.about
        if self._courses.get(course.binding.pod) is not course or course.at != -1:
            return
        if not _waits(found, course.binding):
            self._forget(course)
            self._prepared.seen.append((course.binding, found))
            return
        course.pod = json.dumps(found) if len(course.givers) > 1 else ""
        self._go_on(now, course, found)

    def did(self, now: float, giver: Giver, given: Given) -> None:
        """A giver's step after an event that only this giver received."""
        self._absorb(now, giver, given)

    def tick(self, now: float) -> None:
        for giver in self._givers:
            self._absorb(now, giver, giver.tick(now))
        for pod, course in list(self._steps.items()):
            if now < course.since + SLOW_S:
                break
            del self._steps[pod]
            waits_for = course.givers[course.at].waits_for(course.binding)
            self._prepared.slow.append((course.binding, waits_for))

    def next_tick(self) -> float | None:
        oldest = next(iter(self._steps.values()), None)
        times = [giver.next_tick() for giver in self._givers]
        return earliest([*times, None if oldest is None else oldest.since + SLOW_S])

    def take(self) -> Prepared:
        """The steps since the last call."""
        prepared, self._prepared = self._prepared, Prepared()
        return prepared

    # ---- inside ----------------------------------------------------------------------------------

    def _go_on(self, now: float, course: _Course, pod: Pod | None = None) -> None:
        course.at += 1
        self._steps.pop(course.binding.pod, None)
        if not course.is_over:
            course.since, self._steps[course.binding.pod] = now, course
            giver = course.givers[course.at]
            given = giver.give(now, course.binding, json.loads(course.pod) if pod is None else pod)
            if course.at + 1 == len(course.givers):
                course.pod = ""
            self._absorb(now, giver, given)
        elif course.has_changed:
            self._prepared.to_check.append(course.binding)
        else:
            self._prepared.ready.append(course.binding)

    def _absorb(self, now: float, giver: Giver, given: Given) -> None:
        self._now = now
        self._prepared.writes += given.writes
        self._prepared.reads += given.reads
        self._prepared.problems += given.problems
        for binding in given.ready:
            course = self._of(binding)
            if course is not None and giver in course.givers[course.at : course.at + 1]:
                self._go_on(now, course)
        for binding, why in given.failed:
            course = self._of(binding)
            if course is not None and not course.is_over:
                self._prepared.failed.append((course.binding, why))

    def _forget(self, course: _Course) -> None:
        pod = course.binding.pod
        del self._courses[pod]
        if self._steps.get(pod) is course:
            del self._steps[pod]

    def _of(self, binding: Binding) -> _Course | None:
        course = self._courses.get(binding.pod)
        return course if course is not None and course.binding.uid == binding.uid else None


def _is_same(one: Binding, other: Binding) -> bool:
    """Whether both give the same pod the same things on the same node."""
    return (one.uid, one.node, one.spec) == (other.uid, other.node, other.spec)


def _waits(pod: Pod | None, binding: Binding) -> bool:
    """Whether the pod is the intended one, and can be bound."""
    if pod is None or pod["metadata"]["uid"] != binding.uid:
        return False
    return not pod.get("spec", {}).get("nodeName") and "deletionTimestamp" not in pod["metadata"]
