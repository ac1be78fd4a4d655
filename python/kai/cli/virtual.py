"""Shared by commands that simulate: workloads, times, and events outside the scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kai.api import extras
from kai.api.durations import seconds_of, too_long
from kai.cli.adding import added, with_default
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.sim.simulate import Life
    from kai.sim.workload import Workload

# A copy of the names in kai.sim.traces, so that --help does not load NumPy.
FORMATS = (
    "philly",
    "itp",
    "openb",
    "muri",
    "tiresias",
    "helios",
    "acme",
    "swf",
    "sacct",
    "csv",
    "yaml",
)

columns_option = click.option(
    "--columns",
    metavar="OURS=THEIRS,...",
    help="Columns of any table: arrival, gpus, and duration or start and end; also pods, cpu, name,"
    " queue, user. Such as arrival=submit_time,duration=run_s,gpus=milli/1000.",
)

life_options = added(
    click.option("--until", metavar="TIME", help="End after this time, such as 36h or 7d."),
    with_default(
        "--period",
        metavar="TIME",
        default="1s",
        help="A cycle runs at the next multiple of TIME after an event; 0: at once.",
    ),
    click.option(
        "--startup", metavar="TIME", default="0", help="Time from binding a pod until it runs."
    ),
    click.option(
        "--checkpoint",
        metavar="TIME",
        default="0",
        help="Interval at which pods save their work, or never.",
    ),
    click.option(
        "--restart",
        metavar="TIME",
        default="0",
        help="Extra time of each start after the first.",
    ),
    with_default(
        "--scale-every",
        metavar="TIME",
        default="10s",
        help="Interval at which the autoscaler checks for waiting pods.",
    ),
    click.option("--fail-every", metavar="TIME", help="Mean time between failures of a node."),
    click.option(
        "--warm-up",
        metavar="TIME",
        default="0",
        help="Jobs that arrive earlier are not measured.",
    ),
)
"""The options of every simulation."""


def life(options: dict[str, Any]) -> Life:
    """The Life that the values of `life_options` describe."""
    from kai.sim.simulate import Failures, Life

    every = options["fail_every"]
    if every is not None:
        every = seconds("--fail-every", every, never=True)
    return Life(
        startup_s=seconds("--startup", options["startup"]),
        checkpoint_s=seconds("--checkpoint", options["checkpoint"], never=True),
        restart_s=seconds("--restart", options["restart"]),
        scale_every_s=seconds("--scale-every", options["scale_every"]),
        failures=None if every is None else Failures(every / 86_400),
    )


def workload(
    command: str,
    what: str,
    file: str,
    form: str | None,
    cluster: str | None,
    columns: str | None = None,
) -> Workload:
    """Reads the workload of a file; `cluster` is a file with other nodes and queues.

    `columns`: the value of --columns. `what` names the option of the file in errors. Raises
    InvalidInputError if a file cannot be read or NumPy is missing.
    """
    from kai.cli.work import named, patiently

    def read() -> Workload:
        try:
            from kai.sim.traces import columns as mapped
            from kai.sim.traces import read, read_cluster
        except ModuleNotFoundError as error:
            raise needs_numpy(command, error) from None
        nodes, queues = (
            (None, None) if cluster is None else read_cluster(named("--cluster", cluster))
        )
        try:
            mapping = None if columns is None else mapped.checked(mapped.parse(columns))
        except InvalidInputError as error:
            raise InvalidInputError(f"--columns: {str(error).removeprefix('columns: ')}") from None
        return read(named(what, file), format=form, nodes=nodes, queues=queues, columns=mapping)

    return patiently("reading", read)


def needs_numpy(command: str, error: ModuleNotFoundError) -> Exception:
    """Replaces the error by a sentence if NumPy is the missing module."""
    if error.name != "numpy":
        return error
    return InvalidInputError(extras.needed(f"kai {command}", "numpy"))


def warm_up(value: str, workload: Workload, until_s: float | None) -> float:
    """Parses --warm-up, before a long simulation. Raises InvalidInputError if nothing is left."""
    found = seconds("--warm-up", value)
    last = float(workload.jobs.arrival_s.max(initial=0.0))
    if found > last:
        raise InvalidInputError(f"--warm-up: {value!r} is after the last arrival, at {last:g} s")
    if until_s is not None and found > until_s:
        raise InvalidInputError(f"--warm-up: {value!r} is after --until, {until_s:g} s")
    return found


def seconds(option: str, value: str, *, never: bool = False) -> float:
    """Parses a time such as 90s, 2h30m or 7d; with ``never``, this word as well.

    Raises InvalidInputError for other text.
    """
    found = seconds_of(value, never=never)
    if found is None:
        why = too_long(value) or "is not a time such as 90s, 2h30m, 36h or 7d"
        raise InvalidInputError(f"{option}: {value!r} {why}")
    return found
