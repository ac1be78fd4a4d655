"""Two ways of loading every recorded case give the same bytes."""

import json

import pytest

import kai
from kai.verify import Case, default_cases, read_cases

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(read_cases([default_cases()]))


def test_json_equals_that_of_python(cases: list[Case]) -> None:
    scheduler = kai.Scheduler()
    for case in cases:
        cluster = kai.Cluster.from_snapshot(case.data["snapshot"], name=case.id)
        plan = scheduler.plan(cluster, now=case.data.get("now"))
        text = plan.to_json()
        assert text == json.dumps(plan.to_dict(), ensure_ascii=False, allow_nan=False), case.id


def test_a_cluster_after_events_has_the_plan_of_a_loaded_one(cases: list[Case]) -> None:
    scheduler = kai.Scheduler(as_kai=True)
    for case in cases:
        cluster = kai.Cluster.from_snapshot(case.data["snapshot"], name=case.id)
        now = case.data.get("now") or NOW
        loaded = scheduler.plan(cluster, now=now)
        cluster.delete("Pod", "missing/nothing")
        assert cluster._core_cluster().can_follow(), case.id
        assert scheduler.plan(cluster, now=now) == loaded, case.id
