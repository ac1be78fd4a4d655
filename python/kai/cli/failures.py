"""What goes wrong around a command: one sentence and one exit status for each.

    with failures.standard_streams():
        status = failures.guard(work)

Commands raise `kai.errors` for what a user gave them. All else ends here: full disks, closed
streams, readers that have seen enough, Ctrl-C, no memory, a compiled core that is not there, and
mistakes of ours. With KAI_DEBUG=1 a mistake of ours keeps its traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from kai.api.files import why_unreadable
from kai.api.visible import visible
from kai.errors import KaiError, NotFoundError, UnreachableError

DONE, ANSWER_IS_NO, BAD_INPUT, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130
DEBUG_ENV = "KAI_DEBUG"
THREAD_NAME = "kai-work"
"""Of a thread with work that Ctrl-C does not wait for."""


class OutputError(Exception):
    """Standard output takes no more.

    It is no OSError: click and rich end the process with status 1 for a broken pipe.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def say(sentence: str) -> None:
    """A line on standard error. One that takes nothing is no reason to stop."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"kai: {visible(sentence)}", err=True)


def guard(work: Callable[[], Any]) -> int:
    """The exit status of `work`; what it raises is said in a sentence."""
    try:
        result = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else DONE
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with _without_further_interrupts():
            say("interrupted")
            _leave_running_work()
        return INTERRUPTED
    except (OutputError, BrokenPipeError) as error:
        cause = error.error if isinstance(error, OutputError) else error
        _forget_standard_output()
        if isinstance(cause, BrokenPipeError):  # the reader has seen enough (`| head`)
            return DONE
        say(f"standard output: {why_unreadable(cause)}")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get(DEBUG_ENV) and not _is_expected(error):
            raise
        say(_sentence(error))
        if isinstance(error, UnreachableError):
            return UNREACHABLE
        return ANSWER_IS_NO if isinstance(error, NotFoundError) else BAD_INPUT


def _is_expected(error: Exception) -> bool:
    if isinstance(error, ImportError):  # one of ours is a mistake, but for the compiled core
        return error.name == "kai._core" or not (error.name or "").startswith("kai")
    return isinstance(error, (KaiError, MemoryError, RecursionError, OSError))


def _sentence(error: Exception) -> str:
    if not _is_expected(error):
        said = str(error).partition("\n")[0]
        return f"a bug in kai, {type(error).__name__}: {said} ({DEBUG_ENV}=1 shows where)"
    if isinstance(error, KaiError):
        return str(error)
    if isinstance(error, ImportError):
        return str(error) if error.name == "kai._core" else f"{error}: is kai installed whole?"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, RecursionError):
        return "something in an input is nested too deeply"
    assert isinstance(error, OSError)
    name = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return f"{name}: {why_unreadable(error)}"


def _show(error: click.ClickException) -> None:
    shown = io.StringIO()
    error.show(file=shown)
    with contextlib.suppress(OSError, ValueError):
        click.echo("\n".join(map(visible, shown.getvalue().split("\n"))), err=True, nl=False)


# ---- standard streams ----------------------------------------------------------------------------


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Streams that fail in one way, whatever is behind them, and that can write any text.

    Only in place of the interpreter's own: a notebook's and a test's stay.
    """
    before = sys.stdin, sys.stdout, sys.stderr
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(_closed(os.O_WRONLY))))
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output, sys.stdout, os.O_RDONLY)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Errors, sys.stderr, os.O_WRONLY)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


class _Output(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error) from None


class _Errors(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _text(kind: type[io.FileIO], stream: Any, mode: int) -> io.TextIOWrapper:
    if stream is not None:
        stream.flush()
    raw = kind(_closed(mode) if stream is None else stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",  # for what the encoding lacks, and for names that are no text
        line_buffering=raw.isatty() or kind is _Errors,
    )


def _closed(mode: int) -> int:
    """In the place of a closed stream, so that no file that is opened later takes its number.

    Of the wrong mode: reading standard input and writing standard output fails, as before.
    """
    return os.open(os.devnull, mode)


def _forget_standard_output() -> None:
    """So that the flush at the interpreter's end does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


# ---- Ctrl-C --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _without_further_interrupts() -> Iterator[None]:
    """`timeout -s INT` sends the signal twice."""
    import signal

    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread, which alone is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _leave_running_work() -> None:
    """Ends the process at once if work goes on in a thread: C++ does not hear of Ctrl-C."""
    import threading

    if any(thread.name == THREAD_NAME for thread in threading.enumerate()):
        with contextlib.suppress(OSError, ValueError, OutputError):
            sys.stdout.flush()
        os._exit(INTERRUPTED)
