"""A plan as tables for people: decisions, waiting groups, queues, objects left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kai.engine import explain, text
from kai.engine.queues import queue_tables
from kai.engine.situation import MOST_ROWS
from kai.engine.text import Table

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.fragmentation import Fragmentation

_VERBS = {"bind": "bound", "pipeline": "pipelined", "evict": "evicted"}


def title(plan: Answer) -> str:
    """One line: the input, the time, and the result."""
    name = f"{plan.input} at " if plan.input else ""
    return f"{name}{plan.now_text}: {summary(plan)}"


def summary(plan: Answer) -> str:
    """ "4 pods bound, 1 evicted; 2 of 5 pod groups wait; 1 object left out"."""
    kinds = plan.situation.counts
    done = [
        f"{text.number(kinds[kind]) if index else text.count(kinds[kind], 'pod')} {_VERBS[kind]}"
        for index, kind in enumerate(kind for kind in _VERBS if kinds[kind])
    ]
    groups, waiting = kinds["pod_groups"], kinds["waiting"]
    total = text.count(groups, "pod group")
    verb = "waits" if waiting == 1 else "wait"
    wait = f"{text.number(waiting)} of {total} {verb}" if waiting else f"none of {total} waits"
    left_out = f"; {text.count(len(plan.rejected), 'object')} left out" if plan.rejected else ""
    return f"{', '.join(done) or 'nothing to do'}; {wait if groups else 'no pod groups'}{left_out}"


def tables_of(plan: Answer) -> list[Table]:
    """All tables of a plan for a person, most important first."""
    return [
        warnings(plan),
        decisions(plan),
        waiting(plan),
        *queue_tables(plan.queues, plan.situation.queue_parents, busy_only=True),
        elsewhere(plan),
        rejected(plan),
    ]


def decisions(plan: Answer) -> Table:
    """One row per pod group and kind of decision, in the order of their first decision.

    If that is too long to read, the groups of a queue share a row.
    """
    rows, hidden_pods, hidden_groups = plan.situation.decision_rows
    shown = []
    for kind, group, groups, pods, gpus, action, for_group, places, nodes in rows:
        cause = f"{action} for {for_group}" if for_group else action
        shown.append(
            (
                kind,
                text.listing_of([group], groups),
                text.number(pods),
                "" if cause else text.number(gpus),
                cause or _where(places, nodes),
            )
        )
    note = ""
    if hidden_pods:
        more = text.count(hidden_pods, "more pod")
        note = f"and {more} of {text.count(hidden_groups, 'pod group')}"
    columns = ("", "pod group", "pods", "GPUs", "where")
    return Table("Decisions", columns, shown, right=frozenset((2, 3)), note=note, name=1)


def _where(places: list[tuple[str, int]], nodes: int) -> str:
    """ "n1", "n1 (4), n2 (4)", "n1 (4), n2 (4), n3 (4) and 7 more"."""
    if nodes == 1:
        return places[0][0]
    return text.listing_of([f"{node} ({number})" for node, number in places], nodes)


def waiting(plan: Answer) -> Table:
    """One row per reason, for the groups of all queues that wait for it."""
    rows = explain.reasons_to_wait(plan)
    shown = [(text.listing(names, most=1), why) for why, names in rows[:MOST_ROWS]]
    hidden = sum(len(names) for _, names in rows[MOST_ROWS:])
    note = f"and {text.count(hidden, 'more pod group')}" if hidden else ""
    return Table("Waiting", ("pod group", "why"), shown, note=note)


def warnings(plan: Answer) -> Table:
    """Printed before everything else: after a mistyped name the rest is not as intended."""
    return Table("Warnings", ("",), [(each,) for each in plan.warnings])


def notes(plan: Answer) -> list[str]:
    """Sentences about waiting pods of other schedulers, unless they are warnings of the plan."""
    return [each for each in plan.elsewhere.sentences() if each not in plan.warnings]


def elsewhere(plan: Answer) -> Table:
    return Table("Not planned", ("",), [(each,) for each in notes(plan)])


def rejected(plan: Answer) -> Table:
    rows = [
        (f"{each.kind} {each.name}".strip(), f"{each.field}: {each.message}".removeprefix(": "))
        for each in plan.rejected
    ]
    hidden = len(rows) - MOST_ROWS
    note = f"and {text.count(hidden, 'more object')}" if hidden > 0 else ""
    return Table("Left out", ("object", "why"), rows[:MOST_ROWS], note=note)


def fragmentation(before: Fragmentation, after: Fragmentation) -> Table:
    """How much of the idle GPUs the typical pod cannot use, before and after a plan."""
    rows = [
        (
            name,
            text.number(each.idle_gpus),
            text.number(each.gpus),
            f"{each.share:.1%}",
        )
        for name, each in (("before", before), ("after", after))
    ]
    columns = ("", "idle", "not usable", "share")
    title = "Idle GPUs that the typical pod cannot use"
    return Table(title, columns, rows, right=frozenset((1, 2, 3)))


def queue_tables_of(plan: Answer) -> list[Table]:
    """The queues of a plan, below their parents: one table per resource."""
    return queue_tables(plan.queues, plan.situation.queue_parents)
