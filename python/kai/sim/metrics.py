"""Numbers about a timeline, each with its definition.

Only jobs that arrive in the window count: from ``warm_up_s`` to the last arrival. The time after
it, the drain, depends more on where a trace was cut than on a policy. Averages over time are over
the same window. Jobs in the window that have not ended are listed separately, and are in no
distribution.

* **waiting**: from arrival to the first start. **not running**: all time from arrival to the end
  during which the job did no work because pods were missing.
* **completion**: from arrival to the end.
* **GPU-hours**: held = useful + lost + idle (`kai.sim.timeline`).
* **node-hours**: from a node's start, or from its order by an autoscaler, to its removal or the end
  of the simulation; also while it has failed or accepts no pods. **cost**: node-hours times the
  price of the pool; none if no pool has a price. Both cover the whole simulation.
* **utilization**: allocated GPUs divided by existing GPUs, over the window.
* **borrowed**: what a queue holds above its deserved amount. **lent**: its part of what all queues
  below the same parent borrow, in proportion to its unused deserved amount.
* **fragmentation**: F (`kai.sim.fragmentation`) is the amount of idle GPU that the typical pod of
  the workload's jobs cannot use. Mean over the window, in GPUs; its share is this mean divided by
  the mean of the idle GPUs. Computed on request, as it takes about a second for 80,000 jobs.
* **Jain's index**: (sum x)^2 / (n * sum x^2) of x = allocated / fair share, over the leaf queues
  with unmet demand, averaged over the time during which there are two or more. 1 is even.
* **share error**: mean over time of the sum of abs(allocated - fair share) over leaf queues,
  divided by the capacity; only while a queue has unmet demand or holds more than its fair share.
* **rho** (finish-time fairness, Mahajan et al., NSDI 2020): completion in the shared cluster,
  divided by the time that the job needs alone on 1/N of it, with N the number of queues that have
  jobs. Worked: 8 GPUs for an hour, done 3 hours after arrival; 16 GPUs and 4 queues leave 4 GPUs,
  on which it takes 2 hours: 1.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.engine import text
from kai.errors import InvalidInputError
from kai.sim import fragmentation as fragments
from kai.sim import summary
from kai.sim.series import SIZE_CLASSES, absences, is_in_class, node_gpus
from kai.sim.stay_ends import NODE_EVENTS

if TYPE_CHECKING:
    from kai.sim.timeline import Timeline

__all__ = [
    "Distribution",
    "MeanFragmentation",
    "Metrics",
    "QueueMetrics",
    "measure",
    "measure_part",
]

NO_REASON = "The timeline has no reason."  # of an unfinished job


@dataclass(frozen=True)
class Distribution:
    """Seconds; None if there are no jobs."""

    count: int
    mean_s: float | None = None
    median_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None

    @classmethod
    def of(cls, seconds: Any) -> Distribution:
        """The distribution of these values. Percentiles use linear interpolation."""
        if len(seconds) == 0:
            return cls(count=0)
        median, p95, p99 = np.percentile(seconds, (50, 95, 99))
        return cls(len(seconds), float(np.mean(seconds)), float(median), float(p95), float(p99))


@dataclass(frozen=True)
class QueueMetrics:
    """A queue, over the window: mean GPUs, and GPU-hours that it borrowed and lent."""

    jobs: int
    waiting: Distribution
    completion: Distribution
    mean_allocated_gpus: float
    mean_fair_share_gpus: float
    borrowed_gpu_hours: float
    lent_gpu_hours: float


@dataclass(frozen=True)
class MeanFragmentation:
    """Means over the window, in GPUs, and the share: `gpus` divided by `idle_gpus`, or 0."""

    gpus: float  # F
    idle_gpus: float
    share: float


@dataclass(frozen=True)
class Metrics:
    """All metrics; the module defines each. `fragmentation` is None if it was not requested."""

    window_s: tuple[float, float]
    jobs: int
    unfinished: int
    waiting: Distribution
    not_running: Distribution
    completion: Distribution
    rho: Mapping[str, float | None]  # mean, p95, max
    completion_by_size: Mapping[str, Distribution]
    held_gpu_hours: float
    useful_gpu_hours: float
    lost_gpu_hours: float
    idle_gpu_hours: float
    node_hours: float
    cost: float | None
    utilization: float | None
    evictions: int  # of pods
    restarts: int  # of jobs
    jain_index: float | None
    share_error: float | None
    queues: Mapping[str, QueueMetrics]
    unfinished_jobs: tuple[str, ...]
    why_unfinished: Mapping[str, tuple[str, ...]]  # sentences, each with the names of its jobs
    fragmentation: MeanFragmentation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"<kai.sim.Metrics of {text.count(self.jobs, 'job')}>"

    def __str__(self) -> str:
        return text.to_text("", summary.tables(self))

    def _repr_html_(self) -> str:
        return text.to_html("", summary.tables(self))


def measure(timeline: Timeline, *, warm_up_s: float = 0.0, fragmentation: bool = False) -> Metrics:
    """The metrics of a timeline, with its mean fragmentation if this is requested.

    Raises InvalidInputError for a negative time and for one that leaves no window.
    """
    arrival_s = timeline.workload.jobs.arrival_s
    last_s = min(float(arrival_s.max(initial=0.0)), timeline.end_s)
    if not 0 <= warm_up_s <= max(last_s, 0):
        raise InvalidInputError(
            f"the warm-up of {warm_up_s:g} s is not between 0 and the last arrival, at {last_s:g} s"
        )
    window = (warm_up_s, last_s if last_s > warm_up_s else timeline.end_s)
    counts = (arrival_s >= window[0]) & (arrival_s <= window[1])
    return _measured(timeline, window, counts, fragmentation)


def measure_part(
    timeline: Timeline, from_s: float, to_s: float, *, fragmentation: bool = False
) -> Metrics:
    """The metrics of a part of a timeline: jobs that arrive in it, before `to_s`, and means over
    its time."""
    arrival_s = timeline.workload.jobs.arrival_s
    counts = (arrival_s >= from_s) & (arrival_s < to_s)
    return _measured(timeline, (from_s, to_s), counts, fragmentation)


def _measured(
    timeline: Timeline, window: tuple[float, float], counts: Any, fragmentation: bool
) -> Metrics:
    """`counts`: which jobs are measured."""
    jobs = timeline.workload.jobs
    end_s, start_s = timeline.jobs["end_s"], timeline.jobs["first_start_s"]
    done = counts & ~np.isnan(end_s)
    waiting = start_s - jobs.arrival_s
    completion = end_s - jobs.arrival_s
    unfinished = tuple(jobs.name[i] for i in np.flatnonzero(counts & ~done))
    steps = _Steps(timeline, window)
    hours = {
        name: float(timeline.jobs[f"{name}_gpu_s"][counts].sum() / 3600)
        for name in ("held", "kept", "lost", "idle")
    }
    node_hours = node_hours_of(timeline)
    prices = {pool.name: pool.price for pool in timeline.workload.nodes}
    cost = sum(prices[pool] * hours for pool, hours in node_hours.items())
    return Metrics(
        window_s=window,
        jobs=int(counts.sum()),
        unfinished=int((counts & ~done).sum()),
        waiting=Distribution.of(waiting[done]),
        not_running=Distribution.of((completion - timeline.jobs["working_s"])[done]),
        completion=Distribution.of(completion[done]),
        rho=_rho(timeline, completion, done),
        completion_by_size={
            name: Distribution.of(completion[done & is_in_class(jobs.total_gpus, low, high)])
            for name, low, high in SIZE_CLASSES
        },
        held_gpu_hours=hours["held"],
        useful_gpu_hours=hours["kept"],
        lost_gpu_hours=hours["lost"],
        idle_gpu_hours=hours["idle"],
        node_hours=sum(node_hours.values()),
        cost=cost if any(prices.values()) else None,
        utilization=steps.utilization(),
        evictions=int(timeline.jobs["evictions"][counts].sum()),
        restarts=int(timeline.jobs["restarts"][counts].sum()),
        jain_index=steps.jain_index(),
        share_error=steps.share_error(),
        queues=_queues(timeline, steps, counts, done, waiting, completion),
        unfinished_jobs=unfinished,
        why_unfinished=_why(timeline, unfinished),
        fragmentation=_fragmentation(timeline, window) if fragmentation else None,
    )


def _why(timeline: Timeline, unfinished: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    left = set(unfinished)
    found = {
        sentence: tuple(name for name in names if name in left)
        for sentence, names in timeline.undone
    }
    left.difference_update(*found.values())
    if left:
        found[NO_REASON] = tuple(name for name in unfinished if name in left)
    return {sentence: names for sentence, names in found.items() if names}


def _fragmentation(timeline: Timeline, window: tuple[float, float]) -> MeanFragmentation | None:
    means = fragments.means(timeline, window)
    if means is None:
        return None
    stuck, idle = means
    return MeanFragmentation(gpus=stuck, idle_gpus=idle, share=stuck / idle if idle else 0.0)


def node_hours_of(timeline: Timeline) -> dict[str, float]:
    """By node pool; defined in the module's docstring."""
    hours: dict[str, float] = {}
    from_s: dict[str, float] = {}  # of nodes that are paid for
    pool_of: dict[str, str] = {}
    for pool in timeline.workload.nodes:
        names = pool.names()
        pool_of |= dict.fromkeys(names, pool.name)
        from_s |= dict.fromkeys(names[: pool.count], 0.0)
        hours[pool.name] = 0.0
    events = timeline.node_events
    for at_s, place, event in zip(events["at_s"], events["node"], events["event"], strict=True):
        node = timeline.node_names[int(place)]
        if NODE_EVENTS[event] == "ordered":
            from_s[node] = float(at_s)
        elif NODE_EVENTS[event] == "removed":
            hours[pool_of[node]] += (float(at_s) - from_s.pop(node)) / 3600
    for node, start_s in from_s.items():
        hours[pool_of[node]] += (timeline.end_s - start_s) / 3600
    return hours


def _rho(timeline: Timeline, completion: Any, done: Any) -> dict[str, float | None]:
    jobs = timeline.workload.jobs
    queues = len(np.unique(jobs.queue))
    part = max(timeline.workload.gpus / max(queues, 1), 1e-9)
    alone = jobs.duration_s * np.maximum(1.0, jobs.total_gpus / part)
    rho = completion[done] / np.maximum(alone[done], 1e-9)
    rho = rho[alone[done] > 0]
    if len(rho) == 0:
        return dict.fromkeys(("mean", "p95", "max"))
    return {
        "mean": float(rho.mean()),
        "p95": float(np.percentile(rho, 95)),
        "max": float(rho.max()),
    }


class _Steps:
    """Step functions of queues, cut to the window: the values between any two changes."""

    def __init__(self, timeline: Timeline, window: tuple[float, float]) -> None:
        self._capacity = _capacity(timeline, window)
        workload = timeline.workload
        parents = {queue.parent for queue in workload.queues}
        self.queues = workload.queues
        self.leaves = [i for i, queue in enumerate(workload.queues) if queue.name not in parents]
        self._table = timeline.queues
        self._window = window
        self._rows = [np.flatnonzero(self._table["queue"] == i) for i in range(len(self.queues))]

    def of(self, queue: int) -> Iterator[Any]:
        """Lengths of the steps of one queue, then its allocation, request and fair share."""
        low, high = self._window
        rows = self._rows[queue]
        at = np.clip(self._table["at_s"][rows], low, high)
        lengths = np.diff(np.append(at, high))
        yield lengths
        for column in ("allocated_gpus", "requested_gpus", "fair_share_gpus"):
            yield self._table[column][rows]

    def utilization(self) -> float | None:
        """GPU-seconds that leaf queues held, divided by the existing GPU-seconds."""
        held = 0.0
        for leaf in self.leaves:
            lengths, allocated, _, _ = self.of(leaf)
            held += float((lengths * allocated).sum())
        return held / self._capacity if self._capacity > 0 else None

    def share_error(self) -> float | None:
        """Computed queue by queue, because the sum of means is the mean of the sum."""
        error = 0.0
        for leaf in self.leaves:
            lengths, allocated, requested, fair = self.of(leaf)
            counts = (requested > allocated) | (allocated > fair)
            error += float((lengths * np.abs(allocated - fair) * counts).sum())
        return error / self._capacity if self._capacity > 0 else None

    def jain_index(self) -> float | None:
        """All leaf queues on one grid of times."""
        low, high = self._window
        table = self._table
        order = np.flatnonzero(np.isin(table["queue"], self.leaves))
        if len(order) == 0:
            return None
        at = np.clip(table["at_s"][order], low, high)
        lengths = np.diff(np.append(at, high))
        place = np.full(len(self.queues), -1)
        place[self.leaves] = np.arange(len(self.leaves))
        count = np.zeros(len(order))
        total = np.zeros(len(order))
        squares = np.zeros(len(order))
        queue = place[table["queue"][order]]
        for leaf in range(len(self.leaves)):
            rows = np.flatnonzero(queue == leaf)
            if len(rows) == 0:
                continue
            last = np.searchsorted(rows, np.arange(len(order)), side="right") - 1
            known = last >= 0
            row = order[rows[np.maximum(last, 0)]]
            allocated, fair = table["allocated_gpus"][row], table["fair_share_gpus"][row]
            unmet = known & (table["requested_gpus"][row] > allocated) & (fair > 0)
            ratio = np.where(unmet, allocated / np.where(fair > 0, fair, 1), 0)
            count += unmet
            total += ratio
            squares += ratio**2
        counts = (count >= 2) & (squares > 0)
        weight = lengths * counts
        if weight.sum() <= 0:
            return None
        index = np.where(counts, total**2 / np.where(counts, count * squares, 1), 0)
        return float((weight * index).sum() / weight.sum())

    def borrowed_and_unused(self, queue: int) -> tuple[float, float]:
        """GPU-seconds above the queue's deserved amount, and its unused deserved GPU-seconds."""
        lengths, allocated, _, _ = self.of(queue)
        deserved = self.queues[queue].deserved_gpus
        if deserved < 0:
            return 0.0, 0.0
        above = float((lengths * np.maximum(allocated - deserved, 0)).sum())
        below = float((lengths * np.maximum(deserved - allocated, 0)).sum())
        return above, below


def _capacity(timeline: Timeline, window: tuple[float, float]) -> float:
    """GPU-seconds of the existing nodes, in the window."""
    gpus = node_gpus(timeline)
    low, high = window
    total = gpus.sum() * (high - low)
    for node, from_s, until_s in absences(timeline):
        total -= _overlap(from_s, until_s, low, high) * gpus[node]
    return float(total)


def _overlap(start: float, end: float, low: float, high: float) -> float:
    return max(0.0, min(end, high) - max(start, low))


def _queues(
    timeline: Timeline, steps: _Steps, counts: Any, done: Any, waiting: Any, completion: Any
) -> dict[str, QueueMetrics]:
    jobs = timeline.workload.jobs
    length = max(steps._window[1] - steps._window[0], 1e-9)
    moved = {i: steps.borrowed_and_unused(i) for i in range(len(steps.queues))}
    metrics = {}
    for i, queue in enumerate(steps.queues):
        code = jobs.queue_names.index(queue.name) if queue.name in jobs.queue_names else -1
        own = jobs.queue == code
        siblings = [j for j, each in enumerate(steps.queues) if each.parent == queue.parent]
        unused = sum(moved[j][1] for j in siblings)
        borrowed = min(sum(moved[j][0] for j in siblings), unused)
        lengths, allocated, _, fair = steps.of(i)
        metrics[queue.name] = QueueMetrics(
            jobs=int((counts & own).sum()),
            waiting=Distribution.of(waiting[done & own]),
            completion=Distribution.of(completion[done & own]),
            mean_allocated_gpus=float((lengths * allocated).sum() / length),
            mean_fair_share_gpus=float((lengths * fair).sum() / length),
            borrowed_gpu_hours=moved[i][0] / 3600,
            lent_gpu_hours=borrowed * moved[i][1] / unused / 3600 if unused > 0 else 0.0,
        )
    return metrics
