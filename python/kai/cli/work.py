"""Shared by commands that plan: reads inputs, plans them, and shows progress."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kai.api import keys
from kai.api.naming import naming
from kai.cli.adding import added, flag
from kai.cli.connecting import cluster_options
from kai.cli.failures import BAD_INPUT, DONE, THREAD_NAME, print_error
from kai.cli.output import Answer, Answers, output_options
from kai.errors import InvalidConfigError, InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from kai.controllers.planning.options import PlanningOptions
    from kai.engine.cluster import Cluster
    from kai.engine.plan import Plan
    from kai.policy import Policy

PATIENCE_S = 1.0
_LOOK_EVERY_S = 0.1
STRICT = "Exit with 2 for warnings and for objects that are left out."

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanArguments:
    """The arguments of a command that plans: inputs or a live cluster, and how to plan."""

    inputs: tuple[str, ...]
    live: bool
    kubeconfig: str | None
    context: str | None
    form: str
    config: str | None
    as_kai: bool
    now: str | None
    usage: str | None
    policy: tuple[str, ...]
    strict: bool
    scheduler_name: str
    queue_label_key: str

    def __post_init__(self) -> None:
        if self.is_live and self.inputs:
            message = f"--live and INPUT ({self.inputs[0]!r}) exclude each other"
            raise click.UsageError(message)
        if not self.is_live and not self.inputs:
            message = (
                "INPUT... is missing: give a file or a directory, or read a cluster with --live"
            )
            raise click.UsageError(message)

    @property
    def is_live(self) -> bool:
        return self.live or self.kubeconfig is not None or self.context is not None

    def plans(self, warn: Warner, *, objects: bool = False) -> Iterator[tuple[Cluster, Plan]]:
        """Plans every input in turn. An unreadable input does not stop the others. `objects`: the
        objects of a live cluster are needed, to change them."""
        from kai.api import times
        from kai.engine.scheduler import Scheduler

        if self.now is not None:
            with naming("--now"):
                times.to_ns(self.now)
        config, params = self._configuration()
        usage = None if self.usage is None else self._usage_in(named("--usage", self.usage))
        scheduler = Scheduler(config, as_kai=self.as_kai, policies=policies_in(self.policy))
        found = self._clusters(config, params, objects=objects)
        while True:
            cluster = patiently("reading", lambda: next(found, None))
            if cluster is None:
                return
            if isinstance(cluster, InvalidInputError):
                warn(str(cluster))
                warn.status = BAD_INPUT
                continue
            if usage is not None:
                usage(cluster)
            yield cluster, patiently("planning", functools.partial(scheduler.plan, cluster))

    @staticmethod
    def _usage_in(file: Path) -> Callable[[Cluster], object]:
        """A function that sets the past usage of a cluster's queues, at the time of its plan."""
        import time

        from kai.api import times
        from kai.engine import usage

        with naming("--usage"):
            content = usage.read(file)

        def give(cluster: Cluster) -> object:
            clock_ns = time.time_ns()
            now_ns = clock_ns if cluster.now is None else times.to_ns(cluster.now)
            rows = usage.usage_in(content, now_ns, f"--usage: {file}")
            return cluster.set_usage(usage.to_mapping(rows))

        return give

    def _configuration(self) -> tuple[Mapping[str, Any] | None, dict[str, Any]]:
        """The configuration, and the parameters that it or an option sets, by their names."""
        from kai.engine import config as configuration

        config: Mapping[str, Any] | None = None
        found: dict[str, Any] = {}
        if self.config is not None:
            config, found = configuration.split(named("--config", self.config))
        for name, value, default in (
            ("schedulerName", self.scheduler_name, keys.SCHEDULER_NAME),
            ("queueLabelKey", self.queue_label_key, keys.QUEUE_LABEL),
        ):
            if value != default:
                found[name] = value
        return config, found

    def _clusters(
        self, config: Mapping[str, Any] | None, params: dict[str, Any], *, objects: bool
    ) -> Iterator[Cluster | InvalidInputError]:
        if self.is_live:
            from kai.controllers.planning.options import PlanningOptions
            from kai.live.connecting import read_once

            options = PlanningOptions(
                # A usage file takes precedence over the database of the configuration.
                config=None if self.usage else config,
                as_kai=self.as_kai,
                scheduler_name=params.pop("schedulerName", keys.SCHEDULER_NAME),
                queue_label_key=params.pop("queueLabelKey", keys.QUEUE_LABEL),
                node_pool_key=params.pop("partitionParams.NodePoolLabelKey", keys.NODE_POOL_LABEL),
                node_pool=params.pop("partitionParams.NodePoolLabelValue", ""),
                params=params,
            )
            cluster = read_once(
                kubeconfig=self.kubeconfig, context=self.context, options=options, objects=objects
            )
            yield cluster if self.now is None else cluster.at(self.now)
        else:
            from kai.engine import parameters
            from kai.snapshot import read

            for found in read(
                self.inputs,
                now=self.now,
                scheduler_name=params.pop("schedulerName", keys.SCHEDULER_NAME),
                queue_label_key=params.pop("queueLabelKey", keys.QUEUE_LABEL),
            ):
                if params and not isinstance(found, InvalidInputError):
                    found.configure(**parameters.nested(params))
                yield found


as_kai_option = flag("--as-kai", help="Decide exactly as KAI does, including its known errors.")
policy_option = click.option(
    "--policy",
    metavar="FILE.py",
    multiple=True,
    help="Python file with your own policies; it is executed.",
)


def policies_in(files: Iterable[str], option: str = "--policy") -> tuple[Policy, ...]:
    """The policies of all these files. Raises InvalidConfigError with the option's name."""
    found: list[Policy] = []
    for file in files:
        from kai.policy import load

        path = named(option, file)
        with naming(option, InvalidConfigError):
            found.extend(load(path))
    return tuple(found)


_PLANNING_OPTIONS = added(
    click.argument("inputs", metavar="INPUT...", nargs=-1),
    output_options,
    click.option(
        "--config",
        metavar="FILE",
        help="Scheduler configuration (YAML or JSON) to use instead of the snapshot's own.",
    ),
    flag("--strict", help=STRICT),
    policy_option,
    click.option("--usage", metavar="FILE", help="Past usage of the queues."),
    as_kai_option,
    click.option("--now", metavar="TIME", help="Time of the cycle, RFC 3339 [the current time]."),
    click.option(
        "--scheduler-name",
        metavar="NAME",
        default=keys.SCHEDULER_NAME,
        show_default=True,
        help="Plan the pods with this schedulerName, and those without one.",
    ),
    click.option(
        "--queue-label-key",
        metavar="KEY",
        default=keys.QUEUE_LABEL,
        show_default=True,
        help="Key of the label that names a pod's queue.",
    ),
    flag("--live", help="Read a live cluster instead of files; nothing is written."),
    cluster_options,
)


def planning_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that plans; the command gets them as `arguments`."""

    @functools.wraps(command)
    def with_arguments(**given: Any) -> int:
        arguments = {each.name: given.pop(each.name) for each in fields(PlanArguments)}
        return command(PlanArguments(**arguments), **given)

    return _PLANNING_OPTIONS(with_arguments)


def planning_options_in(options: dict[str, Any]) -> PlanningOptions:
    """The options of a command as members of PlanningOptions, with the path of `--config`."""
    from kai.controllers.planning.options import PlanningOptions

    config = options.pop("config")
    return PlanningOptions(config=None if config is None else named("--config", config), **options)


def answering_plans(answer: Callable[[Cluster, Plan, Answers], Answer]) -> Callable[..., int]:
    """A command that plans its inputs and writes `answer` of each plan."""

    @planning_options
    @functools.wraps(answer)
    def command(arguments: PlanArguments) -> int:
        warn, answers = Warner(), Answers(arguments.form)
        for cluster, plan in arguments.plans(warn):
            warn.of_plan(plan, strict=arguments.strict)
            answers.write(answer(cluster, plan, answers))
        return warn.status

    return command


def named(option: str, file: str) -> Path:
    """The path that an option names. An empty name raises: it would mean the current directory."""
    from pathlib import Path

    if not file:
        raise InvalidInputError(f"{option}: the name of the file is empty")
    return Path(file)


class Warner:
    """Writes warnings to standard error, each once, and holds the exit status of the command."""

    def __init__(self) -> None:
        self.status = DONE
        self._printed: set[str] = set()

    def __call__(self, *sentences: str) -> None:
        for each in sentences:
            if each not in self._printed:
                self._printed.add(each)
                print_error(each)

    def of_plan(self, plan: Plan, *, strict: bool) -> None:
        """Writes the warnings and left-out objects of a plan, if the output does not show them."""
        self.of(plan.warnings, strict=strict)
        self.of(plan.rejected, strict=strict, prefix="left out: ")

    def of(self, warnings: Iterable[object], *, strict: bool, prefix: str = "") -> None:
        """Writes each warning; with `strict`, a warning makes the exit status 2."""
        for each in (f"{prefix}{warning}" for warning in warnings):
            self(each)
            if strict:
                self.status = BAD_INPUT


def patiently(what: str, work: Callable[[], Result]) -> Result:
    """Runs `work` in a thread, so that Ctrl-C is handled at once, and returns its result.

    After a second, a terminal shows a spinner.
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
    # Poll: the kernel may deliver the signal of Ctrl-C to the thread that works, and that does not
    # end a wait of this thread.
    if not sys.stderr.isatty():
        while not done.wait(_LOOK_EVERY_S):
            pass
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=error_console(), transient=True) as progress:
        progress.add_task(what)
        while not done.wait(_LOOK_EVERY_S):
            pass


def error_console() -> Console:
    """The console for progress on standard error; without colours if NO_COLOR is set."""
    import os

    from rich.console import Console

    return Console(stderr=True, color_system=None if os.environ.get("NO_COLOR") else "auto")
