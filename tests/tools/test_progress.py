"""tools/progress.py: a person's view of a command, without a terminal."""

import io
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRESS = Path(__file__).parents[2] / "tools" / "progress.py"


def progress(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROGRESS), *arguments], capture_output=True, text=True, timeout=60
    )


def test_a_quick_command_prints_nothing() -> None:
    done = progress("saying hello", "--", "echo", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_option_always_prints_the_times() -> None:
    done = progress("--always", "saying hello", "--", "echo", "hello")
    assert done.stdout == "==> saying hello: ok after 0 s, 0 s of CPU time\n"


def test_a_slower_command_is_announced_with_how_long_it_usually_takes() -> None:
    done = progress("--usually", "75", "building", "--", "sleep", "1.3")
    first, last = done.stdout.splitlines()
    assert first == "==> building (about 1 minute)"
    assert last.startswith("==> building: ok after 1 s")


def test_a_failure_shows_the_output_without_successful_steps() -> None:
    script = "echo '[1/2] compiling a'; echo broken; echo again >&2; exit 3"
    done = progress("building", "--", "sh", "-c", script)
    assert done.returncode == 3
    assert done.stdout.startswith("==> building: FAILED after 0 s")
    assert done.stderr == "broken\nagain\n"


def test_the_log_has_all_output(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "build.log"
    progress("--log", str(log), "building", "--", "sh", "-c", "echo '[1/2] a'; echo b")
    assert log.read_text() == "[1/2] a\nb\n"


def test_the_option_show_prints_the_output() -> None:
    assert progress("--show", "x", "--", "echo", "hello").stdout == "hello\n"


def test_a_missing_command_prints_one_sentence() -> None:
    done = progress("x", "--", "/nowhere/at/all")
    assert (done.returncode, done.stderr) == (
        127,
        "/nowhere/at/all: No such file or directory\n",
    )


def test_a_call_without_a_command_is_an_error() -> None:
    assert progress("x").returncode == 2


@pytest.mark.parametrize(
    "line",
    ["[12/44] Building CXX object a.o", "==> building everything (release): step 12 of 44, 15 s"],
)
def test_a_line_names_the_step_at_every_interval(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = runpy.run_path(str(PROGRESS))
    output = module["Output"](io.StringIO(f"{line}\n[100%] no counter\n"), io.StringIO(), False)
    output.run()
    assert output.steps == "12 of 44"
    assert output.lines == ["[100%] no counter\n"]
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    display = module["Display"]("building", 0)
    for elapsed_s in (0.9, 1.0, 15.9, 16.0):
        display.update(elapsed_s, output.steps)
    assert out.getvalue() == "==> building\n==> building: step 12 of 44, 16 s\n"


@pytest.mark.parametrize("wait_s", [0.0, 0.013, 0.027, 0.049])
def test_an_interrupt_at_any_time_ends_the_command(wait_s: float) -> None:
    """An interrupt while a line was printed used to end in a traceback; one while the command's
    status was read could leave a lock that was never free again."""
    with subprocess.Popen(
        [sys.executable, str(PROGRESS), "sleeping", "--", "sleep", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert re.match(r"==> sleeping", process.stdout.readline())
            time.sleep(wait_s)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "\n")


def test_an_interrupt_while_the_status_is_read_ends_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted_poll(process: subprocess.Popen[str]) -> int | None:
        """As an interrupt in the middle of Popen.poll(), between taking its lock and `try`."""
        lock = process._waitpid_lock  # type: ignore[attr-defined]
        assert lock.acquire(timeout=5)
        signal.raise_signal(signal.SIGINT)
        lock.release()
        return poll(process)

    poll = subprocess.Popen.poll
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr(subprocess.Popen, "poll", interrupted_poll)
    module = runpy.run_path(str(PROGRESS))
    monkeypatch.setattr(sys, "argv", ["progress.py", "sleeping", "--", "sleep", "60"])
    try:
        assert module["main"]() == 130
    finally:
        signal.signal(signal.SIGINT, before)
