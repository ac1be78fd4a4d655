"""kai bench: the same generated clusters everywhere, and a table that fits."""

import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main
from kai.sim import workloads
from kai.sim.bench import measure
from kai.sim.families import FAMILIES
from kai.sim.workloads import (
    BARS_MS,
    KAI_MS,
    LADDER,
    LARGE,
    NOW,
    needs_data,
    workload,
)

Run = Callable[..., Any]


def planned(name: str) -> tuple[kai.Cluster, kai.Plan]:
    cluster = kai.Cluster.from_snapshot(workload(name).snapshot())
    return cluster, kai.Scheduler().plan(cluster, now=NOW)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_workload_is_valid_and_reproducible(family: str) -> None:
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
        ("unschedulable-under-60", 0, 0, 0),
        ("unschedulable-late-60", 0, 0, 0),
        ("reclaim-60", 0, 240, 240),
        ("preempt-60", 0, 1, 1),
        ("consolidation-60", 0, 12, 6),
        ("consolidation-small-60", 0, 30, 24),
        ("saturated-10", 0, 0, 0),
        ("event-60", 0, 0, 0),
        ("halves-4", 64, 0, 0),
        ("spread-10", 80, 0, 0),
        ("mixed-60", 128, 0, 0),
        ("cpus-10", 80, 0, 0),
        ("anti-affinity-50", 1, 0, 0),
        ("topology-64", 32, 0, 0),
        ("too-large-64", 0, 0, 0),
        ("scattered-64", 0, 0, 0),
    ],
)
def test_a_workload_has_the_requests_of_its_description(
    name: str, bound: int, pipelined: int, evicted: int
) -> None:
    kinds = [each.kind for each in planned(name)[1].decisions]
    found = tuple(kinds.count(kind) for kind in ("bind", "pipeline", "evict"))
    assert found == (bound, pipelined, evicted)


def test_the_event_of_a_workload_makes_a_group_start() -> None:
    made = workload("event-60")
    cluster, _ = planned("event-60")
    [[event]] = made.events(1)
    plan = kai.Scheduler().plan(cluster.upsert(event), now=NOW)
    assert [each.kind for each in plan.decisions] == ["bind"]


def test_the_measured_stages_add_up_to_the_plan() -> None:
    made = measure(workload("events-200"), loads=2)
    assert (made.nodes, made.pods, made.events) == (200, 6000, 1000)
    assert made.bar_ms is None
    assert made.further_ms is not None
    assert made.further_cpu_ms is not None
    assert 0 < sum(made.stages_ms.values()) <= made.plan_ms
    first = measure(workload("fill-10"), loads=1)
    assert first.decided == {"bind": 80, "pipeline": 0, "evict": 0}
    assert first.further_ms is None
    assert 0 < first.load_floor_ms < first.load_ms < first.python_ms
    assert 0 < first.plan_floor_ms < first.plan_ms
    assert 0 < first.page_ms < first.python_ms
    assert first.objects == 10 + 2 + 80 + 80


def test_the_measured_stages_add_up_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Phases are measured in wall time only, and together took longer than the plan's CPU time."""
    real = time.thread_time_ns
    monkeypatch.setattr(time, "thread_time_ns", lambda: real() // 10)
    made = measure(workload("fill-10"), loads=2)
    assert made.plan_ms / 2 < sum(made.stages_ms.values()) <= made.plan_ms


def test_the_gang_of_too_large_exceeds_the_room_by_one_pod() -> None:
    tree = json.loads(workload("too-large-64").snapshot())
    gang = tree["rawObjects"]["podGroups"][-1]
    assert gang["spec"]["minMember"] == 17
    gang["spec"]["minMember"] = 16  # 8 nodes with 2 free GPUs
    plan = kai.Scheduler().plan(kai.Cluster.from_snapshot(tree), now=NOW)
    assert len(plan.decisions) >= 16


def test_pods_of_the_real_workload_are_large() -> None:
    pods = json.loads(workload("real-2").snapshot())["rawObjects"]["pods"]
    assert len(pods) == 16
    assert all(7000 < len(json.dumps(pod, separators=(",", ":"))) < 8500 for pod in pods)
    assert pods[0]["metadata"]["uid"] != pods[1]["metadata"]["uid"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_tables_fit_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    chosen = ("fill-500", "unschedulable-late-1000", "event-10", "real-10")
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal := Terminal())
        assert main(["bench", *chosen, "--loads", "1"]) == 0
    output = terminal.getvalue()
    assert max(len(line) for line in output.splitlines()) <= 80
    assert "3.0 s" in output  # KAI's figure
    assert "Loading" in output


def test_a_workload_without_its_trace_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAI_DATA", str(tmp_path))
    for name in ("openb", "openb-reclaim-31"):
        done = run("bench", name)
        assert done.status == 1
        assert done.err.count("\n") == 1
        assert "--data" in done.err
    monkeypatch.setattr(workloads, "LADDER", ("fill-3", "openb"))
    done = run("bench", "--loads", 1, "--json")
    assert done.status == 0
    assert [json.loads(line)["name"] for line in done.out.splitlines()] == ["fill-3"]
    assert (
        done.err
        == "kai: left out openb: neither --data nor KAI_DATA names a folder with their lists\n"
    )


def test_the_data_option_sets_the_folder_of_traces(run: Run, tmp_path: Path) -> None:
    (tmp_path / "openb").mkdir()
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn1,8000,65536,2,T4\n"
    (tmp_path / "openb" / "openb_node_list_all_node.csv").write_text(nodes)
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,1024,1,1000\np2,1000,1,1,500\n"
    (tmp_path / "openb" / "openb_pod_list_small.csv").write_text(pods)
    done = run("bench", "openb-small", "--data", tmp_path, "--json", "--loads", 1)
    assert json.loads(done.out)["decided"] == {"bind": 2, "pipeline": 0, "evict": 0}


def test_large_workloads_run_only_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "LARGE", ("fill-4",))
    done = run("bench", "fill-3", "--large", "--loads", 1, "--json")
    assert [json.loads(line)["name"] for line in done.out.splitlines()] == ["fill-3", "fill-4"]


def test_json_has_one_line_per_workload(run: Run) -> None:
    done = run("bench", "fill-3", "quiet-3", "--loads", 1, "--json")
    fill, quiet = (json.loads(line) for line in done.out.splitlines())
    assert (fill["name"], fill["events"], quiet["events"]) == ("fill-3", None, 0)


def test_memory_is_listed_by_column(run: Run) -> None:
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


def test_an_unknown_workload_prints_one_sentence(run: Run) -> None:
    for name in ("fill", "fill-x", "fill-0", "fil-5"):
        done = run("bench", name)
        assert done.status == 1
        assert done.err.startswith(f"kai: no workload '{name}'")


def test_the_ladder_and_its_figures_have_valid_workload_names() -> None:
    for name in (*LADDER, *LARGE, *BARS_MS, *KAI_MS):
        assert needs_data(name) or workload(name).name == name


def test_families_are_listed(run: Run) -> None:
    done = run("bench", "--list")
    assert all(f"{family}-SIZE: " in done.out for family in FAMILIES)
