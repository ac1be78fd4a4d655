"""``kai explain``: what one pod of a live cluster waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag
from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.failures import DONE
from kai.cli.output import Answer, Answers, output_options
from kai.cli.work import as_kai_option, patiently, planning_options_in

if TYPE_CHECKING:
    from kai.controllers.planning.options import PlanningOptions
    from kai.live.explaining.pod_layers import PodReport


@click.command(
    "explain",
    epilog="""\b
Examples:
  kai explain --live vision/train-0
  kai explain --live train-0 -n vision --context staging
  kai explain --live vision/train-0 --json | jq -r .explanation
\b
The first sentence, for a pod whose queue has reached its limit:
  It waits for the limit of queue vision: other pods of the queue must end, or
  its limit must be raised.
\b
For a pod group in a file, use: kai plan FILE --explain GROUP
""",
)
@cluster_options
@scheduler_options
@as_kai_option
@click.option(
    "--config",
    metavar="FILE",
    help="Scheduler configuration, in the format of KAI's --scheduler-conf.",
)
@flag("--live", help="Read a live cluster; nothing is written.")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of the pod, if POD has none.")
@output_options
@click.argument("pod", metavar="POD")
def command(
    pod: str,
    form: str,
    live: bool,
    namespace: str | None,
    kubeconfig: str | None,
    context: str | None,
    **options: Any,
) -> int:
    """Explain what one pod of a live cluster waits for, and what to do next.

    POD is namespace/name, or a name that only one pod has. The cluster is read
    once; it may run any scheduler. The first sentence names what the pod waits
    for. Then the output has a table for each of: the pod, its pod group and
    queues, the decision of kai's next cycle, its BindRequest and node, the
    reservation pod of a GPU that it shares, and its events. The command needs
    the rights of `kai plan --live`; without the right to list events it leaves
    them out. The exit status is 1 if the pod does not exist.
    """
    if not live and kubeconfig is None and context is None:
        raise click.UsageError(
            "name a cluster: --live for the current context; for files use 'kai plan FILE"
            " --explain GROUP'"
        )
    if namespace and "/" in pod:
        raise click.UsageError(f"{pod!r} already has a namespace: leave out --namespace")
    answers = Answers(form)
    name = f"{namespace}/{pod}" if namespace else pod
    answers.write(_answer(_read(name, kubeconfig, context, planning_options_in(options))))
    return DONE


def _read(
    pod: str, kubeconfig: str | None, context: str | None, options: PlanningOptions
) -> PodReport:
    import asyncio

    from kai.api.extras import need_cluster_extra

    need_cluster_extra()
    from kai.k8s.client import Client
    from kai.live.explaining import pod_facts, pod_layers

    async def read() -> pod_facts.PodFacts:
        async with await Client.connect(kubeconfig, context) as client:
            return await pod_facts.read(client, options, pod)

    return pod_layers.report_of(patiently("reading", lambda: asyncio.run(read())))


def _answer(report: PodReport) -> Answer:
    from kai.live.explaining import pod_layers

    return Answer(
        heading=lambda: f"{report.facts.name} at {report.to_dict()['now']}",
        tables=lambda: pod_layers.tables_of(report.layers),
        data=report.to_dict,
        rows=lambda: ({"input": None, **row} for row in pod_layers.rows_of(report.layers)),
        columns=("layer", "name", "value"),
        first=lambda: [report.waits_for.sentence],
        notes=lambda: [f"Note: {each}." for each in report.facts.notes],
    )
