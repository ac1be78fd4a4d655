"""Compares the decisions of another scheduler with plans of the same cluster. No I/O, no clock.

    comparison = Comparison(patience=10.0)
    comparison.planned(plan)                     # after each plan
    comparison.request(now, None, request)       # what watches showed before the next plan
    comparison.pod(now, before, after)
    comparison.tick(now)
    for case in comparison.take(): ...           # kai.controllers.shadow.causes explains them

A plan is made from the state before the other scheduler's cycle. The decisions of that cycle show
as BindRequests, as the node of a pod, or as a deleted pod. Each decision is therefore compared with
the last plan in whose state the pod waits (for a victim: still runs), and with the earlier plans of
the last `lookback` seconds, because the other cycle may have started from their state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kai.controllers.shadow.devices import DeviceBook, Devices
from kai.controllers.shadow.seen import GroupSeen, PodSeen, RequestSeen
from kai.controllers.shadow.values import Cause, Chosen, Compared, Outcome, Planned, Subject

Key = TypeVar("Key", bound=Hashable)

LOOKBACK_S = 2.0
"""KAI reads the cluster once a second, and its cycle takes some time."""
PATIENCE_S = 10.0
STALE = "stalegangeviction"
EVICTION_SHOWS_S = 5.0
"""A pod group's eviction time stamp and the pod's deletion arrive through different watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One decision, and the plan it is compared with (None: there is none). `node`, `groups`: where
    the other scheduler placed the pod; `devices`: known facts about those devices."""

    compared: Compared
    plan: Planned | None = None
    serial: int = 0
    node: str = ""
    groups: frozenset[str] = frozenset()
    devices: Devices = field(default_factory=Devices)


@dataclass(slots=True)
class _Tracked:
    """A pod. `since`: the number of plans made before it entered its current state, waiting or
    running. `bound_to`: the node of its last decision, of the BindRequest `request`.
    `is_assigned`: its group exists only in the plan."""

    seen: PodSeen
    since: int
    bound_to: str = ""
    request: str = ""
    is_assigned: bool = False

    @property
    def waits(self) -> bool:
        return not (self.bound_to or self.seen.node or self.seen.is_leaving or self.seen.is_over)


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A deleted pod whose deletion has no known cause yet. `plans`: those made before it, in
    order."""

    pod: PodSeen
    at: float
    plans: tuple[Planned, ...]

    def evicting(self) -> Planned | None:
        """The last plan that evicts it."""
        for plan in reversed(self.plans):
            chosen = plan.chosen.get(self.pod.name)
            if chosen is not None and chosen.kind == "evict":
                return plan
        return None


@dataclass(slots=True)
class _Decision:
    """A decision that consecutive plans repeat, and that has not happened."""

    since: float
    pod: str
    is_reported: bool = False


class Comparison:
    """For one thread; `now` is in seconds and never goes back. `pool`: the node pool of the plans;
    pods of other pools are not compared."""

    def __init__(
        self, *, patience: float = PATIENCE_S, lookback: float = LOOKBACK_S, pool: str = ""
    ) -> None:
        self._patience, self._lookback, self._pool = patience, lookback, pool
        self._pools: dict[str, str] = {}  # by pod group
        self._shown: dict[str, int] = {}  # by pod group, the number of plans made before it arrived
        self._plans: deque[tuple[int, Planned]] = deque()
        self._serial = 0
        self._pods: dict[str, _Tracked] = {}
        self._devices = DeviceBook()
        self._evicted: dict[str, float] = {}  # by pod group, when its time stamp changed
        self._leaving: list[_Leaving] = []
        self._binds: dict[str, _Decision] = {}  # by pod
        self._evictions: dict[tuple[str, str], _Decision] = {}  # by action, and group or pod
        self._cases: list[Case] = []

    # ---- plans -----------------------------------------------------------------------------------

    def planned(self, plan: Planned) -> None:
        self._serial += 1
        self._plans.append((self._serial, plan))
        while len(self._plans) > 1 and self._plans[1][1].at < plan.at - self._lookback:
            self._plans.popleft()
        self._binds = self._still(self._binds, self._planned_binds(plan), plan.at)
        self._evictions = self._still(self._evictions, self._planned_evictions(plan), plan.at)

    def _planned_binds(self, plan: Planned) -> Iterable[tuple[str, str]]:
        for pod, chosen in plan.chosen.items():
            tracked = self._pods.get(pod)
            # A pod that was not shown yet will be shown in a moment.
            if chosen.kind == "bind" and (tracked is None or tracked.waits):
                yield pod, pod

    def _planned_evictions(self, plan: Planned) -> Iterable[tuple[tuple[str, str], str]]:
        for pod, chosen in plan.chosen.items():
            if chosen.kind == "evict":
                yield (chosen.action, chosen.for_group or pod), pod

    def _still(
        self, before: dict[Key, _Decision], wanted: Iterable[tuple[Key, str]], at: float
    ) -> dict[Key, _Decision]:
        found: dict[Key, _Decision] = {}
        for key, pod in wanted:
            if key not in found:
                found[key] = before.get(key) or _Decision(at, pod)
                found[key].pod = pod
        return found

    def _is_mine(self, pod: PodSeen) -> bool:
        return self._pools.get(pod.group, pod.pool) == self._pool

    def _group_of(self, pod: str) -> str:
        tracked = self._pods.get(pod)
        return "" if tracked is None else tracked.seen.group

    # ---- what watches show -----------------------------------------------------------------------

    def assigned(self, pod: str, group: str) -> None:
        """The plan puts the pod into this group; the pod itself does not name it."""
        known = self._pods.get(pod)
        if known is not None and not known.seen.group:
            known.is_assigned = True
            known.seen = replace(known.seen, group=group)

    def pod(self, now: float, before: PodSeen | None, after: PodSeen | None) -> None:
        if after is None:
            if before is not None:
                self._gone(now, before)
            return
        known = self._pods.get(after.name)
        if known is not None and known.seen.uid != after.uid:
            self._gone(now, known.seen)
            known = None
        if known is None:
            known = self._pods[after.name] = _Tracked(after, self._serial)
            if after.node and self._serial == 0:
                known.bound_to = after.node  # from before the first plan
        was = known.seen
        if after.group and not was.group and known.waits:
            known.since = self._serial  # no plan has a pod without a group
        known.seen = after if after.group else replace(after, group=was.group)
        if after.node and after.node != known.bound_to:
            self._bound(now, known, after.node, after.gpu_groups)
        if after.gpu_groups:
            self._devices.put(after.name, after.gpu_groups, self._serial)
        if after.is_leaving and not was.is_leaving:
            self._left(now, known.seen)

    def request(self, now: float, before: RequestSeen | None, after: RequestSeen | None) -> None:
        if after is None:
            if before is not None:
                self._not_bound(before)
            return
        tracked = self._pods.get(after.pod)
        if tracked is None or (after.owner and after.owner != tracked.seen.uid):
            return
        if after.has_failed:
            self._not_bound(after)
        elif tracked.request != after.uid and not tracked.seen.node:
            if tracked.bound_to:  # replaces an earlier one
                tracked.bound_to = ""
            tracked.request = after.uid
            self._bound(now, tracked, after.node, after.gpu_groups)

    def group(self, now: float, before: GroupSeen | None, after: GroupSeen | None) -> None:
        if after is not None:
            self._pools[after.name] = after.pool
            self._shown.setdefault(after.name, self._serial)
        elif before is not None:
            self._pools.pop(before.name, None)
            self._shown.pop(before.name, None)
        stamp = "" if before is None else before.evicted
        if self._plans and after is not None and after.evicted not in ("", stamp):
            self._evicted[after.name] = now

    def tick(self, now: float) -> None:
        """Identifies victims, and counts decisions that did not happen for too long as missed."""
        waiting = []
        for each in self._leaving:
            if self._is_victim(each):
                self._was_evicted(each)
            elif now - each.at <= EVICTION_SHOWS_S:
                waiting.append(each)
        self._leaving = waiting
        self._evicted = {k: at for k, at in self._evicted.items() if now - at <= EVICTION_SHOWS_S}
        for pod, decision in self._binds.items():
            self._miss(now, "bind", pod, decision)
        for decision in self._evictions.values():
            self._miss(now, "evict", decision.pod, decision)

    def next_tick(self) -> float | None:
        """The time of the next `tick` if nothing else happens."""
        decisions = (*self._binds.values(), *self._evictions.values())
        times = [
            each.since + self._patience
            for each in decisions
            if not each.is_reported and each.pod in self._pods
        ]
        times += [each.at + EVICTION_SHOWS_S for each in self._leaving]
        return min(times, default=None)

    def take(self) -> list[Case]:
        """The comparisons since the last call."""
        cases, self._cases = self._cases, []
        return cases

    # ---- binds -----------------------------------------------------------------------------------

    def _bound(self, now: float, tracked: _Tracked, node: str, groups: frozenset[str]) -> None:
        since = max(tracked.since, self._shown.get(tracked.seen.group, 0))
        name = tracked.seen.name
        tracked.bound_to = node
        plans = [(serial, plan) for serial, plan in self._plans if serial > since]
        if self._serial and self._is_mine(tracked.seen):
            case = self._compare_bind(now, tracked.seen, node, groups, plans)
            decision = self._binds.get(name)
            if case.compared.outcome == "same" and decision is not None and decision.is_reported:
                case = replace(case, compared=replace(case.compared, cause="late"))
            self._cases.append(case)
        self._devices.put(name, groups, self._serial)
        tracked.since = self._serial

    def compared_late(self, case: Case, plan: Planned) -> Case:
        """A binding that was `not_compared`, compared with a plan in which its pod waits. `plan`:
        made from the present state, with nothing else changed."""
        tracked = self._pods.get(case.compared.pod)
        if tracked is None:
            return case
        serial = self._serial
        place = (case.node, case.groups, [(serial, plan)])
        return self._compare_bind(case.compared.at, tracked.seen, *place)

    def is_grouped(self, pod: str) -> bool:
        """Whether the pod group of this pod is known, and exists."""
        tracked = self._pods.get(pod)
        return tracked is not None and (tracked.is_assigned or tracked.seen.group in self._shown)

    def _compare_bind(
        self,
        now: float,
        pod: PodSeen,
        node: str,
        groups: frozenset[str],
        plans: list[tuple[int, Planned]],
    ) -> Case:
        theirs = f"bind to {node}"
        if not plans:
            values = (now, 0, "bind", pod.name, pod.group, "not_compared", "not planned", theirs)
            return Case(Compared(*values), node=node, groups=groups)  # type: ignore[arg-type]
        partners = frozenset(
            name
            for _, plan in plans
            for name, each in plan.chosen.items()
            if each.node == node and each.gpu_groups
        )
        devices = self._devices.near(groups, partners)
        for number, (serial, plan) in enumerate(reversed(plans)):
            place = (pod.name, node, groups, devices)
            if agrees(plan.chosen, serial, *place):
                cause: Cause = "earlier_state" if number else ""
                return self._case(now, plan, serial, "same", *place, cause=cause)
        serial, plan = plans[-1]
        outcome, cause = self._unlike(plan, pod, node)
        return self._case(now, plan, serial, outcome, *place, cause=cause)

    def _unlike(self, plan: Planned, pod: PodSeen, node: str) -> tuple[Outcome, Cause]:
        chosen = plan.chosen.get(pod.name)
        others = [
            name
            for name, each in plan.chosen.items()
            if each.kind == "bind" and each.node == node and name != pod.name
        ]
        if any(self._are_alike(pod, name) for name in others):
            return ("other_node", "alike")
        if chosen is not None and chosen.kind == "bind":
            return ("other_devices" if chosen.node == node else "other_node", "")
        return ("order" if others else "extra", "")

    def _are_alike(self, pod: PodSeen, name: str) -> bool:
        other = self._pods.get(name)
        return (
            other is not None
            and bool(pod.group)
            and (other.seen.group, other.seen.shape) == (pod.group, pod.shape)
        )

    def _case(
        self,
        now: float,
        plan: Planned,
        serial: int,
        outcome: Outcome,
        pod: str,
        node: str,
        groups: frozenset[str],
        devices: Devices,
        cause: Cause = "",
    ) -> Case:
        compared = Compared(
            *(now, plan.cycle, "bind", pod, self._group_of(pod), outcome),
            *(in_words(plan.chosen.get(pod)), f"bind to {node}", cause),
        )
        return Case(compared, plan, serial, node, groups, devices)

    def _not_bound(self, request: RequestSeen) -> None:
        """The BindRequest was deleted, or has failed: the pod waits again."""
        tracked = self._pods.get(request.pod)
        if tracked is None or tracked.request != request.uid or tracked.seen.node:
            return
        if not tracked.bound_to:
            return  # it had failed before the deletion
        tracked.bound_to, tracked.since = "", self._serial
        self._devices.drop(request.pod)

    # ---- evictions -------------------------------------------------------------------------------

    def _gone(self, now: float, pod: PodSeen) -> None:
        known = self._pods.get(pod.name)
        if known is None or known.seen.uid != pod.uid:
            return
        if not known.seen.is_leaving:
            self._left(now, known.seen)
        del self._pods[pod.name]
        self._devices.drop(pod.name)

    def _left(self, now: float, pod: PodSeen) -> None:
        if (pod.node or self._pods[pod.name].bound_to) and not pod.is_over and self._plans:
            if not self._is_mine(pod):
                return
            plans = tuple(plan for _, plan in self._plans)
            self._leaving.append(_Leaving(pod, now, plans))

    def _is_victim(self, left: _Leaving) -> bool:
        """KAI stamps the groups of its victims, except stale gangs, and groups that are deleted
        with their pod before the stamp: such a pod counts as a victim if a plan evicts it too."""
        stamped = self._evicted.get(left.pod.group, float("-inf"))
        if left.pod.is_victim or abs(stamped - left.at) <= EVICTION_SHOWS_S:
            return True
        plan = left.evicting()
        if plan is None:
            return False
        return plan.chosen[left.pod.name].action == STALE or left.pod.group not in self._pools

    def _was_evicted(self, left: _Leaving) -> None:
        pod, last, found = left.pod, left.plans[-1], left.evicting()
        outcome: Outcome = "same"
        cause: Cause = "earlier_state" if found is not None and found is not last else ""
        if found is None:
            victims = [name for name, each in last.chosen.items() if each.kind == "evict"]
            outcome = "other_victim" if victims else "extra"
            cause = "alike" if any(self._are_alike(pod, name) for name in victims) else ""
        plan = found or last
        compared = Compared(
            *(left.at, plan.cycle, "evict", pod.name, pod.group, outcome),
            *(in_words(plan.chosen.get(pod.name)), "evict", cause),
        )
        self._cases.append(Case(compared, plan))

    # ---- what does not happen --------------------------------------------------------------------

    def _miss(self, now: float, subject: Subject, pod: str, decision: _Decision) -> None:
        tracked = self._pods.get(pod)
        if tracked is None or decision.is_reported or now - decision.since < self._patience:
            return
        decision.is_reported = True
        serial, plan = self._plans[-1]
        compared = Compared(
            *(now, plan.cycle, subject, pod, self._group_of(pod), "missed"),
            *(in_words(plan.chosen.get(pod)), "nothing"),
        )
        self._cases.append(Case(compared, plan, serial))


def agrees(
    chosen: Mapping[str, Chosen],
    serial: int,
    pod: str,
    node: str,
    groups: frozenset[str],
    devices: Devices,
) -> bool:
    """Whether the plan of that number binds the pod there."""
    ours = chosen.get(pod)
    return (
        ours is not None
        and ours.kind == "bind"
        and ours.node == node
        and devices.are_same(pod, groups, chosen, serial)
    )


def in_words(chosen: Chosen | None) -> str:
    if chosen is None:
        return "wait"
    if chosen.kind == "evict":
        return f"evict ({chosen.action})"
    return f"{'bind to' if chosen.kind == 'bind' else 'wait for room on'} {chosen.node}"
