"""Log lines of a running scheduler: one line per event, as text or as JSON.

    log = Log("scheduler", json=True)
    log.info("bound pods", cycle=17, pods=4)

A line has a time (UTC), a level, the role, a message, and named fields; `cycle` is the number of
its cycle.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from kai.controllers.planning.lines import Line, LogLevel

_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}


@dataclass(frozen=True, slots=True)
class Log:
    """Writes lines. `level`: the lowest level that is written."""

    role: str = "kai"
    as_json: bool = False
    level: LogLevel = "info"
    stream: TextIO | None = None
    clock: Callable[[], float] = field(default=time.time)

    def of(self, role: str) -> Log:
        """The same for another role."""
        return Log(role, self.as_json, self.level, self.stream, self.clock)

    def debug(self, message: str, **fields: Any) -> None:
        self.write("debug", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self.write("info", message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self.write("warning", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self.write("error", message, fields)

    def write(self, level: LogLevel, message: str, fields: Mapping[str, Any]) -> None:
        if _LEVELS[level] < _LEVELS[self.level]:
            return
        now = self.clock()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        entry = {"time": stamp, "level": level, "role": self.role, "message": message, **fields}
        if self.as_json:
            line = json.dumps(entry, default=str)
        else:
            pairs = "".join(f" {name}={_text(value)}" for name, value in fields.items())
            line = f"{stamp} {level} {self.role}: {message}{pairs}"
        stream = self.stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):  # the reader is gone: scheduling continues
            return


class Calm:
    """Limits lines about frequent events: of each message the first `at_once`, and then as many
    every `every` seconds; `times` is the number of lines since then.

        calm = Calm(log, clock.monotonic)
        calm.warning("cannot bind Pod", name="team/a", why="...")
    """

    def __init__(
        self, log: Log, clock: Callable[[], float], every: float = 10.0, at_once: int = 1
    ) -> None:
        self._log, self._clock, self._every, self._at_once = log, clock, every, at_once
        # By message: start time, lines written since, lines left out.
        self._counts: dict[str, tuple[float, int, int]] = {}

    def warning(self, message: str, **fields: Any) -> None:
        self.write(Line("warning", message, fields))

    def write(self, line: Line) -> None:
        now = self._clock()
        since, written, more = self._counts.get(line.message, (float("-inf"), 0, 0))
        if now - since >= self._every:
            since, written = now, 0
        if written >= self._at_once:
            self._counts[line.message] = (since, written, more + 1)
            return
        self._counts[line.message] = (since, written + 1, 0)
        fields = {name: value for name, value in line.fields.items() if value != ""}
        if more:
            fields["times"] = more + 1
        self._log.write(line.level, line.message, fields)


class Bridge(logging.Handler):
    """Forwards messages of kai.k8s from Python's logging to a log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fields = {}
        if record.exc_info:
            fields["why"] = logging.Formatter().formatException(record.exc_info)
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        write(record.getMessage(), **fields)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    plain = text.isprintable() and not any(each in text for each in ' "=')
    return text if plain and text else json.dumps(text)
