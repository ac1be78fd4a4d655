"""Events of Kubernetes (`kubectl get events`): what a role did, and why an object waits.

    events = Events(writer, "kai-scheduler")
    events.emit(about, "Normal", "Scheduled", "Successfully assigned pod ...")

A repeated event is counted instead of written again: a patch of `count` and `lastTimestamp`. The
number of events per object and the memory for old events are limited. Messages are plain texts,
never format strings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from kai.api.names import LONGEST_NAME, fitting
from kai.api.resources import RESOURCES
from kai.api.times import SECOND_NS, to_text
from kai.api.writes import NOT_LEADING, Lane, Outcome, Result, Write
from kai.k8s.clock import Clock

MOST_KNOWN = 4096
BURST, REFILL_S = 25.0, 300.0  # events of one object: so many at once, then one each REFILL_S
FOR_NEW = 5.0  # of the burst, reserved for events that are new


@dataclass(frozen=True, slots=True)
class About:
    """The object of an event."""

    kind: str
    namespace: str
    name: str
    uid: str = ""
    api_version: str = ""  # "": as in the table of resources


class _Puts(Protocol):
    def put(self, write: Write, done: Any = None, /) -> None: ...


@dataclass(slots=True)
class _Known:
    """An event that was emitted: its count, and the count that the server has."""

    name: str
    first: str
    count: int = 0
    state: Literal["new", "creating", "there"] = "new"
    written: int = 0


class Events:
    """Creates writes of events, for `Writer.put`. Counters: `emitted`, `dropped` (too many).

    `wall`: the clock for the time of events, such as `Client.server_time`.
    """

    def __init__(
        self,
        writer: _Puts,
        component: str,
        *,
        clock: Clock | None = None,
        wall: Callable[[], float] | None = None,
        instance: str = "",
        most_known: int = MOST_KNOWN,
    ) -> None:
        self.emitted = self.dropped = 0
        self._writer, self._component, self._instance = writer, component, instance
        self._clock, self._most_known = clock or Clock(), most_known
        self._wall = wall or self._clock.wall
        self._known: OrderedDict[tuple[str, ...], _Known] = OrderedDict()
        self._budgets: OrderedDict[tuple[str, ...], tuple[float, float]] = OrderedDict()
        self._last_number = 0
        self._unsent: list[tuple[Write, Any]] = []  # as the lease was lost

    def emit(
        self,
        about: About,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Queues an event, or increments the count of an existing one."""
        self.emitted += 1
        object_key = (about.kind, about.namespace, about.name, about.uid)
        key = (*object_key, type, reason, message)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(self._name(about), self._now())
            if len(self._known) > self._most_known:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        known.count += 1
        if not self._allowed(object_key, FOR_NEW if known.written else 0.0):
            self.dropped += 1
            if known.state == "new":
                del self._known[key]
            return
        if known.state == "new":
            body = self._body(about, type, reason, message, annotations, known)
            self._create(key, known, about.namespace or "default", body)
        elif known.state == "there":
            self._count(key, known, about.namespace or "default")

    def lead_again(self) -> None:
        """A new term: what was not sent because the lease was lost is sent now."""
        unsent, self._unsent = self._unsent, []
        for write, done in unsent:
            self._writer.put(write, done)

    # ---- inside ----------------------------------------------------------------------------------

    def _create(
        self, key: tuple[str, ...], known: _Known, namespace: str, body: dict[str, Any]
    ) -> None:
        known.state, known.written = "creating", known.count

        def done(write: Write, outcome: Outcome) -> None:
            if outcome.result in (Result.DONE, Result.CONFLICT, Result.LOST):
                known.state = "there"
                if known.count > known.written:  # more of them occurred meanwhile
                    self._count(key, known, namespace)
            elif outcome.reason == NOT_LEADING and len(self._unsent) < self._most_known:
                self._unsent.append((write, done))
            elif self._known.get(key) is known:
                del self._known[key]

        self._writer.put(Write(Lane.EVENT, "create", "Event", namespace, known.name, body), done)

    def _count(self, key: tuple[str, ...], known: _Known, namespace: str) -> None:
        known.written = known.count
        body = {"count": known.count, "lastTimestamp": self._now()}

        def done(_: Write, outcome: Outcome) -> None:
            # Servers delete events after an hour; the next one is created again.
            if outcome.result is Result.GONE and self._known.get(key) is known:
                del self._known[key]

        write = Write(
            Lane.EVENT, "patch", "Event", namespace, known.name, body, key=f"event/{known.name}"
        )
        self._writer.put(write, done)

    def _body(
        self,
        about: About,
        type: str,
        reason: str,
        message: str,
        annotations: Mapping[str, str] | None,
        known: _Known,
    ) -> dict[str, Any]:
        row = RESOURCES.get(about.kind)
        involved = {
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "apiVersion": about.api_version or (row.api_version if row else ""),
        }
        metadata: dict[str, Any] = {"name": known.name, "namespace": about.namespace or "default"}
        if annotations:
            metadata["annotations"] = dict(annotations)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": {name: value for name, value in involved.items() if value},
            "reason": reason,
            "message": message,
            "type": type,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": known.first,
            "lastTimestamp": self._now(),
            "count": known.count,
        }

    def _name(self, about: About) -> str:
        """`<object>.<hex>`: the time in nanoseconds, unique."""
        self._last_number = max(self._last_number + 1, int(self._wall() * 1e9))
        end = f".{self._last_number:x}"
        return fitting(about.name, LONGEST_NAME - len(end)) + end

    def _now(self) -> str:
        return to_text(int(self._wall()) * SECOND_NS)

    def _allowed(self, object_key: tuple[str, ...], kept: float) -> bool:
        """Takes one event from the object's budget, but leaves `kept` of it."""
        now = self._clock.monotonic()
        left, since = self._budgets.pop(object_key, (BURST, now))
        left = min(BURST, left + (now - since) / REFILL_S)
        allowed = left >= 1 + kept
        self._budgets[object_key] = (left - 1 if allowed else left, now)
        if len(self._budgets) > self._most_known:
            self._budgets.popitem(last=False)
        return allowed
