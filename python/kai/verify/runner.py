"""Runs cases through the engine and returns the result of each.

``verify`` yields one ``Result`` per case. Each has one of these verdicts:

``agree``      judged: the decisions are those of KAI (in default mode: or switches explain them)
``differ``     judged: the decisions are different
``reported``   not judged: KAI contradicts itself here, or its answer varies
``not_built``  needs a feature that kai does not have yet
``invalid``    not judged, but the plan breaks a rule that every plan must keep
``crashed``    the engine raised an exception
``known``      breaks a rule for a reason that is known (`kai.verify.known`)
``broken``     its file cannot be read

The content of a case decides whether it is judged: ``notes`` and ``varies`` make a recorded case a
reported one. The plan lists the features that are not built. One name is an exception,
`REPORTED_ONLY`.

If a case differs, it is run again with each switch turned off, one at a time, and then with several
(`kai.verify.switches`). A difference is explained by one switch, or by several if it is known why
all of them are needed. Any other difference is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kai.errors import InvalidInputError
from kai.sim.world import step
from kai.verify.cases import Case
from kai.verify.compare import (
    Difference,
    compare_decisions,
    compare_devices,
    compare_messages,
    compare_queues,
)
from kai.verify.evictions import SEARCHES
from kai.verify.expect import check_bounds, check_state, state_after, state_of
from kai.verify.known import why_known
from kai.verify.objects import Json, World, read_world
from kai.verify.outcome import NUMBERS, Outcome, from_plan, from_record
from kai.verify.scenario import Scenario, check_scenario
from kai.verify.switches import fewest, why_together
from kai.verify.validate import check_decisions, validate

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster

__all__ = ["Engine", "Planner", "Result", "Switched", "Verdict", "verify"]

Verdict = Literal[
    "agree", "differ", "reported", "not_built", "invalid", "crashed", "known", "broken"
]

NOW = "2026-01-01T12:00:00Z"  # for a case without a time: its timestamps are years earlier
# Only messages of allocate are compared. In KAI, errors of the simulations of other actions
# accumulate in a message that begins with this text (spec 2 W13).
PILE = "Unable to schedule podgroup"
REPORTED_ONLY = {"bench-019"}  # KAI may have run out of time (see the notes of the cases)
OBJECTS = "rawObjects"  # of a snapshot
OBSERVED_QUEUES = ("fair_share", "allocated", "request")  # 0 if not recorded


class Planner(Protocol):
    """Runs one cycle: makes a plan from a snapshot.

    ``as_kai`` is an optional attribute: the planner decides as KAI does, even against our rules.
    """

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> Any: ...


@dataclass(frozen=True)
class Result:
    """The result of one case."""

    case: Case
    verdict: Verdict
    differences: tuple[Difference, ...] = ()
    needs: tuple[str, ...] = ()  # the features that are not built
    queue_differences: tuple[Difference, ...] | None = None  # None: no numbers were recorded
    numbers_judged: bool = True  # true also if features are not built
    observed: bool | None = None  # also what KAI did? None: not compared
    alternative: bool | None = None  # reported cases: did a run of KAI decide the same?
    switches: tuple[str, ...] = ()  # the fewest that explain the difference
    why: tuple[str, ...] = ()  # why several switches are needed, or why the case is known

    @property
    def judged(self) -> bool:
        return self.verdict in ("agree", "differ")

    @property
    def failed(self) -> bool:
        """Whether this result makes the whole run fail."""
        if self.verdict in ("differ", "invalid", "crashed", "broken"):
            return True
        return self.numbers_judged and bool(self.queue_differences)


class Engine:
    """The planner of kai, in one of its two modes."""

    def __init__(self, *, as_kai: bool = False) -> None:
        import kai

        self._scheduler = kai.Scheduler(as_kai=as_kai)
        self._from_snapshot = kai.Cluster.from_snapshot
        self.as_kai = as_kai

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> Any:
        return self.plan(_text(snapshot).encode(), now=now)

    def plan(self, snapshot: bytes, *, now: str) -> Any:
        return self._scheduler.plan(self._from_snapshot(snapshot), now=now)

    def switches(self) -> list[str]:
        """The switches that can be turned off; none in ``as_kai`` mode, where all are off."""
        from kai import _core

        names: Callable[[], Iterable[str]] | None = getattr(_core, "compat_switches", None)
        return [] if self.as_kai or names is None else sorted(names())


class SameObjects:
    """Plans one cluster with many configurations: its objects, which must not change meanwhile, are
    written as JSON once, and read once for the checks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._objects: Any = None
        self._written = ""
        self._world: World | None = None
        self._now = ""
        self.as_kai = engine.as_kai

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> Any:
        if snapshot[OBJECTS] is not self._objects:
            self._objects = snapshot[OBJECTS]
            self._written = _text({OBJECTS: self._objects})
        others = _text({key: value for key, value in snapshot.items() if key != OBJECTS})
        between = "" if others == "{}" else ","
        text = f"{others[:-1]}{between}{self._written[1:]}"
        return self._engine.plan(text.encode(), now=now)

    def world(self, snapshot: Mapping[str, Any], *, now: str) -> World:
        if self._world is None or self._world.snapshot is not snapshot or self._now != now:
            self._world, self._now = read_world(snapshot, now=now), now
        return self._world


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def verify(
    cases: Iterable[Case], planner: Planner, *, switches: Sequence[str] = ()
) -> Iterator[Result]:
    """Runs the cases one after the other."""
    for case in cases:
        yield run(case, planner, switches=switches)


def run(case: Case, planner: Planner, *, switches: Sequence[str] = ()) -> Result:
    """Runs one case; if it differs, runs it again with switches turned off."""
    result = _run_once(case, planner)
    if result.verdict == "invalid" and _is_as_kai(planner):
        reason = why_known(f"{case.area}/{case.id}", result.differences)
        return replace(result, verdict="known", why=(reason,)) if reason else result
    if result.verdict != "differ":
        return result

    again_and_again = SameObjects(planner) if isinstance(planner, Engine) else planner

    def without(*chosen: str) -> Result:
        return _run_once(case, Switched(again_and_again, chosen))

    near = []
    for switch in switches:
        again = without(switch)
        if again.verdict == "agree":
            return replace(again, switches=(switch,))
        if again.differences != result.differences:
            near.append(switch)
    needed = fewest(switches, lambda chosen: without(*chosen).verdict == "agree", near=near)
    why = why_together(needed)
    return replace(without(*needed) if why else result, switches=needed, why=why)


def _run_once(case: Case, planner: Planner) -> Result:
    runners: dict[str, Callable[[Case, Any, Planner], Result]] = {
        "case": _run_case,
        "random": _run_random,
        "large": _run_large,
        "scenario": _run_scenario,
    }
    try:
        data = (case.data, case.data.build()) if case.kind == "scenario" else case.data
    except InvalidInputError as error:
        return Result(case, "broken", (Difference("file", case.id, str(error)),))
    try:
        return runners[case.kind](case, data, planner)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Result(case, "crashed", (Difference("crash", case.id, text),))


@dataclass(frozen=True)
class Switched:
    """A planner with some switches turned off; it may break the rules that KAI breaks."""

    planner: Planner
    switches: tuple[str, ...]
    as_kai: bool = True

    def __call__(self, snapshot: Mapping[str, Any], *, now: str) -> Any:
        config = dict(snapshot.get("config") or {})
        config["compat"] = {**(config.get("compat") or {}), **dict.fromkeys(self.switches, "kai")}
        return self.planner({**snapshot, "config": config}, now=now)


def _is_as_kai(planner: Planner) -> bool:
    return bool(getattr(planner, "as_kai", False))


# --- random and large: what KAI did ------------------------------------------------------------


def _run_random(case: Case, data: Json, planner: Planner) -> Result:
    snapshot, now = data["snapshot"], data.get("now") or NOW
    plan = planner(snapshot, now=now)
    ours, theirs = from_plan(plan), from_record(data["expect"])
    differences = _compare(snapshot, ours, theirs, now=now, messages=True)
    queues = tuple(compare_queues(ours.queues, theirs.queues, absent_is_zero=()))
    reported = bool(data.get("notes") or data.get("varies"))
    needs = ours.not_built
    if needs:
        result = _unjudged(case, snapshot, plan, now, needs, queues, theirs, planner)
        return replace(result, numbers_judged=not reported)
    if reported:
        seen = [theirs, *(from_record(other) for other in data.get("alternatives") or [])]
        found = any(not _compare(snapshot, ours, other, now=now, messages=False) for other in seen)
        result = _unjudged(case, snapshot, plan, now, (), queues, theirs, planner)
        return replace(result, alternative=found, numbers_judged=False)
    contradictions = _contradictions(snapshot, plan, now, planner=planner)
    return _judged(case, [*contradictions, *differences], queues)


def _run_large(case: Case, data: Json, planner: Planner) -> Result:
    snapshot, now = data["snapshot"], data.get("now") or NOW
    plan = planner(snapshot, now=now)
    ours, theirs = from_plan(plan), from_record(data["observed"])
    differences = _compare(snapshot, ours, theirs, now=now, messages=False)
    needs = ours.not_built
    if needs:
        return _unjudged(case, snapshot, plan, now, needs, None, theirs, planner)
    if case.id in REPORTED_ONLY:
        result = _unjudged(case, snapshot, plan, now, (), None, theirs, planner)
        return replace(result, alternative=not differences)
    contradictions = _contradictions(snapshot, plan, now, planner=planner)
    return _judged(case, [*contradictions, *differences], None)


def _contradictions(
    snapshot: Json, plan: Any, now: str, *, planner: Planner
) -> Iterator[Difference]:
    """The decisions in an invalid order; the comparison cannot find them: records have no order."""
    same = planner.planner if isinstance(planner, Switched) else planner
    read = same.world if isinstance(same, SameObjects) else read_world
    world = read(snapshot, now=now)
    for violation in check_decisions(world, plan, as_kai=_is_as_kai(planner)):
        yield Difference(violation.rule, violation.about, violation.text)


def _compare(
    snapshot: Json, ours: Outcome, theirs: Outcome, *, now: str, messages: bool
) -> list[Difference]:
    differences = compare_decisions(ours, theirs)
    shared = [*ours.bind.values(), *ours.pipeline.values()]
    shared += [*theirs.bind.values(), *theirs.pipeline.values()]
    if any(placement.gpu_groups for placement in shared):
        differences += compare_devices(ours, theirs, read_world(snapshot, now=now))
    actions = actions_of(snapshot)
    if messages and "allocate" in actions:
        quiet = actions.isdisjoint(SEARCHES)
        differences += compare_messages(
            ours, theirs, judged=lambda group, text: quiet or not text.startswith(PILE)
        )
    return differences


def actions_of(snapshot: Mapping[str, Any]) -> set[str]:
    """The actions that a snapshot configures; all of them if it configures none (spec 2 C6)."""
    named = (snapshot.get("config") or {}).get("actions")
    default = "allocate, consolidation, reclaim, preempt, stalegangeviction"
    return {name.strip() for name in (named or default).split(",") if name.strip()}


def _judged(
    case: Case,
    differences: Sequence[Difference],
    queues: tuple[Difference, ...] | None,
    *,
    observed: bool | None = None,
) -> Result:
    return Result(
        case,
        "differ" if differences else "agree",
        tuple(differences),
        queue_differences=queues,
        observed=observed,
    )


def _unjudged(
    case: Case,
    snapshot: Json,
    plan: Any,
    now: str,
    needs: tuple[str, ...],
    queues: tuple[Difference, ...] | None,
    theirs: Outcome | None,
    planner: Planner,
) -> Result:
    """The result of a case that is not judged; its plan must still be possible to carry out.

    In as-kai mode, a plan may break a rule that the decisions of KAI break in the same place.
    """
    as_kai = _is_as_kai(planner)
    found = validate(snapshot, plan, now=now, as_kai=as_kai)
    broken = {(v.rule, v.about): v for v in found}
    if broken and theirs is not None and as_kai:
        recorded = _as_plan(theirs, snapshot)
        for violation in validate(snapshot, recorded, now=now, as_kai=as_kai):
            broken.pop((violation.rule, violation.about), None)
    differences = tuple(Difference(v.rule, v.about, v.text) for v in broken.values())
    verdict: Verdict = "invalid" if broken else "not_built" if needs else "reported"
    return Result(case, verdict, differences, needs=needs, queue_differences=queues)


@dataclass(frozen=True)
class _RecordedDecision:
    kind: str
    pod: str
    node: str = ""
    gpu_groups: tuple[str, ...] = ()
    action: str = ""
    for_group: str | None = None


@dataclass(frozen=True)
class _RecordedPlan:
    decisions: Sequence[_RecordedDecision] = field(default_factory=tuple)


def _as_plan(outcome: Outcome, snapshot: Json) -> _RecordedPlan:
    """The decisions of KAI as a plan. The record has no order, so evictions come first, except
    those of pods that had no node: they can only be evicted after they are placed."""
    placed = [
        _RecordedDecision(kind, pod, placement.node, placement.gpu_groups)
        for kind, side in (("bind", outcome.bind), ("pipeline", outcome.pipeline))
        for pod, placement in side.items()
    ]
    waiting = {pod.key for pod in read_world(snapshot).pods.values() if not pod.node}
    evicted = [
        _RecordedDecision("evict", pod, action=taken.action, for_group=taken.preemptor)
        for pod, taken in outcome.evict.items()
    ]
    first = [decision for decision in evicted if decision.pod not in waiting]
    last = [decision for decision in evicted if decision.pod in waiting]
    return _RecordedPlan([*first, *placed, *last])


# --- cases: what must hold -----------------------------------------------------------------------


def _run_case(case: Case, data: Json, planner: Planner) -> Result:
    if data["expect"]["kind"] == "eventually":
        return _run_rounds(case, data, planner)
    snapshot, now = data["snapshot"], data.get("now") or NOW
    plan = planner(snapshot, now=now)
    state = state_after(snapshot, plan, now=now)
    observed = from_record(data.get("observed") or {})
    queues = _observed_queues(state.outcome, observed)
    needs = state.outcome.not_built
    if needs:
        return _unjudged(case, snapshot, plan, now, needs, queues, observed, planner)
    differences = [
        *_contradictions(snapshot, plan, now, planner=planner),
        *check_state(state, data["expect"]),
        *check_bounds(state.outcome, data["expect"]),
    ]
    same = not _compare(snapshot, state.outcome, observed, now=now, messages=False)
    return _judged(case, differences, queues, observed=same)


def _observed_queues(ours: Outcome, observed: Outcome) -> tuple[Difference, ...] | None:
    """Compares the numbers at the start of the first cycle. The record leaves out zeros."""
    if not observed.queues:
        return None
    recorded = {n for q in observed.queues.values() for r in q.values() for n in r}
    absent = tuple(n for n in NUMBERS if n in OBSERVED_QUEUES or n in recorded)
    return tuple(compare_queues(ours.queues, observed.queues, absent_is_zero=absent))


def _run_rounds(case: Case, data: Json, planner: Planner) -> Result:
    """Runs several cycles; the cluster reacts after each of them (``kind: eventually``)."""
    expect, now = data["expect"], data.get("now") or NOW
    until, after = data["rounds"]["until"], data["rounds"]["after"]
    records = (data.get("observed") or {}).get("rounds") or []
    world = data["snapshot"]
    queues: tuple[Difference, ...] | None = None
    differences: list[Difference] = []
    same = True
    for number in range(until + after):
        plan = planner(world, now=now)
        state = state_after(world, plan, now=now)
        record = from_record(records[number] if number < len(records) else {})
        if number == 0:
            queues = _observed_queues(state.outcome, from_record(data.get("observed") or {}))
        needs = state.outcome.not_built
        if needs:
            return _unjudged(case, world, plan, now, needs, queues, record, planner)
        differences += _in_round(number, _contradictions(world, plan, now, planner=planner))
        differences += _in_round(number, check_bounds(state.outcome, expect))
        if number >= until:
            differences += _in_round(number, check_state(state, expect))
        same = same and not _compare(world, state.outcome, record, now=now, messages=False)
        world = step(world, plan, now=now, delete_on_evict=data.get("deleteOnEvict") or ())
        if number == until - 1:
            differences += _in_round(number, check_state(state_of(world, now=now), expect))
        if differences:
            break
    return _judged(case, differences, queues, observed=same and not differences)


def _in_round(number: int, differences: Iterable[Difference]) -> list[Difference]:
    return [
        Difference(d.what, d.about, f"{d.text} (after cycle {number + 1})") for d in differences
    ]


# --- scenarios -----------------------------------------------------------------------------------


def _run_scenario(case: Case, data: tuple[Scenario, Cluster], planner: Planner) -> Result:
    scenario, cluster = data
    snapshot, now = cluster.to_snapshot(), scenario.now
    for remaining in reversed(range(scenario.cycles)):
        plan = planner(snapshot, now=now)
        outcome = from_plan(plan)
        needs = outcome.not_built
        if needs:
            return _unjudged(case, snapshot, plan, now, needs, None, None, planner)
        broken = validate(snapshot, plan, now=now, as_kai=_is_as_kai(planner))
        differences = [Difference(v.rule, v.about, v.text) for v in broken]
        if remaining == 0:
            differences += check_scenario(scenario, plan, outcome)
        if differences:
            return _judged(case, differences, None)
        snapshot = step(snapshot, plan, now=now)
    return _judged(case, (), None)
