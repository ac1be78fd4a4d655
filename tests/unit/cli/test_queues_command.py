"""kai queues: the fair-share table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kai

Run = Callable[..., Any]
NOW = "2026-01-01T00:00:00Z"


def test_all_three_resources_are_shown(run: Run, snapshot: Path) -> None:
    done = run("queues", snapshot, "--now", NOW)
    assert done.status == 0
    for title in ("Queues, GPUs", "Queues, CPUs", "Queues, memory"):
        assert title in done.out
    lines = done.out.splitlines()
    gpus = lines.index("Queues, GPUs")
    assert lines[gpus + 1 : gpus + 3] == [
        "  queue   deserved  fair share  in use  % of share  over or under  wanted      limit"
        "  weight",
        "  vision         2           2       0           0             -2       9  unlimited"
        "       1",
    ]


def test_a_queue_that_borrows_is_over_its_share(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("rich", deserved_gpus=2).queue("poor", deserved_gpus=2)
    cluster.node("n1", gpus=4, memory="64Gi").pending("poor/new", gpus=2)
    cluster.running("rich/run", pods=3, gpus=1, memory="1Gi", node="n1").save(tmp_path / "x.zip")
    rows = [line.split() for line in run("queues", tmp_path / "x.zip").out.splitlines()]
    assert ["rich", "2", "2", "3", "150", "+1", "3", "unlimited", "1"] in rows
    assert ["poor", "2", "2", "0", "0", "-2", "2", "unlimited", "1"] in rows


def test_json_equals_the_queues_of_the_plan(run: Run, snapshot: Path) -> None:
    numbers = json.loads(run("queues", snapshot, "--json", "--now", NOW).out)
    plan = json.loads(run("plan", snapshot, "--json", "--now", NOW).out)
    assert list(numbers) == ["input", "now", "queues"]
    assert numbers["queues"] == plan["queues"]


def test_missing_queue_numbers_have_a_reason(run: Run, snapshot: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\n")
    assert "is the plugin proportion configured?" in run("queues", snapshot, "--config", config).out


def two_queues(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.json"
    cluster = kai.Cluster().queue("a").queue("b").node("n", gpus=16)
    cluster.pending("a/x", pods=16, gpus=1).pending("b/x", pods=16, gpus=1).save(path)
    return path


def shares(run: Run, *arguments: object) -> dict[str, tuple[float, float]]:
    done = run("queues", *arguments, "--json", "--now", NOW)
    assert done.status == 0, done.err
    queues = json.loads(done.out)["queues"]
    return {
        name: (each["gpu"]["usage"], each["gpu"]["fair_share"]) for name, each in queues.items()
    }


def test_past_usage_is_read_from_a_file(run: Run, tmp_path: Path) -> None:
    """Spec 1 F52."""
    snapshot, file = two_queues(tmp_path), tmp_path / "usage.yaml"
    assert shares(run, snapshot) == {"a": (0, 8), "b": (0, 8)}
    file.write_text("a: {gpu: 0.5}\nb: {gpu: 0.1}\n")
    assert shares(run, snapshot, "--usage", file) == {"a": (0.5, 6), "b": (0.1, 10)}
    plan = json.loads(run("plan", snapshot, "--usage", file, "--json", "--now", NOW).out)
    assert plan["queues"]["a"]["gpu"]["fair_share"] == 6


def test_samples_count_up_to_the_time_of_the_plan(run: Run, tmp_path: Path) -> None:
    snapshot, file = two_queues(tmp_path), tmp_path / "usage.json"
    samples = [
        {"time": "2025-12-31T23:00:00Z", "allocated": {"a": {"gpu": 16}}},
        {"time": "2025-12-31T01:00:00Z", "allocated": {"b": {"gpu": 16}}},
    ]
    usage = {"usageParams": {"windowSize": "2h"}, "capacity": {"gpu": 16}}
    file.write_text(json.dumps({**usage, "samples": samples[:1]}))
    assert shares(run, snapshot, "--usage", file)["a"] == (1.0, 0)
    file.write_text(json.dumps({**usage, "samples": samples}))
    done = run("queues", snapshot, "--usage", file, "--now", NOW)
    assert (done.status, done.out) == (2, "")
    assert "the times of samples must ascend" in done.err


def test_an_invalid_usage_file_prints_one_sentence(run: Run, tmp_path: Path) -> None:
    snapshot, file = two_queues(tmp_path), tmp_path / "usage.yaml"
    for text, message in (
        ("a: 1", "queue a: is not a mapping of gpu, cpu and memory: 1"),
        ("[1]", "is a list, not a mapping of queues"),
    ):
        file.write_text(text)
        done = run("queues", snapshot, "--usage", file)
        assert (done.status, done.out) == (2, "")
        assert done.err == f"kai: --usage: {file}: {message}\n"
    done = run("queues", snapshot, "--usage", tmp_path / "none.yaml")
    assert done.status == 2
    assert "--usage: " in done.err
