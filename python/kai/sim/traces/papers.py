"""Traces that published simulators read: Philly, ITP, Muri and Tiresias.

Each function takes tables and returns a `Trace`; it documents the meaning of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from kai.sim.traces.table import Table
from kai.sim.traces.trace import (
    Trace,
    date_of,
    even_queues,
    sized,
    sized_sentence,
)
from kai.sim.workload import Floats, NodePool

__all__ = ["itp", "itp_clusters", "muri", "philly", "tiresias"]

_PHILLY = (NodePool("philly", 55, gpus=8),)
# The only cluster file of Muri's simulator: 8 nodes with 8 GPUs, 92 cores and 520 GB.
_MURI = (NodePool("muri", 8, gpus=8, cpu=92, memory_mib=520 * 1024, model="V100"),)
_TIRESIAS = (NodePool("tiresias", 4, gpus=4),)
_ITP_START = datetime(2021, 3, 4)


def philly(table: Table) -> Trace:
    """Microsoft's Philly, 2017: timestamp, duration (s), num_gpus, gpu_time and cluster.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    arrival_s = table.times("timestamp")
    duration_s = table.numbers("duration", least=0)
    gpus = table.gpus("num_gpus")
    queue = table.filled("cluster")
    kept = table.kept()
    return Trace(
        "philly",
        job_names=(),
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=gpus[kept],
        queue=[queue[i] for i in kept],
        nodes=_PHILLY,
        cluster="55 nodes of 8 GPUs: the mean demand of the whole trace is 85 % of these GPUs",
        notes=("times are local times, as in the trace",),
        start=date_of(float(arrival_s[kept].min())),
        problems=table.problems(),
    )


def itp(table: Table, name: str = "itp") -> Trace:
    """One ITP cluster, 2021: job_id, submission_time (s), duration (s) and num_gpu.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    job = table.filled("job_id")
    arrival_s = table.numbers("submission_time", least=0)
    duration_s = table.numbers("duration", least=0)
    gpus = table.gpus("num_gpu")
    kept = table.kept()
    return Trace(
        name,
        job_names=[job[i] for i in kept],
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=gpus[kept],
        start=_itp_date(arrival_s[kept]),
        problems=table.problems(),
    )


def itp_clusters(tables: Sequence[tuple[str, Table]]) -> Trace:
    """Several ITP clusters as one: a pool of nodes and a queue for each.

    Each pool has the size of its separate cluster, and the cluster's queue deserves it. Raises
    InvalidInputError as `itp` does.
    """
    if len(tables) == 1:
        return itp(tables[0][1], tables[0][0])
    traces = [itp(table, name) for name, table in tables]
    pools = [sized(each.arrival_s, each.duration_s, each.gpus).nodes[0] for each in traces]
    nodes = tuple(
        NodePool(each.name, pool.count, gpus=pool.gpus)
        for each, pool in zip(traces, pools, strict=True)
    )
    gpus_of = {pool.name: float(pool.count * pool.gpus) for pool in nodes}
    arrival_s = np.concatenate([each.arrival_s for each in traces])
    return Trace(
        "itp",
        job_names=[name for each in traces for name in each.job_names],
        arrival_s=arrival_s,
        duration_s=np.concatenate([each.duration_s for each in traces]),
        gpus=np.concatenate([each.gpus for each in traces]),
        queue=[each.name for each in traces for _ in each.job_names],
        nodes=nodes,
        queues=even_queues(list(gpus_of), sum(gpus_of.values()), "itp", gpus_of),
        cluster=f"{len(nodes)} clusters as one, each of its own size: {sized_sentence(nodes)}",
        notes=("a queue for each cluster, which deserves the GPUs of its cluster",),
        start=_itp_date(arrival_s),
        problems=tuple(problem for each in traces for problem in each.problems),
    )


def muri(table: Table) -> Trace:
    """A workload of Muri: times in milliseconds, and the model and batch size of each job.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    return _of_simulator(
        table,
        "muri",
        unit_s=0.001,
        nodes=_MURI,
        cluster="8 nodes of 8 V100 GPUs, as in Muri's own simulator",
        notes=("the column priority is not used: only a policy compared with Muri reads it",),
    )


def tiresias(table: Table) -> Trace:
    """A workload of Tiresias' simulator: times in seconds, and the model of each job.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    return _of_simulator(
        table,
        "tiresias",
        unit_s=1.0,
        nodes=_TIRESIAS,
        cluster="4 nodes of 4 GPUs: then jobs of Tiresias' example of 60 jobs wait",
    )


def _of_simulator(table: Table, name: str, *, unit_s: float, **described: Any) -> Trace:
    job = table.filled("job_id")
    arrival_s = table.numbers("submit_time", least=0, most=1e14) * unit_s
    duration_s = table.numbers("duration", least=0, most=1e14) * unit_s
    gpus = table.gpus("num_gpu")
    model = table.filled("model_name")
    batch = table.texts("batch_size")
    kept = table.kept()
    application = [f"{model[i]} (batch size {batch[i]})" if batch[i] else model[i] for i in kept]
    return Trace(
        name,
        job_names=[f"job-{job[i]}" for i in kept],
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=gpus[kept],
        columns={"application": application},
        problems=table.problems(),
        **described,
    )


def _itp_date(arrival_s: Floats) -> str:
    """The date of the first arrival: the trace counts from some time on 2021-03-04."""
    first = _ITP_START + timedelta(seconds=float(arrival_s.min()))
    return first.strftime("%Y-%m-%dT%H:%M:%S")
