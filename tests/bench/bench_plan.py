"""How long loading and planning take, beside KAI's own figures. Information: nothing here fails.

    python tests/bench/bench_plan.py                     # fill-500, fill-5000, gang-5000
    python tests/bench/bench_plan.py fill-500 --runs 21
    python tests/bench/bench_plan.py openb openb-gpuspec33 --json

The workloads are those of generate.py (`bench-fill` with so many nodes is `fill-500`), and the
lists of openb.py. Every run loads the snapshot's bytes anew and plans them once; times are the
engine's own stopwatch: `load` from bytes to a checked cluster, `plan` the whole cycle. KAI's
figures (baseline.json) are of its cycle alone, on a machine of the same kind; it places as many
pods.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import generate
import openb

import kai

WORKLOADS = ("fill-500", "fill-5000", "gang-5000")
NOW = "2026-01-01T00:00:00Z"
BASELINE = Path(__file__).with_name("baseline.json")


@dataclass(frozen=True)
class Measured:
    """One workload; times in milliseconds."""

    name: str
    nodes: int
    pods: int
    pod_groups: int
    megabytes: float
    decisions: int
    runs: int
    load_ms: list[float]
    plan_ms: list[float]

    @property
    def pods_per_second(self) -> float:
        """Of those placed, by the median plan."""
        return self.decisions / statistics.median(self.plan_ms) * 1e3


def snapshot_of(workload: str) -> bytes:
    """The bytes of the snapshot.json of, say, fill-500, openb or openb-gpuspec33."""
    if workload.partition("-")[0] == "openb":
        return json.dumps(openb.snapshot(*openb.read(workload.partition("-")[2]))).encode()
    family, _, nodes = workload.rpartition("-")
    build, _ = generate.BENCHMARKS[f"bench-{family}"]
    cluster = generate.Cluster(random.Random(f"bench-{family}"))
    build(cluster, int(nodes))
    return generate.compact(cluster.snapshot()).encode()


def measure(workload: str, runs: int) -> Measured:
    """Loads and plans a workload so many times; every plan must be the same."""
    data = snapshot_of(workload)
    scheduler = kai.Scheduler()
    first = None
    load_ms, plan_ms = [], []
    for _ in range(runs):
        gc.collect()
        cluster = kai.Cluster.from_snapshot(data, name=workload)
        plan = scheduler.plan(cluster, now=NOW)
        timing = plan.timing_ms
        load_ms.append(timing["load"])
        plan_ms.append(timing["total"] - timing["load"])
        first = first or plan
        if plan != first:
            raise AssertionError(f"{workload}: two plans of one input differ")
    assert first is not None
    counts = cluster.counts
    return Measured(
        name=workload,
        nodes=counts["nodes"],
        pods=counts["pods"],
        pod_groups=counts["pod_groups"],
        megabytes=len(data) / 1e6,
        decisions=len(first.decisions),
        runs=runs,
        load_ms=load_ms,
        plan_ms=plan_ms,
    )


def table(measured: Sequence[Measured]) -> str:
    """The figures as Markdown: a row per workload, "min / median"."""
    kai_ms = json.loads(BASELINE.read_text())["kai"]["total_ms"]
    columns: list[tuple[str, Callable[[Measured], str]]] = [
        ("workload", lambda each: each.name),
        ("nodes", lambda each: f"{each.nodes:,}"),
        ("pods", lambda each: f"{each.pods:,}"),
        ("placed", lambda each: f"{each.decisions:,}"),
        ("JSON, MB", lambda each: f"{each.megabytes:.1f}"),
        ("runs", lambda each: str(each.runs)),
        ("load, ms", lambda each: _both(min(each.load_ms), statistics.median(each.load_ms))),
        ("plan, ms", lambda each: _both(min(each.plan_ms), statistics.median(each.plan_ms))),
        ("placed/s", lambda each: f"{each.pods_per_second:,.0f}"),
        ("KAI's cycle, ms", lambda each: _both(*kai_ms.get(each.name, ()))),
        ("times faster", lambda each: _ratio(kai_ms.get(each.name, ()), each.plan_ms)),
    ]
    rows = [[title for title, _ in columns], ["---", *["---:"] * (len(columns) - 1)]]
    rows += [[show(each) for _, show in columns] for each in measured]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _both(*times: float) -> str:
    """Minimum and median."""
    return " / ".join(f"{time:.1f}" if time < 100 else f"{time:,.0f}" for time in times)


def _ratio(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """Best against best, as both shared their cores with others."""
    return f"{min(theirs) / min(ours):,.0f}" if theirs else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", default=WORKLOADS, metavar="WORKLOAD")
    parser.add_argument("--runs", type=int, default=9, help="how often each is run [9]")
    parser.add_argument("--json", action="store_true", help="every single time, for programs")
    options = parser.parse_args()
    measured = [measure(workload, options.runs) for workload in options.workloads]
    if options.json:
        values: list[dict[str, Any]] = [asdict(each) for each in measured]
        print(json.dumps(values))
    else:
        print(table(measured))


if __name__ == "__main__":
    main()
