"""The benchmark's own test: small workloads, the right answers, and no opinion about time."""

from __future__ import annotations

import json

import bench_plan
import pytest


@pytest.mark.parametrize(
    ("workload", "pods", "placed"),
    [("fill-20", 160, 160), ("gang-100", 303, 253)],
)
def test_a_small_workload_is_placed_whole(workload: str, pods: int, placed: int) -> None:
    measured = bench_plan.measure(workload, runs=2)
    assert (measured.pods, measured.decisions) == (pods, placed)
    assert len(measured.load_ms) == len(measured.plan_ms) == 2


def test_the_table_shows_kais_figure_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    measured = bench_plan.measure("fill-500", runs=3)
    assert measured.decisions == 4_000
    rows = bench_plan.table([measured]).splitlines()
    assert rows[-1].startswith("| fill-500 | 500 | 4,000 | 4,000 |")
    assert "3,023 / 3,277" in rows[-1]
    with capsys.disabled():  # information, not a gate
        print("\n" + "\n".join(rows))


def test_the_baseline_names_workloads_that_can_be_made() -> None:
    kai = json.loads(bench_plan.BASELINE.read_text())["kai"]
    assert set(kai["total_ms"]) == set(kai["allocate_ms"]) == set(bench_plan.WORKLOADS)
