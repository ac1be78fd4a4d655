"""Conditions, promises and events of pods: a small state for each pod that waits or has writes."""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping
from typing import Any, Literal

from kai.api.times import SECOND_NS, to_text
from kai.api.writes import Lane, Outcome, Result, Write
from kai.controllers.verdicts.facts import (
    Condition,
    Decided,
    Event,
    PodSeen,
    Seen,
    Ticket,
    VerdictSource,
    binder_event,
    bound_to,
    not_bound,
    split,
)
from kai.controllers.verdicts.pace import BATCH, Budget, Pace, Rewrites, Timers, shape
from kai.controllers.verdicts.written import UNKNOWN, Written, is_another
from kai.controllers.waits import earliest

SCHEDULED, BOUND, NOMINATED = "PodScheduled", "PodBound", "nominatedNodeName"
UNSCHEDULABLE, BINDING_ERROR = "Unschedulable", "BindingError"
LINGER_S = 10.0
"""How long a pod is remembered after its last write: until then the watch may show the old state.

A pod that waited is remembered until its text may be rewritten.
"""
LOOK_S = 60.0
"""How often a pod that waits or has a promised place is compared with the cluster."""

# Such a pod gets its condition whatever the setting of its group (spec 2 M9).
_NO_SUBGROUP = "Pod references subgroup "
_TOO_EARLY = (_NO_SUBGROUP, "no resource claim name found for pod ")
TOO_EARLY_S = 1.0
"""Pods and the group that gets a sub-group for them are written at the same time, and claims are
created from templates after their pods: either may be seen first."""


class _Pod:
    """`needed`: the condition that it needs; None: it does not wait. `refused`: its PodBound, if a
    binding of ours failed. `node`: its promised node. `last_event`: the shape of the last event
    Unschedulable."""

    __slots__ = (
        *("last_event", "looked", "marked", "needed", "node", "pace", "placed"),
        *("refused", "uid", "written"),
    )

    def __init__(self, seen: PodSeen, now: float) -> None:
        self.uid = seen.uid
        self.marked, self.placed = seen.marked, seen.placed
        self.needed: Condition | None = None
        self.refused: Condition | None = None
        self.node = seen.nominated
        self.written = Written(_there(seen))
        self.pace = Pace()
        self.last_event: int | None = None
        self.looked = now
        if seen.scheduled is not None and seen.scheduled[:2] == ("False", UNSCHEDULABLE):
            self.last_event = shape(seen.scheduled.message)

    def look(self, now: float, seen: PodSeen) -> None:
        """Compares it with the cluster, if the last time was long ago."""
        if now >= self.looked + LOOK_S:
            self.looked = now
            self.written.look(_there(seen))

    def is_new_event(self, event_shape: int) -> bool:
        """Whether an event Unschedulable differs from the last one."""
        is_new = self.last_event != event_shape
        self.last_event = event_shape
        return is_new


def _there(seen: PodSeen) -> dict[str, Any]:
    return {SCHEDULED: seen.scheduled, BOUND: seen.bound, NOMINATED: seen.nominated}


class Pods:
    """All pods that wait, have a promised place, or have writes under way."""

    def __init__(self, counts: Budget, others: Budget) -> None:
        self.shift = 0.0  # of time stamps, as in Verdicts
        self._pods: dict[str, _Pod] = {}
        self._rewrites = Rewrites(counts, others)
        self._retries, self._forget = Timers(), Timers()

    def __len__(self) -> int:
        return len(self._pods)

    def take_over(self, before: Pods) -> None:
        """Of an earlier term: pods that were bound, and whose last texts may not be written yet."""
        for name, pod in before._pods.items():
            condition = {**pod.written.on_its_way, **pod.written.wanted}.get(BOUND)
            if condition is not None and condition.status == "True":
                self._pods[name] = pod
                self._retries.set(name, 0.0)

    def take_in(self, now: float, source: VerdictSource, seen: Seen, out: Decided) -> None:
        """Takes in a plan: the waiting pods with their messages, and the promised nodes."""
        bound = set(source.bound)
        promised = source.promised
        for name, pod in list(self._pods.items()):
            if pod.needed is not None and name not in source.waiting:
                pod.needed = None
                self._rewrites.clear(name)
                self._schedule_forget(now, name, pod)
            if pod.node and name not in promised and name not in bound:
                self._promise(now, name, pod, "", out)
        for name, text in source.waiting.items():
            self._wait(now, name, text, promised, seen, out)
        for name, node in promised.items():
            known = self._pods.get(name)
            if known is None or known.node != node:
                known = self._find(now, name, seen)
                if known is not None and known.node != node:
                    self._promise(now, name, known, node, out)
            elif now >= known.looked + LOOK_S:
                self._look_again(now, name, known, seen, out)

    def bound(
        self,
        now: float,
        name: str,
        node: str,
        node_pool: str,
        seen: Seen,
        out: Decided,
        *,
        here: bool,
    ) -> None:
        """The binding was carried out. `here`: by us, and not by a separate binder."""
        pod = self._find(now, name, seen)
        if pod is None:
            return
        pod.needed, pod.last_event, pod.node, pod.pace = None, None, "", Pace()
        self._rewrites.clear(name)
        written = pod.written
        written.wanted.pop(SCHEDULED, None)
        under_way = SCHEDULED in written.on_its_way or written.there.get(SCHEDULED) is UNKNOWN
        if not under_way:
            written.there[SCHEDULED] = Condition("True")  # the API server wrote it
        written.want(SCHEDULED, Condition("True"))
        written.want(NOMINATED, "")
        text = (
            f"Successfully assigned pod {name} to node {node} at node-pool {node_pool or 'default'}"
        )
        out.events.append(_event(name, pod.uid, "Normal", "Scheduled", text))
        if here:
            condition = bound_to(node)
            written.want(BOUND, condition)
            out.events.append(binder_event(name, pod.uid, condition))
        self._send(now, name, pod, out)
        self._schedule_forget(now, name, pod)

    def failed(
        self,
        now: float,
        name: str,
        node: str,
        error: str,
        seen: Seen,
        out: Decided,
        *,
        here: bool,
    ) -> None:
        """The binding was rejected, or its target is gone. `here`: it was ours, not a binder's."""
        pod = self._find(now, name, seen)
        if pod is None:
            return
        text = f"Failed to bind pod {name} to node {node}. {error}"
        if pod.node:
            self._promise(now, name, pod, "", out)
        pod.refused = not_bound(name, node, error) if here else None
        # At once and each time: the condition may wait for its pace, and keeps its first time.
        out.events.append(_event(name, pod.uid, "Warning", "FailedBinding", text))
        if pod.refused is not None:
            out.events.append(binder_event(name, pod.uid, pod.refused))
        self._set_needed(now, name, pod, Condition("False", BINDING_ERROR, sys.intern(text)), out)

    def gone(self, name: str, uid: str = "") -> None:
        """The pod with this UID, if given, does not exist any more."""
        pod = self._pods.get(name)
        if pod is None or uid not in ("", pod.uid):
            return
        del self._pods[name]
        self._rewrites.clear(name)
        self._retries.clear(name)
        self._forget.clear(name)

    def answer(self, now: float, name: str, number: int, outcome: Outcome) -> None:
        """The outcome of a patch."""
        pod = self._pods.get(name)
        if pod is None or outcome.result is Result.REPLACED:
            return
        if is_another(outcome):
            self.gone(name)  # the name now belongs to another pod, or to none
            return
        if outcome.result in (Result.FAILED, Result.LOST):
            wait = pod.written.fail(number)
            if wait is not None:
                self._retries.set(name, now + wait)
            return
        pod.written.confirm(number)
        self._schedule_forget(now, name, pod)

    def due(self, now: float, out: Decided) -> None:
        """The writes that waited for their time."""
        for name in self._rewrites.pop(now, out.writes):
            pod = self._pods.get(name)
            if pod is not None and pod.needed is not None:
                self._write_needed(now, name, pod, out)
        for name in self._retries.pop(now):
            if (pod := self._pods.get(name)) is not None:
                self._send(now, name, pod, out)
        for name in self._forget.pop(now):
            pod = self._pods.get(name)
            if pod is not None and pod.needed is None and not pod.node and pod.written.is_settled:
                del self._pods[name]

    def wake(self, now: float) -> float | None:
        """The time for `due`."""
        return earliest((self._rewrites.next(now), self._retries.next(), self._forget.next()))

    # ---- inside ----------------------------------------------------------------------------------

    def _find(self, now: float, name: str, seen: Seen) -> _Pod | None:
        """Its state, created again for another pod of the same name; None if there is no pod."""
        facts = seen.pod(name)
        if facts is None:
            return None
        pod = self._pods.get(name)
        if pod is None or pod.uid != facts.uid:
            self.gone(name)
            pod = self._pods[name] = _Pod(facts, now)
        pod.marked, pod.placed = facts.marked, facts.placed
        return pod

    def _wait(
        self,
        now: float,
        name: str,
        text: str,
        promised: Container[str],
        seen: Seen,
        out: Decided,
    ) -> None:
        pod = self._pods.get(name)
        if pod is not None and pod.needed is not None and now < pod.looked + LOOK_S:
            needed = pod.needed
            if needed.message == text and needed.reason == UNSCHEDULABLE:
                return
        facts = seen.pod(name)
        pod = self._find(now, name, seen)
        if pod is None or facts is None:
            return
        pod.look(now, facts)
        if pod.node and name not in promised:  # of an earlier leader
            self._promise(now, name, pod, "", out)
        pod.marked = pod.marked or text.startswith(_NO_SUBGROUP)
        if pod.written.current(BOUND) is not None:
            pod.written.want(BOUND, None)  # of an earlier try
            self._send(now, name, pod, out)
        self._set_needed(now, name, pod, Condition("False", UNSCHEDULABLE, sys.intern(text)), out)

    def _set_needed(
        self, now: float, name: str, pod: _Pod, needed: Condition, out: Decided
    ) -> None:
        """Writes the condition: now, or when its pace allows it."""
        pod.needed = needed
        self._forget.clear(name)
        how = self._difference(pod, needed)
        if how is None:
            self._rewrites.clear(name)
            return
        if how == "first":
            if needed.message.startswith(_TOO_EARLY):
                if self._rewrites.firsts.get(name) is None:
                    self._rewrites.firsts.set(name, now + TOO_EARLY_S)
            elif len(out.writes) < BATCH:
                self._write_needed(now, name, pod, out)
            else:
                self._rewrites.firsts.set(name, now)
            return
        self._rewrites.add(name, how, pod.pace, now)

    def _difference(
        self, pod: _Pod, needed: Condition
    ) -> Literal["first", "other", "counts"] | None:
        current = pod.written.current(SCHEDULED)
        if not pod.marked and needed.reason == UNSCHEDULABLE:
            if pod.last_event is None:
                return "first"
            return None if pod.last_event == shape(needed.message) else "other"
        if current == needed:
            return None
        if not isinstance(current, Condition) or current.status != "False":
            return "first"
        if current.reason != needed.reason:
            # Autoscalers react to the first reason and not to the other.
            return "first" if needed.reason == UNSCHEDULABLE else "other"
        return "counts" if shape(current.message) == shape(needed.message) else "other"

    def _write_needed(self, now: float, name: str, pod: _Pod, out: Decided) -> None:
        needed = pod.needed
        assert needed is not None
        how = self._difference(pod, needed)
        self._rewrites.clear(name)
        if how is None:
            return
        restarts = how == "first" and not isinstance(pod.written.current(SCHEDULED), Condition)
        pod.pace.wrote(now, "first" if restarts else "counts" if how == "counts" else "other")
        if needed.reason == UNSCHEDULABLE and pod.is_new_event(shape(needed.message)):
            out.events.append(_event(name, pod.uid, "Warning", UNSCHEDULABLE, needed.message))
        if needed.reason == BINDING_ERROR and pod.refused is not None:
            pod.written.want(BOUND, pod.refused)
        if pod.marked or needed.reason != UNSCHEDULABLE:
            pod.written.want(SCHEDULED, needed)
        self._send(now, name, pod, out)

    def _promise(self, now: float, name: str, pod: _Pod, node: str, out: Decided) -> None:
        pod.node = node
        if node:
            self._forget.clear(name)
            text = f"Pod {name} was pipelined to node {node}"
            out.events.append(_event(name, pod.uid, "Normal", "Pipelined", text))
        # A pod that moves has a node, and the API server accepts no other one for it.
        pod.written.want(NOMINATED, "" if pod.placed else node)
        self._send(now, name, pod, out)
        self._schedule_forget(now, name, pod)

    def _look_again(self, now: float, name: str, pod: _Pod, seen: Seen, out: Decided) -> None:
        """Writes the promised node again if the object has lost it."""
        facts = seen.pod(name)
        if facts is None or facts.uid != pod.uid:
            return
        pod.look(now, facts)
        pod.written.want(NOMINATED, "" if facts.placed else pod.node)
        self._send(now, name, pod, out)

    def _send(self, now: float, name: str, pod: _Pod, out: Decided) -> None:
        if self._retries.get(name) is not None:
            return  # it failed: the next try includes this
        known = pod.written.there.get(SCHEDULED)
        fields = pod.written.send()
        if not fields:
            return
        body = {"metadata": {"uid": pod.uid}, "status": _status(fields, known, now + self.shift)}
        namespace, own = split(name)
        out.writes.append(
            Write(
                *(Lane.CONDITION, "patch", "Pod", namespace, own, body, "status"),
                patch_type="strategic",
                key=f"status-of-pod/{name}",
                about=Ticket("pod", name, pod.written.number),
            )
        )

    def _schedule_forget(self, now: float, name: str, pod: _Pod) -> None:
        """Removes the state after a while, if nothing is left to do."""
        if pod.needed is None and not pod.node and pod.written.is_settled:
            self._forget.set(name, max(now + LINGER_S, pod.pace.free_at))


def _status(fields: Mapping[str, Any], known: object, now: float) -> dict[str, Any]:
    """The status of a strategic merge patch: conditions are identified by their type."""
    status: dict[str, Any] = {}
    for type, value in fields.items():
        if type == NOMINATED:
            status[NOMINATED] = value or None
        elif value is None:
            status.setdefault("conditions", []).append({"$patch": "delete", "type": type})
        else:
            condition = {"type": type, **value._asdict()}
            # A transition is a change of the status, not of the text.
            if (
                type != SCHEDULED
                or not isinstance(known, Condition)
                or known.status != value.status
            ):
                condition["lastTransitionTime"] = stamp(now)
            status.setdefault("conditions", []).append(condition)
    return status


def stamp(now: float) -> str:
    """RFC 3339 in whole seconds (spec 5 A22)."""
    return to_text(int(now) * SECOND_NS)


def _event(
    name: str, uid: str, type: Literal["Normal", "Warning"], reason: str, message: str
) -> Event:
    namespace, own = split(name)
    return Event("Pod", namespace, own, uid, type, reason, message)
