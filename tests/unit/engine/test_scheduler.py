"""Scheduler: configuration, time, and threads."""

import pickle
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import kai

CONFIG = {"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}]}]}


def small() -> kai.Cluster:
    return kai.Cluster().queue("a").node("n1", gpus=2).pending("a/job", pods=2, gpus=1)


def has_queue_numbers(config: Any) -> bool:
    return bool(kai.Scheduler(config).plan(small()).queues)


def test_the_same_input_gives_the_same_plan() -> None:
    now = "2026-01-01T00:00:00Z"
    first, second = (kai.Scheduler().plan(small(), now=now) for _ in range(2))
    assert first == second
    assert {**first.to_dict(), "timing_ms": None} == {**second.to_dict(), "timing_ms": None}


def test_a_configuration_may_be_a_mapping_a_text_or_a_file(written: Any) -> None:
    as_yaml = "actions: allocate\ntiers:\n- plugins: [{name: predicates}]\n"
    path = written("scheduler.yaml", as_yaml)
    for config in (CONFIG, as_yaml, path, str(path)):
        assert not has_queue_numbers(config)
    assert has_queue_numbers(None)


def test_an_empty_configuration_is_the_default(written: Any) -> None:
    path = written("empty.yaml", "# nothing\n")
    assert has_queue_numbers(path)
    assert has_queue_numbers("")
    assert has_queue_numbers({})


def test_the_operators_config_map_is_a_configuration_too(tmp_path: Path) -> None:
    path = tmp_path / "configmap.yaml"
    path.write_text(
        "kind: ConfigMap\ndata:\n  config.yaml: |\n    actions: allocate\n"
        "    tiers:\n    - plugins: [{name: predicates}]\n"
    )
    assert not has_queue_numbers(path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("no-such-file.yaml", "no-such-file.yaml: no such file"),
        ("actions: [", "the configuration: not valid YAML"),
        ("- a\n- b\n", "is a list, not a mapping"),
        ("a: 1\n---\nb: 2\n", "contains 2 documents instead of one"),
        ({"actions": 5}, "actions"),
        ({"actions": object()}, "the configuration"),
        ("kind: ConfigMap\ndata: {}\n", "the ConfigMap has no config.yaml"),
    ],
)
def test_an_invalid_configuration_is_named(config: Any, message: str) -> None:
    with pytest.raises(kai.InvalidConfigError, match=message) as caught:
        kai.Scheduler(config)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_reported_and_skipped() -> None:
    config = {"actions": "allocate", "tiers": [{"plugins": [{"name": "predicatez"}]}]}
    plan = kai.Scheduler(config).plan(small())
    assert any("predicatez" in warning for warning in plan.warnings)
    assert len(plan.decisions) == 2


def test_the_argument_sets_the_time() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    scheduler = kai.Scheduler()
    assert scheduler.plan(small(), now=noon).now == noon
    assert scheduler.plan(small(), now="2026-01-01T12:00:00Z").now == noon
    assert scheduler.plan(small().at(noon)).now == noon
    assert scheduler.plan(small().at("2020-01-01T00:00:00Z"), now=noon).now == noon


def test_the_default_time_is_now_in_whole_seconds() -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    planned = kai.Scheduler().plan(small()).now
    assert before <= planned <= datetime.now(timezone.utc)
    assert planned.microsecond == 0


def test_other_types_than_clusters_are_refused() -> None:
    with pytest.raises(TypeError, match=r"takes a kai.Cluster, not dict; see kai.load"):
        kai.Scheduler().plan({})  # type: ignore[arg-type]


def test_threads_plan_different_clusters_concurrently() -> None:
    clusters = [small() for _ in range(8)]
    scheduler = kai.Scheduler()
    plans: list[kai.Plan] = []
    threads = [
        threading.Thread(
            target=lambda c=c: plans.append(scheduler.plan(c, now="2026-01-01T00:00:00Z"))
        )
        for c in clusters
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(plans) == 8
    assert all(plan == plans[0] for plan in plans)


def test_two_plans_on_one_cluster_never_race() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 50, gpus=8)
    for number in range(400):
        cluster.pending(f"a/job-{number:03}", gpus=1)
    scheduler = kai.Scheduler()
    expected = scheduler.plan(cluster, now="2026-01-01T00:00:00Z")
    outcomes: list[object] = []

    def plan() -> None:
        for _ in range(20):
            try:
                outcomes.append(scheduler.plan(cluster, now="2026-01-01T00:00:00Z") == expected)
            except kai.BusyError:
                outcomes.append("busy")

    threads = [threading.Thread(target=plan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 80
    assert set(outcomes) <= {True, "busy"}


def test_a_search_ended_by_its_budget_counts_a_gang_that_becomes_stale() -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=2).queue("b").node("n", gpus=2)
    cluster.running("a/g", gpus=1, min_member=2, node="n").pending("a/g", gpus=1)
    snapshot = cluster.running("b/x", gpus=1, node="n").to_snapshot()
    [group] = [
        each for each in snapshot["rawObjects"]["podGroups"] if each["metadata"]["name"] == "g"
    ]
    group["spec"]["stalenessGracePeriod"] = "0s"
    searches = {"reclaim a/g": 0}
    scheduler = kai.Scheduler({"scenarioSearchBudgets": {"maxScenarios": {"searches": searches}}})
    plan = scheduler.plan(kai.Cluster.from_snapshot(snapshot), now="2026-01-01T00:00:00Z")
    assert plan.spent_searches == searches
    codes = [reason.code for reason in plan.pod_groups["a/g"].reasons]
    assert codes == ["not_ready", "search_budget_spent", "stale", "evicted"]


def test_a_pickled_scheduler_makes_the_same_plan() -> None:
    cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a").node("n1", gpus=1)
    cluster.pending("a/x", gpus=1)
    scheduler = kai.Scheduler({"actions": "reclaim"}, as_kai=True)
    scheduler.plan(cluster)
    again = pickle.loads(pickle.dumps(scheduler))
    assert repr(again) == repr(scheduler)
    assert again.plan(cluster) == scheduler.plan(cluster)
    assert again.plan(cluster) != kai.Scheduler().plan(cluster)
