"""What Slurm's accounting prints with `sacct --parsable2` (or `--parsable`), one row for each job.

    sacct --allusers --parsable2 --starttime 2026-01-01 --format \
        JobID,User,Account,Partition,Submit,Start,End,Elapsed,ReqTRES,AllocTRES,NNodes,State,Timelimit

It needs JobID, Submit, one of Elapsed, ElapsedRaw, or Start with End, and one of AllocTRES,
ReqTRES, or AllocGRES with AllocCPUS; other columns are used if they exist.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kai.api.mig import part_of_slice
from kai.errors import InvalidInputError
from kai.sim.traces.table import MOST_GPUS, Table
from kai.sim.traces.trace import Sized, Trace, date_of, sized
from kai.sim.workload import Floats

__all__ = ["COMMAND", "QUEUES_BY", "is_sacct", "looks_like", "sacct"]

COMMAND = (
    "sacct --allusers --parsable2 --format JobID,User,Account,Partition,Submit,Start,End,Elapsed,"
    "ReqTRES,AllocTRES,NNodes,State,Timelimit"
)
"""The command whose output is read."""

QUEUES_BY = {"account": "Account", "user": "User", "partition": "Partition"}
_NEVER = ("Unknown", "None", "N/A", "")
_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,4}):(\d\d):(\d\d)(?:\.\d+)?|(\d{1,5}):(\d\d)(?:\.\d+)?")
_GPU = re.compile(r"(?:^|[,;])(?:gres/)?gpu(?::([^=:,;]+))?[=:](\d+)")
_MEMORY = re.compile(r"(?:^|[,;])mem=(\d+(?:\.\d+)?)([KMGTP]?)")
_MOST_MIB = 2.0**42
_CORES = re.compile(r"(?:^|[,;])cpu=(\d+)")
_MIB = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


SEPARATORS = ("|", ",", "\t", ";")


def is_sacct(first_line: str) -> bool:
    """Whether a first line has sacct's column names."""
    return any("JobID" in _cells(first_line, each) for each in SEPARATORS)


def looks_like(lines: Sequence[str]) -> str:
    """What the first lines of a text look like, if it is Slurm's and not read; "" if it is not."""
    first = lines[0] if lines else ""
    words = first.split()
    if "JobID" in words:
        return "looks like the output of sacct without --parsable2, which cuts long cells"
    if "JOBID" in words and len(words) > 2:
        return "looks like the output of squeue, which lacks the jobs that have ended"
    cells = first.split("|")
    if len(cells) > 2 and _JOB.fullmatch(cells[0].strip()):
        return "looks like the output of sacct without its header (--noheader)"
    if first.startswith("{") and _SACCT_JSON.search("".join(lines)[:100_000]):
        return "looks like the output of sacct --json"
    return ""


_JOB = re.compile(r"\d+([_+](\d+|\[.*\]))?(\.\w+)?")
_SACCT_JSON = re.compile(r'"(job_id|slurm|association|tres)"\s*:')


def _cells(line: str, separator: str) -> list[str]:
    return [each.strip().strip('"') for each in line.split(separator)]


def sacct(file: str, text: str, *, queues_by: str = "account", models: Sequence[str] = ()) -> Trace:
    """The jobs of a listing, without their steps.

    The duration of a job is its elapsed time, also for a job that still runs. Jobs that never ran
    are left out. ``models``: those of the nodes; a job that requests one of them may use only that
    one. Raises InvalidInputError for a listing that lacks a column or has no usable job.
    """
    table = _jobs_of(file, text)
    job = table.filled("JobID")
    arrival_s = table.times("Submit")
    duration_s = _durations(table)
    taken = _tres(table)
    gpus, cores, memory = (_each(taken, parse) for parse in (_gpus, _cores, _memory))
    table.leave_out("", gpus > MOST_GPUS, f"requests more than {MOST_GPUS:,} GPUs")
    table.leave_out("", cores > MOST_GPUS, f"requests more than {MOST_GPUS:,} cores")
    table.leave_out("", memory > _MOST_MIB, "requests more memory than possible")
    table.leave_out("", (gpus == 0) & (cores == 0), "has neither GPUs nor cores")
    pods = np.ones(len(table))
    if "NNodes" in table.columns:
        pods = np.maximum(table.numbers("NNodes", least=0, most=1e5, whole=True, blank=1), 1)
    memory = np.ceil(memory / pods)
    estimate_s = _limits(table)
    kept = table.kept()
    allowed = [_models(text, models) for text in table.texts("ReqTRES")]
    states = table.texts("State")
    users, queue = table.texts("User"), table.texts(QUEUES_BY.get(queues_by, ""), "sacct")
    nodes, of_nodes = _nodes(
        arrival_s[kept], duration_s[kept], gpus[kept], cores[kept], memory[kept]
    )
    return Trace(
        "sacct",
        job_names=[job[i] for i in kept],
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=gpus[kept],
        queue=[queue[i] or f"no-{queues_by}" for i in kept],
        pods=pods[kept].astype(np.int64),
        cores=np.maximum(cores, 1)[kept],
        columns={
            "memory_mib": memory[kept].astype(np.int64),
            "estimate_s": estimate_s[kept],
            "models": [allowed[i] for i in kept],
            "user": [users[i] for i in kept],
        },
        nodes=nodes,
        cluster=of_nodes,
        notes=_notes([taken[i] for i in kept], [states[i] for i in kept]),
        start=date_of(float(arrival_s[kept].min())),
        problems=table.problems(),
    )


def _notes(taken: Sequence[str], states: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if "RUNNING" in states:
        notes.append("a job that still runs ends at the time of the listing")
    if sliced := sum(part_of_slice(each) is not None for each in taken):
        jobs = "1 job has" if sliced == 1 else f"{sliced:,} jobs have"
        notes.append(f"{jobs} MIG slices, which count as parts of a GPU: 3g.20gb is 3/7")
    return tuple(notes)


def _jobs_of(file: str, text: str) -> Table:
    """The rows of jobs; a step has a dot in its JobID."""
    first = text.lstrip().split("\n", 1)[0]
    separator = next((each for each in SEPARATORS if "JobID" in _cells(first, each)), "|")
    table = Table.of_csv(file, text, separator=separator)
    table.require("JobID", "Submit")
    if separator == "," and not len(table):
        raise InvalidInputError(
            f"{file}: commas separate its columns, and the resources within a column as well;"
            f" run {COMMAND}"
        )
    return table.where([("." not in job) for job in table.columns["JobID"]])


def _durations(table: Table) -> Floats:
    if "ElapsedRaw" in table.columns:
        elapsed_s = table.numbers("ElapsedRaw", least=0)
    elif "Elapsed" in table.columns:
        elapsed_s = table.parsed("Elapsed", seconds_of, "a time such as 1-02:03:04")
    elif {"Start", "End"} <= table.columns.keys():
        begin_s, end_s = (table.times(column, unknown=_NEVER) for column in ("Start", "End"))
        never = np.isnan(begin_s)
        table.leave_out("Start", never, "shows that the job never ran")
        table.leave_out("End", ~never & np.isnan(end_s), "shows that the job still runs")
        elapsed_s = end_s - begin_s
        table.leave_out("End", elapsed_s < 0, "is before Start")
        return elapsed_s
    else:
        raise InvalidInputError(
            f"{table.file}: needs a column Elapsed, ElapsedRaw, or Start and End"
        )
    column = "ElapsedRaw" if "ElapsedRaw" in table.columns else "Elapsed"
    if "Start" in table.columns:
        begin_s = table.times("Start", unknown=_NEVER)
        table.leave_out("Start", np.isnan(begin_s), "shows that the job never ran")
    table.leave_out(column, elapsed_s == 0, "shows that the job never ran")
    return elapsed_s


def _limits(table: Table) -> Floats:
    """The time limits that users set, which are the only estimates in Slurm; NaN: no limit."""
    if "TimelimitRaw" in table.columns:
        return _each(table.columns["TimelimitRaw"], _minutes)
    return _each(table.texts("Timelimit"), seconds_of)


def _minutes(text: str) -> float | None:
    return float(text) * 60 if re.fullmatch(r"\d{1,9}", text) else None


def seconds_of(text: str) -> float | None:
    """Seconds of a time in Slurm's format; None for other texts, such as UNLIMITED.

    >>> seconds_of("1-02:03:04"), seconds_of("05:06"), seconds_of("UNLIMITED")
    (93784.0, 306.0, None)
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    days, hours, minutes, seconds, *short = (int(each or 0) for each in match.groups())
    if match[5]:
        return float(short[0] * 60 + short[1])
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _tres(table: Table) -> list[str]:
    """The allocated, otherwise the requested, trackable resources of each job."""
    columns = [table.columns[each] for each in ("AllocTRES", "ReqTRES") if each in table.columns]
    if not columns and {"AllocGRES", "AllocCPUS"} <= table.columns.keys():
        cells = zip(table.columns["AllocGRES"], table.columns["AllocCPUS"], strict=True)
        return [f"cpu={cores},{devices}" for devices, cores in cells]
    if not columns:
        raise InvalidInputError(
            f"{table.file}: needs a column AllocTRES, ReqTRES, or AllocGRES and AllocCPUS"
        )
    return [next((cell for cell in cells if cell), "") for cells in zip(*columns, strict=True)]


def _each(texts: Sequence[str], parse: Callable[[str], float | None]) -> Floats:
    """A number for each text; NaN for None. Equal texts are parsed once."""
    known = {text: parse(text) for text in set(texts)}
    values = (math.nan if (value := known[text]) is None else value for text in texts)
    return np.fromiter(values, np.float64, len(texts))


def _gpus(tres: str) -> float:
    """The total without a type if present; otherwise the sum over types.

    A MIG slice counts as its part of the GPU's compute slices. More than one GPU is rounded up.

    >>> _gpus("cpu=9,gres/gpu:a100_3g.20gb=1,gres/gpu=1") * 7, _gpus("gres/gpu:1g.10gb=10")
    (3.0, 2.0)
    """
    found = _GPU.findall(tres)
    bare = [int(count) for model, count in found if not model]
    total = bare[0] if bare else sum(int(count) for _, count in found)
    parts = [
        (int(count), part) for model, count in found if (part := part_of_slice(model)) is not None
    ]
    if not parts:
        return float(total)
    whole = max(0, total - sum(count for count, _ in parts))
    gpus = whole + sum(count * part for count, part in parts)
    return float(gpus if gpus < 1 else math.ceil(gpus))


def _cores(tres: str) -> float:
    match = _CORES.search(tres)
    return float(match[1]) if match else 0.0


def _memory(tres: str) -> float:
    """MiB of the job."""
    match = _MEMORY.search(tres)
    return float(match[1]) * _MIB[match[2]] if match else 0.0


def _models(tres: str, known: Sequence[str]) -> tuple[str, ...]:
    requested = {model.lower() for model, _ in _GPU.findall(tres) if model}
    return tuple(sorted(model for model in known if model.lower() in requested))


def _nodes(
    arrival_s: Floats, duration_s: Floats, gpus: Floats, cores: Floats, memory: Floats
) -> Sized:
    """Sized for the demand, with the memory of the largest pod's request."""
    (pool,), sentence = sized(arrival_s, duration_s, gpus, cores)
    largest = math.ceil(memory.max(initial=0))
    return Sized((replace(pool, memory_mib=max(pool.memory_mib, largest)),), sentence)
