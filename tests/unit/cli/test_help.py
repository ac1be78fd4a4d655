"""Help texts are complete and have examples."""

from collections.abc import Callable
from typing import Any

import pytest

import kai
from kai.cli import COMMANDS

Run = Callable[..., Any]


def test_help_lists_every_command(run: Run) -> None:
    done = run("--help")
    assert done.status == 0
    for command in COMMANDS:
        assert f"\n  {command} " in done.out


@pytest.mark.parametrize(
    "command",
    [
        "plan",
        "queues",
        "nodes",
        "groups",
        "demo",
        "lint",
        "install",
        "snapshot",
        "compare",
        "gpus",
        "runtime",
    ],
)
def test_help_of_a_command_fits_a_terminal(run: Run, command: str) -> None:
    done = run(command, "-h")
    assert done.status == 0
    assert done.out.startswith(f"Usage: kai {command}")
    assert max(len(line) for line in done.out.splitlines()) <= 82


@pytest.mark.parametrize(
    "command", ["plan", "queues", "nodes", "groups", "lint", "install", "snapshot", "compare"]
)
def test_help_shows_examples(run: Run, command: str) -> None:
    assert f"Examples:\n    kai {command} " in run(command, "--help").out


def test_the_version_option_prints_the_version(run: Run) -> None:
    assert run("--version").out == f"kai, version {kai.__version__}\n"
