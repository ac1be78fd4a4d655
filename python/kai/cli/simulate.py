"""``kai simulate``: a workload in virtual time; or what queues get, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kai.cli.failures import DONE, say
from kai.cli.virtual import FORMATS, life, life_options, seconds, workload
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.sim.metrics import Metrics
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

EPILOG = """\b
Examples:
  kai simulate philly_jobs.csv                     a trace on its own cluster
  kai simulate jobs.yaml --config packing.yaml     another scheduler configuration
  kai simulate jobs.yaml --until 7d --json | jq .metrics
  kai simulate --fair-share request.json           the shares of KAI's simulator
  echo '{"totalResource": {"GPU": 8}, "queues": [
    {"uid": "a", "resourceShare": {"gpu": {"overQuotaWeight": 3}}},
    {"uid": "b", "resourceShare": {"gpu": {"overQuotaWeight": 1}}}]}' |
    kai simulate --fair-share -
"""


@click.command("simulate", epilog=EPILOG)
@click.argument("workload", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of WORKLOAD.")
@click.option("--cluster", metavar="FILE", help="Nodes and queues in place of the workload's own.")
@click.option("--config", metavar="FILE", help="The scheduler configuration, as for kai plan.")
@click.option("--as-kai", is_flag=True, help="Decide as KAI does also where kai knows better.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of random node failures.")
@life_options
@click.option("--out", metavar="FILE", help="Save the timeline; Timeline.load reads it.")
@click.option("--html", metavar="FILE", help="Write a page with interactive pictures.")
@click.option("--perfetto", metavar="FILE", help="Write a trace for https://ui.perfetto.dev.")
@click.option("--json", "as_json", is_flag=True, help="Jobs and metrics as JSON.")
@click.option(
    "--fair-share",
    metavar="REQUEST",
    help="Divide what there is among the queues of this request, and no more.",
)
def command(workload: str | None, fair_share: str | None, **options: Any) -> int:
    """Run a workload in virtual time, with the scheduler that runs in clusters.

    WORKLOAD is a YAML file, a public trace (Philly, ITP, openb, Muri, Tiresias), the
    output of sacct --parsable2, or a file in the Standard Workload Format: the format
    is detected from the content. A trace comes with a cluster and queues, which the
    output describes. Times are like 90s, 15m, 36h or 7d.

    With --fair-share, REQUEST is what KAI's fair-share simulator takes by HTTP, as a
    JSON file, or - for standard input: totalResource with GPU, CPU and Memory, and
    queues, each with uid, priority, creationTimestamp and its resourceShare. Units
    are devices, millicores and bytes. The answer is its answer, as JSON.
    """
    if (workload is None) == (fair_share is None):
        raise click.UsageError("give a WORKLOAD to run, or --fair-share REQUEST")
    if fair_share is not None:
        return _fair_share(fair_share)
    return _simulate(str(workload), options)


# ---- a workload ----------------------------------------------------------------------------------


def _simulate(file: str, options: dict[str, Any]) -> int:
    from kai.cli.work import named

    given = workload("simulate", "WORKLOAD", file, options["form"], options["cluster"])
    for problem in given.problems:
        say(problem)
    config = None if options["config"] is None else named("--config", options["config"])
    timeline = _run(given, config, options)
    if options["out"] is not None:
        timeline.save(named("--out", options["out"]))
    warm_up_s = seconds("--warm-up", options["warm_up"])
    metrics = timeline.metrics(warm_up_s=warm_up_s)
    if options["html"] is not None:
        timeline.to_html(named("--html", options["html"]), warm_up_s=warm_up_s)
    if options["perfetto"] is not None:
        timeline.to_perfetto(named("--perfetto", options["perfetto"]))
    if options["as_json"]:
        click.echo(json.dumps(_answer(timeline, metrics)))
    else:
        _page(timeline, metrics)
    return DONE


def _run(workload: Workload, config: Path | None, options: dict[str, Any]) -> Timeline:
    from kai.sim.simulate import simulate

    until = options["until"]
    until_s = None if until is None else seconds("--until", until)
    return simulate(
        workload,
        config=config,
        as_kai=options["as_kai"],
        period_s=seconds("--period", options["period"]),
        until_s=until_s,
        seed=options["seed"],
        life=life(options),
        progress=True,
    )


# ---- what is shown -------------------------------------------------------------------------------


def _answer(timeline: Timeline, metrics: Metrics) -> dict[str, Any]:
    jobs = timeline.workload.jobs

    def times(column: str) -> list[float | None]:
        values = timeline.jobs[column].tolist()
        return [None if value != value else value for value in values]

    return {
        "workload": {
            "name": timeline.workload.name,
            "source": timeline.workload.source,
            "jobs": len(jobs),
            "nodes": len(timeline.node_names),
            "gpus": timeline.workload.gpus,
        },
        "period_s": timeline.period_s,
        "end_s": timeline.end_s,
        "metrics": metrics.to_dict(),
        "jobs": {
            "name": list(jobs.name),
            "arrival_s": jobs.arrival_s.tolist(),
            "first_start_s": times("first_start_s"),
            "end_s": times("end_s"),
            "evictions": timeline.jobs["evictions"].tolist(),
            "restarts": timeline.jobs["restarts"].tolist(),
        },
        "cycles": timeline.cycles,
        "engine_ms": round(timeline.engine_ms, 3),
        "wall_s": round(timeline.wall_s, 6),
    }


def _page(timeline: Timeline, metrics: Metrics) -> None:
    from kai.cli.show import Page
    from kai.engine import text
    from kai.sim import summary

    page = Page()
    page.heading(f"{summary.of_timeline(timeline)} in {timeline.wall_s:.1f} s")
    if timeline.workload.source:
        page.paragraph(timeline.workload.source)
    page.tables(summary.tables(metrics))
    share = timeline.engine_ms / 10 / timeline.wall_s if timeline.wall_s else 0.0
    page.paragraph(
        f"{text.count(timeline.cycles, 'cycle')}, one every {timeline.period_s:g} s at most; "
        f"{share:.0f} % of the time was spent in them"
    )
    if metrics.unfinished:
        listed = text.listing(metrics.unfinished_jobs)
        page.paragraph(f"{text.count(metrics.unfinished, 'job')} did not end: {listed}")


# ---- shares alone --------------------------------------------------------------------------------


def _fair_share(file: str) -> int:
    from kai.api import documents, files
    from kai.cli.work import named
    from kai.sim.fair_share import fair_shares

    source = file if file == "-" else named("--fair-share", file)
    name = "standard input" if file == "-" else str(Path(file))
    try:
        answer = fair_shares(documents.decode(files.read(source)))
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None
    click.echo(json.dumps(answer))
    return 0
