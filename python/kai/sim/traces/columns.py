"""Jobs of any table, by a mapping of our columns to those of the table.

    columns = parse("arrival=submit_time, duration=run_s, gpus=milli/1000")
    trace = of_columns(table, columns)

A column of the table may be divided or multiplied by a number. The first line has the names; the
columns of Helios (SenseTime) and Acme (Shanghai AI Laboratory) are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from kai.api.nearest import did_you_mean
from kai.errors import InvalidInputError
from kai.sim.traces.sacct import seconds_of
from kai.sim.traces.table import MOST_GPUS, Table
from kai.sim.traces.trace import Trace, date_of
from kai.sim.workload import Floats

__all__ = ["COLUMNS", "KNOWN", "checked", "of_columns", "parse", "separator_of"]

COLUMNS: Mapping[str, str] = {
    "arrival": "when the job arrives: seconds, or a date with a time; required",
    "duration": "how long it runs: seconds, or a time such as 1-02:03:04",
    "start": "with `end`, instead of `duration`: when it starts",
    "end": "when it ends",
    "gpus": "GPUs of the whole job; required",
    "pods": "number of equal pods that it has",
    "cpu": "cores of the whole job",
    "name": "its name",
    "queue": "its queue",
    "user": "its user",
}
"""What the columns of a table can be, each with its sentence for the documentation."""

KNOWN: Mapping[str, Mapping[str, str]] = {
    "helios": {
        "name": "job_id",
        "arrival": "submit_time",
        "duration": "duration",
        "gpus": "gpu_num",
        "pods": "node_num",
        "cpu": "cpu_num",
        "queue": "vc",
        "user": "user",
    },
    "acme": {
        "name": "job_id",
        "arrival": "submit_time",
        "duration": "duration",
        "gpus": "gpu_num",
        "pods": "node_num",
        "cpu": "cpu_num",
        "queue": "type",
        "user": "user",
    },
}
"""Traces whose columns are known, by the name of their format."""

_SEPARATORS = (",", "\t", ";", "|")
_FORMULA = re.compile(r"(.*\S)\s*([*/])\s*(\d+(?:\.\d+)?)")
_NEVER = ("", "None", "Unknown", "nan", "NaN", "NaT")


def parse(text: str) -> dict[str, str]:
    """The mapping in a text such as "arrival=submit_time,gpus=gpu_num". Raises InvalidInputError.

    >>> parse("arrival=submit_time, gpus=milli/1000")
    {'arrival': 'submit_time', 'gpus': 'milli/1000'}
    """
    columns: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        ours, equals, theirs = (each.strip() for each in part.partition("="))
        if not equals or not theirs:
            raise InvalidInputError(
                f"{part!r} is not of the form OURS=THEIRS, such as arrival=submit_time"
            )
        columns[ours] = theirs
    return columns


def checked(columns: Mapping[str, str]) -> Mapping[str, str]:
    """The same mapping. Raises InvalidInputError for one that describes no jobs."""
    given: Any = columns
    if not isinstance(given, Mapping) or not all(
        isinstance(each, str) for pair in given.items() for each in pair
    ):
        raise InvalidInputError("columns is a mapping of texts, such as {'arrival': 'submit_time'}")
    for ours in columns:
        if ours not in COLUMNS:
            hint = did_you_mean(ours, COLUMNS) or f": write {', '.join(COLUMNS)}"
            raise InvalidInputError(f"columns: jobs have no {ours!r}{hint}")
    for ours in ("arrival", "gpus"):
        if ours not in columns:
            raise InvalidInputError(f"columns: {ours} is missing: write {ours}=COLUMN")
    if "duration" not in columns and not {"start", "end"} <= columns.keys():
        raise InvalidInputError("columns: write duration=COLUMN, or start=COLUMN and end=COLUMN")
    return columns


def separator_of(first_line: str) -> str:
    """The character that separates the columns: the most frequent one of four."""
    return max(_SEPARATORS, key=first_line.count)


class _Column(NamedTuple):
    name: str
    factor: float


def _column(table: Table, given: str) -> _Column:
    match = _FORMULA.fullmatch(given)
    if given in table.columns or match is None:
        return _Column(given, 1.0)
    factor = float(match[3])
    if factor == 0:
        raise InvalidInputError(f"columns: {given!r} has the factor 0")
    return _Column(match[1], 1 / factor if match[2] == "/" else factor)


def of_columns(table: Table, columns: Mapping[str, str], name: str = "csv") -> Trace:
    """The jobs of a table; rows without a usable number are left out.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    arrival_s, has_dates = _times(table, columns["arrival"])
    if "duration" in columns:
        duration_s = _durations(table, columns["duration"])
    else:
        (start_s, _), (end_s, _) = (_times(table, columns[each]) for each in ("start", "end"))
        duration_s = end_s - start_s
        table.leave_out(columns["end"], duration_s < 0, "is before the start")
    gpus = _numbers(table, columns["gpus"], MOST_GPUS)
    odd = (gpus > 1) & (np.trunc(gpus) != gpus)
    column = _column(table, columns["gpus"]).name
    table.leave_out(column, odd, "is neither a whole number of GPUs nor a part of one")
    pods = _numbers(table, columns["pods"], 1e5) if "pods" in columns else np.ones(len(table))
    cores = _numbers(table, columns["cpu"], MOST_GPUS) if "cpu" in columns else None
    if cores is not None:
        table.leave_out("", (gpus == 0) & (cores == 0), "has neither GPUs nor cores")
    kept = table.kept()
    texts = {each: _texts(table, columns, each) for each in ("name", "queue", "user")}
    queue = texts["queue"]
    return Trace(
        name,
        job_names=[texts["name"][i] or f"job-{i + 1}" for i in kept] if texts["name"] else (),
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=gpus[kept],
        queue=[queue[i] or "no-queue" for i in kept] if queue else (),
        pods=np.maximum(pods, 1)[kept].astype(np.int64) if "pods" in columns else None,
        cores=None if cores is None else np.maximum(cores, 1)[kept],
        columns={"user": [texts["user"][i] for i in kept]} if texts["user"] else {},
        notes=(_sentence(columns),),
        start=date_of(float(arrival_s[kept].min())) if has_dates else "",
        problems=table.problems(),
    )


def _sentence(columns: Mapping[str, str]) -> str:
    return "columns: " + ", ".join(f"{ours} is {theirs}" for ours, theirs in columns.items())


def _texts(table: Table, columns: Mapping[str, str], ours: str) -> Sequence[str]:
    if ours not in columns:
        return ()
    table.require(columns[ours])
    return [each.strip() for each in table.columns[columns[ours]]]


def _numbers(table: Table, given: str, most: float) -> Floats:
    column = _column(table, given)
    table.require(column.name)
    return table.numbers(column.name, least=0, most=most / column.factor) * column.factor


def _times(table: Table, given: str) -> tuple[Floats, bool]:
    """Seconds on some clock, and whether they are of dates."""
    column = _column(table, given)
    table.require(column.name)
    first = next((each for each in table.columns[column.name] if each.strip() not in _NEVER), "")
    try:
        float(first)
    except ValueError:
        return table.times(column.name), True
    return table.numbers(column.name, least=0, most=1e14) * column.factor, False


def _durations(table: Table, given: str) -> Floats:
    column = _column(table, given)
    table.require(column.name)
    if any(":" in each for each in table.columns[column.name]):
        return table.parsed(column.name, seconds_of, "a time such as 1-02:03:04")
    return table.numbers(column.name, least=0, most=1e11 / column.factor) * column.factor
