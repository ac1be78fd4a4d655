"""A plan as tables for people: what happens, which groups wait, the queues, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kai.engine import explain, text
from kai.engine.queues import queue_tables
from kai.engine.text import Table

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.values import Decision

MOST_ROWS = 12

_VERBS = {"bind": "bound", "pipeline": "pipelined", "evict": "evicted"}


def title(plan: Answer) -> str:
    """One line: which input, when, and how it went."""
    name = f"{plan.input} at " if plan.input else ""
    return f"{name}{plan.now_text}: {summary(plan)}"


def summary(plan: Answer) -> str:
    """ "4 pods bound, 1 evicted; 2 of 5 pod groups wait"."""
    kinds = Counter(decision.kind for decision in plan.decisions)
    done = [
        f"{text.count(kinds[kind], 'pod') if first else text.number(kinds[kind])} {_VERBS[kind]}"
        for first, kind in _marking_first(kind for kind in _VERBS if kinds[kind])
    ]
    waiting = sum(explain.waits(group) for group in plan.pod_groups.values())
    total = text.count(len(plan.pod_groups), "pod group")
    verb = "waits" if waiting == 1 else "wait"
    wait = f"{text.number(waiting)} of {total} {verb}" if waiting else f"none of {total} waits"
    return f"{', '.join(done) or 'nothing to do'}; {wait if plan.pod_groups else 'no pod groups'}"


def tables_of(plan: Answer) -> list[Table]:
    """Everything a person wants to see of a plan, most important first."""
    return [
        warnings(plan),
        decisions(plan),
        waiting(plan),
        *queue_tables(plan.queues, plan.situation.queue_parents, busy_only=True),
        rejected(plan),
    ]


def decisions(plan: Answer) -> Table:
    """One row per pod group and kind of decision, in the order of the first of them.

    When that is too long to read, the groups of a queue share a row.
    """
    rows: dict[tuple[str, str, str], _Row] = {}
    for decision in plan.decisions:
        group = plan.situation.group_of_pod.get(decision.pod, decision.pod)
        row = rows.setdefault((decision.kind, group, _cause(decision)), _Row())
        row.groups[group] = None
        row.decisions.append(decision)
    if len(rows) > MOST_ROWS:
        rows = _by_queue(plan, rows)
    shown = [
        (
            kind,
            text.listing(row.groups, most=1),
            text.number(len(row.decisions)),
            "" if cause else text.number(sum(getattr(each, "gpus", 0) for each in row.decisions)),
            cause or places(getattr(each, "node", "") for each in row.decisions),
        )
        for (kind, _, cause), row in list(rows.items())[:MOST_ROWS]
    ]
    hidden = list(rows.values())[MOST_ROWS:]
    note = ""
    if hidden:
        pods = text.count(sum(len(row.decisions) for row in hidden), "more pod")
        note = f"and {pods} of {text.count(sum(len(row.groups) for row in hidden), 'pod group')}"
    columns = ("", "pod group", "pods", "GPUs", "where")
    return Table("Decisions", columns, shown, right=frozenset((2, 3)), note=note, name=1)


@dataclass(slots=True)
class _Row:
    """Decisions of one kind, and the pod groups they are about."""

    groups: dict[str, None] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)


def _cause(decision: Decision) -> str:
    if decision.kind != "evict":
        return ""
    action, for_group = getattr(decision, "action", ""), getattr(decision, "for_group", None)
    return f"{action} for {for_group}" if for_group else action


def _by_queue(
    plan: Answer, rows: dict[tuple[str, str, str], _Row]
) -> dict[tuple[str, str, str], _Row]:
    folded: dict[tuple[str, str, str], _Row] = {}
    for (kind, group, cause), row in rows.items():
        known = plan.pod_groups.get(group)
        into = folded.setdefault((kind, known.queue if known else "", cause), _Row())
        into.groups |= row.groups
        into.decisions += row.decisions
    return folded


def places(nodes: Iterable[str]) -> str:
    """ "n1", "n1 (4), n2 (4)", "n1 (4), n2 (4), n3 (4) and 7 more"."""
    counts = Counter(nodes)
    if len(counts) == 1:
        return next(iter(counts))
    return text.listing(f"{node} ({number})" for node, number in counts.items())


def waiting(plan: Answer) -> Table:
    """One row per reason to wait, whichever the queues of groups that wait for the same."""
    rows: dict[str, list[str]] = {}
    account = explain.Account(plan)
    for group in plan.pod_groups.values():
        if explain.waits(group):
            rows.setdefault(explain.in_short(plan, group, account), []).append(group.name)
    shown = [(text.listing(names, most=1), why) for why, names in list(rows.items())[:MOST_ROWS]]
    hidden = sum(len(names) for names in list(rows.values())[MOST_ROWS:])
    note = f"and {text.count(hidden, 'more pod group')}" if hidden else ""
    return Table("Waiting", ("pod group", "why"), shown, note=note)


def warnings(plan: Answer) -> Table:
    """Before everything else: where a name was mistyped, the rest is not what was meant."""
    return Table("Warnings", ("",), [(each,) for each in plan.warnings])


def rejected(plan: Answer) -> Table:
    rows = [
        (f"{each.kind} {each.name}".strip(), f"{each.field}: {each.message}".removeprefix(": "))
        for each in plan.rejected
    ]
    hidden = len(rows) - MOST_ROWS
    note = f"and {text.count(hidden, 'more object')}" if hidden > 0 else ""
    return Table("Left out", ("object", "why"), rows[:MOST_ROWS], note=note)


def queue_tables_of(plan: Answer) -> list[Table]:
    """The queues of a plan, below their parents: a table per resource."""
    return queue_tables(plan.queues, plan.situation.queue_parents)


def _marking_first(items: Iterable[str]) -> Iterable[tuple[bool, str]]:
    for index, item in enumerate(items):
        yield index == 0, item
