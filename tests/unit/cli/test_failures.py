"""Failures around a command: streams, disks, signals, memory, and a missing core.

Each row is a separate process, under a shell.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import failures
from kai.cli.failures import OutputError, guard

PYTHON = Path(kai.__file__).parents[1]


def shell(
    command: str, where: Path, python: Path = PYTHON, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a shell command; KAI in it is replaced by the command."""
    return subprocess.run(
        ["bash", "-c", "set -o pipefail; " + command.replace("KAI", f"{sys.executable} -m kai")],
        cwd=where,
        env={**os.environ, "PYTHONPATH": str(python), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
    )


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("KAI plan $SNAPSHOT > /dev/full", 2, "kai: standard output: no space left on device\n"),
        ("KAI plan --help > /dev/full", 2, "kai: standard output: no space left on device\n"),
        ("KAI config show --json >&-", 2, "kai: standard output: is closed\n"),
        ("KAI plan $SNAPSHOT --json >&- <&-", 2, "kai: standard output: is closed\n"),
        ("KAI plan - <&-", 2, "kai: standard input: is closed\n"),
        ("KAI lint - <&-", 2, "kai: standard input: is closed\n"),
        ("KAI plan missing.zip 2>&-", 2, ""),
        ("KAI plan missing.zip 2>/dev/full", 2, ""),
        ("KAI plan missing.zip <&- >&- 2>&-", 2, ""),
        ("KAI settings --help | true", 0, ""),
        ("KAI demo | head -n 1", 0, ""),
        ("PYTHONUNBUFFERED=1 KAI config show | head -n 1", 0, ""),
        ("KAI plan $'\\xff.yaml'", 2, "kai: \\udcff.yaml: no such file or directory\n"),
    ],
)
def test_failures_of_streams_and_disks(
    tmp_path: Path, snapshot: Path, command: str, status: int, message: str
) -> None:
    done = shell(command, tmp_path, SNAPSHOT=str(snapshot))
    assert (done.returncode, done.stderr[: len(message) or None]) == (status, message)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_print_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    name = "n\u6f22\u00e9.yaml"
    (tmp_path / name).write_text("kind: Node\nmetadata: {name: n\u6f22}\n")
    done = shell(f"KAI plan {name} --now 2026-01-01T00:00:00Z", tmp_path, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, "")


def end_of_writer(pipe: Path) -> int:
    """Opens it once the other program reads; before, the system refuses."""
    for _ in range(600):
        with contextlib.suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.05)
    raise TimeoutError(f"{pipe} is not read")


@pytest.mark.parametrize(
    "command", [("plan", "PIPE"), ("lint", "PIPE"), ("config", "show", "--config", "PIPE")]
)
def test_an_interrupt_ends_waiting_for_an_empty_pipe_at_once(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "kai", *(str(pipe) if each == "PIPE" else each for each in command)],
        cwd=PYTHON,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    writer = end_of_writer(pipe)
    for _ in range(2):  # `timeout -s INT` sends it twice
        process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=30)
    os.close(writer)
    assert (process.returncode, output.strip()) == (130, "kai: interrupted")


def test_a_missing_compiled_core(tmp_path: Path) -> None:
    shutil.copytree(
        PYTHON / "kai", tmp_path / "kai", ignore=shutil.ignore_patterns("_core*.so", "__pycache__")
    )
    done = shell("KAI demo", tmp_path, python=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "kai: the compiled core of kai cannot be loaded: run `make build`"
    )
    assert (
        shell(
            "KAI settings --orchestrator kubernetes --queue a", tmp_path, python=tmp_path
        ).returncode
        == 0
    )


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("metadata: {labels: {kai.scheduler/queue: 5}}\n" * 3)
    before = (tmp_path / "it.yaml").read_text()
    done = shell("ulimit -f 0; KAI demo --save it.yaml", tmp_path)
    assert (done.returncode, done.stderr) == (2, "kai: --save: it.yaml: file too large\n")
    assert (tmp_path / "it.yaml").read_text() == before
    assert [each.name for each in tmp_path.iterdir()] == ["it.yaml"]


# ---- in this process -----------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (MemoryError(), 2, "kai: there is not enough memory for this"),
        (RecursionError(), 2, "kai: an input is nested too deeply"),
        (
            ModuleNotFoundError("No module named 'rich'", name="rich"),
            2,
            "is the installation of kai complete?",
        ),
        (OSError(5, "Input/output error", "x.zip"), 2, "kai: x.zip: input/output error"),
        (OSError(28, "No space left"), 2, "kai: standard output: no space left"),
        (kai.InvalidInputError("a\x1b[2Jb\nc"), 2, "kai: a\\x1b[2Jb\\nc"),
        (kai.NotFoundError("there is no queue"), 1, "kai: there is no queue"),
        (KeyError("x"), 2, "kai: a bug in kai, KeyError: 'x' (KAI_DEBUG=1 shows where)"),
        (KeyboardInterrupt(), 130, "kai: interrupted"),
    ],
)
def test_each_failure_has_a_sentence_and_a_status(
    capfd: pytest.CaptureFixture[str], error: BaseException, status: int, message: str
) -> None:
    assert guard(raising(error)) == status
    line, *rest = capfd.readouterr().err.splitlines()
    assert message in line
    assert rest == []


def test_the_debug_variable_shows_the_traceback_of_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(failures.DEBUG_ENV, "1")
    with pytest.raises(KeyError):
        guard(raising(KeyError("x")))
    assert guard(raising(kai.InvalidInputError("x"))) == 2


def test_replaced_streams_are_not_changed() -> None:
    before = sys.stdout, sys.stderr
    with failures.standard_streams():
        assert (sys.stdout, sys.stderr) == before


def test_an_output_error_is_not_an_os_error() -> None:
    assert not issubclass(OutputError, OSError)
