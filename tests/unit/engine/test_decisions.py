"""The decisions of a plan are a sequence that creates its values when they are read."""

from typing import Any

import pytest

import kai
from kai.engine.decisions import Decisions

NOW = "2026-01-01T00:00:00Z"


def decisions(pods: int = 4) -> Decisions:
    cluster = kai.Cluster().queue("a").node("n1", gpus=pods).pending("a/x", pods=pods, gpus=1)
    made = kai.Scheduler().plan(cluster, now=NOW).decisions
    assert isinstance(made, Decisions)
    return made


def whole(pods: int = 4) -> tuple[kai.Bind, ...]:
    return tuple(kai.Bind(f"a/x-{number}", "n1", gpus=1) for number in range(pods))


def test_decisions_compare_like_a_tuple() -> None:
    assert decisions() == whole()
    assert whole() == decisions()
    assert decisions() == decisions()
    assert decisions() != decisions(3)
    assert decisions() != list(whole())
    assert hash(decisions()) == hash(whole())
    assert decisions(0) == ()
    assert not decisions(0)


@pytest.mark.parametrize("looked", [False, True])
def test_decisions_have_the_methods_of_a_tuple(looked: bool) -> None:
    made = decisions()
    if looked:
        list(made)
    assert len(made) == 4
    assert (made[0], made[-1]) == (whole()[0], whole()[-1])
    for part in (slice(1, 3), slice(None), slice(-2, None), slice(3, 1), slice(None, None, -2)):
        assert made[part] == whole()[part]
    with pytest.raises(IndexError):
        made[4]
    assert list(reversed(made)) == list(reversed(whole()))
    assert whole()[2] in made
    assert made.index(whole()[2]) == 2
    assert made.count(whole()[0]) == 1


def test_reading_one_decision_converts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = decisions()
    reads: list[tuple[int, int]] = []

    def note(start: int, stop: int) -> Any:
        reads.append((start, stop))
        return whole()[start:stop]

    monkeypatch.setattr(made, "_made", note)
    assert made[2] == whole()[2]
    assert made[1:3] == whole()[1:3]
    assert reads == [(2, 3), (1, 3)]
    assert list(made) == list(made)
    assert reads[2:] == [(0, 4)]


def test_decisions_print_like_a_tuple_up_to_50() -> None:
    assert repr(decisions()) == repr(whole())
    assert repr(decisions(0)) == "()"
    assert repr(decisions(60)).endswith("gpus=1), ... and 10 more)")


def test_every_decision_has_an_action_and_a_group() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).running("a/low", gpus=1, node="n1")
    plan = kai.Scheduler().plan(cluster.pending("a/high", gpus=1, priority=90), now=NOW)
    assert [(each.kind, each.action, each.for_group) for each in plan.decisions] == [
        ("evict", "preempt", "a/high"),
        ("pipeline", None, None),
    ]
    page = plan.decisions._repr_html_()
    assert "preempt for a/high" in page
    assert "2 decisions" in page


def test_many_decisions_are_folded_in_a_notebook() -> None:
    page = decisions(60)._repr_html_()
    assert ("and 10 more decisions" in page, page.count("<tr>")) == (True, 51)
