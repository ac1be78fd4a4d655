"""The past usage of queues, the input of time-based fair share (spec 1 F44, F115).

>>> rows_of({"vision": {"gpu": 0.4, "cpu": 0.1}})
{'vision': (0.4, 0.1, 0.0)}

A file contains usage, or samples of what queues used, with the window for their sum:

    usageParams: {windowSize: 1d, halfLifePeriod: 6h}
    capacity: {gpu: 16}
    samples:
    - {time: 2026-01-01T00:00:00Z, allocated: {vision: {gpu: 8}}}
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import documents, files, times
from kai.api.naming import naming
from kai.api.nearest import check_known
from kai.errors import InvalidInputError

RESOURCES = ("gpu", "cpu", "memory")
Usage = Mapping[str, Mapping[str, float]]
"""By queue, and "gpu", "cpu" or "memory": a fraction of the cluster's capacity."""
Rows = dict[str, tuple[float, float, float]]
_MEMBERS = ("usageParams", "capacity", "samples")
_OF_SAMPLES = ("time", "allocated", "capacity")


def rows_of(usage: Mapping[str, Any], name: str = "usage") -> Rows:
    """The fractions of GPUs, CPU and memory by queue; the default is 0.

    Raises InvalidInputError if the argument is not such a mapping.
    """
    return {str(queue): _amounts(parts, f"{name}: queue {queue}") for queue, parts in usage.items()}


def read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The content of a usage file. Raises InvalidInputError if it cannot be read."""
    name = os.fspath(path)
    with naming(name):
        value = documents.read_value(documents.decode(files.read(path)))
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name}: is a {type(value).__name__}, not a mapping of queues")
    return value


def usage_in(content: Mapping[str, Any], now_ns: int, name: str = "usage") -> Rows:
    """The usage in a file at that time; only samples depend on the time.

    Raises InvalidInputError if the file has neither usage nor samples.
    """
    if not isinstance(content.get("samples"), Sequence):
        return rows_of(content, name)
    from kai.engine import windows

    _check_members(content, _MEMBERS, name)
    params = content.get("usageParams")
    window = windows.Window.of({} if params is None else params, f"{name}: usageParams")
    capacity = content.get("capacity")
    moments, held, had = [], [], []
    for place, sample in enumerate(content["samples"]):
        where = f"{name}: samples[{place}]"
        if not isinstance(sample, Mapping):
            raise InvalidInputError(f"{where}: is not a mapping with time and allocated")
        _check_members(sample, _OF_SAMPLES, where)
        moments.append(_time(sample.get("time"), f"{where}: time") / times.SECOND_NS)
        allocated = sample.get("allocated", {})
        if not isinstance(allocated, Mapping):
            raise InvalidInputError(f"{where}: allocated: is not a mapping of queues")
        held.append(rows_of(allocated, f"{where}: allocated"))
        there = sample.get("capacity", capacity)
        if there is None:
            raise InvalidInputError(f"{where}: the capacity is missing, here and for all samples")
        had.append(_amounts(there, f"{where}: capacity"))
    samples = windows.Samples.of_rows(moments, held, had)
    return windows.usage_of(samples, window, now_s=now_ns / times.SECOND_NS)


def to_mapping(rows: Rows) -> dict[str, dict[str, float]]:
    """The rows as a mapping.

    >>> to_mapping({"a": (0.5, 0.0, 0.25)})
    {'a': {'gpu': 0.5, 'cpu': 0.0, 'memory': 0.25}}
    """
    return {queue: dict(zip(RESOURCES, parts, strict=True)) for queue, parts in rows.items()}


def _amounts(parts: Any, where: str) -> tuple[float, float, float]:
    if not isinstance(parts, Mapping):
        raise InvalidInputError(f"{where}: is not a mapping of gpu, cpu and memory: {parts!r}")
    _check_members(parts, RESOURCES, where)
    gpu, cpu, memory = (_amount(parts.get(each, 0.0), f"{where}: {each}") for each in RESOURCES)
    return gpu, cpu, memory


def _amount(value: Any, where: str) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= sys.float_info.max:
        raise InvalidInputError(f"{where}: must be a number of at least 0, not {value!r}")
    return float(value)


def _time(value: Any, where: str) -> int:
    with naming(where):
        return times.to_ns(value)


def _check_members(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    check_known(given, known, f"{where}: there is no member")
