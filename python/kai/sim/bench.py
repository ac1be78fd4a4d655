"""How long loading and planning take: what ``kai bench`` measures.

Times are those of one thread, as the engine's stopwatch has them: `load_ms` from bytes to a checked
cluster, `plan_ms` a first plan; the smallest of so many loads, because everything that disturbs a
measurement makes it longer.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from dataclasses import dataclass

from kai.engine.cluster import Cluster
from kai.engine.plan import Plan
from kai.engine.scheduler import Scheduler
from kai.sim.workloads import BARS_MS, KAI_MS, NOW, Workload

FURTHER_PLANS = 20
_WARM_UP = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One workload; times in milliseconds. None: there is no such figure."""

    name: str
    about: str
    nodes: int
    pods: int
    pod_groups: int
    megabytes: float
    decided: dict[str, int]  # by kind, of the first plan
    loads: int
    load_ms: float
    plan_ms: float
    plan_cpu_ms: float  # the same call seen from Python: CPU time of its thread
    stages_ms: dict[str, float]  # of the fastest first plan
    events: int | None = None  # before each further plan
    further_ms: float | None = None  # taking the events in, and a plan
    further_cpu_ms: float | None = None
    bar_ms: float | None = None
    beyond_ms: float | None = None
    kai_ms: float | None = None


def measure(workload: Workload, loads: int = 5) -> Measured:
    """Loads and plans a workload so many times, and plans it again after events if it has any."""
    data = workload.snapshot()
    scheduler = Scheduler()
    load_ms: list[float] = []
    cpu_ms: list[float] = []
    best: Plan | None = None
    cluster = Cluster()
    for _ in range(loads):
        cluster, plan = Cluster(), None  # the one before goes first
        gc.collect()
        cluster = Cluster.from_snapshot(data, name=workload.name)
        began_ns = time.thread_time_ns()
        plan = scheduler.plan(cluster, now=NOW)
        cpu_ms.append((time.thread_time_ns() - began_ns) / 1e6)
        load_ms.append(plan.timing_ms["load"])
        if best is None or _plan_ms(plan) < _plan_ms(best):
            best = plan
    assert best is not None
    kinds = Counter(decision.kind for decision in best.decisions)
    stages = {name: ms for name, ms in best.timing_ms.items() if name not in ("load", "total")}
    plan_ms, counts = _plan_ms(best), cluster.counts
    best = plan = None
    further_ms, further_cpu_ms = _further(workload, cluster, scheduler)
    bar_ms, beyond_ms = BARS_MS.get(workload.name, (None, None))
    return Measured(
        name=workload.name,
        about=workload.about,
        nodes=counts["nodes"],
        pods=counts["pods"],
        pod_groups=counts["pod_groups"],
        megabytes=round(len(data) / 1e6, 3),
        decided={kind: kinds[kind] for kind in ("bind", "pipeline", "evict")},
        loads=loads,
        load_ms=min(load_ms),
        plan_ms=plan_ms,
        plan_cpu_ms=min(cpu_ms),
        stages_ms=stages,
        events=workload.events_per_plan,
        further_ms=further_ms,
        further_cpu_ms=further_cpu_ms,
        bar_ms=bar_ms,
        beyond_ms=beyond_ms,
        kai_ms=KAI_MS.get(workload.name),
    )


def _plan_ms(plan: Plan) -> float:
    return plan.timing_ms["total"] - plan.timing_ms["load"]


def _further(
    workload: Workload, cluster: Cluster, scheduler: Scheduler
) -> tuple[float | None, float | None]:
    """The fastest of some plans after events: by stopwatch, and CPU time with Python's part."""
    if workload.events_per_plan is None:
        return None, None
    cluster.delete("Pod", "none/none")  # from here on the cluster lives
    took: list[tuple[float, float]] = []
    for events in workload.events(_WARM_UP + FURTHER_PLANS):
        began_ns = time.thread_time_ns()
        for each in events:
            cluster.upsert(each)
        upserts_ms = (time.thread_time_ns() - began_ns) / 1e6
        plan = scheduler.plan(cluster, now=NOW)
        cpu_ms = (time.thread_time_ns() - began_ns) / 1e6
        took.append((upserts_ms + plan.timing_ms["total"], cpu_ms))
        del plan
    return min(ms for ms, _ in took[_WARM_UP:]), min(ms for _, ms in took[_WARM_UP:])
