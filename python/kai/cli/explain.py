"""``kai explain``: one pod of a live cluster, from its phase down to its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.failures import DONE
from kai.cli.output import Answer, Answers, output_options

if TYPE_CHECKING:
    from kai.engine.text import Table
    from kai.service.pod_layers import Story


@click.command(
    "explain",
    epilog="""\b
Examples:
  kai explain --live vision/train-0
  kai explain --live train-0 -n vision --context staging
  kai explain --live vision/train-0 --json | jq -r .explanation
\b
Its end, of a pod whose queue has what it may have:
  It waits for the limit of queue vision: other pods of the queue have to end,
  or its limit has to be raised.
\b
For a pod group of a file: kai plan FILE --explain GROUP
""",
)
@cluster_options
@scheduler_options
@click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs.")
@click.option(
    "--config", metavar="FILE", help="Scheduler configuration, in the form of --scheduler-conf."
)
@click.option("--live", is_flag=True, help="Read a cluster; nothing is written.")
@click.option("-n", "--namespace", metavar="NAME", help="Of the pod, if POD has none.")
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
    """Say what one pod of a live cluster waits for, and what to do next.

    POD is namespace/name, or a name that one pod alone has. The cluster is read
    once, with any scheduler: the pod, its pod group and queues, what the
    next cycle of kai would decide, its BindRequest and node, the reservation pod
    of a GPU that it shares, and events. Each is a table; the last sentence says
    what is in the way. It takes the rights of `kai plan --live`; events are left
    out without the right to list them. A pod that is not there is exit status 1.
    """
    if not live and kubeconfig is None and context is None:
        raise click.UsageError(
            "name a cluster: --live for the current context; for files there is `kai plan FILE"
            " --explain GROUP`"
        )
    if namespace and "/" in pod:
        raise click.UsageError(f"{pod!r} has a namespace already: leave out --namespace")
    answers = Answers(form)
    asked = f"{namespace}/{pod}" if namespace else pod
    answers.write(_answer(_read(asked, kubeconfig, context, options)))
    return DONE


def _read(pod: str, kubeconfig: str | None, context: str | None, options: dict[str, Any]) -> Story:
    import asyncio

    from kai.cli.work import named, patiently
    from kai.service.live import need_cluster_extra
    from kai.service.options import Options

    need_cluster_extra()
    from kai.k8s.client import Client
    from kai.service import pod_facts, pod_layers

    if options["config"] is not None:
        options["config"] = named("--config", options["config"])
    chosen = Options(**options)

    async def read() -> pod_facts.PodFacts:
        async with await Client.connect(kubeconfig, context) as client:
            return await pod_facts.read(client, chosen, pod)

    return pod_layers.story_of(patiently("reading", lambda: asyncio.run(read())))


def _answer(story: Story) -> Answer:
    from kai.service import pod_layers

    def tables() -> list[Table]:
        return pod_layers.tables_of(story.layers)

    return Answer(
        heading=lambda: f"{story.facts.name} at {story.to_dict()['now']}",
        tables=tables,
        data=story.to_dict,
        rows=lambda: ({"input": None, **row} for row in pod_layers.rows_of(story.layers)),
        columns=("layer", "name", "value"),
        notes=lambda: [story.waits_for.sentence],
    )
