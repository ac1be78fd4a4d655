"""The output formats: text, wide, JSON, YAML, CSV, Markdown; as wide as the terminal."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.cli import main

Run = Callable[..., Any]
NOW = "2026-01-01T00:00:00Z"
COMMANDS = ("plan", "queues", "nodes", "groups")
LONG = "pretraining-of-a-foundation-model-with-a-name-that-is-longer-than-any-column"


@pytest.fixture
def long_names(tmp_path: Path) -> Path:
    """Queues, groups and nodes with names that differ in their middle."""
    cluster = kai.Cluster().queue("research", deserved_gpus=8)
    for team in ("one", "two"):
        queue = f"team-{team}-{LONG}"
        cluster.queue(queue, parent="research", deserved_gpus=4)
        cluster.nodes(f"node-of-pool-{team}-{LONG}-", 2, gpus=2)
        for number in range(3):
            cluster.pending(f"{queue}/run-{number}-{LONG}", gpus=1 + number)
    path = tmp_path / "long.zip"
    cluster.save(path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_json_and_yaml_have_the_same_content(run: Run, snapshot: Path, command: str) -> None:
    data = [
        json.loads(run(command, snapshot, *form, "--now", NOW).out)
        for form in (["--json"], ["-o", "json"])
    ]
    data.append(yaml.safe_load(run(command, snapshot, "-o", "yaml", "--now", NOW).out))
    for each in data:
        each.pop("timing_ms", None)
    assert data[0] == data[1] == data[2]
    assert data[0]["input"] == str(snapshot)


@pytest.mark.parametrize("command", COMMANDS)
def test_yaml_has_one_document_per_input(run: Run, snapshot: Path, command: str) -> None:
    done = run(command, snapshot, snapshot, "-o", "yaml", "--now", NOW)
    assert len(list(yaml.safe_load_all(done.out))) == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_csv_of_two_inputs_has_one_header(run: Run, snapshot: Path, command: str) -> None:
    one = list(csv.reader(io.StringIO(run(command, snapshot, "-o", "csv", "--now", NOW).out)))
    two = run(command, snapshot, snapshot, "-o", "csv", "--now", NOW).out
    assert list(csv.reader(io.StringIO(two))) == [*one, *one[1:]]
    assert len(one) > 1
    assert {len(row) for row in one} == {len(one[0])}
    assert one[0][0] == "input"
    assert one[1][0] == str(snapshot)


def test_csv_of_a_plan_lists_its_decisions(run: Run, snapshot: Path) -> None:
    done = run("plan", snapshot, "-o", "csv", "--now", NOW)
    [row] = csv.DictReader(io.StringIO(done.out))
    assert {name: value for name, value in row.items() if value} == {
        "input": str(snapshot), "kind": "bind", "pod": "vision/fits-0",
        "pod_group": "vision/fits", "node": "n1", "gpus": "1",
    }  # fmt: skip


def test_csv_of_queues_has_unlimited_as_inf(run: Run, snapshot: Path) -> None:
    rows = csv.DictReader(io.StringIO(run("queues", snapshot, "-o", "csv", "--now", NOW).out))
    [gpus] = [row for row in rows if (row["queue"], row["resource"]) == ("vision", "gpu")]
    assert (gpus["limit"], gpus["deserved"], gpus["fair_share"]) == ("inf", "2", "2")
    assert (gpus["over_fair_share"], gpus["part_of_fair_share"]) == ("-2", "0.0")


@pytest.mark.parametrize("command", COMMANDS)
def test_markdown_has_tables(run: Run, snapshot: Path, command: str) -> None:
    out = run(command, snapshot, "-o", "markdown", "--now", NOW).out
    assert out.startswith("### ")
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert any(set(row) <= set("|-: ") for row in rows)
    assert len(rows) >= 3


def test_warnings_go_to_stderr_for_data_and_onto_pages(
    run: Run, snapshot: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("actons: allocate\n")
    for form in ("json", "yaml", "csv"):
        done = run("plan", snapshot, "-o", form, "--config", tmp_path / "config.yaml")
        assert '"actons" is not known' in done.err
    done = run("plan", snapshot, "-o", "markdown", "--config", tmp_path / "config.yaml")
    assert '"actons" is not known' in done.out


def test_an_explanation_has_every_form_except_csv(run: Run, snapshot: Path) -> None:
    data = yaml.safe_load(run("plan", snapshot, "--explain", "big", "-o", "yaml").out)
    assert data["pod_group"] == "vision/big"
    assert "It can never start" in run("plan", snapshot, "--explain", "big", "-o", "markdown").out
    done = run("plan", snapshot, "--explain", "big", "-o", "csv")
    assert (done.status, done.out) == (2, "")
    assert "-o csv and --explain exclude each other" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--json", "--wide"], "--output, --wide and --json exclude each other"),
        (["-o", "csv", "--json"], "--output, --wide and --json exclude each other"),
        (["-o", "xml"], "'xml' is not one of"),
    ],
)
def test_invalid_forms_are_refused(
    run: Run, snapshot: Path, options: list[str], message: str
) -> None:
    done = run("plan", snapshot, *options)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert run("plan", snapshot, "-o", "json", "--json").status == 0


def test_a_wide_plan_has_a_row_per_pod_group(run: Run, tmp_path: Path) -> None:
    cluster = kai.Cluster(now=NOW).queue("a", deserved_gpus=8).nodes("n", 2, gpus=8)
    for number in range(40):
        cluster.pending(f"a/job-{number:02}", gpus=1, pods=2 if number == 3 else 1)
    cluster.save(tmp_path / "x.zip")
    lines = run("plan", tmp_path / "x.zip", "--wide", "--now", NOW).out.splitlines()
    head = lines.index("Pod groups") + 1
    assert lines[head].split() == [
        *("pod", "group", "queue", "verdict", "priority", "age", "pods", "running", "bound"),
        *("pipelined", "evicted", "waiting", "reason", "nodes"),
    ]
    rows = [line.split() for line in lines[head + 1 : head + 41]]
    assert [row[0] for row in rows] == [f"a/job-{number:02}" for number in range(40)]
    found = {row[0]: " ".join(row[1:]) for row in rows}
    assert found["a/job-02"] == "a placed 50 365d 1 0 1 0 0 0 n1 (1)"
    assert found["a/job-03"].startswith("a partly placed 50 365d 2 0 1 0 0 1 ")
    assert found["a/job-39"].startswith("a unschedulable 50 365d 1 0 0 0 0 1")
    assert "Queues, memory" in lines


# ---- terminals -----------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The output on a terminal with this many columns."""

    def on_terminal(columns: int, *arguments: object, **environment: str) -> str:
        with monkeypatch.context() as patched:
            for name in ("NO_COLOR", "FORCE_COLOR"):
                patched.delenv(name, raising=False)
            for name, value in {"TERM": "xterm", "COLUMNS": str(columns), **environment}.items():
                patched.setenv(name, value)
            patched.setattr(sys, "stdout", terminal := Terminal())
            assert main([str(argument) for argument in arguments]) == 0
        return terminal.getvalue()

    return on_terminal


def test_the_width_of_a_real_terminal_is_used(long_names: Path) -> None:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    hidden = ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    command = [sys.executable, "-m", "kai", "queues", str(long_names)]
    with subprocess.Popen(
        command,
        stdout=its,
        env={name: value for name, value in os.environ.items() if name not in hidden}
        | {"TERM": "xterm"},
        cwd=Path(kai.__file__).parents[1],
    ):
        os.close(its)
        message = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            message += part
    os.close(ours)
    lines = message.decode().replace("\r\n", "\n").splitlines()
    assert lines[0].startswith("\x1b[1m")
    assert 60 < max(len(plain(line)) for line in lines) <= 70


def plain(message: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", message)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_fits_the_terminal(
    on_terminal: Run, long_names: Path, command: str, columns: int
) -> None:
    lines = plain(on_terminal(columns, command, long_names)).splitlines()
    assert max(map(len, lines)) <= columns


def test_a_wide_terminal_is_used(on_terminal: Run, long_names: Path) -> None:
    lines = plain(on_terminal(200, "plan", long_names)).splitlines()
    assert max(map(len, lines)) > 120


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_not_shortened_in_files_and_with_wide(
    on_terminal: Run, run: Run, long_names: Path, command: str
) -> None:
    for text in (
        run(command, long_names).out,
        plain(on_terminal(60, command, "--wide", long_names)),
    ):
        assert LONG in text
        assert "..." not in text


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_shortened_queue_names_stay_distinct(
    on_terminal: Run, long_names: Path, columns: int
) -> None:
    output = plain(on_terminal(columns, "queues", long_names))
    table = output[output.index("Queues, GPUs") : output.index("Queues, CPUs")]
    names = [row.split()[0] for row in table.splitlines() if "..." in row]
    assert len(names) == len(set(names)) == 2
    assert all(row.startswith("    ") for row in table.splitlines() if "..." in row)


def test_terminals_get_colours_that_can_be_turned_off(
    on_terminal: Run, run: Run, snapshot: Path
) -> None:
    assert "\x1b[32mbind" in on_terminal(80, "plan", snapshot)
    assert "\x1b" not in on_terminal(80, "plan", snapshot, NO_COLOR="1")
    assert "\x1b" not in on_terminal(80, "plan", snapshot, TERM="dumb")
    assert "\x1b[1m" in on_terminal(80, "plan", snapshot, NO_COLOR="")  # as no-color.org requires
    assert "\x1b" not in run("plan", snapshot).out


def test_forced_colours_are_written_to_a_file(
    run: Run, snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32mbind" in run("plan", snapshot).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("plan", snapshot).out
