"""How long loading and planning take, beside KAI's own figures. Information: nothing here fails.

    python tests/bench/bench_plan.py                     # what allocate decides
    python tests/bench/bench_plan.py --searches          # what searches for victims decide
    python tests/bench/bench_plan.py --constraints       # parts of GPUs, topology and more
    python tests/bench/bench_plan.py fill-500 --runs 21
    python tests/bench/bench_plan.py openb openb-gpuspec33 --json

The workloads are those of generate.py (`bench-fill` with so many nodes is `fill-500`), those of
constraints.py, and the lists of openb.py. Every run loads the snapshot's bytes anew, plans them,
and plans them again a few times; times are the engine's own stopwatch: `load` from bytes to a
checked cluster, `plan` the whole cycle. KAI's figures (baseline.json) are of its cycle alone, on a
machine of the same kind. Its searches end by its time budgets where it takes more than 100 s.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import constraints
import generate
import openb

import kai

WORKLOADS = ("fill-500", "fill-5000", "gang-5000")
# By workload: how long a plan should take at most, in milliseconds. What we aim for; no test.
BARS_MS = {
    "unschedulable-100": 0.2,
    "unschedulable-500": 0.5,
    "unschedulable-1000": 1,
    "unschedulable-late-1000": 2,
    "unschedulable-under-1000": 1,
    "reclaim-100": 1,
    "reclaim-500": 5,
    "reclaim-1000": 10,
    "consolidation-50": 0.1,
    "consolidation-small-50": 0.5,
    "preempt-1000": 0.2,
}
SEARCHES = tuple(BARS_MS)
CONSTRAINTS = {
    "halves-500": 10,
    "shapes-5000": 150,
    "anti-affinity-500": 1,
    "topology-1024": 1,
    "topology-16384": 20,
    "too-large-16384": 0.2,
    "scattered-16384": 0.2,
}
BARS_MS |= CONSTRAINTS
NOW = "2026-01-01T00:00:00Z"
BASELINE = Path(__file__).with_name("baseline.json")
KINDS = ("bind", "pipeline", "evict")


@dataclass(frozen=True)
class Measured:
    """One workload; times in milliseconds."""

    name: str
    nodes: int
    pods: int
    pod_groups: int
    megabytes: float
    decided: dict[str, int]  # by kind
    runs: int
    load_ms: list[float]
    first_ms: list[float]  # the first plan of a cluster
    again_ms: list[float]  # further plans of the same cluster
    parts_ms: dict[str, float] = field(default_factory=dict)  # of further plans: medians

    @property
    def decisions(self) -> int:
        return sum(self.decided.values())

    @property
    def decisions_per_second(self) -> float:
        """By the median first plan."""
        return self.decisions / statistics.median(self.first_ms) * 1e3


def snapshot_of(workload: str) -> bytes:
    """The bytes of the snapshot.json of, say, fill-500, openb or openb-gpuspec33."""
    if workload.partition("-")[0] == "openb":
        return json.dumps(openb.snapshot(*openb.read(workload.partition("-")[2]))).encode()
    family, _, nodes = workload.rpartition("-")
    if family in constraints.WORKLOADS:
        return json.dumps(constraints.WORKLOADS[family](int(nodes)).to_snapshot()).encode()
    build, _ = generate.BENCHMARKS[f"bench-{family}"]
    cluster = generate.Cluster(random.Random(f"bench-{family}"))
    build(cluster, int(nodes))
    return generate.compact(cluster.snapshot()).encode()


def measure(workload: str, runs: int, again: int = 5) -> Measured:
    """Loads a workload so many times, plans it once and `again`; every plan must be the same."""
    data = snapshot_of(workload)
    scheduler = kai.Scheduler()
    known = None
    load_ms, first_ms, again_ms = [], [], []
    parts: dict[str, list[float]] = {}
    for _ in range(runs):
        gc.collect()
        cluster = kai.Cluster.from_snapshot(data, name=workload)
        for number in range(1 + again):
            plan = scheduler.plan(cluster, now=NOW)
            timing = plan.timing_ms
            took = timing["total"] - timing["load"]
            if number == 0:
                load_ms.append(timing["load"])
                first_ms.append(took)
                known = known or plan
                if plan != known:
                    raise AssertionError(f"{workload}: two plans of one input differ")
                continue
            again_ms.append(took)
            for part, part_ms in timing.items():
                if part not in ("load", "total"):
                    parts.setdefault(part, []).append(part_ms)
    assert known is not None
    if again and plan != known:
        raise AssertionError(f"{workload}: planning a cluster changed it")
    counts, kinds = cluster.counts, Counter(decision.kind for decision in known.decisions)
    return Measured(
        name=workload,
        nodes=counts["nodes"],
        pods=counts["pods"],
        pod_groups=counts["pod_groups"],
        megabytes=len(data) / 1e6,
        decided={kind: kinds[kind] for kind in KINDS},
        runs=runs,
        load_ms=load_ms,
        first_ms=first_ms,
        again_ms=again_ms,
        parts_ms={part: statistics.median(times) for part, times in parts.items()},
    )


def kais() -> Mapping[str, Any]:
    """KAI's figures by workload."""
    workloads: Mapping[str, Any] = json.loads(BASELINE.read_text())["kai"]["workloads"]
    return workloads


def table(measured: Sequence[Measured]) -> str:
    """The figures as Markdown, a row per workload: "min / median", and the median alone of further
    plans."""
    theirs = {name: each["total_ms"] for name, each in kais().items()}
    columns: list[tuple[str, Callable[[Measured], str]]] = [
        ("workload", lambda each: each.name),
        ("nodes", lambda each: f"{each.nodes:,}"),
        ("pods", lambda each: f"{each.pods:,}"),
        ("bind / pipeline / evict", lambda each: " / ".join(map(str, each.decided.values()))),
        ("JSON, MB", lambda each: f"{each.megabytes:.1f}"),
        ("runs", lambda each: str(each.runs)),
        ("load, ms", lambda each: _both(each.load_ms)),
        ("first plan, ms", lambda each: _both(each.first_ms)),
        ("further plans, ms", lambda each: _median(each.again_ms)),
        ("bar, ms", lambda each: f"{BARS_MS[each.name]:g}" if each.name in BARS_MS else ""),
        ("decisions/s", lambda each: f"{each.decisions_per_second:,.0f}"),
        ("KAI's cycle, ms", lambda each: " / ".join(map(_ms, theirs.get(each.name, ())))),
        ("times faster", lambda each: _ratio(theirs.get(each.name, ()), each.first_ms)),
    ]
    used = [column for column in columns if any(column[1](each) for each in measured)]
    rows = [[title for title, _ in used], ["---", *["---:"] * (len(used) - 1)]]
    rows += [[show(each) for _, show in used] for each in measured]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _both(times: Sequence[float]) -> str:
    return f"{_ms(min(times))} / {_ms(statistics.median(times))}"


def _median(times: Sequence[float]) -> str:
    return _ms(statistics.median(times)) if times else ""


def _ms(time: float) -> str:
    return f"{time:.2f}" if time < 1 else f"{time:.1f}" if time < 100 else f"{time:,.0f}"


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """Best against best, as both shared their cores with others."""
    return f"{min(theirs) / min(ours):,.0f}" if theirs else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--searches", action="store_true", help="workloads of reclaim and others")
    parser.add_argument("--constraints", action="store_true", help="those of constraints.py")
    parser.add_argument("--runs", type=int, default=9, help="how often each is loaded [9]")
    parser.add_argument("--again", type=int, default=5, help="further plans of each [5]")
    parser.add_argument("--json", action="store_true", help="every single time, for programs")
    options = parser.parse_args()
    chosen = options.workloads or [
        *(SEARCHES if options.searches else ()),
        *(CONSTRAINTS if options.constraints else ()),
    ]
    chosen = chosen or WORKLOADS
    measured = [measure(workload, options.runs, options.again) for workload in chosen]
    if options.json:
        values: list[dict[str, Any]] = [asdict(each) for each in measured]
        print(json.dumps(values))
    else:
        print(table(measured))


if __name__ == "__main__":
    main()
