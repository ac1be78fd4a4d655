"""Writes that an admission rule refuses: a log line with a fix, and events on the pods that wait.

    refusals = Refusals(log, clock.monotonic)
    events = refusals.answered(write, outcome)       # after every write

One mechanism for all writes. A rule that refuses a thousand writes of one kind is one line, and
another one after five minutes. Each pod that waits for a refused write gets an event, which is
counted again every five minutes, and another one when the write is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from kai.api.refusals import Refusal
from kai.api.writes import Outcome, Result, Write
from kai.controllers.pods.course import wait_of
from kai.controllers.refused_writes import ACCEPTED, AGAIN_S, REFUSED, refused_text
from kai.controllers.verdicts import Event
from kai.service.log import Log

MOST_OPEN = 10_000
"""The most refused writes that are remembered."""


class _About(NamedTuple):
    """An object of an event."""

    kind: str
    name: str  # "namespace/name"
    uid: str


@dataclass(slots=True)
class _Open:
    """A write that was refused, and was not accepted yet. `tries`: how often. `told`: the last
    event of each object: its time, and the name of the write in it."""

    rule: tuple[str, str, str]
    tries: int
    told: dict[_About, tuple[float, str]]


class Refusals:
    """For the event loop. `clock`: in seconds."""

    def __init__(self, log: Log, clock: Callable[[], float]) -> None:
        self._log, self._clock = log, clock
        self._open: dict[tuple[str, str], _Open] = {}  # by the write and its object
        # By the write and its rule: the time of the last line, and the number of its objects.
        self._logged: dict[tuple[str, str, str], float] = {}
        self._counts: dict[tuple[str, str, str], int] = {}

    def __len__(self) -> int:
        """The number of objects with a refused write."""
        return len(self._open)

    def answered(self, write: Write, outcome: Outcome) -> list[Event]:
        """The events that follow from the answer to a write."""
        if outcome.refusal is not None:
            return self._refused(write, outcome.refusal, outcome.message)
        if self._open and outcome.result in (Result.DONE, Result.GONE, Result.CONFLICT):
            return self._accepted(write, is_gone=outcome.result is Result.GONE)
        return []

    def wait(self, write: Write) -> float:
        """Seconds until the answer to a refused write is passed on. The first one is passed on at
        once; not every writer waits before its next try, so further ones are delayed."""
        known = self._open.get((what_of(write), _identity(write)))
        return 0.0 if known is None else wait_of(known.tries - 2)

    def _refused(self, write: Write, found: Refusal, message: str) -> list[Event]:
        now, what, name = self._clock(), what_of(write), _name(write)
        key, rule = (what, _identity(write)), (what, found.by, found.name)
        self._log_line(now, rule, name, found)
        known = self._open.pop(key, None)
        self._counts[rule] = self._counts.get(rule, 0) + 1
        if known is not None:
            self._close(known, is_accepted=False)
        tries, told = (0, {}) if known is None else (known.tries, known.told)
        self._open[key] = _Open(rule, tries + 1, told)
        while len(self._open) > MOST_OPEN:
            self._close(self._open.pop(next(iter(self._open))), is_accepted=False)
        events = []
        for about in _objects_of(write):
            if now - told.get(about, (float("-inf"), ""))[0] >= AGAIN_S:
                told[about] = (now, name)
                text = refused_text(what, name, message)
                events.append(_event(about, "Warning", REFUSED, text))
        return events

    def _accepted(self, write: Write, *, is_gone: bool) -> list[Event]:
        what = what_of(write)
        known = self._open.pop((what, _identity(write)), None)
        if known is None:
            return []
        self._close(known, is_accepted=not is_gone)
        if is_gone:
            return []
        return [
            _event(about, "Normal", ACCEPTED, f"{what} {name} is accepted")
            for about, (_, name) in known.told.items()
        ]

    def _close(self, known: _Open, *, is_accepted: bool) -> None:
        """One write less is refused by its rule; the last one that is accepted is logged."""
        left = self._counts[known.rule] = self._counts[known.rule] - 1
        if left:
            return
        del self._counts[known.rule]
        if is_accepted and self._logged.pop(known.rule, None) is not None:
            self._log.info(f"{known.rule[0]} is accepted again")

    def _log_line(self, now: float, rule: tuple[str, str, str], name: str, found: Refusal) -> None:
        if now - self._logged.get(rule, float("-inf")) >= AGAIN_S:
            self._logged[rule] = now
            self._log.warning(f"{rule[0]} is refused", name=name, why=found.sentence, fix=found.fix)


def what_of(write: Write) -> str:
    """ "create Pod/binding"."""
    return f"{write.verb} {write.kind}{'/' if write.subresource else ''}{write.subresource}"


def _name(write: Write) -> str:
    return "/".join(filter(None, (write.namespace, write.name)))


def _identity(write: Write) -> str:
    """The same for all tries of a write. A reservation pod has another name at each try, so the
    first pod that waits for it counts."""
    pods: Sequence[tuple[str, str]] = getattr(write.about, "pods", ())
    is_reservation = (write.verb, write.kind, write.subresource) == ("create", "Pod", "")
    return pods[0][0] if is_reservation and pods else _name(write)


def _objects_of(write: Write) -> list[_About]:
    """The pods that wait for the write; without any, the pod or pod group that is written."""
    if write.kind == "Event":
        return []  # it would be refused as well
    pods: Sequence[tuple[str, str]] = getattr(write.about, "pods", ())
    if pods:
        return [_About("Pod", name, uid) for name, uid in pods]
    if write.kind == "BindRequest":
        return [_About("Pod", _name(write), "")]  # it has the name of its pod
    exists = write.verb != "create" or write.subresource
    if write.kind in ("Pod", "PodGroup") and exists:
        return [_About(write.kind, _name(write), _uid(write.body))]
    return []


def _uid(body: Any) -> str:
    """The UID that a patch or the options of a deletion require."""
    if not isinstance(body, Mapping):
        return ""
    for member in ("metadata", "preconditions"):
        found = body.get(member)
        if isinstance(found, Mapping) and found.get("uid"):
            return str(found["uid"])
    return ""


def _event(about: _About, type: Literal["Normal", "Warning"], reason: str, message: str) -> Event:
    namespace, _, name = about.name.partition("/")
    return Event(about.kind, namespace, name, about.uid, type, reason, message)
