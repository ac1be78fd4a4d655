"""Conditions, time stamps and events of pod groups (spec 5 A17-A22, spec 2 M1-M5)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from kai.api import keys
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.verdicts.facts import Decided, Event, GroupSeen, Seen, Ticket, Verdict, split
from kai.controllers.verdicts.pace import BATCH, Budget, Pace, Rewrites, Timers, shape
from kai.controllers.verdicts.pods import LINGER_S, LOOK_S, stamp
from kai.controllers.verdicts.written import Written, is_another
from kai.controllers.waits import earliest

NOT_READY_S = 1.0
"""The pods of a gang are created one by one: for this long, missing pods are not reported."""
DEFAULT_POOL = "default"
_CONDITIONS = "schedulingConditions"
_TYPE = "UnschedulableOnNodePool"


class Last(NamedTuple):
    """The last entry of `status.schedulingConditions`, without the fields that do not matter (spec
    5 A21)."""

    type: str
    node_pool: str
    reason: str
    message: str
    status: str


class _Group:
    """`pending`: the verdict of a plan on a waiting group; None: it does not wait. `others`:
    entries of other node pools. `last_id`: of the newest entry. `last_events`: the shapes of the
    last events by reason. `unready`: it waits for its own pods; `silent`: as before, and not
    reported yet."""

    __slots__ = (
        *("holds", "last_events", "last_id", "looked", "others", "pace", "pool", "silent", "stale"),
        *("stamps", "pending", "status", "uid", "unready"),
    )

    def __init__(self, seen: GroupSeen, now: float) -> None:
        self.uid = seen.uid
        self.pending: Verdict | None = None
        self.last_events: dict[str, int] = {}
        self.unready = False
        self.silent: Verdict | None = None
        self.stale = keys.STALE_ANNOTATION in seen.stamps
        self.status, self.stamps = Written(), Written()
        self.pace = Pace()
        self.last_id = 0
        self.look(seen, now)
        last = self.status.there[_CONDITIONS]
        if last is not None:
            self.last_events["Unschedulable"] = shape(last.message)

    def look(self, seen: GroupSeen, now: float) -> None:
        self.looked = now
        self.holds = seen.holds
        self.pool = seen.node_pool or DEFAULT_POOL
        self.others = tuple(each for each in seen.conditions if each.get("nodePool") != self.pool)
        last = seen.conditions[-1] if seen.conditions else None
        self.status.look({_CONDITIONS: None if last is None else _last_of(last)})
        self.last_id = max(self.last_id, _transition_id(last))
        self.stamps.look({name: seen.stamps.get(name, "") for name in STAMPS})

    def is_new_event(self, reason: str, text: str) -> bool:
        """Whether an event with that reason differs from the last one."""
        event_shape = shape(text)
        if self.last_events.get(reason) == event_shape:
            return False
        self.last_events[reason] = event_shape
        return True


STAMPS = (
    *(keys.LAST_START_ANNOTATION, keys.STALE_ANNOTATION, keys.LAST_EVICTION_ANNOTATION),
    keys.ATTAINED_SERVICE_ANNOTATION,
)


class Groups:
    """All groups that wait, are stale, or have writes under way."""

    def __init__(self, counts: Budget, others: Budget) -> None:
        self.shift = 0.0  # of time stamps, as in Verdicts
        self._groups: dict[str, _Group] = {}
        self.unseen = dict[str, tuple[float, str]]()
        """Groups with a verdict that are not created yet: since when, and when the first of their
        pods started."""
        self._rewrites = Rewrites(counts, others)
        self._not_ready, self._forget = Timers(), Timers()
        self._status_retries, self._stamp_retries = Timers(), Timers()

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def known(self) -> Mapping[str, object]:
        return self._groups

    def take_in(self, now: float, verdicts: Iterable[Verdict], seen: Seen, out: Decided) -> None:
        """Takes in a plan's verdicts on the changed groups."""
        for verdict in verdicts:
            group = self._groups.get(verdict.name)
            facts = seen.group(verdict.name)
            if facts is None:
                self._note_unseen(now, verdict)
                continue
            _, started = self.unseen.pop(verdict.name, (now, ""))
            if started and keys.LAST_START_ANNOTATION not in facts.stamps:
                verdict = verdict._replace(last_start=verdict.last_start or started)
            if group is None:
                if _is_right(verdict, facts):
                    continue
            elif now < group.looked + LOOK_S and (group.pending, group.holds, group.uid) == (
                verdict,
                facts.holds,
                facts.uid,
            ):
                continue
            group = self._find(now, verdict.name, facts)
            self._stamps(now, verdict, group, out)
            self._staleness(verdict, group, out)
            self._verdict(now, verdict, group, out)
            self._send_status(now, verdict.name, group, out)
            self._send_stamps(now, verdict.name, group, out)
            self._schedule_forget(now, verdict.name, group)
        for name in [name for name, (since, _) in self.unseen.items() if now >= since + LOOK_S]:
            del self.unseen[name]
        for name, group in list(self._groups.items()):
            if now >= group.looked + LOOK_S:
                self._look(now, name, group, seen, out)

    def _note_unseen(self, now: float, verdict: Verdict) -> None:
        """The group is not created yet: its verdict is written later."""
        started = verdict.last_start or self.unseen.get(verdict.name, (now, ""))[1]
        if verdict.message or started:
            self.unseen[verdict.name] = (now, started)

    def stamp(self, now: float, name: str, field: str, value: str, seen: Seen, out: Decided) -> str:
        """Sets a time stamp, unless a later one exists. Returns the UID of the group, or ""."""
        facts = seen.group(name)
        if facts is None:
            return ""
        group = self._find(now, name, facts)
        if (group.stamps.current(field) or "") < value:
            group.stamps.want(field, value)
            self._send_stamps(now, name, group, out)
        self._schedule_forget(now, name, group)
        return group.uid

    def gone(self, name: str, uid: str = "") -> None:
        """The group with this UID, if given, does not exist any more."""
        self.unseen.pop(name, None)
        group = self._groups.get(name)
        if group is None or uid not in ("", group.uid):
            return
        del self._groups[name]
        self._rewrites.clear(name)
        for timers in (self._not_ready, self._forget, self._status_retries, self._stamp_retries):
            timers.clear(name)

    def answer(self, now: float, machine: str, name: str, number: int, outcome: Outcome) -> None:
        """The outcome of a patch."""
        group = self._groups.get(name)
        if group is None or outcome.result is Result.REPLACED:
            return
        if is_another(outcome):
            self.gone(name)
            return
        written, retries = (
            (group.status, self._status_retries)
            if machine == "group"
            else (group.stamps, self._stamp_retries)
        )
        if outcome.result in (Result.FAILED, Result.LOST):
            wait = written.fail(number)
            if wait is not None:
                retries.set(name, now + wait)
            return
        written.confirm(number)
        self._schedule_forget(now, name, group)

    def due(self, now: float, out: Decided) -> None:
        """The writes that waited for their time."""
        for name in self._rewrites.pop(now, out.writes):
            group = self._groups.get(name)
            if group is not None and group.pending is not None:
                self._write_pending(now, name, group, out)
                self._send_status(now, name, group, out)
        for name in self._not_ready.pop(now):
            group = self._groups.get(name)
            if group is not None and group.silent is not None:
                if group.is_new_event("NotReady", group.silent.message):
                    out.events.append(_event(name, group.uid, "NotReady", group.silent.message))
                group.silent = None
        for name in self._status_retries.pop(now):
            if (group := self._groups.get(name)) is not None:
                self._send_status(now, name, group, out)
        for name in self._stamp_retries.pop(now):
            if (group := self._groups.get(name)) is not None:
                self._send_stamps(now, name, group, out)
        for name in self._forget.pop(now):
            group = self._groups.get(name)
            if group is not None and self._is_done(group):
                del self._groups[name]

    def wake(self, now: float) -> float | None:
        """The time for `due`."""
        timers = (self._not_ready, self._status_retries, self._stamp_retries, self._forget)
        return earliest((self._rewrites.next(now), *(each.next() for each in timers)))

    # ---- inside ----------------------------------------------------------------------------------

    def _find(self, now: float, name: str, facts: GroupSeen) -> _Group:
        group = self._groups.get(name)
        if group is None or group.uid != facts.uid:
            self.gone(name)
            group = self._groups[name] = _Group(facts, now)
        elif now >= group.looked + LOOK_S:
            group.look(facts, now)
        group.holds = facts.holds
        return group

    def _look(self, now: float, name: str, group: _Group, seen: Seen, out: Decided) -> None:
        """Compares an unchanged group with the cluster."""
        facts = seen.group(name)
        if facts is None or facts.uid != group.uid:
            self.gone(name)
            return
        group.look(facts, now)
        if group.pending is not None:
            self._set_pending(now, name, group, group.pending, out)
            self._send_status(now, name, group, out)

    def _stamps(self, now: float, verdict: Verdict, group: _Group, out: Decided) -> None:
        if verdict.last_start is not None:
            group.stamps.want(keys.LAST_START_ANNOTATION, verdict.last_start)
        if verdict.stale_since is not None:
            current = group.stamps.current(keys.STALE_ANNOTATION)
            # A plan that does not see the time stamp yet sets it again: the first one counts.
            if not verdict.stale_since or not isinstance(current, str) or not current:
                group.stamps.want(keys.STALE_ANNOTATION, verdict.stale_since)
        if verdict.attained is not None:
            group.stamps.want(keys.ATTAINED_SERVICE_ANNOTATION, verdict.attained)

    def _staleness(self, verdict: Verdict, group: _Group, out: Decided) -> None:
        group.stale = bool(verdict.stale)
        if not verdict.stale:
            group.last_events.pop("StaleJob", None)
        elif group.is_new_event("StaleJob", verdict.stale):
            out.events.append(_event(verdict.name, group.uid, "StaleJob", verdict.stale))

    def _verdict(self, now: float, verdict: Verdict, group: _Group, out: Decided) -> None:
        name = verdict.name
        # A group without pods does not wait for its pods (spec 2 M1).
        group.unready = verdict.verdict == "not_ready" and bool(verdict.message)
        if group.unready:
            self._stop_waiting(name, group)
            if group.last_events.get("NotReady") != shape(verdict.message):
                group.silent = verdict
                if self._not_ready.get(name) is None:
                    self._not_ready.set(name, now + NOT_READY_S)
            return
        group.silent = None
        self._not_ready.clear(name)
        if not verdict.message:
            # It does not wait any more: the condition's message is outdated.
            self._stop_waiting(name, group)
            if verdict.verdict in ("placed", "running", "not_ready"):
                group.last_events.pop("Unschedulable", None)
                group.last_events.pop("NotReady", None)
                self._clear_conditions(group)
            return
        self._forget.clear(name)
        self._set_pending(
            now, name, group, verdict._replace(message=sys.intern(verdict.message)), out
        )

    def _set_pending(
        self, now: float, name: str, group: _Group, pending: Verdict, out: Decided
    ) -> None:
        """Writes why the group waits: now, or when its pace allows it."""
        group.pending = pending
        if group.holds or pending.verdict == "partly_placed":
            # Some of its pods run, so it has no condition; the event names the waiting pods (spec 5
            # A21).
            self._clear_conditions(group)
        how = self._difference(group, pending)
        if how is None:
            self._rewrites.clear(name)
        elif how == "first":
            if len(out.writes) < BATCH:
                self._write_pending(now, name, group, out)
            else:
                self._rewrites.firsts.set(name, now)
        else:
            self._rewrites.add(name, how, group.pace, now)

    def _clear_conditions(self, group: _Group) -> None:
        if group.status.current(_CONDITIONS) is not None or _CONDITIONS in group.status.wanted:
            group.status.want(_CONDITIONS, None)

    def _stop_waiting(self, name: str, group: _Group) -> None:
        group.pending = None
        self._rewrites.clear(name)

    def _difference(
        self, group: _Group, pending: Verdict
    ) -> Literal["first", "other", "counts"] | None:
        if group.holds or pending.verdict == "partly_placed":
            last_event = group.last_events.get("Unschedulable")
            if last_event is None:
                return "first"
            return None if last_event == shape(pending.message) else "other"
        current = group.status.current(_CONDITIONS)
        entry = self._entry(group, pending)
        if current == entry:
            return None
        if not isinstance(current, Last) or current.node_pool != entry.node_pool:
            return "first"
        return "counts" if shape(current.message) == shape(entry.message) else "other"

    def _entry(self, group: _Group, pending: Verdict) -> Last:
        return Last(_TYPE, group.pool, "Unschedulable", pending.message, "True")

    def _write_pending(self, now: float, name: str, group: _Group, out: Decided) -> None:
        pending = group.pending
        assert pending is not None
        how = self._difference(group, pending)
        self._rewrites.clear(name)
        if how is None:
            return
        group.pace.wrote(now, how)
        if group.is_new_event("Unschedulable", pending.message):
            out.events.append(_event(name, group.uid, "Unschedulable", pending.message))
        if not group.holds and pending.verdict != "partly_placed":
            group.status.want(_CONDITIONS, self._entry(group, pending))

    def _send_status(self, now: float, name: str, group: _Group, out: Decided) -> None:
        if self._status_retries.get(name) is not None:
            return  # it failed: the next try includes this
        fields = group.status.send()
        if not fields:
            return
        last: Last | None = fields[_CONDITIONS]
        entries: list[Mapping[str, Any]] | None = None
        if last is not None:
            group.last_id += 1
            reasons = () if group.pending is None else group.pending.reasons
            entries = [*group.others, _to_object(last, reasons, group.last_id, now + self.shift)]
        body = {"metadata": {"uid": group.uid}, "status": {_CONDITIONS: entries}}
        out.writes.append(
            _patch(name, body, "status", "conditions", Ticket("group", name, group.status.number))
        )

    def _send_stamps(self, now: float, name: str, group: _Group, out: Decided) -> None:
        if self._stamp_retries.get(name) is not None:
            return
        fields = group.stamps.send()
        if not fields:
            return
        annotations = {field: value or None for field, value in fields.items()}
        body = {"metadata": {"uid": group.uid, "annotations": annotations}}
        out.writes.append(
            _patch(name, body, "", "stamps", Ticket("stamps", name, group.stamps.number))
        )

    def _is_done(self, group: _Group) -> bool:
        return (
            group.pending is None
            and not group.unready
            and not group.stale
            and group.status.is_settled
            and group.stamps.is_settled
        )

    def _schedule_forget(self, now: float, name: str, group: _Group) -> None:
        """Removes the state after a while, if nothing is left to do."""
        if self._is_done(group):
            self._forget.set(name, max(now + LINGER_S, group.pace.free_at))


def _is_right(verdict: Verdict, seen: GroupSeen) -> bool:
    """Whether a group without a state needs no write: most groups of a cluster."""
    stamps = seen.stamps
    return (
        not verdict.message
        and not verdict.stale
        and not seen.conditions
        and verdict.last_start in (None, stamps.get(keys.LAST_START_ANNOTATION))
        and verdict.stale_since in (None, stamps.get(keys.STALE_ANNOTATION, ""))
        and verdict.attained in (None, stamps.get(keys.ATTAINED_SERVICE_ANNOTATION))
    )


def _last_of(entry: Mapping[str, Any]) -> Last:
    return Last(
        *(
            str(entry.get(each) or "")
            for each in ("type", "nodePool", "reason", "message", "status")
        )
    )


def _transition_id(entry: Mapping[str, Any] | None) -> int:
    """Invalid and negative numbers count as 0 (spec 5 A18)."""
    text = str((entry or {}).get("transitionID", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _to_object(
    last: Last, reasons: Iterable[Mapping[str, Any]], number: int, now: float
) -> dict[str, Any]:
    return {
        "type": last.type,
        "status": last.status,
        "nodePool": last.node_pool,
        "reason": last.reason,
        "message": last.message,
        "transitionID": str(number),
        "lastTransitionTime": stamp(now),
        "reasons": [dict(each) for each in reasons],
    }


def _patch(name: str, body: dict[str, Any], subresource: str, what: str, ticket: Ticket) -> Write:
    namespace, own = split(name)
    return Write(
        *(Lane.CONDITION, "patch", "PodGroup", namespace, own, body, subresource),
        key=f"{what}-of-group/{name}",
        about=ticket,
    )


def _event(
    name: str,
    uid: str,
    reason: str,
    message: str,
    annotations: Mapping[str, str] | None = None,
) -> Event:
    """KAI's events about groups all have type Normal."""
    namespace, own = split(name)
    return Event("PodGroup", namespace, own, uid, "Normal", reason, message, annotations or {})
