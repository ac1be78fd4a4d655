"""``kai plan``: the decisions of one scheduling cycle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag
from kai.cli.failures import ANSWER_IS_NO
from kai.cli.fixing import costs_in, fix, write_html
from kai.cli.output import Answer, Answers
from kai.cli.what_if import WhatIf, WithChanges, compare, what_if_options
from kai.cli.work import PlanArguments, Warner, planning_options
from kai.errors import NotFoundError

if TYPE_CHECKING:
    from kai.engine.fixing.fixes import GroupPage
    from kai.engine.fragmentation import Fragmentation
    from kai.engine.plan import Plan
    from kai.engine.text import Table
    from kai.engine.timing import Phase


@click.command(
    "plan",
    cls=WithChanges,
    epilog="""\b
Examples:
  kai plan snapshot.zip                   a file from KAI's snapshot endpoint
  kai plan manifests/                     all YAML and JSON files in a directory
  kai plan nodes.yaml queues.yaml job.yaml
  kubectl get nodes,pods,queues,podgroups -A -o json | kai plan -
  kai plan snapshot.zip --explain vision/train
  kai plan snapshot.zip --fix vision/train        what would start it
  kai plan snapshot.zip --scores vision/train-0   why this node and not another
  kai plan snapshot.zip --what-if job.yaml        before it is submitted
  kai plan snapshot.zip --what-if --add-nodes 10 --like gpu-1
  kai plan --live --context staging       the next cycle of a live cluster
  kai plan snapshot.zip --json --now 2026-01-01T00:00:00Z | jq .decisions
  kai plan snapshot.zip -o csv > pods.csv a row per pod that starts or leaves
  kai plan snapshot.zip -o markdown       for an issue
  kai plan snapshot.zip -o wide           nothing is shortened
  kai plan snapshot.zip --policy mine.py  with your own policies
  kai plan snapshot.zip --fragmentation   idle GPUs that typical pods cannot use
  kai plan snapshot.zip --trace out.json  open it in ui.perfetto.dev
\b
To take a snapshot of a running KAI (docs/reference/snapshots.md):
  kubectl port-forward -n kai-scheduler deployment/kai-scheduler-default 8081 &
  curl -sSf localhost:8081/get-snapshot -o snapshot.zip
""",
)
@planning_options
@click.option(
    "--explain", metavar="GROUP", help="Explain why this pod group waits, and print nothing else."
)
@click.option(
    "--fix",
    "to_fix",
    metavar="GROUP",
    help="Find the smallest changes that start this pod group, and print nothing else.",
)
@click.option(
    "--cost",
    "costs",
    metavar="KIND=NUMBER",
    multiple=True,
    help="With --fix: what a kind of change costs, such as nodes=3; cheap changes come first.",
)
@click.option(
    "--html", metavar="FILE", help="With --fix: also write the reasons and the changes as a page."
)
@what_if_options
@flag(
    "--fragmentation",
    help="Also show the idle GPUs that the typical pod cannot use, before and after the plan.",
)
@click.option(
    "--scores", metavar="POD", help="Score the nodes for this pod, and print nothing else."
)
@flag("--at-start", help="With --scores: before the plan, as if the pod were placed first.")
@click.option(
    "--trace", metavar="FILE", help="Write the times of the plan's stages, for ui.perfetto.dev."
)
def command(
    arguments: PlanArguments,
    explain: str | None,
    to_fix: str | None,
    costs: tuple[str, ...],
    html: str | None,
    what_if: WhatIf,
    fragmentation: bool,
    scores: str | None,
    at_start: bool,
    trace: str | None,
) -> int:
    """Plan one scheduling cycle from files or from a live cluster. Nothing is changed.

    INPUT is a KAI snapshot (.zip or .json), Kubernetes manifests (YAML or
    JSON), a directory of either, or - for standard input. Each snapshot is
    planned separately; all manifests together describe one cluster. kai adds to
    manifests what a cluster would add: pods of Jobs, Deployments and
    StatefulSets, pod groups of pods, and the default queues. A pod without a
    schedulerName is planned, too.

    With --live, --kubeconfig or --context, kai reads a live cluster once. It needs
    the right to list objects. Pods without a pod group are grouped in memory, as
    `kai run` does; this needs the right to get the owners of pods.

    GROUP is the namespace/name of a pod group, of its workload or of one of its
    pods, and POD that of a pod. The namespace may be left out if the name is
    unique.

    --fix tries changes and plans the changed cluster, so what it prints starts the
    group; the exit status is 1 if it finds none. --what-if compares two plans: the
    exit status is 1 if a submitted pod group would not start, or if the change
    makes pod groups wait or lose pods.
    """
    chosen = [
        ("--explain", explain is not None),
        ("--fix", to_fix is not None),
        ("--what-if", bool(what_if)),
        ("--scores", scores is not None),
        ("--fragmentation", fragmentation),
    ]
    _check(arguments, chosen, at_start=at_start, costs=bool(costs), html=html)
    cost_of_kinds = costs_in(costs)
    warn = Warner()
    answers, strict = Answers(arguments.form), arguments.strict
    not_found: NotFoundError | None = None
    found = False
    traced: list[tuple[str | None, Mapping[str, Phase]]] = []
    pages: list[GroupPage] = []
    for cluster, made in arguments.plans(warn, objects=to_fix is not None or bool(what_if)):
        if trace is not None:
            traced.append((made.input, made.timing))
        is_page = answers.for_people and not any(is_given for _, is_given in chosen[:-1])
        _warn(warn, made, explain or to_fix, is_page=is_page, strict=strict)
        try:
            if explain is not None:
                _explain(made, explain, answers, warn)
            elif to_fix is not None:
                pages.append(fix(made, to_fix, cost_of_kinds, arguments, answers, warn))
            elif what_if:
                compare(what_if, cluster, made, answers, warn)
            elif scores is not None:
                answers.write(_scores(made, scores, at_start=at_start, wide=answers.is_wide))
            else:
                stuck = (cluster.fragmentation(), made.fragmentation) if fragmentation else None
                answers.write(_answer(made, stuck, wide=arguments.form == "wide"))
        except NotFoundError as error:
            not_found = not_found or error
            continue
        found = True
    if trace is not None:
        _save_trace(traced, trace)
    if html is not None and pages:
        write_html(html, pages)
    if not_found is not None and not found:
        raise not_found
    return warn.status


def _warn(warn: Warner, plan: Plan, name: str | None, *, is_page: bool, strict: bool) -> None:
    """What a page would show beside the answer, unless it is shown. `name`: of the group that the
    answer is about."""
    from kai.engine import report

    if strict or not is_page:
        said = plan.elsewhere.sentences() if name and _is_elsewhere(plan, name) else ()
        warn.of((each for each in plan.warnings if each not in said), strict=strict)
    if not is_page and name is None:
        warn(*report.notes(plan))
    if strict:
        warn.of(plan.rejected, strict=strict, prefix="left out: ")


def _check(
    arguments: PlanArguments,
    chosen: list[tuple[str, bool]],
    *,
    at_start: bool,
    costs: bool,
    html: str | None,
) -> None:
    """Raises click.UsageError for options that exclude one another."""
    given = [option for option, is_given in chosen if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} exclude each other")
    if at_start and "--scores" not in given:
        raise click.UsageError("--at-start needs --scores POD")
    if costs and "--fix" not in given:
        raise click.UsageError("--cost needs --fix GROUP")
    if html is not None and "--fix" not in given:
        raise click.UsageError("--html needs --fix GROUP")
    if "--fragmentation" in given and arguments.form == "csv":
        raise click.UsageError("-o csv and --fragmentation exclude each other: a row is a decision")


def _explain(plan: Plan, name: str, answers: Answers, warn: Warner) -> None:
    from kai.engine.left_out import rejections
    from kai.engine.not_planned import why_not_planned

    explanation = plan.why(name)
    if rejections(plan, name) or why_not_planned(plan, name):
        warn.status = warn.status or ANSWER_IS_NO
    answers.explain(explanation, _explanation(plan, name, explanation))


def _is_elsewhere(plan: Plan, name: str) -> bool:
    """Whether only pods of another scheduler have this name."""
    return plan.elsewhere.of(name) is not None and not plan.situation.find_groups(name)


def _scores(plan: Plan, pod: str, *, at_start: bool, wide: bool) -> Answer:
    scores = plan.scores(pod, at="start" if at_start else None)

    def rows() -> Iterator[dict[str, Any]]:
        for node in scores.values():
            about: dict[str, Any] = {"input": plan.input, "pod": scores.pod, "node": node.node}
            about |= {"chosen": node.node == scores.chosen, "now": node.now, "sum": node.sum}
            for plugin, score in node.by_plugin.items():
                yield {**about, "plugin": plugin, "score": score}

    return Answer(
        heading=scores.title,
        tables=lambda: [scores.table(most=None, wide=True) if wide else scores.table()],
        data=lambda: {"input": plan.input, "now": plan.now_text, **scores.to_dict()},
        rows=rows,
        columns=("pod", "node", "chosen", "now", "sum", "plugin", "score"),
        notes=lambda: [] if scores else [f"--explain {scores.pod} gives the reasons."],
    )


def _save_trace(plans: list[tuple[str | None, Mapping[str, Phase]]], file: str) -> None:
    from kai.api import files
    from kai.api.naming import naming
    from kai.engine.timing import trace_of

    with naming(f"--trace: {file}"):
        files.write(file, json.dumps(trace_of(plans)).encode())


def _explanation(plan: Plan, given: str, explanation: str) -> dict[str, Any]:
    from dataclasses import asdict

    from kai.engine.explain import isolations
    from kai.engine.left_out import rejections
    from kai.engine.not_planned import why_not_planned

    about: dict[str, Any] = {"input": plan.input, "now": plan.now_text}
    if found := rejections(plan, given):
        about["rejected"] = [asdict(each) for each in found]
    elif not why_not_planned(plan, given):
        group = plan.find_group(given)
        about |= {"pod_group": group.name, **group.to_dict()}
        about["isolations"] = isolations(plan, given)
    return {**about, "explanation": [line.strip() for line in explanation.splitlines()]}


_COLUMNS = (
    "kind", "pod", "pod_group", "node", "gpus", "devices", "portion", "gpu_memory_mib",
    "gpu_groups", "action", "for", "message",
)  # fmt: skip


def _answer(plan: Plan, stuck: tuple[Fragmentation, Fragmentation] | None, *, wide: bool) -> Answer:
    """`stuck`: fragmentation before and after the plan, if it is shown."""
    from kai.engine import report

    def rows() -> Iterator[dict[str, Any]]:
        groups = plan.situation.group_of_pod
        for decision in plan.decisions:
            row = decision.to_dict()
            row |= {"input": plan.input, "pod_group": groups.get(decision.pod)}
            row["gpu_groups"] = ",".join(row.get("gpu_groups", ()))
            yield {column: row.get(column) for column in ("input", *_COLUMNS)}

    def tables() -> list[Table]:
        more = [] if stuck is None else [report.fragmentation(*stuck)]
        if not wide:
            return [*report.tables_of(plan), *more]
        from kai.engine.wide import groups

        return [
            report.warnings(plan),
            groups(plan),
            *report.queue_tables_of(plan),
            *more,
            report.elsewhere(plan),
            report.rejected(plan),
        ]

    def data() -> dict[str, Any]:
        assert stuck is not None
        before, after = (each.to_dict() for each in stuck)
        return {**plan.to_dict(), "fragmentation": {"before": before, "after": after}}

    return Answer(
        heading=lambda: report.title(plan),
        tables=tables,
        data=plan.to_dict if stuck is None else data,
        json=plan.to_json if stuck is None else None,
        rows=rows,
        columns=_COLUMNS,
    )
