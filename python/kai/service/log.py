"""Log lines of a running scheduler: one line an event, as text or as JSON.

    log = Log("scheduler", json=True)
    log.info("bound pods", cycle=17, pods=4)

A line has a time (UTC), a level, the role, a message, and fields by name; `cycle` is the number of
the cycle that it belongs to.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

_LEVELS = {"debug": 0, "info": 1, "warning": 2, "error": 3}


@dataclass(frozen=True, slots=True)
class Log:
    """Where lines go. `level`: the least level that is written."""

    role: str = "kai"
    as_json: bool = False
    level: str = "info"
    stream: TextIO | None = None
    clock: Callable[[], float] = field(default=time.time)

    def of(self, role: str) -> Log:
        """The same for another role."""
        return Log(role, self.as_json, self.level, self.stream, self.clock)

    def debug(self, message: str, **fields: Any) -> None:
        self._write("debug", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        self._write("info", message, fields)

    def warning(self, message: str, **fields: Any) -> None:
        self._write("warning", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        self._write("error", message, fields)

    def _write(self, level: str, message: str, fields: dict[str, Any]) -> None:
        if _LEVELS[level] < _LEVELS[self.level]:
            return
        now = self.clock()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
        said = {"time": stamp, "level": level, "role": self.role, "message": message, **fields}
        if self.as_json:
            line = json.dumps(said, default=str)
        else:
            pairs = "".join(f" {name}={_text(value)}" for name, value in fields.items())
            line = f"{stamp} {level} {self.role}: {message}{pairs}"
        stream = self.stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):  # the reader is gone: scheduling goes on
            return


class Calm:
    """Warnings about what may happen a thousand times in a row: the first one at once, and then one
    in `every` seconds, with the number of those that came meanwhile.

        calm = Calm(log, clock.monotonic)
        calm.warning("cannot bind Pod", name="team/a", why="...")
    """

    def __init__(self, log: Log, clock: Callable[[], float], every: float = 10.0) -> None:
        self._log, self._clock, self._every = log, clock, every
        self._said: dict[str, tuple[float, int]] = {}  # when, and how many came since

    def warning(self, message: str, **fields: Any) -> None:
        now = self._clock()
        said, more = self._said.get(message, (float("-inf"), 0))
        if now - said < self._every:
            self._said[message] = (said, more + 1)
            return
        self._said[message] = (now, 0)
        if more:
            fields["times"] = more + 1
        self._log.warning(message, **fields)


class Bridge(logging.Handler):
    """Brings to a log what kai.k8s says by Python's own logging."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        fields = {}
        if record.exc_info:
            fields["why"] = logging.Formatter().formatException(record.exc_info)
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        say(record.getMessage(), **fields)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    plain = text.isprintable() and not any(each in text for each in ' "=')
    return text if plain and text else json.dumps(text)
