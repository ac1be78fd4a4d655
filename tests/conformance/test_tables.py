"""Rows of questions to single functions: recorded answers, and a check that a wrong answer is
noticed."""

import json
from pathlib import Path
from typing import Any

import kai_questions
import pytest
from tables import check_row, main, read_tables

from kai.verify import default_cases

# Every row must agree, and there must be at least this many.
TABLES = {
    "capacity-policy": 130,
    "fair-share-hierarchy": 175,
    "job-order": 11,
    "min-runtime": 56,
    "node-placement": 131,
    "queue-order": 199,
    "reclaim-strategies": 20,
    "reclaimable": 212,
    "resource-division": 50,
    "topology-levels": 29,
    "topology-node-sets": 44,
}

OVER = {"gpu": {"allocated": 3, "quota": 2, "fairShare": 2, "limit": -1}}
UNDER = {"gpu": {"allocated": 2, "quota": 3, "fairShare": 3, "limit": -1}}
TAKES_ONE = {"queue": "x", "preemptible": True, "resources": {"gpu": 1}}
RUNTIMES = {
    "defaultPreemptMinRuntime": 2,
    "defaultReclaimMinRuntime": 1,
    "queues": {
        "top": {"reclaimMinRuntime": 60},
        "x": {"parent": "top"},
        "y": {"parent": "top", "preemptMinRuntime": 30},
    },
}
VICTIM = {
    "queue": "y",
    "startedSecondsAgo": 10,
    "podSets": {"workers": {"minMember": 1, "active": 3}, "leader": {"minMember": 1, "active": 1}},
}

# table, op, input, KAI's answer
ROWS: list[tuple[str, str, dict[str, Any], Any]] = [
    (
        "reclaim-strategies",
        "guaranteeQuota",
        {
            "reclaimer": {"queue": UNDER, "resources": {"gpu": 1}},
            "reclaimee": {"queue": OVER, "remaining": {"gpu": 3}},
        },
        True,
    ),
    (
        "reclaim-strategies",
        "any",
        {
            "reclaimer": {"queue": UNDER, "resources": {"gpu": 1}},
            "reclaimee": {"queue": OVER, "remaining": {"gpu": 2}},
        },
        False,
    ),
    ("reclaimable", "canReclaim", {"queues": {"x": UNDER}, "reclaimer": TAKES_ONE}, True),
    (
        "reclaimable",
        "victimCandidate",
        {"queues": {"x": UNDER, "y": OVER}, "reclaimer": TAKES_ONE, "reclaimeeQueue": "y"},
        True,
    ),
    (
        "reclaimable",
        "reclaimable",
        {
            "queues": {"x": UNDER, "y": OVER},
            "reclaimer": TAKES_ONE,
            "reclaimees": {"y": [{"gpu": 1}, {"gpu": 1}]},
        },
        False,
    ),
    ("min-runtime", "preempt", {**RUNTIMES, "victimQueue": "y"}, {"seconds": 30}),
    (
        "min-runtime",
        "reclaim",
        {**RUNTIMES, "reclaimerQueue": "x", "victimQueue": "y", "method": "queue"},
        {"seconds": 60},
    ),
    (
        "min-runtime",
        "reclaim",
        {**RUNTIMES, "reclaimerQueue": None, "victimQueue": "y"},
        {"seconds": 1, "error": True},
    ),
    (
        "min-runtime",
        "reclaimFilter",
        {**RUNTIMES, "pending": {"queue": "x"}, "victim": {**VICTIM, "elastic": False}},
        False,
    ),
    (
        "min-runtime",
        "preemptScenario",
        {
            **RUNTIMES,
            "pending": {"queue": "y"},
            "victims": [{**VICTIM, "elastic": True, "evicted": {"workers": 2}}],
        },
        True,
    ),
    (
        "min-runtime",
        "preemptScenario",
        {
            **RUNTIMES,
            "pending": {"queue": "y"},
            "victims": [{**VICTIM, "elastic": True, "evicted": {"workers": 1, "leader": 1}}],
        },
        False,
    ),
]
NAMES = [f"{table}-{op}-{answer}" for table, op, _, answer in ROWS]


@pytest.fixture(scope="module")
def recorded() -> dict[str, list[dict[str, Any]]]:
    return read_tables(default_cases())


def test_all_tables_are_checked(recorded: dict[str, list[dict[str, Any]]]) -> None:
    assert recorded.keys() == TABLES.keys()


@pytest.mark.parametrize("table", TABLES)
def test_single_functions_return_kais_results(
    table: str, recorded: dict[str, list[dict[str, Any]]]
) -> None:
    rows = recorded[table]
    assert len(rows) >= TABLES[table]
    assert [text for row in rows for text in check_row(table, row)] == []


@pytest.mark.parametrize(("table", "op", "given", "expect"), ROWS, ids=NAMES)
def test_a_right_result_gives_no_message(
    table: str, op: str, given: dict[str, Any], expect: Any
) -> None:
    assert check_row(table, {"id": "t-1", "op": op, "input": given, "expect": expect}) == []


@pytest.mark.parametrize(("table", "op", "given", "expect"), ROWS, ids=NAMES)
def test_a_wrong_result_gives_a_message_with_both_values(
    table: str, op: str, given: dict[str, Any], expect: Any
) -> None:
    wrong = {"seconds": 7} if isinstance(expect, dict) else not expect
    (text,) = check_row(table, {"id": "t-1", "op": op, "input": given, "expect": wrong})
    if isinstance(expect, dict):
        sentence = f"t-1: the minimum runtime is {expect['seconds']}, in KAI 7"
    else:
        sentence = f"t-1: {op} is {expect}, KAI says {wrong}"
    assert text == sentence


def test_an_unknown_question_is_refused() -> None:
    queue = kai_questions.QueueShare(name="x")
    nothing = (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match='not "all"'):
        kai_questions.reclaim_strategy("all", queue, nothing, queue, nothing)
    with pytest.raises(ValueError, match='not "why"'):
        kai_questions.reclaimable([queue], "x", nothing, question="why", preemptible=True)
    with pytest.raises(ValueError, match='not "allocate"'):
        kai_questions.min_runtime([], "allocate")
    with pytest.raises(ValueError, match='not "top"'):
        kai_questions.min_runtime([], "reclaim", method="top")


def test_queues_must_form_a_tree() -> None:
    with pytest.raises(ValueError, match="there is no queue y"):
        kai_questions.reclaimable([], "y", (0, 0, 0), question="canReclaim", preemptible=True)
    with pytest.raises(ValueError, match="there are two queues x"):
        kai_questions.min_runtime([("x", "", None, None)] * 2, "preempt")
    with pytest.raises(ValueError, match="queue x is above itself"):
        kai_questions.min_runtime([("x", "y", None, None), ("y", "x", None, None)], "preempt")


def test_the_script_counts_equal_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = {
        "id": "t-1",
        "op": "canReclaim",
        "input": {"queues": {"x": UNDER}, "reclaimer": TAKES_ONE},
    }
    rows = [{**right, "expect": True}, {**right, "id": "t-2", "expect": False}]
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "reclaimable.json").write_text(json.dumps({"cases": rows}))
    assert main([str(tmp_path)]) == 1
    message = "reclaimable: 1 of 2 agree\n  t-2: canReclaim is True, KAI says False\n"
    assert capsys.readouterr().out == message
