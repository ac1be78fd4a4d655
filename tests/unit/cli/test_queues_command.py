"""kai queues: the fair-share table."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]
NOW = "2026-01-01T00:00:00Z"


def test_all_three_resources_are_shown(run: Run, snapshot: Path) -> None:
    done = run("queues", snapshot, "--now", NOW)
    assert done.status == 0
    for title in ("Queues, GPUs", "Queues, CPUs", "Queues, memory"):
        assert title in done.out
    assert "  vision         2           2       0       9  unlimited       1" in done.out


def test_json_has_the_numbers_of_the_plan(run: Run, snapshot: Path) -> None:
    numbers = json.loads(run("queues", snapshot, "--json", "--now", NOW).out)
    plan = json.loads(run("plan", snapshot, "--json", "--now", NOW).out)
    assert list(numbers) == ["input", "now", "queues"]
    assert numbers["queues"] == plan["queues"]


def test_without_queue_numbers_it_says_why(run: Run, snapshot: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("actions: allocate\ntiers: [{plugins: [{name: predicates}]}]\n")
    assert "is the plugin proportion configured?" in run("queues", snapshot, "--config", config).out
