"""Waiting times of pods, and fair shares: metrics of the planning thread."""

import json
from types import SimpleNamespace
from typing import Any

from kai.controllers.planning.figures import Figures

CREATED = "2027-01-15T08:00:00Z"
CREATED_S = 1_800_000_000.0


def pod(name: str, node: str = "", **metadata: Any) -> tuple[str, bytes]:
    data = {
        "metadata": {
            "annotations": {
                "last-applied": '{"metadata":{"creationTimestamp":null},"nodeName":"x"}'
            },
            "creationTimestamp": CREATED,
            "name": name,
            **metadata,
        },
        "spec": {"nodeName": node, "volumes": [{"metadata": {"creationTimestamp": None}}]},
    }
    return f"team/{name}", json.dumps(data).encode()


class Feed:
    """`there`: existing pods with these names."""

    def __init__(self, *there: str) -> None:
        self._there = there

    def pod_facts(self, names: list[str]) -> list[Any]:
        return [("uid",) if each in self._there else None for each in names]


def waited(figures: Figures, *names: str, at: float = CREATED_S + 2.5) -> list[float]:
    return figures.bound([f"team/{each}" for each in names], [at] * len(names))


def test_a_pod_has_waited_from_its_creation_until_it_was_bound_and_counts_once() -> None:
    figures = Figures()
    figures.saw([pod("a"), pod("b")])
    assert waited(figures, "a") == [2.5]
    assert waited(figures, "a") == []
    assert waited(figures, "b", at=CREATED_S - 0.4) == [0], "clocks differ by less than a second"


def test_a_watch_event_before_the_answer_counts() -> None:
    figures = Figures()
    figures.saw([pod("a")])
    figures.saw([pod("a", node="n1")])
    assert waited(figures, "a") == [2.5]


def test_pods_that_had_a_node_before_or_have_no_time_are_left_out() -> None:
    figures = Figures()
    figures.saw([pod("old", node="n1"), pod("new", creationTimestamp=None)])
    figures.saw([pod("odd", creationTimestamp="yesterday")])
    assert waited(figures, "old", "new", "odd", "unknown") == []


def test_a_deleted_pod_is_forgotten_unless_it_was_recreated() -> None:
    figures = Figures()
    figures.saw([pod("a"), pod("b")])
    figures.gone(["team/a", "team/b"], Feed("team/b"))  # type: ignore[arg-type]
    assert waited(figures, "a", "b") == [2.5]


def test_fair_shares_are_read_at_most_once_a_second() -> None:
    reads = []

    def plan(share: float | None) -> Any:
        def queues() -> Any:
            reads.append(share)
            return {"a": {"gpu": (None, share, None), "cpu": (0, 1, 2), "memory": (0, 3, 4)}}

        return SimpleNamespace(queues=queues)

    figures = Figures()
    assert (figures.shares(0), figures.wake()) == (None, None)
    figures.planned(plan(1))
    assert figures.shares(10.0) == {"a": {"gpu": 1, "cpu": 1, "memory": 3}}
    assert (figures.shares(10.5), figures.wake()) == (None, None)
    figures.planned(plan(2))
    figures.planned(plan(None))
    assert (figures.shares(10.9), figures.wake()) == (None, 11.0)
    shares = figures.shares(11.0)
    assert shares is not None
    assert shares["a"]["gpu"] is None
    assert reads == [1, None]
