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


def test_who_borrows_is_over_its_share(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("rich", deserved_gpus=2).queue("poor", deserved_gpus=2)
    cluster.node("n1", gpus=4, memory="64Gi").pending("poor/new", gpus=2)
    cluster.running("rich/run", pods=3, gpus=1, memory="1Gi", node="n1").save(tmp_path / "x.zip")
    rows = [line.split() for line in run("queues", tmp_path / "x.zip").out.splitlines()]
    assert ["rich", "2", "2", "3", "150", "+1", "3", "unlimited", "1"] in rows
    assert ["poor", "2", "2", "0", "0", "-2", "2", "unlimited", "1"] in rows


def test_json_has_the_numbers_of_the_plan(run: Run, snapshot: Path) -> None:
    numbers = json.loads(run("queues", snapshot, "--json", "--now", NOW).out)
    plan = json.loads(run("plan", snapshot, "--json", "--now", NOW).out)
    assert list(numbers) == ["input", "now", "queues"]
    assert numbers["queues"] == plan["queues"]


def test_without_queue_numbers_it_says_why(run: Run, snapshot: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\n")
    assert "is the plugin proportion configured?" in run("queues", snapshot, "--config", config).out
