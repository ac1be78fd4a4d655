"""The start of `kai simulate`: a workload, a snapshot, or a live cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kai.api.naming import naming
from kai.cli.adding import added, flag
from kai.cli.connecting import cluster_options
from kai.cli.virtual import needs_numpy, workload
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.sim.workload import Workload

first_moment_options = added(
    click.option(
        "--remaining",
        metavar="MODEL",
        help="Remaining run time of its pod groups: 8h, forever, exponential:8h,"
        " log-normal:30m,1.8 (median, sigma), annotation:KEY,8h [forever].",
    ),
    click.option("--arrivals", metavar="WORKLOAD", help="Jobs that arrive later."),
    click.option("--now", metavar="TIME", help="Time of the snapshot, RFC 3339 [its own, or now]."),
    flag("--live", help="Start with the present state of a live cluster."),
    cluster_options,
)
"""The options of a simulation that starts with the state of a cluster."""


def is_live(options: dict[str, Any]) -> bool:
    """Whether the options name a live cluster."""
    return bool(options["live"] or options["kubeconfig"] or options["context"])


def beginning(files: Sequence[str], options: dict[str, Any]) -> Workload:
    """The workload that the arguments name; `files` is empty for a live cluster.

    Raises InvalidInputError if it cannot be read, and click.UsageError if options exclude each
    other.
    """
    if not is_live(options) and options["remaining"] is None and not _is_snapshot(files):
        for option in ("arrivals", "now"):
            if options[option] is not None:
                message = f"--{option} needs a snapshot, --remaining or --live"
                raise click.UsageError(message)
        if len(files) > 1:
            raise click.UsageError(
                f"{files[0]} and {files[1]}: there can be only one WORKLOAD; several inputs of kai"
                " plan need --remaining"
            )
        return workload(
            "simulate",
            "WORKLOAD",
            files[0],
            options["form"],
            options["cluster"],
            options["columns"],
        )
    from kai.cli.work import Warner

    if options["columns"] is not None:
        raise click.UsageError("--columns needs a workload that is a table")
    if options["cluster"] is not None:
        raise click.UsageError("--cluster needs a workload: a snapshot has its own nodes")
    cluster = _cluster(files, options)
    if options["config"] is not None and (params := _params_in(options["config"])):
        cluster.configure(**params)
    left_out = (f"left out: {each}" for each in cluster.rejected)
    Warner()(*cluster._warnings(), *left_out)
    now = _first_moment(cluster, options)
    return now if options["arrivals"] is None else _with_arrivals(now, options)


def _params_in(config: str) -> dict[str, Any]:
    """The `schedulerParams` of a configuration, which belong to the cluster."""
    from kai.cli.work import named
    from kai.engine import config as configuration
    from kai.engine import parameters

    return parameters.nested(configuration.split(named("--config", config))[1])


def _is_snapshot(given: Sequence[str]) -> bool:
    """Whether one file is given and looks like a KAI snapshot; no workload is a zip archive or a
    JSON object."""
    from kai.api import files
    from kai.snapshot import archive

    if len(given) != 1:
        return False
    try:
        data = files.read(given[0])
    except InvalidInputError:
        return False  # the reader of workloads reports the reason
    if not data.lstrip()[:2].startswith((b"PK", b"{")):
        return False
    return archive.find_snapshot(archive.unpack(data).data) is not None


def _cluster(files: Sequence[str], options: dict[str, Any]) -> Cluster:
    from kai.cli.work import patiently

    if is_live(options):
        from kai.live.connecting import read_once

        chosen = {name: options[name] for name in ("kubeconfig", "context")}
        whole = (options["remaining"] or "").startswith("annotation")
        cluster = patiently("reading", lambda: read_once(**chosen, objects=whole))
        return cluster if options["now"] is None else cluster.at(options["now"])
    from kai.snapshot import load_all

    clusters = patiently("reading", lambda: load_all(files, now=options["now"]))
    if len(clusters) != 1:
        names = ", ".join(str(each.name) for each in clusters)
        raise InvalidInputError(
            f"a simulation starts with one cluster, and there are {len(clusters)}: {names}"
        )
    return clusters[0]


def _first_moment(cluster: Cluster, options: dict[str, Any]) -> Workload:
    try:
        from kai.sim.first_moment import Remaining, workload_of
    except ModuleNotFoundError as error:
        raise needs_numpy("simulate", error) from None
    with naming("--remaining"):
        remaining = Remaining.parse(options["remaining"] or "forever")
    return workload_of(cluster, remaining=remaining, seed=options["seed"])


def _with_arrivals(now: Workload, options: dict[str, Any]) -> Workload:
    from kai.cli.work import named, patiently
    from kai.sim.first_moment import with_arrivals
    from kai.sim.traces import read_arrivals

    file = named("--arrivals", options["arrivals"])
    later = patiently("reading", lambda: read_arrivals(file, now, format=options["form"]))
    return with_arrivals(now, later)
