"""Series of a timeline for pictures: sums over pods, means in buckets, pods on GPUs.

    at, held = held_gpus(timeline)                  # a step function: value from each time on
    means(at, held, np.linspace(0, timeline.end_s, 101))   # its mean in each of 100 buckets

Times are seconds from the start of the workload, as in `kai.sim.timeline`. This module does not
draw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kai.errors import InvalidInputError
from kai.sim.stay_ends import EVICTED, SIMULATION_ENDS

if TYPE_CHECKING:
    from kai.sim.timeline import Timeline

__all__ = [
    "Card",
    "Runs",
    "WaitingTimes",
    "absences",
    "card_counts",
    "cards_at",
    "evictions",
    "held_gpus",
    "job_queue",
    "means",
    "node_gpus",
    "node_load",
    "node_presence",
    "nodes_in_order",
    "present_gpus",
    "queue_steps",
    "queues_by_use",
    "runs",
    "waiting_times",
    "window_of",
]

# Size classes of jobs by the sum of their GPUs: name, lower bound, and upper bound (exclusive).
SIZE_CLASSES = (
    ("no GPU", 0.0, 0.0),
    ("part of a GPU", 0.0, 1.0),
    ("1 GPU", 1.0, 2.0),
    ("2-7 GPUs", 2.0, 8.0),
    ("8 GPUs", 8.0, 9.0),
    ("more than 8 GPUs", 9.0, np.inf),
)

Steps = tuple[Any, Any]  # ascending times, and the value from each of them on


def window_of(
    timeline: Timeline, from_s: float | None, until_s: float | None
) -> tuple[float, float]:
    """The given window, or the whole timeline. Raises InvalidInputError for an empty one."""
    low = 0.0 if from_s is None else float(from_s)
    high = timeline.end_s if until_s is None else float(until_s)
    if from_s is None and until_s is None and high <= low:
        high = low + 1.0
    if not low < high:
        raise InvalidInputError(f"until_s: expected a time after {low:g} s, not {high:g}")
    return low, high


# --- step functions ------------------------------------------------------------------------------


def means(at: Any, values: Any, edges: Any) -> Any:
    """The mean of a step function in each bucket. It is 0 before its first moment.

    Worked: 2 from 0 s on and 4 from 5 s on have means 2 and 3 in the buckets 0-4 and 4-6 s.
    """
    if len(at) == 0:
        return np.zeros(len(edges) - 1)
    far = np.append(at, max(float(edges[-1]), float(at[-1])) + 1.0)
    sums = np.concatenate(([0.0], np.cumsum(values * np.diff(far))))
    return np.diff(np.interp(edges, far, sums)) / np.diff(edges)


def _sums(at: Any, changes: Any) -> Steps:
    """The running sum of changes: a row for each time at which it changes."""
    moments, place = np.unique(at, return_inverse=True)
    values = np.cumsum(np.bincount(place, weights=changes, minlength=len(moments)))
    values = np.round(values, 6)
    other = np.diff(values, prepend=0.0) != 0
    return moments[other], values[other]


def _held(timeline: Timeline, amounts: Any, rows: Any) -> Steps:
    stays = timeline.stays
    at = np.concatenate((stays["from_s"][rows], stays["to_s"][rows]))
    return _sums(at, np.concatenate((amounts, -amounts)))


def held_gpus(timeline: Timeline) -> Steps:
    """Allocated GPUs; fractions count as fractions."""
    return _held(timeline, timeline.stays["gpus"], slice(None))


def node_gpus(timeline: Timeline) -> Any:
    """GPUs of each node, in the order of ``timeline.node_names``."""
    gpus = {name: pool.gpus for pool in timeline.workload.nodes for name in pool.names()}
    return np.array([gpus[name] for name in timeline.node_names], dtype=np.int64)


def nodes_in_order(timeline: Timeline) -> list[int]:
    """Indices of nodes with GPUs, by name; numbers in names sort as numbers: n-2 before n-10."""

    def key(node: int) -> list[tuple[int, str]]:
        parts = re.findall(r"[0-9]+|[^0-9]+", timeline.node_names[node])
        return [(int(part), "") if part[0] in "0123456789" else (-1, part) for part in parts]

    return sorted(np.flatnonzero(node_gpus(timeline) > 0).tolist(), key=key)


def present_gpus(timeline: Timeline) -> Steps:
    """GPUs of the existing nodes."""
    gpus = node_gpus(timeline)
    changes = np.where(timeline.nodes["is_there"], 1, -1) * gpus[timeline.nodes["node"]]
    return _sums(
        np.concatenate(([0.0], timeline.nodes["at_s"])),
        np.concatenate(([gpus.sum()], changes)),
    )


def queue_steps(
    timeline: Timeline, queue: int, column: str, table: Literal["queues", "usage"] = "queues"
) -> Steps:
    """A column of a table of queues, for the queue at this index in ``queue_names``."""
    its = getattr(timeline, table)
    rows = its["queue"] == queue
    return its["at_s"][rows], its[column][rows]


def queues_by_use(timeline: Timeline) -> list[int]:
    """Queues with jobs, by the GPU-hours of these, most first; then by name."""
    jobs = timeline.workload.jobs
    held = np.bincount(
        jobs.queue, weights=timeline.jobs["held_gpu_s"], minlength=len(jobs.queue_names)
    )
    there = np.bincount(jobs.queue, minlength=len(jobs.queue_names)) > 0
    place = {name: i for i, name in enumerate(timeline.queue_names)}
    order = sorted(np.flatnonzero(there), key=lambda i: (-held[i], jobs.queue_names[i]))
    return [place[jobs.queue_names[i]] for i in order]


def job_queue(timeline: Timeline) -> Any:
    """The queue of each job, as an index into ``timeline.queue_names``."""
    place = {name: i for i, name in enumerate(timeline.queue_names)}
    jobs = timeline.workload.jobs
    places = np.array([place[name] for name in jobs.queue_names], dtype=np.int64)
    return places[jobs.queue] if len(jobs) else np.zeros(0, dtype=np.int64)


# --- nodes and cards -----------------------------------------------------------------------------


def _coverage(rows: Any, lows: Any, highs: Any, weights: Any, count: int, edges: Any) -> Any:
    """Sums of weights over intervals, as means in equal buckets: one row for each of ``count``
    rows."""
    buckets = len(edges) - 1
    width = (edges[-1] - edges[0]) / buckets
    changes = np.zeros((count, buckets + 2))
    for times, sign in ((lows, 1.0), (highs, -1.0)):
        x = np.clip((times - edges[0]) / width, 0, buckets)
        whole = np.floor(x).astype(np.int64)
        part = x - whole
        np.add.at(changes, (rows, whole), sign * weights * (1 - part))
        np.add.at(changes, (rows, whole + 1), sign * weights * part)
    return np.cumsum(changes, axis=1)[:, :buckets]


def node_load(timeline: Timeline, edges: Any) -> Any:
    """Mean allocated GPUs of each node in each of equal buckets: nodes x buckets."""
    stays = timeline.stays
    load = _coverage(
        stays["node"],
        stays["from_s"],
        stays["to_s"],
        timeline.stays["gpus"],
        len(timeline.node_names),
        edges,
    )
    return np.maximum(load, 0.0)


def absences(timeline: Timeline) -> list[tuple[int, float, float]]:
    """Times at which nodes are absent: node, from, and until (infinite: for good)."""
    gone: dict[int, float] = {}
    found = []
    table = timeline.nodes
    for at_s, node, is_there in zip(table["at_s"], table["node"], table["is_there"], strict=True):
        if not is_there:
            gone[int(node)] = float(at_s)
        elif int(node) in gone:
            found.append((int(node), gone.pop(int(node)), float(at_s)))
    return found + [(node, at_s, np.inf) for node, at_s in gone.items()]


def node_presence(timeline: Timeline, edges: Any) -> Any:
    """The fraction of each bucket during which each node exists: nodes x buckets, 0 to 1."""
    count = len(timeline.node_names)
    rows = np.array(absences(timeline)).reshape(-1, 3)
    gone = _coverage(
        rows[:, 0].astype(np.int64), rows[:, 1], rows[:, 2], np.ones(len(rows)), count, edges
    )
    return np.clip(1.0 - gone, 0.0, 1.0)


@dataclass(frozen=True)
class Card:
    """One GPU of a node: the stays on it, each with its fraction."""

    node: int
    place: int  # from 0; an arbitrary order: a device plugin chooses among whole GPUs
    parts: tuple[tuple[int, float], ...]  # a row of ``timeline.stays``, and 0 to 1


def cards_at(timeline: Timeline, at_s: float) -> list[Card]:
    """All GPUs of the existing nodes at a time, node by node, free ones last."""
    stays = timeline.stays
    gpus = timeline.stays["gpus"]
    here = (stays["from_s"] <= at_s) & (at_s < stays["to_s"])
    if at_s >= timeline.end_s:  # stays that the simulation's end cut off still count
        here |= (stays["to_s"] >= timeline.end_s) & (stays["end"] == SIMULATION_ENDS)
    held: dict[int, list[tuple[tuple[int, float], ...]]] = {}
    shared: dict[tuple[int, int], list[tuple[int, float]]] = {}
    rows = np.flatnonzero(here & (gpus > 0))
    for row in rows[np.lexsort((stays["pod"][rows], stays["job"][rows], stays["from_s"][rows]))]:
        node = int(stays["node"][row])
        if gpus[row] < 1:
            shared.setdefault((node, int(stays["shared_card"][row])), []).append(
                (int(row), float(gpus[row]))
            )
        else:
            held.setdefault(node, []).extend([((int(row), 1.0),)] * int(gpus[row]))
    for (node, _), parts in shared.items():
        held.setdefault(node, []).append(tuple(parts))
    gone = {node for node, low, high in absences(timeline) if low <= at_s < high}
    cards = []
    for node, count in enumerate(node_gpus(timeline)):
        if node in gone:
            continue
        there = held.get(node, [])
        there += [()] * (int(count) - len(there))
        cards += [Card(node, place, parts) for place, parts in enumerate(there)]
    return cards


def card_counts(timeline: Timeline) -> tuple[Steps, Steps]:
    """GPUs that one pod uses whole, and GPUs that pods use partly, each over time."""
    stays = timeline.stays
    gpus = timeline.stays["gpus"]
    whole = _held(timeline, gpus[gpus >= 1], gpus >= 1)
    rows = np.flatnonzero((gpus > 0) & (gpus < 1))
    card = np.concatenate((stays["shared_card"][rows],) * 2)
    at = np.concatenate((stays["from_s"][rows], stays["to_s"][rows]))
    change = np.repeat((1, -1), len(rows))
    order = np.lexsort((-change, at, card))  # arrivals are counted before departures
    # The changes of each GPU add up to 0, so the running sum over all GPUs is that of the current
    # GPU.
    users = np.cumsum(change[order])
    taken = (change[order] == 1) & (users == 1)
    left = (change[order] == -1) & (users == 0)
    shared = _sums(at[order], taken.astype(float) - left)
    return whole, shared


# --- jobs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Runs:
    """Times during which a job has a pod on a node, as columns; by job, then by time."""

    job: Any
    from_s: Any
    to_s: Any


def runs(timeline: Timeline) -> Runs:
    """Stays of a job that touch or overlap are one run."""
    stays = timeline.stays
    order = np.lexsort((stays["to_s"], stays["from_s"], stays["job"]))
    job, low, high = (stays[name][order] for name in ("job", "from_s", "to_s"))
    if len(job) == 0:
        return Runs(job, low, high)
    # The latest end so far within the job: ranks of ends, above all those of earlier jobs.
    ends, rank = np.unique(high, return_inverse=True)
    latest = np.maximum.accumulate(job.astype(np.int64) * len(ends) + rank)
    so_far = ends[latest - job.astype(np.int64) * len(ends)]
    first = np.ones(len(job), dtype=bool)
    first[1:] = (job[1:] != job[:-1]) | (low[1:] > so_far[:-1])
    starts = np.flatnonzero(first)
    return Runs(job[starts], low[starts], np.maximum.reduceat(high, starts))


def evictions(timeline: Timeline) -> tuple[Any, Any]:
    """Jobs and times at which pods of a job were evicted or lost their node; by job, then time.

    Several pods of a job at one time are one row.
    """
    stays = timeline.stays
    rows = np.isin(stays["end"], EVICTED)
    pairs = np.unique(np.column_stack((stays["job"][rows], stays["to_s"][rows])), axis=0)
    return pairs[:, 0].astype(np.int64), pairs[:, 1]


def is_in_class(gpus: Any, low: float, high: float) -> Any:
    """Which of these jobs are in a class of `SIZE_CLASSES`."""
    if high == 0:
        return gpus == 0
    return (gpus >= low) & (gpus < high) & (gpus > 0)


@dataclass(frozen=True)
class WaitingTimes:
    """From arrival to the first start, for the jobs of one queue or size class."""

    name: str
    jobs: int  # all arrived jobs
    seconds: Any  # of started jobs, ascending


def waiting_times(timeline: Timeline, by: Literal["queue", "size"]) -> list[WaitingTimes]:
    """By queue, most GPU-hours first, or by size class, smallest first; groups without jobs are
    omitted. Raises InvalidInputError for another ``by``."""
    jobs = timeline.workload.jobs
    if by == "queue":
        queue = job_queue(timeline)
        groups = [(timeline.queue_names[i], queue == i) for i in queues_by_use(timeline)]
    elif by == "size":
        groups = [
            (name, is_in_class(jobs.total_gpus, low, high)) for name, low, high in SIZE_CLASSES
        ]
    else:
        raise InvalidInputError(f"by: expected queue or size, not {by!r}")
    waited = timeline.jobs["first_start_s"] - jobs.arrival_s
    return [
        WaitingTimes(name, int(rows.sum()), np.sort(waited[rows & ~np.isnan(waited)]))
        for name, rows in groups
        if rows.any()
    ]
