"""The numbers of a simulation as tables, for the command line, `print` and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kai.engine import text
from kai.engine.text import Table

if TYPE_CHECKING:
    from kai.sim.metrics import Distribution, Metrics
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

__all__ = ["duration", "fragmentation_rows", "of_timeline", "of_workload", "pools", "tables"]


def of_timeline(timeline: Timeline) -> str:
    """What was simulated, its length in virtual time, and how many jobs have not ended."""
    unfinished = int(timeline.unfinished.sum())
    undone = f"; {text.count(unfinished, 'job')} unfinished" if unfinished else ""
    return f"{of_workload(timeline.workload)}, {duration(timeline.end_s)}{undone}"


def of_workload(workload: Workload) -> str:
    """Name, jobs and GPUs."""
    jobs, gpus = text.count(len(workload.jobs), "job"), text.count(workload.gpus, "GPU")
    most = "up to " if workload.scales else ""
    return f"{workload.name or 'workload'}: {jobs} on {most}{gpus}"


def pools(workload: Workload) -> list[Table]:
    """The queues and nodes of a workload."""
    jobs, place = workload.jobs, {name: i for i, name in enumerate(workload.jobs.queue_names)}
    hours = jobs.gpu_seconds / 3600
    rows = []
    for queue in workload.queues:
        own = jobs.queue == place.get(queue.name, -1)
        limits = (queue.deserved_gpus, queue.limit_gpus)
        deserved, limit = ("unlimited" if each < 0 else text.number(each) for each in limits)
        of_jobs = (text.number(int(own.sum())), f"{hours[own].sum():,.0f}")
        rows.append((queue.name, deserved, limit, text.number(queue.weight), *of_jobs))
    heads = ("queue", "deserved", "limit", "weight", "jobs", "GPU-hours")
    nodes = [(p.name, text.number(p.count), text.number(p.gpus), p.model) for p in workload.nodes]
    return [
        Table("Queues, GPUs", heads, rows, right=frozenset(range(1, 6))),
        Table("Nodes", ("pool", "nodes", "GPUs", "model"), nodes, right=frozenset((1, 2))),
    ]


def tables(metrics: Metrics, *, scales: bool = False) -> list[Table]:
    """Unfinished jobs, if there are any; times of jobs, the use of GPU-hours, and queues.

    `scales`: the number of nodes changed.
    """
    undone = [_unfinished(metrics)] if metrics.unfinished else []
    return [*undone, _times(metrics), _gpus(metrics, scales), _queues(metrics)]


def _unfinished(metrics: Metrics) -> Table:
    rows = [
        (text.number(len(names)), why, text.listing(names))
        for why, names in metrics.why_unfinished.items()
    ]
    of = f"{metrics.unfinished:,} of {text.count(metrics.jobs, 'job')} did not finish"
    return Table(of, ("jobs", "why", "which"), rows, right=frozenset((0,)))


def _times(metrics: Metrics) -> Table:
    def row(name: str, of: Distribution) -> tuple[str, ...]:
        values = (of.mean_s, of.median_s, of.p95_s, of.p99_s)
        return name, text.number(of.count), *map(duration, values)

    rows = [
        row("waiting to start", metrics.waiting),
        row("not running", metrics.not_running),
        row("completion", metrics.completion),
        *(row(f"  {n}", of) for n, of in metrics.completion_by_size.items() if of.count),
    ]
    heads = ("", "jobs", "mean", "median", "p95", "p99")
    return Table("Finished jobs", heads, rows, right=frozenset(range(1, 6)))


def _gpus(metrics: Metrics, scales: bool) -> Table:
    def part(value: float | None) -> str:
        return "" if value is None else f"{value:.1%}"

    def index(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    rows = [
        ("GPU-hours held", f"{metrics.held_gpu_hours:,.0f}"),
        ("  useful", f"{metrics.useful_gpu_hours:,.0f}"),
        ("  lost in evictions", f"{metrics.lost_gpu_hours:,.0f}"),
        ("  idle: starting, waiting for a gang", f"{metrics.idle_gpu_hours:,.0f}"),
        *([("node-hours", f"{metrics.node_hours:,.1f}")] if scales or metrics.cost else []),
        *([("cost of the nodes", f"{metrics.cost:,.2f}")] if metrics.cost is not None else []),
        ("GPUs in use until the last arrival", part(metrics.utilization)),
        ("evicted pods", text.number(metrics.evictions)),
        ("Jain's index of queues that want more", index(metrics.jain_index)),
        ("share error", part(metrics.share_error)),
        ("finish-time fairness, mean", index(metrics.rho["mean"])),
        *fragmentation_rows(metrics),
    ]
    return Table("GPUs", ("", ""), rows, right=frozenset((1,)))


def fragmentation_rows(metrics: Metrics) -> list[tuple[str, str]]:
    """Rows of a table; none if fragmentation was not requested."""
    found = metrics.fragmentation
    if found is None:
        return []
    return [
        ("idle GPUs, mean", f"{found.idle_gpus:,.1f}"),
        ("  not usable by the typical pod", f"{found.gpus:,.1f}"),
        ("  as part of the idle GPUs", f"{found.share:.1%}"),
    ]


def _queues(metrics: Metrics) -> Table:
    rows = [
        (
            name,
            text.number(queue.jobs),
            f"{queue.mean_allocated_gpus:.1f}",
            f"{queue.mean_fair_share_gpus:.1f}",
            f"{queue.borrowed_gpu_hours:,.0f}",
            f"{queue.lent_gpu_hours:,.0f}",
            duration(queue.waiting.mean_s),
            duration(queue.completion.mean_s),
        )
        for name, queue in metrics.queues.items()
    ]
    heads = ("queue", "jobs", "GPUs", "fair share", "borrowed", "lent", "waiting", "completion")
    title = "Queues: mean GPUs, GPU-hours borrowed and lent, mean times"
    return Table(title, heads, rows, right=frozenset(range(1, 8)))


def duration(seconds: float | None) -> str:
    """In the unit with two or three digits; empty for None."""
    if seconds is None:
        return ""
    for unit, length in (("d", 86_400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
