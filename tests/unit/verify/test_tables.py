"""Rows of questions to the core: a right answer says nothing, a wrong one says both."""

from __future__ import annotations

from typing import Any

import pytest

from kai._core import fairshare
from kai.verify.tables import check_row, missing_function

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


@pytest.mark.parametrize(("table", "op", "given", "expect"), ROWS, ids=NAMES)
def test_a_right_answer_says_nothing(
    table: str, op: str, given: dict[str, Any], expect: Any
) -> None:
    assert missing_function(table) is None
    assert check_row(table, {"id": "t-1", "op": op, "input": given, "expect": expect}) == []


@pytest.mark.parametrize(("table", "op", "given", "expect"), ROWS, ids=NAMES)
def test_a_wrong_answer_says_both(table: str, op: str, given: dict[str, Any], expect: Any) -> None:
    wrong = {"seconds": 7} if isinstance(expect, dict) else not expect
    (difference,) = check_row(table, {"id": "t-1", "op": op, "input": given, "expect": wrong})
    if isinstance(expect, dict):
        sentence = f"t-1: the minimum runtime is {expect['seconds']}, in KAI 7"
    else:
        sentence = f"t-1: {op} is {expect}, KAI says {wrong}"
    assert difference.text == sentence


def test_a_question_nobody_knows_is_refused() -> None:
    queue = fairshare.QueueShare(name="x")
    nothing = (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match='not "all"'):
        fairshare.reclaim_strategy("all", queue, nothing, queue, nothing)
    with pytest.raises(ValueError, match='not "why"'):
        fairshare.reclaimable([queue], "x", nothing, question="why", preemptible=True)
    with pytest.raises(ValueError, match='not "allocate"'):
        fairshare.min_runtime([], "allocate")
    with pytest.raises(ValueError, match='not "top"'):
        fairshare.min_runtime([], "reclaim", method="top")


def test_queues_have_to_make_a_tree() -> None:
    with pytest.raises(ValueError, match="there is no queue y"):
        fairshare.reclaimable([], "y", (0, 0, 0), question="canReclaim", preemptible=True)
    with pytest.raises(ValueError, match="there are two queues x"):
        fairshare.min_runtime([("x", "", None, None)] * 2, "preempt")
    with pytest.raises(ValueError, match="queue x is above itself"):
        fairshare.min_runtime([("x", "y", None, None), ("y", "x", None, None)], "preempt")
