"""The time of a plan, phase by phase, with the counters."""

from itertools import pairwise

import pytest

import kai
from kai.engine.timing import trace_of

NOW = "2026-01-01T00:00:00Z"


def crowded() -> kai.Cluster:
    return (
        kai.Cluster(name="crowded")
        .queue("a", deserved_gpus=2)
        .queue("b")
        .node("n", gpus=3)
        .running("b/bulk", gpus=1, node="n")
        .running("b/more", gpus=1, node="n")
        .pending("a/one", gpus=1)
        .pending("a/two", gpus=1)
    )


def test_stages_are_consecutive_and_add_up() -> None:
    plan = kai.Scheduler().plan(crowded(), now=NOW)
    assert list(plan.timing) == list(plan.timing_ms)
    *stages, total = plan.timing.values()
    assert {name: phase.ms for name, phase in plan.timing.items()} == plan.timing_ms
    assert total.start_ms == 0
    for one, other in pairwise(stages):
        assert other.start_ms == pytest.approx(one.start_ms + one.ms)
    assert stages[-1].start_ms + stages[-1].ms <= total.ms + 1e-6


def test_stages_have_counters() -> None:
    timing = kai.Scheduler().plan(crowded(), now=NOW).timing
    assert timing["total"].counters == {"bound": 1, "pipelined": 1, "evicted": 1}
    assert timing["reclaim"].counters == {"evicted": 1}
    assert timing["allocate"].counters == {}


def test_searches_that_a_budget_ended_are_counted_with_their_action() -> None:
    budgets = {"maxScenarios": {"searches": {"reclaim a/two": 0}}}
    scheduler = kai.Scheduler({"scenarioSearchBudgets": budgets})
    timing = scheduler.plan(crowded(), now=NOW).timing
    assert timing["reclaim"].counters == {"spent_searches": 1}


def test_a_trace_has_a_track_per_plan_and_an_event_per_stage() -> None:
    scheduler = kai.Scheduler()
    plans = [scheduler.plan(crowded(), now=NOW), scheduler.plan(kai.Cluster(), now=NOW)]
    events = trace_of((each.input, each.timing) for each in plans)["traceEvents"]
    names = [each["args"]["name"] for each in events if each["ph"] == "M"]
    assert names == ["kai plan", "crowded", "plan 2"]
    for track, plan in enumerate(plans, start=1):
        of_plan = [each for each in events if each["ph"] == "X" and each["tid"] == track]
        assert {each["name"] for each in of_plan} == {*plan.timing} - {"total"} | {"plan"}
        whole, *inside = of_plan
        assert whole["name"] == "plan"
        assert whole["args"] == plan.timing["total"].counters
        for each in inside:
            assert each["ts"] >= whole["ts"]
            assert each["ts"] + each["dur"] <= whole["ts"] + whole["dur"] + 0.01
    assert events[-1]["ts"] >= plans[0].timing["total"].ms * 1e3 - 0.01
