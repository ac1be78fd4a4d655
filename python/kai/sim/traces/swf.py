"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, `;` comments.

Columns, counted from 1: job, submit, wait, run time (s), processors allocated, CPU time, memory,
processors requested, time requested (s), memory requested, status, user, group, executable, queue,
partition, previous job, think time. -1 means unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from kai.errors import InvalidInputError
from kai.sim.cutting import NODE_GPUS
from kai.sim.traces.table import Table
from kai.sim.traces.trace import Trace, date_of
from kai.sim.workload import NodePool

__all__ = ["QUEUES_BY", "header_of", "is_swf", "swf"]

_COLUMNS = (
    *("job", "submit", "wait", "run_time", "processors", "cpu_time", "memory"),
    *("processors_asked", "time_asked", "memory_asked", "status", "user", "group"),
    *("executable", "queue", "partition", "before", "think_time"),
)
_PARTS = (2, 3, 4)  # status of a part of a job; the whole job has its own line
_COMMENT = re.compile(r";\s*([A-Za-z]+)\s*:\s*(.*)")
QUEUES_BY: Mapping[str, str] = {
    "user": "user",
    "account": "group",
    "partition": "partition",
    "queue": "queue",
}


def is_swf(text: str) -> bool:
    """Whether a text starts like such a file."""
    for line in text[:100_000].splitlines():
        if line.startswith(";"):
            if _COMMENT.match(line):
                return True
        elif line.strip():
            return len(line.split()) == len(_COLUMNS) and not re.search(r"[^-+.\d\seE]", line)
    return False


def header_of(text: str) -> dict[str, str]:
    """The values in `;` lines before the first job, such as MaxProcs."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith(";"):
            break
        if match := _COMMENT.match(line):
            found.setdefault(match[1], match[2].strip())
    return found


def swf(file: str, text: str, *, processors: str = "gpus", queues_by: str = "") -> Trace:
    """The jobs of a file; a processor is a GPU, or a core with ``processors="cores"``.

    The requested number counts, or the allocated number if it is unknown. Jobs without a run time
    or a processor, and parts of checkpointed jobs, are left out. Raises InvalidInputError if
    nothing is left.
    """
    header = header_of(text)
    rows, lines = [], []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith(";"):
            rows.append(line.split())
            lines.append(number)
    if not rows:
        raise InvalidInputError(f"{file}: has no jobs")
    table = Table(file, _COLUMNS, rows, lines)
    status = table.numbers("status")
    table.leave_out("status", np.isin(status, _PARTS), "is that of a part of a job")
    arrival_s = table.numbers("submit", least=0)
    duration_s = table.numbers("run_time", least=0)
    requested, allocated = (
        table.gpus("processors_asked", least=-1),
        table.gpus("processors", least=-1),
    )
    count = np.where(requested > 0, requested, allocated)
    table.leave_out("processors", count < 1, "and processors_asked have no number")
    estimate_s = table.numbers("time_asked")
    kept = table.kept()
    is_gpu = processors == "gpus"
    column = table.columns[QUEUES_BY[queues_by]] if queues_by else []
    return Trace(
        "swf",
        job_names=[f"job-{table.columns['job'][i]}" for i in kept],
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=count[kept] if is_gpu else np.zeros(len(kept)),
        cores=None if is_gpu else count[kept],
        queue=[_named(queues_by, column[i]) for i in kept] if queues_by else (),
        columns={
            "estimate_s": np.where(estimate_s > 0, estimate_s, math.nan)[kept],
            "user": [_named("user", table.columns["user"][i]) for i in kept],
        },
        nodes=_nodes(header, is_gpu),
        cluster=f"the size in the header of {file}",
        notes=("a processor is a GPU" if is_gpu else "a processor is a core",),
        start=_start(header),
        problems=table.problems(),
    )


def _named(kind: str, number: str) -> str:
    return f"{kind}-{number}" if number != "-1" else f"{kind}-unknown"


def _nodes(header: Mapping[str, str], is_gpu: bool) -> tuple[NodePool, ...]:
    """From MaxProcs and MaxNodes; none if MaxProcs is missing."""
    processors, count = (_whole(header.get(key, "")) for key in ("MaxProcs", "MaxNodes"))
    if not processors:
        return ()
    each = processors // count if count and processors % count == 0 else NODE_GPUS
    sizes = (("node", processors // each, each), ("rest", 1, processors % each))
    made = (
        NodePool(name, number, gpus=size)
        if is_gpu
        else NodePool(name, number, gpus=0, cpu=float(size))
        for name, number, size in sizes
        if number and size
    )
    return tuple(made)


def _whole(text: str) -> int:
    match = re.match(r"\d{1,7}\b", text)
    return int(match[0]) if match else 0


def _start(header: Mapping[str, str]) -> str:
    """From UnixStartTime, in UTC."""
    text = header.get("UnixStartTime", "")
    return date_of(float(text)) if re.fullmatch(r"\d{1,10}", text) and int(text) else ""
