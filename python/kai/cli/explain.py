"""``kai explain``: what one pod of a live cluster waits for."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag, with_default
from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.failures import DONE
from kai.cli.fixing import marked, write_html
from kai.cli.output import Answer, Answers, output_options
from kai.cli.work import as_kai_option, patiently, planning_options_in

if TYPE_CHECKING:
    from kai.controllers.planning.options import PlanningOptions
    from kai.engine.fixing.fixes import GroupPage
    from kai.errors import RefusedError
    from kai.live.explaining.pod_layers import PodReport


@click.command(
    "explain",
    epilog="""\b
Examples:
  kai explain --live vision/train-0
  kai explain --live train-0 -n vision --context staging
  kai explain --live vision/train-0 --json | jq -r .explanation
  kai explain --live vision/train-0 --fix      and the smallest change that starts it
  kai explain --live vision/train-0 --fix --html page.html
  kai explain --scheduler-url http://localhost:8082 vision/train-0
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
@click.option(
    "--scheduler-url",
    metavar="URL",
    help="Ask the scheduler there, and read nothing: the --explain-address of kai run.",
)
@with_default(
    "--scheduler-namespace",
    metavar="NAME",
    default="kai-scheduler",
    help="Namespace of the scheduler that answers users without the right to list.",
)
@flag(
    "--fix",
    "with_fixes",
    help="Also find the smallest changes that start its pod group, each proven by a plan.",
)
@click.option(
    "--html", metavar="FILE", help="With --fix: also write the reasons and the changes as a page."
)
@output_options
@click.argument("pod", metavar="POD")
@click.argument("more", nargs=-1, metavar="")
def command(
    pod: str,
    more: tuple[str, ...],
    form: str,
    live: bool,
    with_fixes: bool,
    html: str | None,
    namespace: str | None,
    scheduler_url: str | None,
    scheduler_namespace: str,
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
    them out.

    A user without these rights gets the answer of the running scheduler, from its
    last plan, if the user may get the pod and the kubeconfig has a token. The
    exit status is 1 if the pod does not exist.
    """
    if more:
        raise click.UsageError(_too_many(pod, more))
    if html is not None and not with_fixes:
        raise click.UsageError("--html needs --fix")
    if not live and not scheduler_url and kubeconfig is None and context is None:
        raise click.UsageError(
            "name a cluster: --live for the current context; for files use 'kai plan FILE"
            " --explain GROUP'"
        )
    if namespace and "/" in pod:
        raise click.UsageError(f"{pod!r} already has a namespace: leave out --namespace")
    name = f"{namespace}/{pod}" if namespace else pod
    asked = _Asked(name, kubeconfig, context, scheduler_url or "", scheduler_namespace)
    if with_fixes and scheduler_url:
        raise click.UsageError("--fix needs the objects of the cluster: leave out --scheduler-url")
    chosen, answers = planning_options_in(options), Answers(form)
    answer = _explain(asked, chosen)
    page = _page(asked, chosen) if with_fixes else None
    fixes = None if page is None else page.fixes
    if html is not None and page is not None:
        write_html(html, [page])
    if fixes is None or answers.for_people:
        answers.write(answer)
        if fixes is not None:
            answers.fixes(fixes)
    else:
        answers.write(replace(answer, data=lambda: {**answer.data(), **fixes.to_dict()}))
    return DONE


def _too_many(first: str, more: tuple[str, ...]) -> str:
    """What to write instead of several arguments: a file and a pod, or a namespace and a pod."""
    if len(more) == 1 and not os.path.exists(first) and not first.endswith((".yaml", ".zip")):
        return f"write one POD: {first}/{more[0]}"
    files = " ".join((first, *more[:-1]))
    return (
        f"kai explain reads a live cluster; for files write kai plan {files} --explain {more[-1]}"
    )


def _page(asked: _Asked, options: PlanningOptions) -> GroupPage:
    """Raises the errors of `read_once` and of `kai.Plan.page`."""
    from kai.engine.scheduler import Scheduler
    from kai.live.connecting import read_once

    def find() -> GroupPage:
        cluster = read_once(
            kubeconfig=asked.kubeconfig, context=asked.context, options=options, objects=True
        )
        found = Scheduler(options.config, as_kai=options.as_kai).plan(cluster).page(asked.pod)
        return replace(found, fixes=marked(found.fixes, asked.kubeconfig, asked.context))

    return patiently("trying changes", find)


@dataclass(frozen=True, slots=True)
class _Asked:
    """`pod`: with or without its namespace. `url`: of the scheduler, or ""."""

    pod: str
    kubeconfig: str | None
    context: str | None
    url: str
    scheduler_namespace: str


def _explain(asked: _Asked, options: PlanningOptions) -> Answer:
    """From the objects of the cluster or, if this user may not read them, from the scheduler."""
    from kai.api.extras import need_cluster_extra
    from kai.errors import RefusedError

    need_cluster_extra()
    if asked.url:
        return _told(_ask(asked), ())
    try:
        return _answer(_read(asked, options))
    except RefusedError as error:
        if error.status != 403:
            raise
        without = error
    return _told(_ask_instead(asked, without), (f"{without}; the scheduler has answered",))


def _read(asked: _Asked, options: PlanningOptions) -> PodReport:
    import asyncio

    from kai.k8s.client import Client
    from kai.live.explaining import pod_facts, pod_layers

    async def read() -> pod_facts.PodFacts:
        async with await Client.connect(asked.kubeconfig, asked.context) as client:
            return await pod_facts.read(client, options, asked.pod)

    return pod_layers.report_of(patiently("reading", lambda: asyncio.run(read())))


def _ask(asked: _Asked) -> dict[str, Any]:
    """Raises the errors of `kai.live.asking.ask`."""
    import asyncio

    from kai.k8s.client import Client
    from kai.live.asking import ask

    async def question() -> dict[str, Any]:
        async with await Client.connect(asked.kubeconfig, asked.context) as client:
            namespace, _, name = asked.pod.rpartition("/")
            return await ask(
                client,
                namespace or client.access.namespace,
                name,
                url=asked.url,
                scheduler_namespace=asked.scheduler_namespace,
            )

    return patiently("waiting for the scheduler", lambda: asyncio.run(question()))


def _ask_instead(asked: _Asked, without: RefusedError) -> dict[str, Any]:
    """Raises an error with both causes if the scheduler gives no answer either."""
    from kai.errors import RefusedError, UnreachableError

    try:
        return _ask(asked)
    except (RefusedError, UnreachableError) as error:
        message = f"{without}; nor does the scheduler answer: {error}"
        raise RefusedError(message, without.status) from None


def _told(data: dict[str, Any], notes: tuple[str, ...]) -> Answer:
    """The answer of a scheduler."""
    from kai.live.explaining import pod_layers

    name = data.get("pod") or data.get("pod_group")
    layers = pod_layers.layers_in(data["layers"])
    said = (*data.get("notes", ()), *notes)
    return Answer(
        heading=lambda: f"{name} at {data['now']}",
        tables=lambda: pod_layers.tables_of(layers, str(data["explanation"])),
        data=lambda: {**data, "notes": list(said)},
        rows=lambda: ({"input": None, **row} for row in pod_layers.rows_of(layers)),
        columns=("layer", "name", "value"),
        first=lambda: [str(data["explanation"])],
        notes=lambda: [f"Note: {each}." for each in said],
    )


def _answer(report: PodReport) -> Answer:
    from kai.live.explaining import pod_layers

    return Answer(
        heading=lambda: f"{report.facts.name} at {report.to_dict()['now']}",
        tables=lambda: pod_layers.tables_of(report.layers, report.waits_for.sentence),
        data=report.to_dict,
        rows=lambda: ({"input": None, **row} for row in pod_layers.rows_of(report.layers)),
        columns=("layer", "name", "value"),
        first=lambda: [report.waits_for.sentence],
        notes=lambda: [f"Note: {each}." for each in report.facts.notes],
    )
