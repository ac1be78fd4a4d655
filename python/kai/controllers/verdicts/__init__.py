"""What the scheduler says of pods and pod groups: conditions, time stamps, events (spec 6 C43-C47).

    verdicts = Verdicts(node_pool="")
    out = verdicts.decide(now, plan, seen)        # after each plan: out.writes, out.events
    out = verdicts.bound(now, "team/a-0", "n1", seen)     # the API server took the binding
    verdicts.answer(now, write, outcome)          # of each of out.writes
    out = verdicts.due(now)                       # at out.wake, without a new plan

No I/O, and the time is an argument: seconds since 1970 as a float. What is there already is not
written again; `Scheduled` follows the binding, `Evict` the deletion. The first verdict is written
at once, the same text with other numbers at most once a minute for each object and five times a
second for all. State is kept of objects that wait or whose writes are under way, and of no others.

A write with the key of an earlier one says all that the earlier one said, so that it may take its
place. Of one key a later write must not overtake an earlier one.
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
    Said,
    Seen,
    Ticket,
    Verdict,
    binder_event,
    bound_to,
    not_bound,
)
from kai.controllers.verdicts.groups import DEFAULT_POOL, Groups
from kai.controllers.verdicts.orders import LAST_EVICTION, Eviction, binding, counted, evictions
from kai.controllers.verdicts.pace import COUNTS_A_SECOND, OTHERS_A_SECOND, Budget
from kai.controllers.verdicts.plans import Saying
from kai.controllers.verdicts.pods import Pods
from kai.engine.plan import Plan

__all__ = [
    "Condition",
    "Decided",
    "Event",
    "Eviction",
    "GroupSeen",
    "PodSeen",
    "Said",
    "Seen",
    "Ticket",
    "Verdict",
    "Verdicts",
    "binder_event",
    "binding",
    "bound_to",
    "evictions",
    "not_bound",
]


class Verdicts:
    """The writer of verdicts of one scheduler. Make a new one when the lease was lost.

    `node_pool`: the value of the shard; "" for the default one. Not thread-safe.
    """

    def __init__(self, node_pool: str = "") -> None:
        self.node_pool = node_pool or DEFAULT_POOL
        counts, others = Budget(COUNTS_A_SECOND), Budget(OTHERS_A_SECOND)
        self._pods, self._groups = Pods(counts, others), Groups(counts, others)
        self._last: dict[str, tuple[str, str, str]] = {}

    def __len__(self) -> int:
        """How many pods and groups it has a state of."""
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
    ) -> Decided:
        """What a plan says that is not written yet.

        `changed`: groups that changed since the last plan, or of which a pod did; None: all may
        have, as after a start. `bad_pods`, `bad_groups`: by name what is wrong with those that the
        plan does not have. `late`: groups whose pods the plan binds, and that are not bound yet:
        they get no time of a start.
        """
        said = self.read(plan, seen, changed)
        if late:
            said.start_later(late)
        said.add(bad_pods or {}, bad_groups or {})
        return self.take_in(now, said, seen)

    def read(self, plan: Plan, seen: Seen, changed: Iterable[str] | None = None) -> Saying:
        """The first half of `decide`, which takes two thirds of its time and changes no state.

        May run on another thread than all else, one plan after the other, if `seen` allows it.
        """
        return Saying(plan, seen, last=self._last, known=self._groups.known, changed=changed)

    def take_in(self, now: float, said: Said, seen: Seen) -> Decided:
        """The second half: what has to be written, of anything that says what a plan says."""
        out = Decided()
        self._groups.take_in(now, said.groups, seen, out)
        self._pods.take_in(now, said, seen, out)
        self._groups.due(now, out)
        self._pods.due(now, out)
        return self._finish(now, out)

    def is_late(self, changed: Iterable[str]) -> bool:
        """Whether one of these groups was not there when the last plan was read, and that has
        something to say of it."""
        return any(each in self._groups.unseen for each in changed)

    def bound(self, now: float, pod: str, node: str, seen: Seen, *, here: bool = True) -> Decided:
        """The API server took the binding. `here`: it was ours, and no binder's."""
        out = Decided()
        self._pods.bound(now, pod, node, self.node_pool, seen, out, here=here)
        return self._finish(now, out)

    def binding_failed(
        self, now: float, pod: str, node: str, error: str, seen: Seen, *, here: bool = True
    ) -> Decided:
        """The binding was refused, or node or pod had changed. `here`: it was ours, and no
        binder's."""
        out = Decided()
        self._pods.failed(now, pod, node, error, seen, out, here=here)
        return self._finish(now, out)

    def evicted(self, now: float, eviction: Eviction, seen: Seen) -> Decided:
        """The API server took the eviction."""
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
        """The API server refused the eviction."""
        out = Decided()
        group = seen.group(eviction.waits)
        if group is not None:
            out.events.append(eviction.refusal(eviction.waits, group.uid, why))
        return self._finish(now, out)

    def end_promises(self, now: float, pods: Iterable[str]) -> Decided:
        """The room that these pods were promised will not come free: an eviction was refused."""
        out = Decided()
        for pod in pods:
            self._pods.end_promise(now, pod, out)
        return self._finish(now, out)

    def gone(self, kind: str, name: str, uid: str = "") -> None:
        """A pod or pod group is not there any more; other kinds are ignored.

        Has to be called before the next plan also where another object of the name came: what was
        written on the first one would count as written on the second one for up to a minute.
        """
        if kind == "Pod":
            self._pods.gone(name, uid)
        elif kind == "PodGroup":
            self._groups.gone(name, uid)

    def answer(self, now: float, write: Write, outcome: Outcome) -> float | None:
        """What became of a write of ours; others are ignored. Returns when to call `due`."""
        ticket = write.about
        if isinstance(ticket, Ticket):
            if ticket.machine == "pod":
                self._pods.answer(now, ticket.name, ticket.number, outcome)
            else:
                self._groups.answer(now, *ticket, outcome)
        return self.wake(now)

    def due(self, now: float) -> Decided:
        """What waited for its time: rewrites, repeated tries."""
        out = Decided()
        self._groups.due(now, out)
        self._pods.due(now, out)
        return self._finish(now, out)

    def wake(self, now: float) -> float | None:
        """When `due` has to be called next."""
        times = [
            each for each in (self._pods.wake(now), self._groups.wake(now)) if each is not None
        ]
        return min(times, default=None)

    def _finish(self, now: float, out: Decided) -> Decided:
        out.wake = self.wake(now)
        return out
