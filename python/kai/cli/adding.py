"""Decorators for options that several commands have, and the options of a command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., object])


def added(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that adds these options to a command, in the order of --help."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def flag(*names: str, help: str) -> Callable[[Command], Command]:
    """An option without a value."""
    return click.option(*names, is_flag=True, help=help)


def with_default(*names: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option whose help shows its default."""
    return click.option(*names, show_default=True, **attributes)


def _metrics_namespace(_: click.Context, option: click.Parameter, text: str) -> str:
    from kai.api.names import problem_of_metrics_namespace

    if why := problem_of_metrics_namespace(text):
        raise click.BadParameter(why, param=option)
    return text


metrics_namespace_option = with_default(
    "--metrics-namespace",
    metavar="NAME",
    default="kai",
    callback=_metrics_namespace,
    help="Prefix of metrics.",
)


def given_options() -> dict[str, str]:
    """The options on the current command line, by the names of their parameters."""
    context = click.get_current_context()
    return {
        name: each.opts[0]
        for each in context.command.params
        if (name := each.name) and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }


def json_of(text: str, option: click.Parameter) -> Any:
    """The value of an option that is JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not valid JSON: {error}", param=option) from None
