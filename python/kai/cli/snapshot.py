"""``kai snapshot``: a live cluster as a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.cli.connecting import cluster_options, scheduler_options
from kai.cli.failures import DONE
from kai.cli.work import Warner, patiently, planning_options_in

if TYPE_CHECKING:
    from kai.controllers.planning.options import PlanningOptions
    from kai.engine.cluster import Cluster

EPILOG = """\b
Examples:
  kai snapshot --out s.zip                 from the API server
  kai snapshot --out s.zip --context staging
  kai plan s.zip                           and later, without the cluster
\b
From a running scheduler, with the state that it keeps in memory:
  kubectl port-forward -n kai-scheduler deployment/kai 8080 &
  kai snapshot --out s.zip --from http://localhost:8080
"""


@click.command("snapshot", epilog=EPILOG)
@cluster_options
@scheduler_options
@click.option(
    "--config",
    metavar="FILE",
    help="Scheduler configuration (YAML or JSON) to store in the snapshot.",
)
@click.option(
    "--from",
    "url",
    metavar="URL",
    help="Fetch from a scheduler: the --listen-address of kai run, or port 8081 of KAI.",
)
@click.option("--out", metavar="FILE", required=True, help="The .zip archive to write.")
def command(
    url: str | None, out: str, kubeconfig: str | None, context: str | None, **options: Any
) -> int:
    """Write a snapshot of a live cluster, in the format of KAI Scheduler.

    It has the objects that decisions depend on; pods have no images, commands and
    values of environment variables. Nothing in the cluster is changed.

    By default the objects come from the API server, which needs the right to list
    them. `kai plan` of this file decides as a scheduler that has just started.
    With --from, the snapshot comes from a running scheduler. A snapshot of
    `kai run` also has the state in its memory: decisions that the cluster does
    not show yet, and promised placements.
    """
    from kai.api import files

    if not out.endswith(".zip"):
        raise click.UsageError(f"--out: {out!r} does not end in .zip")
    if url is None:
        _read(kubeconfig, context, planning_options_in(options)).save(out)
        return DONE
    if kubeconfig is not None or context is not None:
        raise click.UsageError(
            "--from reads from a scheduler: it excludes --kubeconfig and --context"
        )
    from kai.snapshot.fetching import fetch

    files.write(out, patiently("waiting for the scheduler", lambda: fetch(url)))
    return DONE


def _read(kubeconfig: str | None, context: str | None, options: PlanningOptions) -> Cluster:
    """Reads all objects of a cluster; warns on standard error about those that it cannot read."""
    from kai.live.connecting import read_once

    cluster = patiently(
        "reading",
        lambda: read_once(kubeconfig=kubeconfig, context=context, options=options, objects=True),
    )
    Warner()(*cluster._warnings())
    return cluster
