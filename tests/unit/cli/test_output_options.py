"""-o is the output format for every command, and nothing else (decision 41)."""

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kai.cli import COMMANDS

Run = Callable[..., Any]
HALF = ("--queue", "a", "--gpu-fraction", "0.5")


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for each in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), each)
            assert inner is not None
            yield from commands(f"{name} {each}", inner)
    else:
        yield name, command


ALL = {
    name: command
    for each in COMMANDS
    for name, command in commands(each, import_module(f"kai.cli.{each}").command)
}


def options(name: str) -> set[str]:
    return {spelling for each in ALL[name].params for spelling in each.opts}


@pytest.mark.parametrize("name", ALL)
def test_a_command_that_prints_json_has_both_spellings(name: str) -> None:
    assert {"-o", "--output", "--json"} <= options(name) or not {
        "-o",
        "--output",
        "--json",
    } & options(name)


@pytest.mark.parametrize("name", [name for name in ALL if "-o" in options(name)])
def test_a_file_name_is_no_format_and_the_sentence_shows_what_to_write(run: Run, name: str) -> None:
    given = [] if name != "settings" else ["--orchestrator", "ray", *HALF]
    done = run(*name.split(), *given, "-o", "out.json")
    assert (done.status, done.out) == (2, "")
    assert "'out.json' is not a format" in done.err
    assert "-o writes no file: use > out.json" in done.err


@pytest.mark.parametrize(
    ("command", "member"),
    [
        (["config", "show"], "actions"),
        (["install", "--crds-only"], "items"),
        (["settings", "--orchestrator", "ray", *HALF], ""),
    ],
)
def test_json_is_a_format_of_commands_that_print_yaml(
    run: Run, command: list[str], member: str
) -> None:
    plain, given, short = (run(*command, *more).out for more in ([], ["-o", "json"], ["--json"]))
    assert given == short
    documents = [each for each in yaml.safe_load_all(plain) if each]
    value = json.loads(given)
    expected = {"actions": documents[0].get("actions"), "items": documents, "": documents[0]}
    assert (value[member] if member else value) == expected[member]


def test_two_formats_exclude_each_other(run: Run) -> None:
    for command in (["config", "show"], ["settings", "--orchestrator", "ray", *HALF], ["verify"]):
        other = "text" if command == ["verify"] else "yaml"
        done = run(*command, "-o", other, "--json")
        assert (done.status, done.out) == (2, "")
        assert "--output and --json exclude each other" in done.err


# ---- old spellings -------------------------------------------------------------------------------


def test_the_orchestrator_after_o_still_works_and_a_line_has_the_new_spelling(run: Run) -> None:
    old, new = (run("settings", each, "ray", *HALF) for each in ("-o", "--orchestrator"))
    assert (old.status, old.out) == (0, new.out)
    assert "kai: -o is the output format: write --orchestrator ray\n" in old.err
    assert "output format" not in new.err


def test_settings_need_an_orchestrator(run: Run) -> None:
    for form in ([], ["-o", "json"]):
        done = run("settings", *HALF, *form)
        assert (done.status, done.out) == (2, "")
        assert "--orchestrator is missing" in done.err


def test_the_old_options_of_formats_still_work(run: Run, tmp_path: Path) -> None:
    settings = ("settings", "--orchestrator", "ray", *HALF)
    older = run("settings", "-o", "ray", *HALF, "--format", "json")
    assert run(*settings, "--format", "json").out == older.out == run(*settings, "-o", "json").out
    file = tmp_path / "job.yaml"
    file.write_text("{kind: Pod, metadata: {annotations: {gpu-fraction: '2'}}, spec: {}}\n")
    found = [run("lint", file, each, "json").out for each in ("--output-format", "-o")]
    assert found[0] == found[1] != ""
