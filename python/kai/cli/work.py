"""What the commands share: reading inputs, planning them, and being patient about it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from kai.cli.failures import BAD_INPUT, DONE, THREAD_NAME, say
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from kai.engine.plan import Plan

PATIENCE_S = 1.0
STRICT = "Exit with 2 for warnings, and for what is left out."

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., object])


def planning_options(command: Command) -> Command:
    """The arguments of every command that plans inputs."""
    for option in (
        click.option("--now", metavar="TIME", help="Time of the cycle, RFC 3339 [the clock's]."),
        click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs."),
        click.option("--strict", is_flag=True, help=STRICT),
        click.option(
            "--config",
            metavar="FILE",
            help="Scheduler configuration (YAML or JSON) to use instead of the snapshot's own.",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON object per input, a line."),
        click.argument("inputs", metavar="INPUT...", nargs=-1, required=True),
    ):
        command = option(command)
    return command


def plan_inputs(
    inputs: Sequence[str], warn: Warner, *, config: str | None, as_kai: bool, now: str | None
) -> Iterator[Plan]:
    """Plans every input, one after the other. One that cannot be read stops no other."""
    from kai.api import times
    from kai.engine.scheduler import Scheduler
    from kai.snapshot import read

    if now is not None:
        try:
            times.to_ns(now)
        except InvalidInputError as error:
            raise InvalidInputError(f"--now: {error}") from None
    scheduler = Scheduler(None if config is None else named("--config", config), as_kai=as_kai)
    found = read(inputs, now=now)
    while True:
        cluster = patiently("reading", lambda: next(found, None))
        if cluster is None:
            return
        if isinstance(cluster, InvalidInputError):
            warn(str(cluster))
            warn.status = BAD_INPUT
            continue
        yield patiently("planning", lambda each=cluster: scheduler.plan(each))  # type: ignore[misc]


def named(option: str, file: str) -> Path:
    """The file of an option; an empty name would be the current directory."""
    from pathlib import Path

    if not file:
        raise InvalidInputError(f"{option}: the name of the file is empty")
    return Path(file)


class Warner:
    """Says things beside the answer, each once, and holds the status that the command ends with."""

    def __init__(self) -> None:
        self.status = DONE
        self._said: set[str] = set()

    def __call__(self, *sentences: str) -> None:
        for each in sentences:
            if each not in self._said:
                self._said.add(each)
                say(each)

    def of(self, warnings: Iterable[object], *, strict: bool, prefix: str = "") -> None:
        """What was skipped, replaced or left out: with `strict` it is bad input."""
        for each in (f"{prefix}{warning}" for warning in warnings):
            self(each)
            if strict:
                self.status = BAD_INPUT


def patiently(what: str, work: Callable[[], Result]) -> Result:
    """The result of `work`, which runs in a thread so that Ctrl-C is heard at once.

    When it takes longer than a second, a terminal shows that something is going on.
    """
    done = threading.Event()
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name=THREAD_NAME, daemon=True).start()
    if not done.wait(PATIENCE_S):
        _wait(what, done)
    if failure:
        raise failure[0]
    return outcome[0]


def _wait(what: str, done: threading.Event) -> None:
    if not sys.stderr.isatty():
        done.wait()
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what)
        while not done.wait(0.1):
            pass
