"""``kai simulate``: a workload in virtual time, and KAI's two simulators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kai.cli.adding import flag, given_options, with_default
from kai.cli.failures import DONE, print_error
from kai.cli.first_moment import beginning, first_moment_options, is_live
from kai.cli.output import json_options
from kai.cli.virtual import (
    FORMATS,
    columns_option,
    life,
    life_options,
    needs_numpy,
    seconds,
    warm_up,
)
from kai.cli.work import as_kai_option, policy_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from kai.sim.metrics import Metrics
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

EPILOG = """\b
Examples:
  kai simulate philly_jobs.csv                     a trace on its own cluster
  kai simulate jobs.yaml --config packing.yaml     another scheduler configuration
  kai simulate jobs.yaml --policy mine.py          your own policy in Python
  kai simulate jobs.yaml --until 7d --json | jq .metrics
  kai simulate snapshot.zip --remaining exponential:4h --arrivals jobs.yaml
  kai simulate nodes.yaml pods.yaml --remaining 8h
  kai simulate --live --remaining 8h               start with a live cluster
  kai simulate --fair-share request.json           as KAI's fair-share simulator
  kai simulate --time-based config.yaml            as KAI's time-based simulator
  echo '{"totalResource": {"GPU": 8}, "queues": [
    {"uid": "a", "resourceShare": {"gpu": {"overQuotaWeight": 3}}},
    {"uid": "b", "resourceShare": {"gpu": {"overQuotaWeight": 1}}}]}' |
    kai simulate --fair-share -
"""


@click.command("simulate", epilog=EPILOG)
@click.argument("workload", metavar="[WORKLOAD]...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Format of WORKLOAD or --arrivals [detected].",
)
@columns_option
@click.option(
    "--cluster", metavar="FILE", help="Nodes and queues to use instead of the workload's own."
)
@click.option("--config", metavar="FILE", help="Scheduler configuration, as for kai plan.")
@as_kai_option
@policy_option
@with_default("--seed", type=int, default=0, help="Seed of random times.")
@life_options
@first_moment_options
@flag("--fragmentation", help="Also measure the idle GPUs that typical pods cannot use.")
@click.option("--out", metavar="FILE", help="Save the timeline; kai.sim.Timeline.load reads it.")
@click.option("--html", metavar="FILE", help="Write an HTML page with interactive charts.")
@click.option("--perfetto", metavar="FILE", help="Write a trace for https://ui.perfetto.dev.")
@json_options("text", help="jobs and metrics")
@click.option(
    "--fair-share",
    metavar="REQUEST",
    help="Compute only the fair shares of the queues in this request.",
)
@click.option(
    "--time-based",
    metavar="INPUT",
    help="Simulate time-based fair share as KAI does, and print its CSV.",
)
def command(
    workload: tuple[str, ...], fair_share: str | None, time_based: str | None, **options: Any
) -> int:
    """Simulate a workload in virtual time, with the scheduler that runs in clusters.

    WORKLOAD is a YAML file, a public trace (Philly, ITP, openb, Muri, Tiresias,
    Helios, Acme), the output of sacct --parsable2, a file in the Standard Workload
    Format, or any table with --columns. The format is detected from the content. For a
    trace, kai adds a cluster and queues, and the output describes them. Times are
    written as 90s, 2h30m, 36h or 7d.

    WORKLOAD may also be a KAI snapshot: the simulation then starts with the state of
    that cluster, and --remaining gives the remaining run time of its pod groups. With
    --remaining, WORKLOAD may be any input of kai plan, also several. With --live, --kubeconfig or
    --context, the simulation starts with a live cluster. --arrivals adds jobs that
    arrive later. The first cycle takes the same decisions as kai plan.

    With --fair-share, REQUEST is the JSON request of KAI's fair-share simulator, in a
    file or, as -, on standard input: totalResource with GPU, CPU and Memory, and
    queues, each with uid, priority, creationTimestamp and resourceShare. Units are
    GPUs, millicores and bytes. The output is the simulator's JSON answer.

    With --time-based, INPUT is the YAML input of KAI's time-based simulator, in a file
    or, as -, on standard input: Cycles, WindowSize, HalfLifePeriod, KValue, Nodes,
    Queues and Jobs. A cycle is one second of virtual time. The output is CSV with the
    columns Time, QueueID, Allocation and FairShare. --json has the same values by
    queue, with past usage.
    """
    given = [bool(workload), fair_share is not None, time_based is not None, is_live(options)]
    if given.count(True) != 1:
        raise click.UsageError(
            "give exactly one of WORKLOAD, --live, --fair-share REQUEST and --time-based INPUT"
        )
    if fair_share is not None:
        return _fair_share(fair_share)
    if time_based is not None:
        return _time_based(time_based, options)
    return _simulate(workload, options)


# ---- a workload ----------------------------------------------------------------------------------


def _simulate(files: tuple[str, ...], options: dict[str, Any]) -> int:
    from kai.cli.work import named

    given = beginning(files, options)
    for problem in given.problems:
        print_error(problem)
    config = None if options["config"] is None else named("--config", options["config"])
    for problem in _warnings(config, starts_with_cluster=given.first is not None):
        print_error(problem)
    until_s = None if options["until"] is None else seconds("--until", options["until"])
    warm_up_s = warm_up(options["warm_up"], given, until_s)
    timeline = _run(given, config, until_s, options)
    if options["out"] is not None:
        timeline.save(named("--out", options["out"]))
    measured = {"warm_up_s": warm_up_s, "fragmentation": options["fragmentation"]}
    metrics = timeline.metrics(**measured)
    if options["html"] is not None:
        timeline.to_html(named("--html", options["html"]), **measured)
    if options["perfetto"] is not None:
        timeline.to_perfetto(named("--perfetto", options["perfetto"]))
    if options["as_json"]:
        click.echo(json.dumps(_answer(timeline, metrics)))
    else:
        _page(timeline, metrics)
    return DONE


def _warnings(config: Path | None, *, starts_with_cluster: bool) -> list[str]:
    """The warnings about a configuration: settings without effect, or with another one."""
    from kai.engine import config as configuration
    from kai.sim.past_usage import params_in

    if config is None:
        return []
    params = params_in(config)
    settings, of_cluster = configuration.split(config)
    warnings = configuration.read(configuration.to_json(settings)).warnings
    if of_cluster and not starts_with_cluster:
        names = ", ".join(of_cluster)
        warnings = [*warnings, f"schedulerParams are skipped, as no cluster is given: {names}"]
    return [*warnings, *(() if params is None else params.warnings)]


def _run(
    workload: Workload, config: Path | None, until_s: float | None, options: dict[str, Any]
) -> Timeline:
    from kai.cli.work import policies_in
    from kai.sim.simulate import simulate

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


# ---- output --------------------------------------------------------------------------------------


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
        f"{text.count(timeline.cycles, 'cycle')}, at most one every {timeline.period_s:g} s; "
        f"they took {share:.0f} % of the run time"
    )


# ---- KAI's simulators ----------------------------------------------------------------------------


def _fair_share(file: str) -> int:
    from kai.sim.fair_share import fair_shares

    click.echo(json.dumps(_read_by("--fair-share", file, fair_shares)))
    return DONE


OF_TIME_BASED = ("time_based", "as_kai", "out", "html", "output", "as_json")


def _time_based(file: str, options: dict[str, Any]) -> int:
    import sys

    from kai.cli.work import named
    from kai.sim import time_based

    for name, option in given_options().items():
        if name not in OF_TIME_BASED:
            raise click.UsageError(f"{option} and --time-based exclude each other")
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
    """Applies `read` to the text of a file or of standard input. Raises InvalidInputError."""
    from kai.api import documents, files
    from kai.api.naming import naming
    from kai.cli.work import named

    source = file if file == "-" else named(option, file)
    name = "standard input" if file == "-" else str(Path(file))
    with naming(name):
        return read(documents.decode(files.read(source)))
