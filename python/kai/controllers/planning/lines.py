"""Log lines as data: a planner does no I/O, so it returns what is to be logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line to write. `fields`: by name; fields without a value are left out."""

    level: LogLevel
    message: str
    fields: Mapping[str, Any]
