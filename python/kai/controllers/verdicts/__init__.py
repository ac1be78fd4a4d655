"""The scheduler's conditions, time stamps and events on pods and pod groups (spec 6 C43-C47).

    verdicts = Verdicts(node_pool="")
    out = verdicts.decide(now, plan, seen)        # after each plan: out.writes, out.events
    out = verdicts.bound(now, "team/a-0", "n1", seen)     # the API server accepted the binding
    verdicts.answer(now, write, outcome)          # of each of out.writes
    out = verdicts.due(now)                       # at out.wake, without a new plan

No I/O; the time is an argument, in seconds since 1970. Texts that an object already has are not
written again. `Scheduled` follows the binding, and `Evict` follows the deletion. The first verdict
is written at once. A text that differs only in its numbers is rewritten at most once a minute for
each object and five times a second in total. State exists only for objects that wait or have writes
under way.

A write with the key of an earlier one contains everything of the earlier one, so it may replace it.
A later write must not overtake an earlier write with the same key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kai.api.writes import Outcome, Write
from kai.controllers.verdicts.facts import (
    Condition,
    Decided,
    Event,
    GroupSeen,
    PodSeen,
    Seen,
    Ticket,
    Verdict,
    VerdictSource,
    binder_event,
    bound_to,
    not_bound,
)
from kai.controllers.verdicts.groups import DEFAULT_POOL, Groups
from kai.controllers.verdicts.orders import LAST_EVICTION, Eviction, binding, counted, evictions
from kai.controllers.verdicts.pace import COUNTS_A_SECOND, OTHERS_A_SECOND, Budget
from kai.controllers.verdicts.plans import Avoided, PlanVerdicts
from kai.controllers.verdicts.pods import Pods
from kai.engine.plan import Plan

__all__ = [
    "Avoided",
    "Condition",
    "Decided",
    "Event",
    "Eviction",
    "GroupSeen",
    "PodSeen",
    "Seen",
    "Ticket",
    "Verdict",
    "VerdictSource",
    "Verdicts",
    "binder_event",
    "binding",
    "bound_to",
    "evictions",
    "not_bound",
]


class Verdicts:
    """The writer of verdicts of one scheduler. Create a new one after losing the lease.

    `node_pool`: the value of the shard; "" for the default one. `before`: the one of the term
    before; its conditions of bound pods that were not sent are sent again. Not thread-safe.
    """

    def __init__(self, node_pool: str = "", before: Verdicts | None = None) -> None:
        self.node_pool = node_pool or DEFAULT_POOL
        counts, others = Budget(COUNTS_A_SECOND), Budget(OTHERS_A_SECOND)
        self._pods, self._groups = Pods(counts, others), Groups(counts, others)
        self._last: dict[str, tuple[str, str, str]] = {}
        if before is not None:
            self._pods.take_over(before._pods)

    def shift(self, seconds: float) -> None:
        """The time of day minus `now`, which never steps."""
        self._pods.shift = self._groups.shift = seconds

    def __len__(self) -> int:
        """The number of pods and groups with a state."""
        return len(self._pods) + len(self._groups)

    def decide(
        self,
        now: float,
        plan: Plan,
        seen: Seen,
        changed: Iterable[str] | None = None,
        *,
        bad_pods: Mapping[str, str] | None = None,
        bad_groups: Mapping[str, str] | None = None,
        late: Collection[str] = (),
        avoided: Avoided | None = None,
    ) -> Decided:
        """The verdicts of a plan that are not written yet.

        `changed`: groups that changed since the last plan, or have a pod that changed; None: all
        may have, as after a start. `bad_pods`, `bad_groups`: by name, the problems of pods and
        groups that are missing in the plan. `late`: groups whose pods the plan binds, but whose
        bindings wait after a failure: they get no time of a start. `avoided`: nodes that
        refused a pod of a group.
        """
        verdicts = self.read(plan, seen, changed)
        if late:
            verdicts.start_later(late)
        if avoided:
            verdicts.avoid(avoided)
        verdicts.add(bad_pods or {}, bad_groups or {})
        return self.take_in(now, verdicts, seen)

    def read(self, plan: Plan, seen: Seen, changed: Iterable[str] | None = None) -> PlanVerdicts:
        """The first half of `decide`; it takes two thirds of the time and changes no state.

        May run on another thread than the other methods, one plan after the other, if `seen` allows
        it.
        """
        return PlanVerdicts(plan, seen, last=self._last, known=self._groups.known, changed=changed)

    def take_in(self, now: float, source: VerdictSource, seen: Seen) -> Decided:
        """The second half: the writes for a plan, or for any other object with the interface of
        `VerdictSource`."""
        out = Decided()
        self._groups.take_in(now, source.groups, seen, out)
        self._pods.take_in(now, source, seen, out)
        self._groups.due(now, out)
        self._pods.due(now, out)
        return self._finish(now, out)

    def is_late(self, changed: Iterable[str]) -> bool:
        """Whether one of these groups did not exist when the last plan was read, and the plan has a
        verdict on it."""
        return any(each in self._groups.unseen for each in changed)

    def bound(self, now: float, pod: str, node: str, seen: Seen, *, here: bool = True) -> Decided:
        """The API server accepted the binding. `here`: the binding was ours, not a binder's."""
        out = Decided()
        self._pods.bound(now, pod, node, self.node_pool, seen, out, here=here)
        return self._finish(now, out)

    def binding_failed(
        self, now: float, pod: str, node: str, error: str, seen: Seen, *, here: bool = True
    ) -> Decided:
        """The binding was rejected, or node or pod had changed. `here`: it was ours, not a
        binder's."""
        out = Decided()
        self._pods.failed(now, pod, node, error, seen, out, here=here)
        return self._finish(now, out)

    def evicted(self, now: float, eviction: Eviction, seen: Seen) -> Decided:
        """The API server accepted the eviction."""
        out = Decided()
        group = seen.group(eviction.group)
        if group is not None:
            if eviction.at:
                self._groups.stamp(now, eviction.group, LAST_EVICTION, eviction.at, seen, out)
            if eviction.message:
                out.events.append(eviction.event(group.uid))
            pool = group.node_pool or DEFAULT_POOL
            out.evicted.append(counted(eviction, group.uid, pool))
        return self._finish(now, out)

    def spared(self, now: float, eviction: Eviction, why: str, seen: Seen) -> Decided:
        """The API server rejected the eviction."""
        out = Decided()
        group = seen.group(eviction.waits)
        if group is not None:
            out.events.append(eviction.refusal(eviction.waits, group.uid, why))
        return self._finish(now, out)

    def gone(self, kind: str, name: str, uid: str = "") -> None:
        """A pod or pod group does not exist any more; other kinds are ignored.

        Must be called before the next plan even if a new object has the same name. Otherwise texts
        written on the old object would count for the new one for up to a minute.
        """
        if kind == "Pod":
            self._pods.gone(name, uid)
        elif kind == "PodGroup":
            self._groups.gone(name, uid)

    def answer(self, now: float, write: Write, outcome: Outcome) -> float | None:
        """The outcome of a write of ours; others are ignored. Returns the time for `due`."""
        ticket = write.about
        if isinstance(ticket, Ticket):
            if ticket.machine == "pod":
                self._pods.answer(now, ticket.name, ticket.number, outcome)
            else:
                self._groups.answer(now, *ticket, outcome)
        return self.wake(now)

    def due(self, now: float) -> Decided:
        """The writes that waited for their time: rewrites and retries."""
        out = Decided()
        self._groups.due(now, out)
        self._pods.due(now, out)
        return self._finish(now, out)

    def wake(self, now: float) -> float | None:
        """The time for the next `due`."""
        times = [
            each for each in (self._pods.wake(now), self._groups.wake(now)) if each is not None
        ]
        return min(times, default=None)

    def _finish(self, now: float, out: Decided) -> Decided:
        out.wake = self.wake(now)
        return out
