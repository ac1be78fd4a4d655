"""Long work runs in a thread, with a progress line on a terminal."""

import os
import signal
import sys
import threading
import time

import pytest

from kai.cli import failures, work


def test_results_and_errors_are_passed_on() -> None:
    assert work.patiently("adding", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        work.patiently("dividing", lambda: 1 / 0)
    assert not any(thread.name == failures.THREAD_NAME for thread in threading.enumerate())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_a_terminal_shows_a_progress_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    monkeypatch.setattr(work, "PATIENCE_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    assert work.patiently("planning", lambda: time.sleep(0.3) or "done") == "done"
    out, err = capsys.readouterr()
    assert out == ""
    assert ("planning" in err) == is_terminal


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("is_terminal", [True, False])
def test_ctrl_c_interrupts_whichever_thread_gets_the_signal(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """The kernel may deliver the signal to any thread, and that does not wake the waiting one."""
    monkeypatch.setattr(work, "PATIENCE_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    interrupted, gave_up = threading.Event(), threading.Event()

    def endless() -> None:
        time.sleep(0.3)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not interrupted.wait(20):
            gave_up.set()

    with pytest.raises(KeyboardInterrupt):
        work.patiently("planning", endless)
    interrupted.set()
    assert not gave_up.is_set()
