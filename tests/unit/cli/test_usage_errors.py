"""Wrong arguments: one sentence that begins with `kai:`, as for every other error."""

from collections.abc import Callable
from typing import Any

import pytest

from kai.cli import COMMANDS

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["plan", "--explian", "a/x"],
            "there is no option '--explian'; did you mean '--explain'? (see 'kai plan --help')",
        ),
        (["plan", "--nonsense"], "there is no option '--nonsense' (see 'kai plan --help')"),
        (["plna"], "there is no command 'plna'; did you mean 'plan'? (see 'kai --help')"),
        (
            ["config", "shwo"],
            "there is no command 'shwo'; did you mean 'show'? (see 'kai config --help')",
        ),
        (
            ["plan"],
            "INPUT... is missing: give a file or a directory, or read a cluster with --live"
            " (see 'kai plan --help')",
        ),
        (["compare", "a.yaml"], "--workload is missing (see 'kai compare --help')"),
        (["settings"], "--orchestrator is missing (see 'kai settings --help')"),
        (
            ["verify", "--limit-differences", "-1"],
            "--limit-differences: -1 is not in the range x>=0 (see 'kai verify --help')",
        ),
        (
            ["bench", "--loads", "many"],
            "--loads: 'many' is not a whole number (see 'kai bench --help')",
        ),
        (
            ["plan", "x.zip", "-o", "xml"],
            "-o / --output: 'xml' is not one of 'text', 'wide', 'json', 'yaml', 'csv', 'markdown'"
            " (see 'kai plan --help')",
        ),
        (
            ["gpus", ""],
            "FILE is empty: write the path of a pod's file (see 'kai gpus --help')",
        ),
        (["plan", "--config"], "option '--config' requires an argument"),
        (
            ["demo", "x", "y"],
            "got unexpected extra arguments (x y) (see 'kai demo --help')",
        ),
        (
            ["lint", "--fix", "--diff"],
            "--fix and --diff exclude each other (see 'kai lint --help')",
        ),
    ],
)
def test_an_invalid_argument_prints_one_sentence(
    run: Run, arguments: list[str], sentence: str
) -> None:
    done = run(*arguments)
    assert (done.status, done.out, done.err) == (2, "", f"kai: {sentence}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_an_unknown_option_in_this_form(run: Run, command: str) -> None:
    done = run(command, "--no-such-option-at-all")
    assert done.status == 2
    assert done.err == (
        f"kai: there is no option '--no-such-option-at-all' (see 'kai {command} --help')\n"
    )


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    done = run()
    assert "Usage: kai [OPTIONS] COMMAND" in done.out + done.err
    assert not done.err.startswith("kai: ")
