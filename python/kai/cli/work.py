"""What the commands share: reading inputs, planning them, and being patient about it."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from kai.cli.failures import BAD_INPUT, DONE, THREAD_NAME, say
from kai.cli.output import Answer, Answers, output_options
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from kai.engine.cluster import Cluster
    from kai.engine.plan import Plan

PATIENCE_S = 1.0
STRICT = "Exit with 2 for warnings, and for what is left out."

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., object])


def planning_options(command: Command) -> Command:
    """The arguments of every command that plans inputs; `form` is that of its answer."""
    for option in (
        click.option("--now", metavar="TIME", help="Time of the cycle, RFC 3339 [the clock's]."),
        click.option("--as-kai", is_flag=True, help="Decide as KAI does, also where it errs."),
        click.option("--strict", is_flag=True, help=STRICT),
        click.option(
            "--config",
            metavar="FILE",
            help="Scheduler configuration (YAML or JSON) to use instead of the snapshot's own.",
        ),
        output_options,
        click.argument("inputs", metavar="INPUT...", nargs=-1, required=True),
    ):
        command = option(command)
    return command


def answering_plans(answer: Callable[[Cluster, Plan, Answers], Answer]) -> Callable[..., int]:
    """A command that plans its inputs, and writes what `answer` makes of each plan."""

    @planning_options
    @functools.wraps(answer)
    def command(
        inputs: tuple[str, ...],
        form: str,
        config: str | None,
        as_kai: bool,
        now: str | None,
        strict: bool,
    ) -> int:
        warn, answers = Warner(), Answers(form)
        for cluster, plan in plan_inputs(inputs, warn, config=config, as_kai=as_kai, now=now):
            warn.of_plan(plan, strict=strict)
            answers.write(answer(cluster, plan, answers))
        return warn.status

    return command


def plan_inputs(
    inputs: Sequence[str], warn: Warner, *, config: str | None, as_kai: bool, now: str | None
) -> Iterator[tuple[Cluster, Plan]]:
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
        yield cluster, patiently("planning", functools.partial(scheduler.plan, cluster))


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

    def of_plan(self, plan: Plan, *, strict: bool) -> None:
        """All that was, for a command whose page does not show it."""
        self.of(plan.warnings, strict=strict)
        self.of(plan.rejected, strict=strict, prefix="left out: ")

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
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        progress.add_task(what)
        while not done.wait(0.1):
            pass


def error_console() -> Console:
    """Where progress is shown: standard error, without any colour if NO_COLOR says so."""
    import os

    from rich.console import Console

    return Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto")
