"""Command lines as KAI's operator writes them: `--leader-elect=false`, `-qps 20`, `--x=60s`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kai.api.durations import go_seconds, too_long
from kai.api.kai_flags import FLAGS, PARAMETERS, Flag, truth_of
from kai.cli.adding import added, json_of
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.service.log import Log

_NO_ADDRESS = "0"
"""As an address: KAI's programs serve nothing there."""


class Seconds(click.FloatRange):
    """Seconds, or a duration as Go writes it: 90, 1m30s."""

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        found = _seconds(value) if isinstance(value, str) else value
        if found is None or found != found:  # the second: not a number
            what = "a number of seconds or a duration such as 1m30s"
            self.fail(f"{value!r} is not {what}", param, context)
        if why := too_long(found):
            self.fail(f"{value!r} {why}", param, context)
        seconds: float = super().convert(found, param, context)
        return seconds


def _seconds(text: str) -> float | None:
    for read in (go_seconds, float):
        with contextlib.suppress(InvalidInputError, ValueError):
            return read(text)
    return None


class _Value(click.ParamType):  # type: ignore[type-arg]  # no type before click 8.5
    """The value of a parameter of the scheduler."""

    def __init__(self, row: Flag) -> None:
        self._row, self.name = row, {"whole": "integer"}.get(row.kind, row.kind)

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        try:
            return self._row.value(value)
        except InvalidInputError as error:
            self.fail(str(error).partition(": ")[2], param, context)


_OF_PARAMETERS = [each for each in PARAMETERS.values() if not each.option]
_HELP = {
    "restrictSchedulingNodes": "Use only nodes with a worker label.",
    "fullHierarchyFairness": "Share among departments, and in each among its queues [on].",
    "maxNumberConsolidationPreemptees": "Pod groups that consolidation may try to move [16].",
    "useSchedulingSignatures": "Skip a group if an identical request has failed [on].",
    "allowConsolidatingReclaim": "Pods that reclaim moves do not count as lost [on].",
    "globalDefaultStalenessGracePeriod": "How long a gang may be stale [60s]; negative: for ever.",
    "stuckInReleasingThreshold": "When pods that leave count as stuck [2m].",
    "scheduleCSIStorage": "Compute the free storage of CSI classes.",
    "detailedFitErrors": "List the reason of each node in messages.",
    "numOfStatusRecordingWorkers": "No effect, as in KAI's snapshots.",
    "updatePodEvictionCondition": "No effect, as in KAI's snapshots.",
}


def _option_of(row: Flag) -> Callable[[Any], Any]:
    name, help = f"param_{row.parameter}", _HELP[row.parameter]
    if row.kind == "bool":
        return click.option(f"--{row.name}/--no-{row.name}", name, default=None, help=help)
    return click.option(f"--{row.name}", name, type=_Value(row), help=help)


parameter_options = added(*map(_option_of, _OF_PARAMETERS))
"""An option for each parameter of the scheduler that has no other option. They are passed on as
`param_<name of the parameter>`; None: not given."""


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the values of `parameter_options` out of the options of a command."""
    taken = {row.parameter: options.pop(f"param_{row.parameter}") for row in _OF_PARAMETERS}
    return {name: value for name, value in taken.items() if value is not None}


def plugins(_: click.Context, option: click.Parameter, text: str | None) -> dict[str, Any]:
    """The options in the configuration of KAI's binder plugins."""
    if text is None:
        return {}
    found = json_of(text, option)
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise click.BadParameter("not a JSON object of objects", param=option)
    chosen: dict[str, Any] = {}
    for name, plugin in found.items():
        arguments = plugin.get("arguments")
        arguments = arguments if isinstance(arguments, Mapping) else {}
        seconds, cdi = arguments.get("bindTimeoutSeconds"), arguments.get("cdiEnabled")
        if name == "volumebinding" and str(seconds).isdecimal():
            chosen["volume_seconds"] = float(str(seconds))
        elif name == "gpusharing" and truth_of(str(cdi)) is not None:
            chosen["cdi"] = truth_of(str(cdi))
        elif name == "hamicore":
            chosen["hami_core"] = plugin.get("enabled", True) is True
    return chosen


NOTES = "kai.run.notes"
"""Where a context keeps the flags of KAI that have no effect, and why."""


def log_notes(log: Log) -> None:
    """One line for each flag of KAI on this command line that has no effect."""
    for flag, why in click.get_current_context().meta.get(NOTES, {}).items():
        log.info("a flag of KAI has no effect here", flag=f"--{flag}", why=why)


class Translation:
    """A command line with the options of a command only. `notes`: by KAI's flag, why it has no
    effect here."""

    def __init__(self, command: click.Command, args: Sequence[str]) -> None:
        self.args: list[str] = []
        self.notes: dict[str, str] = {}
        self._program = command.name
        self._own = {
            name.lstrip("-"): each
            for each in command.params
            if isinstance(each, click.Option)
            for name in each.opts
            if name.startswith("--")
        }
        self._addresses: dict[str, None] = {}
        self._left = list(reversed(args))
        while self._left:
            token = self._left.pop()
            if token == "--":
                self.args += [token, *reversed(self._left)]
                break
            self._take(token)
        if self._addresses:
            self.args[:0] = ["--listen-address", ",".join(self._addresses)]

    def _take(self, token: str) -> None:
        name, sign, text = token.removeprefix("-").removeprefix("-").partition("=")
        row, option = FLAGS.get(name), self._own.get(name)
        is_short = not token.startswith("--") and len(name) == 1 and not sign
        if not token.startswith("-") or is_short or (row is None and option is None):
            self.args.append(token)
            return
        is_bool = row.kind == "bool" if row is not None else bool(option and option.is_flag)
        if is_bool:
            value = truth_of(text) if sign else True
            if value is None:
                raise click.UsageError(f"--{name}: {text!r} is neither true nor false")
            self._take_bool(name, row, value)
        elif sign or self._left:
            self._take_text(name, row, text if sign else self._left.pop())
        else:
            self.args.append(f"--{name}")  # its value is missing

    def _take_bool(self, name: str, row: Flag | None, value: bool) -> None:
        target = row.option if row is not None and row.option else name
        if target.startswith("!"):
            target, value = target[1:], not value
        if not self._says(name, row, target):
            return
        option = self._own[target]
        if value:
            self.args.append(f"--{target}")
        elif option.secondary_opts:
            self.args.append(option.secondary_opts[0])

    def _take_text(self, name: str, row: Flag | None, value: str) -> None:
        target = row.option if row is not None and row.option else name
        if target == "listen-address":
            if value != _NO_ADDRESS:
                self._addresses[value] = None
        elif self._says(name, row, target):
            self.args += [f"--{target}", value]
        elif row is not None:  # a flag without effect here
            try:
                row.value(value)
            except InvalidInputError as error:
                raise click.UsageError(f"--{error}") from None

    def _says(self, name: str, row: Flag | None, target: str) -> bool:
        """Whether the command has the option; otherwise the note of the flag is kept."""
        if row is not None and row.note:
            self.notes[name] = row.note
        if target in self._own:
            return True
        if row is not None and self._program in row.programs:
            self.notes.setdefault(name, "this program does not need it")
        elif row is None or not row.note:
            raise click.UsageError(f"there is no option '--{name}' here")
        return False
