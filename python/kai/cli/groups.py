"""``kai groups``: the waiting pod groups in scheduling order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kai.cli.output import Answer, Answers
from kai.cli.work import answering_plans

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.engine.plan import Plan
    from kai.engine.text import Table

MOST_ROWS = 50


@click.command(
    "groups",
    epilog="""\b
Examples:
  kai groups snapshot.zip
  kai groups --live --context staging
  kai groups snapshot.zip --wide              a column for each compared value
  kai groups snapshot.zip --json | jq '.groups[] | {place, group, because}'
  kai groups snapshot.zip -o csv > waiting.csv
\b
Three groups of two queues that deserve 4 GPUs each:
     pod group  GPUs  queue  share  priority  age  why before the next
  1  a/high        1  a       25 %        90   2m  its priority is 90; the next
                                                   has 50
  2  a/low         1  a       50 %        50   5m  with it, queue a has 50 % of
                                                   its allowance; b has 75 %
  3  b/new         3  b       75 %        50   1m
""",
)
@answering_plans
def command(cluster: Cluster, plan: Plan, answers: Answers) -> Answer:
    """Show the pod groups that still wait after a cycle, in scheduling order.

    The order is that of the next cycle if nothing else changes. Queues are
    compared first, from the root down: a queue within its fair share comes before
    a queue over it; then the higher queue priority; then the smaller "share",
    the part of its allowance that the queue would hold with the group's next
    pods. Within a queue the higher "priority" comes first, then a group with
    fewer pods than its minimum, then the older group ("age"). Groups that lack
    some of their own pods are not shown. INPUT is as for `kai plan`.
    """
    return _answer(plan, answers)


_COLUMNS = (
    "place", "group", "queue", "queue_over_fair_share", "queue_within_deserved", "queue_priority",
    "queue_share_with_request", "queue_share", "priority", "minimum", "created", "gpus", "cpus",
    "memory", "because",
)  # fmt: skip


def _answer(plan: Plan, answers: Answers) -> Answer:
    from kai.engine import text

    def data() -> dict[str, Any]:
        groups = [turn.to_dict() for turn in plan.order]
        return {"input": plan.input, "now": plan.now_text, "groups": groups}

    def rows() -> Iterator[dict[str, Any]]:
        for turn in plan.order:
            row = {"input": plan.input, **turn.to_dict()}
            own = (row.pop("queues") or [{}])[-1]
            row |= {f"queue_{name}": own.get(name) for name in own}
            yield {column: row.get(column) for column in ("input", *_COLUMNS)}

    def heading() -> str:
        waiting = text.count(len(plan.order), "pod group")
        verb = "waits" if len(plan.order) == 1 else "wait"
        return f"{plan.input} at {plan.now_text}: {waiting} {verb} after this cycle"

    def notes() -> list[str]:
        others = plan.situation.counts["waiting"] - len(plan.order)
        if others <= 0:
            return []
        one = others == 1
        return [
            f"{text.count(others, 'more pod group')} {'waits' if one else 'wait'} for another "
            f"reason and {'has' if one else 'have'} no place in this order; see `kai plan`."
        ]

    def tables() -> list[Table]:
        made = plan.order.tables(
            most=None if answers.is_wide else MOST_ROWS, wide=answers.form == "wide"
        )
        return [
            dataclasses.replace(each, note=f"{each.note}; --wide shows all" if each.note else "")
            for each in made
        ]

    return Answer(
        heading=heading,
        tables=tables,
        data=data,
        rows=rows,
        columns=_COLUMNS,
        notes=notes,
    )
