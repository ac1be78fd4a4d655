"""``kai plan``: what the scheduler would do with a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kai.cli import ANSWER_IS_NO
from kai.cli.work import Warner, plan_inputs, planning_options
from kai.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from kai.engine.plan import Plan
    from kai.engine.timing import Phase


@click.command(
    "plan",
    epilog="""\b
Examples:
  kai plan snapshot.zip                   what KAI's snapshot endpoint gave you
  kai plan manifests/                     all YAML and JSON files in a directory
  kai plan nodes.yaml queues.yaml job.yaml
  kubectl get nodes,pods,queues,podgroups -A -o json | kai plan -
  kai plan snapshot.zip --explain vision/train
  kai plan snapshot.zip --json --now 2026-01-01T00:00:00Z | jq .decisions
  kai plan snapshot.zip --trace out.json  open it in ui.perfetto.dev
""",
)
@planning_options
@click.option("--explain", metavar="GROUP", help="Say why this pod group waits, and no more.")
@click.option("--trace", metavar="FILE", help="Write where the time went, for ui.perfetto.dev.")
@click.option("--strict", is_flag=True, help="Exit with 2 for warnings, and for what is left out.")
def command(
    inputs: tuple[str, ...],
    as_json: bool,
    config: str | None,
    as_kai: bool,
    now: str | None,
    explain: str | None,
    trace: str | None,
    strict: bool,
) -> int:
    """Plan one scheduling cycle, without any cluster.

    INPUT is a KAI snapshot (.zip or .json), Kubernetes manifests (YAML or
    JSON), a directory of either, or - for standard input. Each snapshot is
    planned by itself; all manifests together describe one cluster. In
    manifests, what a cluster would add is added: Jobs, Deployments and
    StatefulSets get their pods, pods get pod groups, the default queues exist,
    and a pod that names no scheduler is ours.

    GROUP is namespace/name of a pod group, its workload or one of its pods; the
    namespace may be left out where the name says enough.
    """
    from kai.engine.explain import rejections

    warn = Warner()
    not_found: NotFoundError | None = None
    explained = False
    page = None
    traced: list[tuple[str | None, Mapping[str, Phase]]] = []
    for made in plan_inputs(inputs, warn, config=config, as_kai=as_kai, now=now):
        if trace is not None:
            traced.append((made.input, made.timing))
        if strict or as_json or explain is not None:  # a page has them
            warn.of(made.warnings, strict=strict)
        if strict:
            warn.of((f"left out: {rejected}" for rejected in made.rejected), strict=strict)
        if page is None and not as_json:
            from kai.cli.show import Page

            page = Page()
        if explain is not None:
            try:
                said = made.why(explain)
            except NotFoundError as error:
                not_found = not_found or error
                continue
            explained = True
            if rejections(made, explain):
                warn.status = warn.status or ANSWER_IS_NO
            if page:
                page.paragraph(said)
            else:
                _print_json(_explanation(made, explain, said))
        elif page:
            from kai.engine import report

            page.heading(report.title(made))
            page.tables(report.tables_of(made))
        else:
            click.echo(made.to_json())
    if trace is not None:
        _save_trace(traced, trace)
    if not_found is not None and not explained:
        raise not_found
    return warn.status


def _save_trace(plans: list[tuple[str | None, Mapping[str, Phase]]], file: str) -> None:
    from kai.api import documents
    from kai.engine.timing import trace_of

    try:
        with open(file, "w", encoding="utf-8") as out:
            json.dump(trace_of(plans), out)
    except OSError as error:
        raise InvalidInputError(f"--trace: {file}: {documents.why_unreadable(error)}") from None


def _explanation(plan: Plan, asked: str, said: str) -> dict[str, Any]:
    from dataclasses import asdict

    from kai.engine.explain import rejections

    about: dict[str, Any] = {"input": plan.input, "now": plan.now_text}
    if found := rejections(plan, asked):
        about["rejected"] = [asdict(each) for each in found]
    else:
        group = plan.find_group(asked)
        about |= {"pod_group": group.name, **group.to_dict()}
    return {**about, "explanation": [line.strip() for line in said.splitlines()]}


def _print_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value))
