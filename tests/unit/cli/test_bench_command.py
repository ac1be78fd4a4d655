"""kai bench: the same made-up clusters everywhere, and a table that fits."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import kai
from kai.sim.bench import measure
from kai.sim.workloads import BARS_MS, FAMILIES, KAI_MS, LADDER, NOW, workload

Run = Callable[..., Any]


def planned(name: str) -> tuple[kai.Cluster, kai.Plan]:
    cluster = kai.Cluster.from_snapshot(workload(name).snapshot())
    return cluster, kai.Scheduler().plan(cluster, now=NOW)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_workload_is_whole_and_the_same_every_time(family: str) -> None:
    name = f"{family}-60"
    assert workload(name).snapshot() == workload(name).snapshot()
    cluster, plan = planned(name)
    assert cluster.rejected == ()
    assert len(cluster.objects["pods"]) == cluster.counts["pods"]
    assert plan.pod_groups
    assert workload(name).about.endswith(".")


@pytest.mark.parametrize(
    ("name", "bound", "pipelined", "evicted"),
    [
        ("fill-60", 480, 0, 0),
        ("gang3-60", 3, 0, 0),
        ("gang250-60", 250, 0, 0),
        ("unschedulable-60", 0, 0, 0),
        ("late-60", 0, 0, 0),
        ("reclaim-60", 0, 240, 240),
        ("consolidation-60", 0, 12, 6),
        ("event-60", 0, 0, 0),
    ],
)
def test_a_workload_asks_what_its_name_says(
    name: str, bound: int, pipelined: int, evicted: int
) -> None:
    kinds = [each.kind for each in planned(name)[1].decisions]
    found = tuple(kinds.count(kind) for kind in ("bind", "pipeline", "evict"))
    assert found == (bound, pipelined, evicted)


def test_an_event_lets_a_group_start() -> None:
    made = workload("event-60")
    cluster, _ = planned("event-60")
    [[event]] = made.events(1)
    plan = kai.Scheduler().plan(cluster.upsert(event), now=NOW)
    assert [each.kind for each in plan.decisions] == ["bind"]


def test_what_is_measured_adds_up() -> None:
    made = measure(workload("events-200"), loads=2)
    assert (made.nodes, made.pods, made.events) == (200, 6000, 1000)
    assert made.bar_ms is None
    assert made.further_ms is not None
    assert made.further_cpu_ms is not None
    assert 0 < sum(made.stages_ms.values()) <= made.plan_ms
    first = measure(workload("fill-10"), loads=1)
    assert first.decided == {"bind": 80, "pipeline": 0, "evict": 0}
    assert first.further_ms is None


def test_the_table_fits_80_characters(run: Run) -> None:
    done = run("bench", "fill-500", "late-20", "event-10", "--loads", 1)
    assert done.status == 0
    assert max(len(line) for line in done.out.splitlines()) <= 80
    assert "3.0 s" in done.out  # KAI's figure


def test_json_has_a_line_per_workload(run: Run) -> None:
    done = run("bench", "fill-3", "quiet-3", "--loads", 1, "--json")
    fill, quiet = (json.loads(line) for line in done.out.splitlines())
    assert (fill["name"], fill["events"], quiet["events"]) == ("fill-3", None, 0)


def test_memory_is_shown_by_column(run: Run) -> None:
    done = run("bench", "--memory", "fill-20", "event-10", "--json")
    fill, event = (json.loads(line) for line in done.out.splitlines())
    assert (fill["name"], fill["pods"], event["pods"]) == ("fill-20", 160, 300)
    assert sum(each["bytes"] for each in fill["columns"]) == fill["bytes"]
    columns = {(each["part"], each["column"]): each for each in event["columns"]}
    assert columns["Pod", "rows"]["count"] == 300
    assert columns["Pod", "specs"]["count"] < 100, "pods of one template share theirs"
    assert {part for part, _ in columns} >= {"Pod", "PodGroup", "Node", "cluster", "rooms"}

    done = run("bench", "--memory", "fill-20")
    assert done.out.startswith("fill-20: bytes by column")
    assert "per pod" in done.out
    assert max(len(line) for line in done.out.splitlines()) <= 80


def test_an_unknown_workload_is_one_sentence(run: Run) -> None:
    for name in ("fill", "fill-x", "fill-0", "fil-5"):
        done = run("bench", name)
        assert done.status == 1
        assert done.err.startswith(f"kai: no workload '{name}'")


def test_the_ladder_and_its_figures_name_workloads() -> None:
    for name in (*LADDER, *BARS_MS, *KAI_MS):
        assert workload(name).name == name


def test_families_are_listed(run: Run) -> None:
    done = run("bench", "--list")
    assert all(f"{family}-SIZE: " in done.out for family in FAMILIES)
