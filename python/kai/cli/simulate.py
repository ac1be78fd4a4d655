"""``kai simulate``: a workload in virtual time; or what queues get, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kai.cli.failures import DONE, say
from kai.cli.first_moment import beginning, first_moment_options, is_live
from kai.cli.virtual import FORMATS, life, life_options, needs_numpy, seconds
from kai.cli.work import policy_option
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kai.sim.metrics import Metrics
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

EPILOG = """\b
Examples:
  kai simulate philly_jobs.csv                     a trace on its own cluster
  kai simulate jobs.yaml --config packing.yaml     another scheduler configuration
  kai simulate jobs.yaml --policy mine.py          a policy of your own, in Python
  kai simulate jobs.yaml --until 7d --json | jq .metrics
  kai simulate snapshot.zip --remaining exponential:4h --arrivals jobs.yaml
  kai simulate --live --remaining 8h               a cluster as it is now
  kai simulate --fair-share request.json           the shares of KAI's simulator
  kai simulate --time-based config.yaml            queues over time, as CSV
  echo '{"totalResource": {"GPU": 8}, "queues": [
    {"uid": "a", "resourceShare": {"gpu": {"overQuotaWeight": 3}}},
    {"uid": "b", "resourceShare": {"gpu": {"overQuotaWeight": 1}}}]}' |
    kai simulate --fair-share -
"""


@click.command("simulate", epilog=EPILOG)
@click.argument("workload", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of WORKLOAD, or of --arrivals.")
@click.option("--cluster", metavar="FILE", help="Nodes and queues in place of the workload's own.")
@click.option("--config", metavar="FILE", help="The scheduler configuration, as for kai plan.")
@click.option("--as-kai", is_flag=True, help="Decide as KAI does also where kai knows better.")
@policy_option
@click.option("--seed", type=int, default=0, show_default=True, help="Of random times.")
@life_options
@first_moment_options
@click.option("--out", metavar="FILE", help="Save the timeline; Timeline.load reads it.")
@click.option("--html", metavar="FILE", help="Write a page with interactive pictures.")
@click.option("--perfetto", metavar="FILE", help="Write a trace for https://ui.perfetto.dev.")
@click.option("--json", "as_json", is_flag=True, help="Jobs and metrics as JSON.")
@click.option(
    "--fair-share",
    metavar="REQUEST",
    help="Divide what there is among the queues of this request, and no more.",
)
@click.option(
    "--time-based",
    metavar="INPUT",
    help="Run KAI's simulation of time-based fair share, and write its CSV.",
)
def command(
    workload: str | None, fair_share: str | None, time_based: str | None, **options: Any
) -> int:
    """Run a workload in virtual time, with the scheduler that runs in clusters.

    WORKLOAD is a YAML file, a public trace (Philly, ITP, openb, Muri, Tiresias), the
    output of sacct --parsable2, or a file in the Standard Workload Format: the format
    is detected from the content. A trace comes with a cluster and queues, which the
    output describes. Times are like 90s, 2h30m, 36h or 7d.

    WORKLOAD may also be a KAI snapshot: then the simulation starts with the cluster as it
    stands, whose pod groups run on for as long as --remaining says. With --remaining it
    may be whatever kai plan reads; with --live, --kubeconfig or --context it is a live
    cluster. Jobs of --arrivals come later. The first cycle decides as kai plan does.

    With --fair-share, REQUEST is what KAI's fair-share simulator takes by HTTP, as a
    JSON file, or - for standard input: totalResource with GPU, CPU and Memory, and
    queues, each with uid, priority, creationTimestamp and its resourceShare. Units
    are devices, millicores and bytes. The answer is its answer, as JSON.

    With --time-based, INPUT is what KAI's time-based simulator takes, in YAML, or - for
    standard input: Cycles, WindowSize, HalfLifePeriod, KValue, Nodes, Queues and Jobs.
    A cycle is a second of virtual time. The CSV has the columns Time, QueueID,
    Allocation and FairShare; --json has the same by queue, with past usage.
    """
    given = [workload is not None, fair_share is not None, time_based is not None, is_live(options)]
    if given.count(True) != 1:
        raise click.UsageError(
            "give a WORKLOAD to run, --live, --fair-share REQUEST or --time-based INPUT"
        )
    if fair_share is not None:
        return _fair_share(fair_share)
    if time_based is not None:
        return _time_based(time_based, options)
    return _simulate(workload, options)


# ---- a workload ----------------------------------------------------------------------------------


def _simulate(file: str | None, options: dict[str, Any]) -> int:
    from kai.cli.work import named

    given = beginning(file, options)
    for problem in given.problems:
        say(problem)
    config = None if options["config"] is None else named("--config", options["config"])
    for problem in _warnings(config):
        say(problem)
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


def _warnings(config: Path | None) -> list[str]:
    """What a configuration says that has no effect, or another one than meant."""
    from kai.engine import config as configuration
    from kai.sim.past_usage import params_in

    if config is None:
        return []
    params = params_in(config)
    warnings = configuration.read(configuration.config_json(config)).warnings
    return [*warnings, *(() if params is None else params.warnings)]


def _run(workload: Workload, config: Path | None, options: dict[str, Any]) -> Timeline:
    from kai.cli.work import policies_in
    from kai.sim.simulate import simulate

    until = options["until"]
    until_s = None if until is None else seconds("--until", until)
    return simulate(
        workload,
        config=config,
        as_kai=options["as_kai"],
        policies=policies_in(options["policy"]),
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
    page.tables(summary.tables(metrics, scales=timeline.workload.scales))
    share = timeline.engine_ms / 10 / timeline.wall_s if timeline.wall_s else 0.0
    page.paragraph(
        f"{text.count(timeline.cycles, 'cycle')}, one every {timeline.period_s:g} s at most; "
        f"{share:.0f} % of the time was spent in them"
    )
    if metrics.unfinished:
        listed = text.listing(metrics.unfinished_jobs)
        page.paragraph(f"{text.count(metrics.unfinished, 'job')} did not end: {listed}")


# ---- KAI's simulators ----------------------------------------------------------------------------


def _fair_share(file: str) -> int:
    from kai.sim.fair_share import fair_shares

    click.echo(json.dumps(_read_by("--fair-share", file, fair_shares)))
    return DONE


OF_TIME_BASED = ("time_based", "as_kai", "out", "html", "as_json")


def _time_based(file: str, options: dict[str, Any]) -> int:
    import sys

    from click.core import ParameterSource

    from kai.cli.work import named
    from kai.sim import time_based

    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        is_given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if is_given and name not in OF_TIME_BASED:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --time-based")
    given = _read_by("--time-based", file, time_based.read_input)
    try:
        timeline = time_based.run(given, as_kai=options["as_kai"], progress=True)
    except ModuleNotFoundError as error:
        raise needs_numpy("simulate", error) from None
    if options["out"] is not None:
        timeline.save(named("--out", options["out"]))
    if options["html"] is not None:
        timeline.to_html(named("--html", options["html"]))
    if options["as_json"]:
        click.echo(json.dumps(time_based.answer_of(given, timeline)))
    else:
        time_based.write_csv(time_based.rows_of(given, timeline), sys.stdout)
    return DONE


def _read_by(option: str, file: str, read: Callable[[str], Any]) -> Any:
    """What `read` makes of the text of a file, or of standard input. Raises InvalidInputError."""
    from kai.api import documents, files
    from kai.cli.work import named

    source = file if file == "-" else named(option, file)
    name = "standard input" if file == "-" else str(Path(file))
    try:
        return read(documents.decode(files.read(source)))
    except InvalidInputError as error:
        raise InvalidInputError(f"{name}: {error}") from None
