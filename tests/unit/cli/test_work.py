"""Patience: work in a thread, with a sign of life on a terminal."""

import sys
import threading
import time

import pytest

from kai.cli import failures, work


def test_the_result_and_the_error_come_through() -> None:
    assert work.patiently("adding", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        work.patiently("dividing", lambda: 1 / 0)
    assert not any(thread.name == failures.THREAD_NAME for thread in threading.enumerate())


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_a_terminal_is_told_that_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_terminal: bool
) -> None:
    monkeypatch.setattr(work, "PATIENCE_S", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    assert work.patiently("planning", lambda: time.sleep(0.3) or "done") == "done"
    out, err = capsys.readouterr()
    assert out == ""
    assert ("planning" in err) == is_terminal
