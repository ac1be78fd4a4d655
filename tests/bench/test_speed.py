"""The benchmark's own test: small workloads, the right answers, and no opinion about time."""

from __future__ import annotations

import bench_plan
import pytest


@pytest.mark.parametrize(
    ("workload", "pods", "placed"),
    [("fill-20", 160, 160), ("gang-100", 303, 253)],
)
def test_a_small_workload_is_placed_whole(workload: str, pods: int, placed: int) -> None:
    measured = bench_plan.measure(workload, runs=2, again=1)
    assert (measured.pods, measured.decisions) == (pods, placed)
    assert len(measured.load_ms) == len(measured.first_ms) == len(measured.again_ms) == 2


@pytest.mark.parametrize(
    ("workload", "decided"),
    [
        ("unschedulable-10", (0, 0, 0)),
        ("unschedulable-late-10", (0, 0, 0)),
        ("unschedulable-under-10", (0, 0, 0)),
        ("reclaim-10", (0, 40, 40)),
        ("preempt-10", (0, 1, 1)),
        (
            "consolidation-10",
            (0, 2, 1),
        ),  # pods that are promised a node, and pods that are moved for it
        ("consolidation-small-10", (0, 5, 4)),
        ("consolidation-50", (0, 10, 5)),
        ("consolidation-small-50", (0, 25, 20)),
    ],
)
def test_a_small_search_finds_what_there_is(workload: str, decided: tuple[int, int, int]) -> None:
    measured = bench_plan.measure(workload, runs=1, again=1)
    assert tuple(measured.decided.values()) == decided
    if workload in bench_plan.kais():
        assert list(decided) == bench_plan.kais()[workload]["decided"]


@pytest.mark.parametrize(
    ("workload", "pods", "placed"),
    [("halves-4", 64, 64), ("shapes-10", 80, 80), ("anti-affinity-50", 1_001, 1)],
)
def test_a_small_workload_of_choosy_pods_is_placed_whole(
    workload: str, pods: int, placed: int
) -> None:
    measured = bench_plan.measure(workload, runs=1, again=1)
    assert (measured.pods, measured.decided["bind"]) == (pods, placed)


def test_the_table_shows_kais_figure_beside_ours(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("fill-500", "reclaim-100", "consolidation-50")
    rows = bench_plan.table([bench_plan.measure(each, runs=2) for each in chosen]).splitlines()
    assert rows[2].startswith("| fill-500 | 500 | 4,000 | 4000 / 0 / 0 |")
    assert "3,023 / 3,277" in rows[2]
    assert "6,278 / 7,160" in rows[3]
    with capsys.disabled():  # information, not a gate
        print("\n" + "\n".join(rows))


def test_the_baseline_names_workloads_that_can_be_made() -> None:
    families = {name.rpartition("-")[0] for name in bench_plan.kais()}
    assert {f"bench-{family}" for family in families} <= set(bench_plan.generate.BENCHMARKS)
    assert set(bench_plan.WORKLOADS) <= set(bench_plan.kais())
    # preempt-1000 is ours; of unschedulable-late KAI's figures begin at 500.
    assert set(bench_plan.SEARCHES) - set(bench_plan.kais()) == {"preempt-1000"}
