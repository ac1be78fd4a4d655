"""``kai queues``: quota, fair share and usage of queues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kai.cli.output import Answer, Answers
from kai.cli.work import answering_plans

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.engine.plan import Plan


@click.command(
    "queues",
    epilog="""\b
Examples:
  kai queues snapshot.zip
  kai queues --live --context staging
  kai queues manifests/ --json | jq '.queues["team-a"].gpu'
  kai queues snapshot.zip -o csv > queues.csv     a row per queue and resource
\b
A queue that borrows, and a queue below its share:
  queue   deserved  fair share  in use  % of share  over or under  wanted
  speech         4           4       8         200             +4       8
  vision         4           4       0           0             -4       4
speech is 4 GPUs over its share, so vision may reclaim 4 GPUs from it.
""",
)
@answering_plans
def command(cluster: Cluster, plan: Plan, answers: Answers) -> Answer:
    """Show the quota, the fair share and the usage of each queue.

    The numbers are those at the start of a cycle. "deserved" is the quota; "fair
    share" is what the queue should have, given the current requests; "in use" is
    what its pods hold, also in percent of the fair share and as the amount over
    or under it; "wanted" adds the requests of its waiting pods. Queues are
    listed below their parents. INPUT is as for `kai plan`.
    """
    return _answer(cluster, plan)


_RESOURCES = ("gpu", "cpu", "memory")
_AMOUNTS = (
    "deserved", "fair_share", "limit", "allocated", "allocated_non_preemptible", "request",
    "over_quota_weight", "usage", "over_fair_share", "part_of_fair_share",
)  # fmt: skip


def _answer(cluster: Cluster, plan: Plan) -> Answer:
    from kai.engine import report

    def data() -> dict[str, Any]:
        numbers = {name: queue.to_dict() for name, queue in plan.queues.items()}
        return {"input": plan.input, "now": plan.now_text, "queues": numbers}

    def rows() -> Iterator[dict[str, Any]]:
        parents = plan.situation.queue_parents
        for queue in plan.queues.values():
            for resource in _RESOURCES:
                share = getattr(queue, resource)
                row = {"input": plan.input, "queue": queue.name, "parent": parents.get(queue.name)}
                yield row | {"resource": resource} | {of: _csv(share, of) for of in _AMOUNTS}

    def notes() -> list[str]:
        if plan.queues:
            return []
        if not cluster.counts["queues"]:
            return ["There is no queue. `kai install` prints two default queues."]
        return ["No queue has numbers: is the plugin proportion configured?"]

    return Answer(
        heading=lambda: f"{plan.input} at {plan.now_text}: queues at the start of the cycle",
        tables=lambda: report.queue_tables_of(plan),
        data=data,
        rows=rows,
        columns=("queue", "parent", "resource", *_AMOUNTS),
        notes=notes,
    )


def _csv(share: object, member: str) -> object:
    """The cell of a value: "inf" if unlimited, as in `kai.Queues.to_pandas`; empty if undefined."""
    value = getattr(share, member)
    return "inf" if value is None and member in ("deserved", "limit", "fair_share") else value
