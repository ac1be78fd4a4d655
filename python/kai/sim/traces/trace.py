"""The rows of a trace before its cluster is known, and their conversion to a workload.

    trace = Trace("itp", name=..., arrival_s=..., duration_s=..., gpus=...)
    workload = workload_of(trace, Choice())

This module has what all formats share: jobs in the order of arrival, GPUs split into equal pods, a
cluster sized for the demand, and queues. Every choice is a sentence in `Workload.source`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy as np

from kai.api.nearest import did_you_mean
from kai.errors import InvalidInputError
from kai.sim.cutting import NODE_CORES, NODE_GPUS, cut
from kai.sim.workload import Floats, Ints, Jobs, NodePool, Queue, Workload, mean_demand_gpus

__all__ = [
    "TARGET_LOAD",
    "Choice",
    "Trace",
    "date_of",
    "even_queues",
    "sized",
    "sized_sentence",
    "workload_of",
]

TARGET_LOAD = 0.85
"""Mean demand of a cluster that is sized for a trace, as a fraction of its GPUs."""


@dataclass(frozen=True)
class Choice:
    """The caller's replacements for the cluster and the queues of a trace.

    ``other_queues``: for a YAML file without queues.
    """

    nodes: tuple[NodePool, ...] | None = None
    queues: tuple[Queue, ...] | None = None
    other_queues: tuple[Queue, ...] = ()


@dataclass(frozen=True)
class Trace:
    """Jobs in the order of a file. Times are seconds on any common clock."""

    name: str
    job_names: Sequence[str]  # empty: named by their index in the order of arrival
    arrival_s: Floats
    duration_s: Floats
    gpus: Floats  # of each job; below 1: a fraction of one GPU
    queue: Sequence[str] = ()  # of each job; empty: one queue
    pods: Ints | None = None  # of each job; None: as few as fit the nodes
    cores: Floats | None = None  # of each job; None: the value of `columns` or `Jobs` for each pod
    columns: Mapping[str, Any] = field(default_factory=dict)  # other columns of `Jobs`
    nodes: tuple[NodePool, ...] = ()  # its cluster; empty: sized for its demand
    queues: tuple[Queue, ...] = ()  # its queues; empty: equal parts of the cluster
    cluster: str = ""  # the origin of `nodes`, in a few words
    notes: tuple[str, ...] = ()  # further sentences about choices
    start: str = ""  # date and time of second 0 of its clock, or of its first arrival
    problems: tuple[str, ...] = ()


def workload_of(trace: Trace, choice: Choice) -> Workload:
    """The workload of a trace, in the order of arrival; the first job arrives at 0 s.

    Raises InvalidInputError if the given queues are not those of the jobs.
    """
    order = np.argsort(trace.arrival_s, kind="stable")
    arrival_s = trace.arrival_s[order]
    arrival_s = arrival_s - arrival_s[0]
    duration_s, gpus = trace.duration_s[order], trace.gpus[order]
    cores = np.zeros(len(order)) if trace.cores is None else trace.cores[order]
    nodes, of_nodes = choice.nodes, "the nodes are given"
    if nodes is None:
        nodes, of_nodes = trace.nodes, trace.cluster
    if not nodes:
        nodes, of_nodes = sized(arrival_s, duration_s, gpus, cores)
    recorded = np.zeros(len(order), np.int64) if trace.pods is None else trace.pods[order]
    pods, of_each = cut(gpus, cores, recorded, nodes)
    queue = [trace.queue[i] for i in order] if len(trace.queue) else [trace.name] * len(order)
    queues, queue, of_queues = _queues(trace, choice, queue, nodes)
    jobs = Jobs.of_columns(
        name=_names(trace, order),
        queue=queue,
        arrival_s=arrival_s,
        duration_s=duration_s,
        pods=pods,
        gpus=of_each,
        recorded_pods=recorded,
        **{column: _ordered(values, order) for column, values in trace.columns.items()},
        **({} if trace.cores is None else {"cpu": cores / pods, "whole_cpu": cores}),
    )
    sentences = (f"{len(jobs):,} jobs", of_nodes, of_queues, *trace.notes)
    return Workload(
        jobs=jobs,
        queues=queues,
        nodes=nodes,
        name=trace.name,
        source="; ".join(each for each in sentences if each),
        start=trace.start,
        problems=trace.problems,
    )


class Sized(NamedTuple):
    """Nodes that are chosen for the demand of a trace, and a sentence about the choice."""

    nodes: tuple[NodePool, ...]
    sentence: str


def sized(
    arrival_s: Floats, duration_s: Floats, gpus: Floats, cores: Floats | None = None
) -> Sized:
    """Nodes for which the mean demand is nearest to 85 % of the GPUs; the largest job fits.

    ``gpus`` and ``cores`` are those of a job. Nodes have 8 GPUs and 128 cores; if the cores do not
    suffice for the requests, there are more nodes. If no job has GPUs, the nodes have none either.
    Worked: a mean demand of 374.24 GPUs is 85 % of 440.3, and so 55 nodes of 8 GPUs.

    The mean demand counts the time from the first arrival to the last. If that is shorter than the
    jobs, so that the demand exceeds what all jobs request together, the time until the last job
    ends counts instead. There are never more GPUs than all jobs request, rounded up to a node.
    """
    of_gpus, is_short = _nodes_for(arrival_s, duration_s, gpus, NODE_GPUS)
    of_cores, is_short_of_cores = (
        (0, False) if cores is None else _nodes_for(arrival_s, duration_s, cores, NODE_CORES)
    )
    count = max(of_gpus, of_cores, 1)
    nodes = (NodePool("node", count, gpus=NODE_GPUS if of_gpus else 0, cpu=NODE_CORES),)
    return Sized(nodes, sized_sentence(nodes, is_short=is_short or is_short_of_cores))


def _nodes_for(
    arrival_s: Floats, duration_s: Floats, amounts: Floats, each: float
) -> tuple[int, bool]:
    """The number of nodes, and whether the jobs run longer than the list of their arrivals."""
    total = float(amounts.sum())
    demand = mean_demand_gpus(arrival_s, amounts * duration_s)
    is_short = demand > total
    if is_short:
        until_last_s = float((arrival_s + duration_s).max() - arrival_s.min())
        demand = float((amounts * duration_s).sum()) / until_last_s
    wanted = min(int(demand / TARGET_LOAD / each + 0.5), math.floor(total / each))
    largest = math.ceil(float(amounts.max(initial=0)) / each)
    return max(wanted, largest), is_short


def sized_sentence(nodes: Sequence[NodePool], *, is_short: bool = False) -> str:
    """The choice of `sized`, for `Workload.source`."""
    count = sum(pool.count for pool in nodes)
    gpus = max(pool.gpus for pool in nodes)
    what = f"{gpus} GPUs" if gpus else f"{NODE_CORES:.0f} cores"
    until = " until the last job ends" if is_short else ""
    return (
        f"{count} node{'s' if count > 1 else ''} of {what}, so that the mean demand{until} is"
        f" closest to {TARGET_LOAD:.0%} of them and the largest job fits"
    )


def even_queues(
    names: Sequence[str], gpus: float, root: str, gpus_of: Mapping[str, float] | None = None
) -> tuple[Queue, ...]:
    """One queue that deserves all GPUs; or a root, and below it queues that deserve equal parts.

    ``gpus_of``: the deserved amount of each instead. Parts are thousandths of a GPU, rounded down.
    """
    if len(names) == 1:
        return (Queue(names[0], deserved_gpus=float(gpus)),)
    while root in names:
        root = f"all-{root}"
    part = math.floor(gpus / len(names) * 1000) / 1000
    of = dict.fromkeys(names, part) if gpus_of is None else gpus_of
    leaves = (Queue(name, parent=root, deserved_gpus=of[name]) for name in names)
    return (Queue(root, deserved_gpus=float(gpus)), *leaves)


def date_of(seconds: float) -> str:
    """Seconds since 1970 as the date and time in the format of `Workload.start`."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def _queues(
    trace: Trace, choice: Choice, queue: list[str], nodes: tuple[NodePool, ...]
) -> tuple[tuple[Queue, ...], list[str], str]:
    """The queues, the queue of each job, and a sentence about them."""
    names = sorted(set(queue))
    if choice.queues is not None:
        return choice.queues, _renamed(trace, choice.queues, queue, names), "the queues are given"
    if trace.queues:
        return trace.queues, queue, ""
    gpus = sum(pool.count * pool.gpus for pool in nodes)
    queues = even_queues(names, gpus, trace.name)
    if len(names) == 1:
        return queues, queue, "one queue"
    return queues, queue, f"{len(names)} queues that deserve equal parts of the GPUs"


def _renamed(
    trace: Trace, queues: tuple[Queue, ...], queue: list[str], names: list[str]
) -> list[str]:
    parents = {each.parent for each in queues}
    leaves = [each.name for each in queues if each.name not in parents]
    if len(leaves) == 1:
        return leaves * len(queue)
    for name in names:
        if name not in leaves:
            raise InvalidInputError(
                f"{trace.name}: jobs are in queue {name!r}, which is not in the given queues"
                f"{did_you_mean(name, leaves)}"
            )
    return queue


def _names(trace: Trace, order: Ints) -> list[str]:
    if not len(trace.job_names):
        digits = len(str(len(order)))
        return [f"job-{place:0{digits}}" for place in range(1, len(order) + 1)]
    seen: dict[str, int] = {}
    names = []
    taken = set(trace.job_names)
    for row in order:
        name = trace.job_names[row]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:  # a job that ran again, or an error; two jobs cannot have one name
            while (renamed := f"{name}-{seen[name]}") in taken:
                seen[name] += 1
            taken.add(renamed)
            names.append(renamed)
        else:
            names.append(name)
    return names


def _ordered(values: Any, order: Ints) -> Any:
    return values[order] if isinstance(values, np.ndarray) else [values[i] for i in order]
