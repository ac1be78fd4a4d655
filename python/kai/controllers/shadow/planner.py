"""The planning thread of a shadow: plans before another scheduler decides, and compares.

    planner = ShadowPlanner(options, patience=10.0)
    reading = Reading(client, planner.feed, options, changed, also=planner.sinks())
    turn = planner.turn(Inputs(now_ns=now_ns))       # on the one worker thread
    found = [planner.explained(case) for case in turn.cases]        # on any other thread

It does no I/O and creates no writes: a plan is compared and dropped. Each plan is made from the
cluster's state alone. Promises of a plan are dropped too, because the other scheduler does not know
them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kai.controllers.grouper import Decided
from kai.controllers.planning.core import Core, make_core, not_used
from kai.controllers.planning.kinds import needed_by
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs
from kai.controllers.shadow import (
    PATIENCE_S,
    Case,
    Chosen,
    Compared,
    Comparison,
    GroupSeen,
    Planned,
    PodSeen,
    RequestSeen,
    explained,
)
from kai.controllers.shadow.late import LatePods
from kai.engine import config as configuration
from kai.engine.decisions import Decisions
from kai.engine.outlines import Outline
from kai.engine.values import Bind, Decision, Evict
from kai.k8s.sinks import DictSink, Sink

if TYPE_CHECKING:
    from kai import _core

PROMISES = "promises"
"""The switch for promises; it is set to "kai" in all plans of a shadow."""
Seen = PodSeen | RequestSeen | GroupSeen


@dataclass(slots=True)
class ShadowTurn:
    """The result of one turn. `cases`: decisions that were compared. `bound`, `evicted`: how many
    pods the last plan would bind and evict. `wake_ns`: the time of the next turn if nothing else
    happens."""

    planned: bool = False
    cycle: int = 0
    synced: frozenset[str] = frozenset()
    grouped: Decided = field(default_factory=Decided)
    cases: list[Case] = field(default_factory=list)
    bound: int = 0
    evicted: int = 0
    took_ms: float = 0.0
    wake_ns: int | None = None


class ShadowPlanner:
    """`turn` is for one thread, the sinks for another; `explained` is for any.

    `needed`: kinds that are watched, and that must be listed before the first plan. `patience`: a
    decision that the other scheduler does not take within these seconds counts as missed.
    """

    def __init__(self, options: PlanningOptions, *, patience: float = PATIENCE_S) -> None:
        self._config = _Configs(options)
        self.needed = needed_by(("scheduler",), not_used(options))
        core = make_core(options)
        session = type(core.session)(self._config.of(()))
        self._core = Core(core.cluster, core.feed, session)
        self._grouping: Planner | None = None
        if options.has("pod-grouper"):
            grouping = options.for_roles("pod-grouper")
            self._grouping = Planner(self._core, grouping, only_new=True)
        self._comparison = Comparison(patience=patience, pool=options.node_pool)
        self._scheduler_name, self._pool_key = options.scheduler_name, options.node_pool_key
        self._late = LatePods()
        self._seen: list[tuple[Seen | None, Seen | None]] = []
        self._lock = threading.Lock()
        self._wake_ns: int | None = 0
        self._cycle = 0

    @property
    def feed(self) -> _core.Feed:
        return self._core.feed

    def sinks(self) -> dict[str, list[Sink]]:
        """They must get everything that the feed gets, and before it."""
        name, key = self._scheduler_name, self._pool_key
        return {
            "Pod": [self._sink(lambda each: self._pod_seen(each, name, key))],
            "BindRequest": [self._sink(self._request_seen)],
            "PodGroup": [self._sink(lambda each: GroupSeen.of(each, key))],
        }

    def _pod_seen(self, pod: Mapping[str, Any], name: str, key: str) -> PodSeen | None:
        seen = PodSeen.of(pod, name, key)
        if seen is not None and not (seen.is_over or seen.is_leaving):
            self._late.saw("Pod", pod)
        return seen

    def _request_seen(self, request: Mapping[str, Any]) -> RequestSeen:
        self._late.saw("BindRequest", request)
        return RequestSeen.of(request)

    def _sink(self, keep: Any) -> DictSink:
        return DictSink(self._saw, keep=keep)

    def _saw(self, kind: str, before: Any, after: Any) -> None:
        del kind
        with self._lock:
            self._seen.append((before, after))

    # ---- turns -----------------------------------------------------------------------------------

    def turn(self, inputs: Inputs) -> ShadowTurn:
        now, turn = inputs.now_s, ShadowTurn()
        from_ns, until_ns = inputs.trusted_ns
        self._core.session.trust(self._core.cluster, from_ns=from_ns, until_ns=until_ns)
        self._compare(now)
        if inputs.usage is not None:
            self._core.cluster.set_usage(inputs.usage)
        if self._grouping is not None:
            done = self._grouping.turn(inputs)
            turn.grouped, turn.synced = done.grouped, done.synced
            for each in turn.grouped.assignments:
                namespace = each.pod.partition("/")[0]
                self._comparison.assigned(each.pod, f"{namespace}/{each.group}")
        else:
            turn.synced = frozenset(self._core.feed.drain().synced)
        if turn.synced >= self.needed:
            self._plan(turn, inputs)
        self._comparison.tick(now)
        turn.cases = self._with_late_ones(self._comparison.take(), turn, inputs)
        turn.wake_ns = self._next_wake(inputs)
        return turn

    def _compare(self, now: float) -> None:
        with self._lock:
            seen, self._seen = self._seen, []
        for before, after in seen:
            found: Any = (before, after)
            kind = type(before if after is None else after)
            if kind is PodSeen:
                self._comparison.pod(now, *found)
            elif kind is RequestSeen:
                self._comparison.request(now, *found)
            elif kind is GroupSeen:
                self._comparison.group(now, *found)

    def _plan(self, turn: ShadowTurn, inputs: Inputs) -> None:
        cluster, _, session = self._core
        reached_ns = min(inputs.now_ns, inputs.trusted_ns[1])
        is_time = self._wake_ns is not None and reached_ns >= self._wake_ns
        if not session.has_changed(cluster) and not is_time:
            return
        plan = session.plan(cluster, now_ns=inputs.now_ns)
        self._cycle += 1
        turn.planned, turn.cycle = True, self._cycle
        turn.took_ms = plan.timing_ns().get("total", 0) / 1e6
        planned = self._planned(plan, inputs.now_s)
        kinds = [each.kind for each in planned.chosen.values()]
        turn.bound, turn.evicted = kinds.count("bind"), kinds.count("evict")
        self._comparison.planned(planned)
        wake = session.next_wake(cluster)
        self._wake_ns = None if wake is None else wake[0]

    def _with_late_ones(
        self, cases: Sequence[Case], turn: ShadowTurn, inputs: Inputs
    ) -> list[Case]:
        """Compares bindings of pods that no plan had as waiting, as soon as that is possible."""
        now, late = inputs.now_s, self._late
        found = []
        for each in cases:
            if each.compared.outcome == "not_compared" and turn.synced >= self.needed:
                late.add(now, each)
            else:
                found.append(each)
        ready, over = late.take(now, self._comparison.is_grouped)
        if ready:
            with late.waiting(self._core.cluster, ready):
                plan = self._core.session.plan(self._core.cluster, now_ns=inputs.now_ns)
                planned = self._planned(plan, now)
                groups = plan.names()[0]
            for each in ready:
                pod = each.compared.pod
                is_planned = pod in groups or pod in planned.left_out
                found.append(self._comparison.compared_late(each, planned) if is_planned else each)
        return found + over

    def _planned(self, plan: _core.Plan, now: float) -> Planned:
        again = _Again(plan, self._config)
        left_out = {name: message for _, name, _, message in plan.rejected}
        chosen = _chosen(Decisions(plan))
        return Planned(self._cycle, now, chosen, again, left_out, again.reason)

    def _next_wake(self, inputs: Inputs) -> int | None:
        moments = (self._comparison.next_tick(), self._late.next())
        times = [int(each * 1e9) + inputs.shift_ns for each in moments if each is not None]
        if self._wake_ns is not None and self._wake_ns <= inputs.trusted_ns[1]:
            times.append(self._wake_ns)
        return min(times, default=None)

    # ---- causes ----------------------------------------------------------------------------------

    def explained(self, case: Case) -> Compared:
        """The comparison with the cause of a difference. May take as long as a plan for each
        switch."""
        return explained(case, self._config.switches)


class _Configs:
    """The configuration with given switches turned off, by their names."""

    def __init__(self, options: PlanningOptions) -> None:
        from kai import _core

        text = "" if options.config is None else configuration.config_json(options.config)
        self._in_force = configuration.in_force(text, as_kai=options.as_kai)
        compat = self._in_force["compat"]
        self.switches = tuple(
            name
            for name in _core.compat_switches()
            if compat.get(name) != "kai" and name != PROMISES
        )
        self.of = lru_cache(maxsize=64)(self._of)

    def _of(self, switches: tuple[str, ...]) -> _core.Config:
        compat = {**self._in_force["compat"], **dict.fromkeys((PROMISES, *switches), "kai")}
        config: _core.Config = configuration.read(json.dumps({**self._in_force, "compat": compat}))
        return config


class _Again:
    """`kai.controllers.shadow.Again` of a compiled plan."""

    def __init__(self, plan: _core.Plan, configs: _Configs) -> None:
        self._plan, self._configs = plan, configs
        # Shared by all differences of one plan
        self._made: dict[Any, Mapping[str, Chosen] | None] = {}

    def __call__(
        self, *, switches: Sequence[str] = (), new_names: tuple[str, str] | None = None
    ) -> Mapping[str, Chosen] | None:
        key = (tuple(switches), new_names)
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def _make(
        self, switches: tuple[str, ...], new_names: tuple[str, str] | None
    ) -> Mapping[str, Chosen] | None:
        config = self._configs.of(switches) if switches else None
        plan = self._plan.with_change(config=config, new_names=new_names)
        return None if plan is None else _chosen(Decisions(plan))

    def reason(self, pod: str) -> str:
        """The code of the reason why the pod's group waits, or ""."""
        plan = self._plan.with_change()
        group = None if plan is None else plan.names()[0].get(pod)
        if plan is None or group is None:
            return ""
        found = (Outline._make(row) for row in plan.outlines([group]))
        return next((each.reason for each in found if each.name == group), "")


def _chosen(decisions: Sequence[Decision]) -> dict[str, Chosen]:
    """By pod. A victim that is promised another place counts as evicted."""
    found: dict[str, Chosen] = {}
    for each in decisions:
        if isinstance(each, Evict):
            found[each.pod] = Chosen("evict", action=each.action, for_group=each.for_group or "")
        elif each.pod not in found:
            kind = "bind" if isinstance(each, Bind) else "pipeline"
            found[each.pod] = Chosen(kind, each.node, frozenset(each.gpu_groups))  # type: ignore[arg-type]
    return found
