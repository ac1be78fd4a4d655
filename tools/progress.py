#!/usr/bin/env python3
"""Runs a command and shows its progress, on a terminal and in a log.

    tools/progress.py --usually 120 --log build.log "building the engine" -- ninja -C build/release
    tools/progress.py --show pytest -- python -m pytest

The command's output goes to the log file. After one second a terminal shows one line that updates;
elsewhere a line appears every 15 seconds. Ninja's counter ("[12/44]") is read from the output. At
the end one line gives the time and the CPU time. If the command fails, its output is shown without
Ninja's progress lines, and its exit status is passed on. A command that succeeds within a second
prints nothing, unless --always is given.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TextIO

SILENCE_S = 1.0  # a quicker command shows no progress
POLL_S = 0.05
INTERVAL_S = 15.0  # between two lines without a terminal
# Ninja's counter, or the line in which another progress.py prints it.
STEPS = re.compile(r"^\[(\d+)/(\d+)\] |^==> .*: step (\d+) of (\d+),")


def duration(seconds: float) -> str:
    """4 -> "4 s", 75 -> "1 min 15 s"."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"


def about(seconds: float) -> str:
    """40 -> "40 seconds", 60 -> "1 minute", 130 -> "2 minutes"."""
    if seconds < 60:
        return f"{round(seconds)} seconds"
    minutes = round(seconds / 60)
    return f"{minutes} minute{'' if minutes == 1 else 's'}"


class Output(threading.Thread):
    """Reads the command's output to its end: keeps it, logs it, shows it, counts Ninja's steps."""

    def __init__(self, source: TextIO, log: TextIO, show: bool) -> None:
        super().__init__(daemon=True)
        self._source, self._log, self._show = source, log, show
        self.lines: list[str] = []
        self.steps = ""  # "12 of 44"; empty without a counter

    def run(self) -> None:
        for line in self._source:
            self._log.write(line)
            self._log.flush()
            if match := STEPS.match(line):
                self.steps = f"{match[1] or match[3]} of {match[2] or match[4]}"
            else:
                self.lines.append(line)
            if self._show:
                sys.stdout.write(line)
                sys.stdout.flush()

    def end(self, within_s: float | None = None) -> None:
        """Waits for the rest. A program that the command has left behind may still write."""
        self.join(within_s)
        if not self.is_alive():
            self._source.close()


class Display:
    """The line about one command, on standard output."""

    def __init__(self, label: str, usually_s: float) -> None:
        self._label = label
        self._usually = about(usually_s) if usually_s else ""
        self._moves = sys.stdout.isatty()
        self._next_s = SILENCE_S
        self._shown = False

    def update(self, elapsed_s: float, steps: str) -> None:
        if elapsed_s < self._next_s:
            return
        self._next_s = elapsed_s + (1.0 if self._moves else INTERVAL_S)
        what = f"step {steps}, {duration(elapsed_s)}" if steps else duration(elapsed_s)
        line = f"==> {self._label}: {what}"
        if self._moves:
            line += f" of about {self._usually}" if self._usually else ""
            line = f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}"
        elif not self._shown:
            line = f"==> {self._label}" + (f" (about {self._usually})" if self._usually else "")
        print(line, end="" if self._moves else "\n", flush=True)
        self._shown = True

    def end(self, elapsed_s: float, cpu_s: float, ok: bool, always: bool) -> None:
        if self._shown and self._moves:
            print("\r\033[K", end="")
        if self._shown or always or not ok:
            result = "ok" if ok else "FAILED"
            times = f"{duration(elapsed_s)}, {duration(cpu_s)} of CPU time"
            print(f"==> {self._label}: {result} after {times}", flush=True)


def note_interrupts() -> threading.Event:
    """The event is set by SIGINT, unless that is ignored (a job in the background). An exception
    could be raised while subprocess holds its lock, which would never be free again."""
    interrupted = threading.Event()
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda _number, _frame: interrupted.set())
    return interrupted


def run(arguments: argparse.Namespace) -> int:
    if arguments.log:
        os.makedirs(os.path.dirname(arguments.log) or ".", exist_ok=True)
    interrupted = note_interrupts()
    start_s = time.monotonic()
    try:
        process = subprocess.Popen(
            arguments.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        print(f"{arguments.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    assert process.stdout is not None
    display = Display(arguments.label, arguments.usually)
    with open(arguments.log or os.devnull, "w", errors="replace") as log:
        output = Output(process.stdout, log, arguments.show)
        output.start()
        while (status := process.poll()) is None:
            if interrupted.is_set():
                process.send_signal(signal.SIGINT)
                process.wait()
                output.end(within_s=1)
                print(file=sys.stderr)
                return 130
            time.sleep(POLL_S)
            if not arguments.show:
                display.update(time.monotonic() - start_s, output.steps)
        output.end()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = used.ru_utime + used.ru_stime
    display.end(time.monotonic() - start_s, cpu_s, status == 0, arguments.always)
    if status != 0 and not arguments.show:
        sys.stderr.writelines(output.lines)
    return status if status >= 0 else 128 - status


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--usually",
        type=float,
        default=0,
        metavar="SECONDS",
        help="usual duration, shown as an estimate",
    )
    parser.add_argument("--log", metavar="FILE", help="file for the output")
    parser.add_argument("--show", action="store_true", help="show the output as it comes")
    parser.add_argument("--always", action="store_true", help="always print the last line")
    parser.add_argument("label", help="name of the task")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND...")
    arguments = parser.parse_args()
    if arguments.command[:1] == ["--"]:
        del arguments.command[0]
    if not arguments.command:
        parser.error("no command was given")
    try:
        return run(arguments)
    except KeyboardInterrupt:  # before the command ran
        return 130


if __name__ == "__main__":
    sys.exit(main())
