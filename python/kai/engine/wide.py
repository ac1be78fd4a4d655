"""All pod groups of a plan, one row each, with their numbers: ``kai plan --wide``."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kai.api import times
from kai.engine import text
from kai.engine.answer import Answer
from kai.engine.differences import texts
from kai.engine.order import age
from kai.engine.text import Table

_COUNTS = ("pods", "running", "bound", "pipelined", "evicted", "waiting")
_COLUMNS = ("pod group", "queue", "verdict", "priority", "age", *_COUNTS, "reason", "nodes")
_RIGHT = frozenset(_COLUMNS.index(head) for head in ("priority", "age", *_COUNTS))


def groups(plan: Answer) -> Table:
    """All groups by name, with any verdict; `nodes` are those of bound and pipelined pods.

    >>> import kai
    >>> cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a").node("n1", gpus=1)
    >>> cluster = cluster.pending("a/x", pods=2, gpus=1, created="2025-12-31T22:00:00Z")
    >>> groups(kai.Scheduler().plan(cluster)).rows[0][:5]
    ('a/x', 'a', 'partly placed', '50', '2h')
    """
    columns = plan._compiled.group_columns()
    named = {name: _coded(columns[name]) for name in ("queue", "verdict", "reason")}
    created = memoryview(columns["created_ns"]).cast("q")
    numbers = {name: memoryview(columns[name]).cast("i") for name in ("priority", *_COUNTS)}
    placed = _places(plan)
    rows = []
    for index, name in enumerate(texts(columns["pod_group"])):
        rows.append(
            (
                name,
                named["queue"][index],
                named["verdict"][index].replace("_", " "),
                str(numbers["priority"][index]),
                # The smallest integer marks an unknown time.
                age(times.to_datetime(created[index]) if created[index] > 0 else None, plan.now),
                *(text.number(numbers[count][index]) for count in _COUNTS),
                named["reason"][index],
                text.listing(
                    (f"{node} ({number})" for node, number in placed.get(name, {}).items()),
                    most=len(placed.get(name, ())),
                ),
            )
        )
    return Table("Pod groups", _COLUMNS, rows, right=_RIGHT)


def _coded(column: tuple[bytes, list[str]]) -> list[str]:
    codes, known = column
    named = [*known, ""]  # code -1 means none
    return [named[code] for code in memoryview(codes).cast("i")]


def _places(plan: Answer) -> dict[str, Counter[str]]:
    """By pod group, the number of pods on each node."""
    found: dict[str, Counter[str]] = {}
    group_of = plan.situation.group_of_pod
    columns: Any = plan._compiled.decision_columns()
    nodes = _coded(columns["node"])
    for pod, node in zip(texts(columns["pod"]), nodes, strict=True):
        if node:
            found.setdefault(group_of.get(pod, pod), Counter())[node] += 1
    return found
