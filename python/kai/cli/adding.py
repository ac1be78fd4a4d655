"""Decorators for options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., object])


def added(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that adds these options to a command, in the order of --help."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add
