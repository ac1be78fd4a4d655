"""How long loading and planning take: the measurements of ``kai bench``.

Times are of one thread: `load_ms` from bytes to a checked cluster, `plan_ms` a first plan. Each is
the engine's own measurement, or the thread's CPU time if that is less, as on a machine with other
work. The smallest of several loads counts, because every disturbance only makes a measurement
longer.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kai.engine.cluster import Cluster
from kai.engine.scheduler import Scheduler
from kai.sim.workloads import BARS_MS, KAI_MS, NOW, Workload

Result = TypeVar("Result")

FURTHER_PLANS = 20
_WARM_UP = 3
_PAGES = 3
_DECISION_BYTES = 64
_COPIED_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of one workload; times in milliseconds. None: not measured."""

    name: str
    about: str
    nodes: int
    pods: int
    pod_groups: int
    queues: int
    megabytes: float
    decided: dict[str, int]  # by kind, of the first plan
    loads: int
    load_ms: float
    plan_ms: float
    plan_cpu_ms: float  # the same call seen from Python: CPU time of its thread
    python_ms: float  # from bytes to `list(plan.decisions)`: CPU time
    page_ms: float  # from a plan to its page as text: CPU time
    # Of the first waiting group, CPU time: its explanation, and its first fix and all of them with
    # the plans that they needed. None: no group waits.
    why_ms: float | None
    first_fix_ms: float | None
    fixes_ms: float | None
    fix_plans: int | None
    stages_ms: dict[str, float]  # of the fastest first plan; they add up to `plan_ms`
    # A lower bound for any program on this machine: reading the bytes once, and writing a cache
    # line of memory for each decision.
    load_floor_ms: float
    plan_floor_ms: float
    events: int | None = None  # before each further plan
    further_ms: float | None = None  # applying the events, and a plan
    further_cpu_ms: float | None = None
    bar_ms: float | None = None
    beyond_ms: float | None = None
    kai_ms: float | None = None

    @property
    def objects(self) -> int:
        return self.nodes + self.pods + self.pod_groups + self.queues


def measure(workload: Workload, loads: int = 5) -> Measured:
    """Loads and plans a workload this often, and plans it again after events if it has any."""
    data = workload.snapshot()
    scheduler = Scheduler()
    load_ms: list[float] = []
    plan_ms: list[float] = []
    cpu_ms: list[float] = []
    python_ms: list[float] = []
    stages: dict[str, float] = {}
    cluster, plan = Cluster(), None
    for _ in range(loads):
        cluster, plan = Cluster(), None  # frees the previous one first
        gc.collect()
        began_ns = time.thread_time_ns()
        cluster = Cluster.from_snapshot(data, name=workload.name)
        loaded_ns = time.thread_time_ns()
        plan = scheduler.plan(cluster, now=NOW)
        planned_ns = time.thread_time_ns()
        kinds = Counter(decision.kind for decision in list(plan.decisions))
        python_ms.append((time.thread_time_ns() - began_ns) / 1e6)
        cpu_ms.append((planned_ns - loaded_ns) / 1e6)
        load_ms.append(min(plan.timing_ms["load"], (loaded_ns - began_ns) / 1e6))
        plan_ms.append(min(_plan_ms(plan.timing_ms), cpu_ms[-1]))
        if plan_ms[-1] == min(plan_ms):
            stages = _stages_ms(plan.timing_ms, plan_ms[-1])
    counts = cluster.counts
    plan = None
    page_ms = min(_page_ms(cluster, scheduler) for _ in range(_PAGES))
    answers = _answers(cluster, scheduler)
    further_ms, further_cpu_ms = _further(workload, cluster, scheduler)
    bar_ms, beyond_ms = BARS_MS.get(workload.name, (None, None))
    byte_ms = _copy_ms() / _COPIED_BYTES
    return Measured(
        name=workload.name,
        about=workload.about,
        nodes=counts["nodes"],
        pods=counts["pods"],
        pod_groups=counts["pod_groups"],
        queues=counts["queues"],
        megabytes=round(len(data) / 1e6, 3),
        decided={kind: kinds[kind] for kind in ("bind", "pipeline", "evict")},
        loads=loads,
        load_ms=min(load_ms),
        plan_ms=min(plan_ms),
        plan_cpu_ms=min(cpu_ms),
        python_ms=min(python_ms),
        page_ms=page_ms,
        **answers,
        stages_ms=stages,
        load_floor_ms=len(data) * byte_ms,
        plan_floor_ms=sum(kinds.values()) * _DECISION_BYTES * byte_ms,
        events=workload.events_per_plan,
        further_ms=further_ms,
        further_cpu_ms=further_cpu_ms,
        bar_ms=bar_ms,
        beyond_ms=beyond_ms,
        kai_ms=KAI_MS.get(workload.name),
    )


def _plan_ms(timing_ms: Mapping[str, float]) -> float:
    return timing_ms["total"] - timing_ms["load"]


def _stages_ms(timing_ms: Mapping[str, float], plan_ms: float) -> dict[str, float]:
    """The share of each phase in `plan_ms`.

    Phases are measured in wall time only. If the plan's CPU time counts, other work on the machine
    used the rest; in which phase that was is unknown, so all phases are scaled by the same factor.
    """
    by_stopwatch_ms = _plan_ms(timing_ms)
    part = plan_ms / by_stopwatch_ms if by_stopwatch_ms > 0 else 1.0
    return {k: ms * part for k, ms in timing_ms.items() if k not in ("load", "total")}


def _page_ms(cluster: Cluster, scheduler: Scheduler) -> float:
    plan = scheduler.plan(cluster, now=NOW)  # keeps what it has read
    began_ns = time.thread_time_ns()
    str(plan)
    return (time.thread_time_ns() - began_ns) / 1e6


def _answers(cluster: Cluster, scheduler: Scheduler) -> dict[str, Any]:
    """The members of `Measured` about explanations and fixes."""
    found: dict[str, Any] = dict.fromkeys(("why_ms", "first_fix_ms", "fixes_ms", "fix_plans"))
    plan = scheduler.plan(cluster, now=NOW)
    waiting = [names[0] for names, _ in plan.situation.waiting]
    if waiting:
        _, found["why_ms"] = _timed(lambda: plan.why(waiting[0]))
        _ = cluster.objects  # read once, for whatever changes them
        _, found["first_fix_ms"] = _timed(lambda: plan.fix(waiting[0], most=1))
        fixes, found["fixes_ms"] = _timed(lambda: plan.fix(waiting[0]))
        found["fix_plans"] = fixes.plans
    return found


def _timed(do: Callable[[], Result]) -> tuple[Result, float]:
    began_ns = time.process_time_ns()
    result = do()
    return result, (time.process_time_ns() - began_ns) / 1e6


def _copy_ms() -> float:
    """How long copying memory takes here: reading and writing it once."""
    source, target = bytearray(_COPIED_BYTES), bytearray(_COPIED_BYTES)
    took_ns = []
    for _ in range(5):
        began_ns = time.thread_time_ns()
        target[:] = source
        took_ns.append(time.thread_time_ns() - began_ns)
    return min(took_ns) / 1e6


def _further(
    workload: Workload, cluster: Cluster, scheduler: Scheduler
) -> tuple[float | None, float | None]:
    """The fastest of several plans after events: wall time, and CPU time including Python."""
    if workload.events_per_plan is None:
        return None, None
    cluster.delete("Pod", "none/none")  # from here on the cluster is updated in place
    took: list[tuple[float, float]] = []
    for events in workload.events(_WARM_UP + FURTHER_PLANS):
        began_ns = time.thread_time_ns()
        for each in events:
            cluster.upsert(each)
        upserts_ms = (time.thread_time_ns() - began_ns) / 1e6
        plan = scheduler.plan(cluster, now=NOW)
        cpu_ms = (time.thread_time_ns() - began_ns) / 1e6
        took.append((min(upserts_ms + plan.timing_ms["total"], cpu_ms), cpu_ms))
        del plan
    return min(ms for ms, _ in took[_WARM_UP:]), min(ms for _, ms in took[_WARM_UP:])
