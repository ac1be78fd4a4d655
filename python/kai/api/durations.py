"""Durations as text: as people write them, and in the formats of Go and of Prometheus.

>>> seconds_of("1d12h"), go_seconds("1h30m"), prometheus_seconds("1w2d")
(129600.0, 5400.0, 777600.0)
>>> to_go(60), to_prometheus(86_400 * 7)
('1m0s', '1w')
"""

from __future__ import annotations

import math
import re

from kai.errors import InvalidInputError

_GO = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GO_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|ns|h|m|s)")
_PROMETHEUS_MS = {
    **{"y": 365 * 86_400_000, "w": 7 * 86_400_000, "d": 86_400_000},
    **{"h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1},
}
_PROMETHEUS = re.compile("".join(rf"(?:([0-9]{{1,18}}){unit})?" for unit in _PROMETHEUS_MS))
_LARGEST_S = 2**63 / 1e9  # the largest duration in Go
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PART = re.compile(rf"({_NUMBER})(ms|s|m|h|d|w)")


def seconds_of(value: object, *, never: bool = False) -> float | None:
    """The seconds of a duration in an option or a workload; None if the value is not a duration.

    One number with its unit, or several: ms, s, m, h, d, w. A number without a unit is in seconds,
    also as a text. ``never``: the word `never` means infinite seconds.

    >>> seconds_of("90m"), seconds_of("1d12h"), seconds_of(5), seconds_of("5"), seconds_of("soon")
    (5400.0, 129600.0, 5.0, 5.0, None)
    >>> seconds_of("never", never=True), seconds_of("never")
    (inf, None)
    """
    if never and isinstance(value, str) and value.strip() == "never":
        return math.inf
    found = _seconds(value)
    return found if found is not None and 0 <= found < _LARGEST_S else None


def too_long(value: object) -> str:
    """Why `seconds_of` gives None for a duration that is too long; "" for other values.

    >>> too_long("1000000d"), too_long("soon")
    ('is longer than the longest time, 106,751 days', '')
    """
    if (_seconds(value) or 0) < _LARGEST_S:
        return ""
    return f"is longer than the longest time, {_LARGEST_S // _UNIT_S['d']:,.0f} days"


def _seconds(value: object) -> float | None:
    """The seconds of a duration, cut to -1 and the largest; None if it is not a duration."""
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(_NUMBER, text):
            value = float(text)
        elif re.fullmatch(f"(?:{_PART.pattern})+", text):
            value = sum(float(number) * _UNIT_S[unit] for number, unit in _PART.findall(text))
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
        return None
    return float(min(max(value, -1), _LARGEST_S))  # no float holds the largest integers


def duration_text(seconds: float) -> str | float:
    """The shortest way to write a duration exactly, which `seconds_of` reads.

    >>> duration_text(5400), duration_text(86400), duration_text(0.25), duration_text(float("inf"))
    ('90m', '1d', 0.25, 'never')
    """
    if math.isinf(seconds):
        return "never"
    for unit in ("d", "h", "m", "s"):
        number = seconds / _UNIT_S[unit]
        if seconds and number % 1 == 0:
            return f"{int(number)}{unit}"
    return int(seconds) if seconds % 1 == 0 else seconds


def go_seconds(text: str) -> float:
    """Seconds of "1h30m", "-5s", "0". Raises InvalidInputError if Go rejects the text."""
    sign, rest = (-1.0 if text.startswith("-") else 1.0), text.removeprefix("-").removeprefix("+")
    parts = _GO_PART.findall(rest)
    if rest != "0" and (not parts or "".join(map("".join, parts)) != rest):
        raise InvalidInputError(f"{text!r} is not a duration such as 1h30m")
    seconds = sign * sum(float(number) * _GO[unit] for number, unit in parts)
    if abs(seconds) >= _LARGEST_S:
        raise InvalidInputError(f"{text!r} is longer than the longest duration")
    return seconds


def prometheus_seconds(text: str) -> float:
    """Seconds of "1w", "2d12h", "0": units y, w, d, h, m, s, ms, in this order.

    Raises InvalidInputError if Prometheus rejects the text.
    """
    match = _PROMETHEUS.fullmatch(text)
    if text != "0" and (not text or match is None):
        raise InvalidInputError(f"{text!r} is not a duration such as 1w or 2d12h")
    numbers = match.groups() if match is not None else ()
    ms = sum(
        int(number or 0) * unit
        for number, unit in zip(numbers, _PROMETHEUS_MS.values(), strict=False)
    )
    if ms / 1000 >= _LARGEST_S:
        raise InvalidInputError(f"{text!r} is longer than the longest duration")
    return ms / 1000


def to_prometheus(seconds: float) -> str:
    """A Prometheus duration. Uses years and weeks only if they divide it: "90d", not "12w6d".

    >>> to_prometheus(90 * 86_400), to_prometheus(5400), to_prometheus(0)
    ('90d', '1h30m', '0s')
    """
    ms, parts = round(seconds * 1000), []
    for unit, size in _PROMETHEUS_MS.items():
        if unit in ("y", "w") and ms % size:
            continue
        if number := ms // size:
            parts.append(f"{number}{unit}")
            ms -= number * size
    return "".join(parts) or "0s"


def to_go(seconds: float) -> str:
    """A Go duration.

    >>> to_go(3600), to_go(90.5), to_go(0.25), to_go(0)
    ('1h0m0s', '1m30.5s', '250ms', '0s')
    """
    ns = round(seconds * 1e9)
    if ns < 0:
        return f"-{to_go(-seconds)}"
    if 0 < ns < 10**9:
        unit, size = next((u, s) for u, s in (("ms", 10**6), ("µs", 10**3), ("ns", 1)) if ns >= s)
        return f"{_decimal(ns, size)}{unit}"
    minutes, rest = divmod(ns, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _decimal(number: int, size: int) -> str:
    whole, rest = divmod(number, size)
    if not rest:
        return str(whole)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0")
