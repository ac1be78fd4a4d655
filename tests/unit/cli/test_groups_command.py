"""kai groups: which groups wait, and the order in which they are tried."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai

Run = Callable[..., Any]
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    cluster = kai.Cluster().queue("a", deserved_gpus=4).queue("b", deserved_gpus=4)
    cluster.pending("b/new", gpus=3).pending("a/low", gpus=1)
    cluster.pending("a/high", gpus=1, priority=90)
    path = tmp_path / "waiting.zip"
    cluster.save(path)
    return path


def test_the_next_group_is_first_and_has_a_reason(run: Run, waiting: Path) -> None:
    done = run("groups", waiting, "--now", NOW)
    assert (done.status, done.err) == (0, "")
    rows = re.findall(r"^ +(\d)  (\S+) +(\S+) ", done.out, re.MULTILINE)
    assert rows == [("1", "a/high", "1"), ("2", "a/low", "1"), ("3", "b/new", "3")]
    output = " ".join(done.out.replace("\n" + " " * 45, " ").split())
    assert "its priority is 90; the next has 50" in output
    assert "with it, queue a has 50 % of its allowance; b has 75 %" in output


def test_wide_has_a_column_for_each_part_of_the_order(run: Run, waiting: Path) -> None:
    head = run("groups", waiting, "--wide", "--now", NOW).out.splitlines()[3]
    for part in (
        "queues",
        "queue standing",
        "queue priority",
        "share with it",
        "priority",
        "minimum",
    ):
        assert part in head
    first = run("groups", waiting, "--wide", "--now", NOW).out.splitlines()[4]
    assert first.split("  within deserved")[0].split() == ["1", "a/high", "1", "a"]


def test_json_equals_the_order_of_the_plan(run: Run, waiting: Path) -> None:
    data = json.loads(run("groups", waiting, "--json", "--now", NOW).out)
    order = kai.Scheduler().plan(kai.load(waiting), now=NOW).order
    assert data["groups"] == [turn.to_dict() for turn in order]
    first = data["groups"][0]
    assert (first["place"], first["group"], first["priority"]) == (1, "a/high", 90)
    assert first["because"] == "its priority is 90; a/low has 50"
    [queue] = first["queues"]
    assert (queue["name"], queue["share_with_request"], queue["within_deserved"]) == (
        "a",
        0.25,
        True,
    )


def test_a_queue_without_an_allowance_has_no_share_of_it(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a").queue("b").queue("c", deserved_gpus=2).node("n", gpus=2)
    cluster.running("c/all", gpus=2, node="n").pending("a/x", gpus=2).pending("b/y", gpus=4)
    cluster.save(tmp_path / "c.zip")
    done = run("groups", tmp_path / "c.zip", "--now", NOW)
    assert done.out.count("may have none") == 2
    assert "0000 %" not in done.out
    assert "queues a and b may use none of a requested resource; with it, a uses less" in done.out
    assert "0000 %" not in run("groups", tmp_path / "c.zip", "--wide").out


def test_many_groups_are_counted_unless_wide(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a")
    for number in range(60):
        cluster.pending(f"a/job-{number:02}", gpus=1)
    cluster.save(tmp_path / "many.zip")
    out = run("groups", tmp_path / "many.zip").out
    assert out.endswith("  and 10 more pod groups; --wide shows all\n")
    assert "a/job-59" not in out
    assert "a/job-59" in run("groups", tmp_path / "many.zip", "--wide").out


def test_a_cluster_without_waiting_groups(run: Run, tmp_path: Path) -> None:
    kai.Cluster().save(tmp_path / "empty.zip")
    done = run("groups", tmp_path / "empty.zip", "--now", NOW)
    assert " ".join(done.out.split()).endswith("0 pod groups wait after this cycle")


def test_groups_that_cannot_be_tried_are_counted(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=1)
    cluster.pending("a/big", gpus=2).pending("a/gang", pods=1, min_member=2)
    cluster.save(tmp_path / "c.zip")
    output = " ".join(run("groups", tmp_path / "c.zip").out.split())
    assert "1 pod group waits after this cycle" in output
    assert "1 more pod group waits for another reason and has no place in this order" in output
