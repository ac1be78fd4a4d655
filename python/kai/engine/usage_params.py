"""`usageParams` of a scheduler's configuration: the window of past usage, and how often it is read.

>>> params = UsageParams.of({"windowSize": "1d", "halfLifePeriod": "6h", "fetchInterval": "5m"})
>>> params.window.size, params.window.half_life, params.fetch_interval
(86400.0, 21600.0, 300.0)

They are in `usageDBConfig`, together with the source of the usage (spec 1 F116). Unknown members
are skipped with a warning, as in KAI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api.naming import naming
from kai.api.nearest import did_you_mean
from kai.engine.windows import OF_WINDOW, Window, any_seconds, window_of
from kai.errors import InvalidInputError

TIMES = ("fetchInterval", "stalenessPeriod", "waitTimeout")
MEMBERS = (*OF_WINDOW, *TIMES, "extraParams")
OF_DB = ("clientType", "connectionString", "connectionStringEnvVar", "usageParams")
"""The members of `usageDBConfig`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageParams:
    """Times are in seconds; `extra` are further members for a usage database."""

    window: Window = field(default_factory=Window)
    fetch_interval: float = 60.0
    staleness: float = 300.0
    wait: float = 60.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, name: str = "usageParams") -> UsageParams:
        """Raises InvalidInputError for another argument, and for an invalid value."""
        params = mapping_of({} if given is None else given, name)
        seconds = {
            each: _seconds(params, each, name) for each in TIMES if params.get(each) is not None
        }
        interval = seconds.get("fetchInterval", 60.0)
        if interval <= 0:
            raise InvalidInputError(f"{name}: fetchInterval: must be longer than 0")
        return cls(
            window=window_of(params, name),
            fetch_interval=interval,
            staleness=max(interval, seconds.get("stalenessPeriod", 300.0)),
            wait=seconds.get("waitTimeout", 60.0),
            extra=mapping_of(params.get("extraParams") or {}, f"{name}.extraParams"),
            warnings=tuple(unknown(params, MEMBERS, f"{name}.")),
        )


def text_of(given: Mapping[str, Any], name: str, default: str, where: str = "") -> str:
    """Raises InvalidInputError if the member is not a text."""
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise InvalidInputError(f"{where}{name}: is not a string: {value!r}")
    return value


def mapping_of(value: Any, where: str) -> Mapping[str, Any]:
    """Raises InvalidInputError if the value is not a mapping."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where} is not a mapping: {value!r}")
    return value


def unknown(given: Mapping[str, Any], known: tuple[str, ...], where: str) -> list[str]:
    """A sentence for each skipped member."""
    skipped = "is not known and is skipped"
    return [
        f"usageDBConfig: member {where}{name} {skipped}{did_you_mean(str(name), known)}"
        for name in given
        if name not in known
    ]


def _seconds(params: Mapping[str, Any], name: str, where: str) -> float:
    text = text_of(params, name, "", f"{where}: ")
    with naming(f"{where}: {name}"):
        return any_seconds(text)
