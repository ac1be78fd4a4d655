"""Failures of a command: each prints one sentence and gives one exit status.

    with failures.standard_streams():
        status = failures.guard(work)

Commands raise `kai.errors` for wrong input, and click raises its own errors for wrong arguments.
This module handles both, and every other failure: full disks, closed streams, readers that close
a pipe early, Ctrl-C, no memory, a missing compiled core, and bugs in kai. With KAI_DEBUG=1 a bug
in kai prints its traceback.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
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
"""Name of a thread whose work Ctrl-C does not wait for."""


class OutputError(Exception):
    """Standard output cannot be written.

    It is not an OSError: click and rich would end the process with status 1 for a broken pipe.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def print_error(sentence: str) -> None:
    """Writes a line to standard error. Does nothing if standard error cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"kai: {visible(sentence)}", err=True)


def guard(work: Callable[[], Any]) -> int:
    """Runs `work` and returns the exit status; an exception is printed as one sentence."""
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
            print_error("interrupted")
            _leave_running_work()
        return INTERRUPTED
    except (OutputError, BrokenPipeError) as error:
        cause = error.error if isinstance(error, OutputError) else error
        _forget_standard_output()
        if isinstance(cause, BrokenPipeError):  # the reader has closed the pipe (`| head`)
            return DONE
        print_error(f"standard output: {why_unreadable(cause)}")
        return BAD_INPUT
    except Exception as error:
        if os.environ.get(DEBUG_ENV) and not _is_expected(error):
            raise
        print_error(_sentence(error))
        if isinstance(error, UnreachableError):
            return UNREACHABLE
        return ANSWER_IS_NO if isinstance(error, NotFoundError) else BAD_INPUT


def _is_expected(error: Exception) -> bool:
    if isinstance(error, ImportError):  # a missing module of kai is a bug, except the compiled core
        return error.name == "kai._core" or not (error.name or "").startswith("kai")
    return isinstance(error, (KaiError, MemoryError, RecursionError, OSError))


def _sentence(error: Exception) -> str:
    if not _is_expected(error):
        message = str(error).partition("\n")[0]
        return f"a bug in kai, {type(error).__name__}: {message} ({DEBUG_ENV}=1 shows where)"
    if isinstance(error, KaiError):
        return str(error)
    if isinstance(error, ImportError):
        return (
            str(error)
            if error.name == "kai._core"
            else f"{error}: is the installation of kai complete?"
        )
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    if isinstance(error, RecursionError):
        return "an input is nested too deeply"
    assert isinstance(error, OSError)
    name = "standard output" if error.filename is None else os.fsdecode(error.filename)
    return f"{name}: {why_unreadable(error)}"


def _show(error: click.ClickException) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":  # click 8.2 and later: the help, no sentence
        with contextlib.suppress(OSError, ValueError):
            click.echo(error.format_message(), err=True)
        return
    sentence = _wrong_usage(error)
    context = error.ctx if isinstance(error, click.UsageError) else None
    print_error(
        sentence if context is None else f"{sentence} (see '{context.command_path} --help')"
    )


def _wrong_usage(error: click.ClickException) -> str:
    """A wrong argument in a sentence like those of other errors, not in click's form."""
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name!r}" + "".join(
            f"; did you mean {each!r}?" for each in (error.possibilities or ())[:1]
        )
    if isinstance(error, click.BadParameter):
        hint = error.param_hint or (error.param and error.param.get_error_hint(error.ctx)) or ""
        name = (hint if isinstance(hint, str) else " / ".join(hint)).replace("'", "")
        if isinstance(error, click.MissingParameter):
            return f"{name} is missing"
        message = _OF_NUMBERS.sub(_as_number, error.message)
        return f"{name}: {_in_lower_case(message)}"
    return _in_lower_case(error.format_message())


_OF_NUMBERS = re.compile(r"a valid (integer|float)(?: range)?\.")


def _as_number(found: re.Match[str]) -> str:
    return "a whole number." if found[1] == "integer" else "a number."


def _in_lower_case(message: str) -> str:
    message = " ".join(message.split()).removesuffix(".")
    is_word = message[1:2].islower()  # not a name such as INPUT
    return message[:1].lower() + message[1:] if is_word else message


# ---- standard streams ----------------------------------------------------------------------------


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Replaces the standard streams by ones that fail in one way and can write any text.

    Only the interpreter's own streams are replaced: those of a notebook or a test stay.
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
        errors="backslashreplace",  # characters that the encoding lacks, and non-text names
        line_buffering=raw.isatty() or kind is _Errors,
    )


def _closed(mode: int) -> int:
    """Opens a descriptor in place of a closed stream, so that no later file gets its number.

    The mode is wrong on purpose: reading standard input and writing standard output still fail.
    """
    return os.open(os.devnull, mode)


def _forget_standard_output() -> None:
    """Redirects standard output, so that the flush at exit does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
        os.close(descriptor)


# ---- Ctrl-C --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _without_further_interrupts() -> Iterator[None]:
    """Ignores further interrupts: `timeout -s INT` sends the signal twice."""
    import signal

    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # this is not the main thread, and only that one is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


POOL_ENDS_WITHIN_S = 5.0


def _leave_running_work() -> None:
    """Ends the process at once if a thread still works: Ctrl-C does not interrupt C++, and a pool
    may wait for ever for processes that were ended."""
    import threading

    working = [each for each in threading.enumerate() if each.name == THREAD_NAME]
    for each in threading.enumerate():
        if "concurrent.futures" in type(each).__module__:
            each.join(POOL_ENDS_WITHIN_S)
            working.append(each)
    if any(each.is_alive() for each in working):
        with contextlib.suppress(OSError, ValueError, OutputError):
            sys.stdout.flush()
        os._exit(INTERRUPTED)
