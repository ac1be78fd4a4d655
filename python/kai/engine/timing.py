"""The time of a plan by phase, and a trace for a viewer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kai.engine.frozen import Frozen

if TYPE_CHECKING:
    from kai import _core

_DONE = {"bind": "bound", "pipeline": "pipelined", "evict": "evicted"}


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a plan: its start, its duration and its counters. Milliseconds.

    `counters` of an action: pods `evicted`; searches that a budget ended (`spent_searches`) and the
    sets of pods that these tried (`scenarios`). Of the total: pods `bound`, `pipelined` and
    `evicted`, and `score_keys` (`kai.Plan.score_keys`). Counters with value 0 are omitted.

    >>> import kai
    >>> plan = kai.Scheduler().plan(
    ...     kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1)
    ... )
    >>> list(plan.timing)[:4]
    ['load', 'fair_share', 'open', 'allocate']
    >>> plan.timing["total"].counters["bound"]
    1
    """

    start_ms: float
    ms: float
    counters: Mapping[str, int] = dataclasses.field(default_factory=dict, hash=False)


def phases_of(compiled: _core.Plan) -> dict[str, Phase]:
    """By name, in the order in which they ran; `total` comes last."""
    spent: dict[str, Counter[str]] = {}
    for name, scenarios in compiled.spent_searches().items():
        tried = {"spent_searches": 1, "scenarios": max(scenarios, 0)}
        spent.setdefault(name.partition(" ")[0], Counter()).update(tried)
    columns = compiled.decision_columns()
    kinds, by_action = _counted(columns["kind"]), _counted(columns["action"])
    counters = {name: {"evicted": evicted} for name, evicted in by_action.items()}
    for action, counts in spent.items():
        counters[action] = {**counters.get(action, {}), **counts}
    counters["total"] = {_DONE[kind]: number for kind, number in kinds.items()}
    counters["total"]["score_keys"] = compiled.score_keys()
    phases, start_ms = {}, 0.0
    for name, ns in compiled.timing_ns().items():
        if name == "total":
            start_ms = 0.0
        counted = {what: number for what, number in counters.get(name, {}).items() if number}
        phases[name] = Phase(start_ms, ns / 1e6, Frozen(counted))
        start_ms += ns / 1e6
    return phases


def _counted(column: tuple[bytes, list[str]]) -> dict[str, int]:
    """The number of occurrences of each text in a column."""
    codes, texts = column
    numbers = Counter(memoryview(codes).cast("i"))
    return {text: numbers[code] for code, text in enumerate(texts)}


def trace_of(plans: Iterable[tuple[str | None, Mapping[str, Phase]]]) -> dict[str, Any]:
    """Plans by their input and phases, one after the other, in the trace format of Perfetto and
    Chrome.

    Each plan has its own track; counters are the arguments of an event. Times in microseconds.
    """
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "kai plan"}}
    ]
    start_us = 0.0
    for track, (source, timing) in enumerate(plans, start=1):
        name = source or f"plan {track}"
        place = {"pid": 1, "tid": track}
        events.append({"ph": "M", "name": "thread_name", **place, "args": {"name": name}})
        # The whole comes first: viewers draw shorter events with the same start inside it.
        for stage, phase in reversed([*timing.items()]):
            event = {"ph": "X", "name": "plan" if stage == "total" else stage, "cat": "kai"}
            times = {
                "ts": round(start_us + phase.start_ms * 1e3, 3),
                "dur": round(phase.ms * 1e3, 3),
            }
            events.append({**event, **place, **times, "args": dict(phase.counters)})
        start_us += timing["total"].ms * 1e3
    return {"displayTimeUnit": "ms", "traceEvents": events}
