"""Alibaba's openb lists of 2023: a node list, and pods with their share of GPUs and their models.

In a list with times each pod has its running time. A list without times (multigpu) fills the
cluster: one pod arrives each second in the order of the list, and all stay.
"""

from __future__ import annotations

import numpy as np

from kai.sim.traces.table import Table
from kai.sim.traces.trace import Trace
from kai.sim.workload import NodePool

__all__ = ["openb", "openb_nodes"]

_STAY_S = 86_400.0  # for pods without times, after the last arrival
_WHOLE_GPU = 1000  # gpu_milli


def openb_nodes(table: Table) -> tuple[NodePool, ...]:
    """The nodes of a list, each with its own name. Raises InvalidInputError as `Table` does."""
    names = table.filled("sn")
    cpu = table.numbers("cpu_milli", least=0) / 1000
    memory = table.numbers("memory_mib", least=0, whole=True)
    gpus = table.numbers("gpu", least=0, most=1024, whole=True)
    models = table.texts("model")
    return tuple(
        NodePool(
            names[i],
            gpus=int(gpus[i]),
            cpu=float(cpu[i]),
            memory_mib=int(memory[i]),
            model=models[i],
        )
        for i in table.kept()
    )


def openb(table: Table, nodes: tuple[NodePool, ...], list_of_nodes: str = "") -> Trace:
    """The pods of a list, each a job of one pod, even if it is larger than a node.

    Raises InvalidInputError for a table that lacks a column or has no usable row.
    """
    names = table.filled("name")
    cpu = table.numbers("cpu_milli", least=0) / 1000
    memory = table.numbers("memory_mib", least=0, whole=True)
    gpus = table.numbers("num_gpu", least=0, most=1024, whole=True)
    milli = table.numbers("gpu_milli", least=0, most=_WHOLE_GPU, whole=True)
    several = (gpus > 1) & (milli < _WHOLE_GPU)
    table.leave_out("gpu_milli", several, "is a part of a GPU, but num_gpu is more than 1")
    table.leave_out("gpu_milli", (gpus >= 1) & (milli == 0), "is 0, but num_gpu is not")
    arrival_s, duration_s, notes = _times(table)
    allowed = [_models(text) for text in table.texts("gpu_spec")]
    kept = table.kept()
    total = np.where(gpus == 1, milli / _WHOLE_GPU, gpus)
    return Trace(
        "openb",
        job_names=[names[i] for i in kept],
        arrival_s=arrival_s[kept],
        duration_s=duration_s[kept],
        gpus=total[kept],
        columns={
            "cpu": cpu[kept],
            "memory_mib": memory[kept].astype(np.int64),
            "models": [allowed[i] for i in kept],
        },
        nodes=nodes,
        cluster=f"the {len(nodes):,} nodes of {list_of_nodes}" if nodes else "",
        notes=notes,
        problems=table.problems(),
    )


def _models(text: str) -> tuple[str, ...]:
    return tuple(sorted({model for model in text.split("|") if model}))


def _times(table: Table) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Arrival, duration, and notes on how they were chosen."""
    count = len(table)
    if "creation_time" not in table.columns:
        arrival_s = np.arange(count, dtype=np.float64)
        note = "the list has no times: a pod arrives each second, and all stay for a day after"
        return arrival_s, count - 1 - arrival_s + _STAY_S, (note,)
    arrival_s = table.numbers("creation_time", least=0)
    end_s = table.numbers("deletion_time", least=0)
    begin_s = table.numbers("scheduled_time", blank=np.nan)
    never = np.isnan(begin_s)
    duration_s = end_s - np.where(never, arrival_s, begin_s)
    table.leave_out("deletion_time", duration_s < 0, "is before the pod was scheduled")
    note = "a pod runs from scheduled_time to deletion_time"
    if never.any():
        note += f"; {int(never.sum()):,} pods were never scheduled, and run from creation_time"
    return arrival_s, duration_s, (note,)
