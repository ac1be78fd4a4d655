"""The time for a page depends on its length, not on the size of the cluster: the engine counts."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import kai
from kai.engine import report
from kai.engine.fixing.search import MOST_PLANS
from kai.sim.workloads import NOW, workload


def planned(name: str) -> kai.Plan:
    cluster = kai.Cluster.from_snapshot(workload(name).snapshot())
    return kai.Scheduler().plan(cluster, now=NOW)


def calls_of(work: Callable[[], object]) -> int:
    """The number of Python function calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


PAGES: dict[str, Callable[[kai.Plan], object]] = {
    "text": str,
    "html": kai.Plan._repr_html_,
    "in one line": repr,
    "why of the first": lambda plan: plan.why(_a_name(plan, 0)),
    "why of the last": lambda plan: plan.why(_a_name(plan, -1)),
}


def _a_name(plan: kai.Plan, index: int) -> str:
    rows, *_ = plan.situation.decision_rows
    return [*(names[0] for names, _ in plan.situation.waiting), *(row[1] for row in rows)][index]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("family", ["mixed", "fill", "saturated"])
def test_the_number_of_python_calls_does_not_grow_with_the_cluster(family: str, page: str) -> None:
    small, large = (planned(f"{family}-{size}") for size in (40, 120))
    assert calls_of(lambda: PAGES[page](large)) <= 1.1 * calls_of(lambda: PAGES[page](small)) + 20


@pytest.mark.parametrize("family", ["mixed", "saturated"])
def test_a_page_with_fixes_makes_as_many_plans_in_a_large_cluster(family: str) -> None:
    """Planning is what takes time; the page itself depends on its length."""
    pages = []
    for size in (40, 120):
        plan = planned(f"{family}-{size}")
        pages.append(plan.page(_a_name(plan, 0)))
    small, large = pages
    assert max(small.fixes.plans, large.fixes.plans) <= 2 * MOST_PLANS
    calls = [calls_of(page.to_html) for page in pages]
    assert abs(calls[1] - calls[0]) <= 20 + 40 * abs(len(large.fixes) - len(small.fixes))


def test_equal_waiting_groups_of_several_queues_share_a_row() -> None:
    plan = planned("mixed-40")
    assert len(plan.situation.waiting) == 4, "by size"
    assert [names for names, _ in report.waiting(plan).rows] == [
        "a/job-0000086 and 59 more",
        "a/job-0000092 and 57 more",
        "a/job-0000096 and 55 more",
        "a/job-0000098 and 55 more",
    ]


def test_counts_of_the_page_equal_the_plan() -> None:
    for name in ("mixed-40", "reclaim-40", "consolidation-40", "shapes-20", "queues-40"):
        plan = planned(name)
        counts = plan.situation.counts
        for kind in ("bind", "pipeline", "evict"):
            assert counts[kind] == sum(each.kind == kind for each in plan.decisions)
        waiting = {name for names, _ in plan.situation.waiting for name in names}
        assert counts["pod_groups"] == len(plan.pod_groups)
        assert counts["waiting"] == len(waiting)
        assert waiting == {
            name
            for name, group in plan.pod_groups.items()
            if group.verdict not in ("placed", "running")
        }
        assert len(plan.evictions) == counts["evict"]


def test_a_queue_at_its_exact_share_is_not_over_it() -> None:
    # 0.7 as a double is a little less than seven tenths.
    cluster = kai.Cluster().queue("a", deserved_gpus=4).queue("b", deserved_gpus=0.7)
    cluster.node("n1", gpus=4).node("n2", gpus=1)
    cluster.running("b/old", gpu_fraction=0.7, node="n2").running(
        "a/old", pods=3, gpus=1, node="n1"
    )
    cluster.pending("a/new", gpus=2)
    assert "(0.7 of 0.7)" not in kai.Scheduler().plan(cluster, now=NOW).why("a/new")
