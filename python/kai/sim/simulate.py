"""``kai.simulate(workload)``: the scheduler's decisions for a workload, in virtual time.

    timeline = kai.simulate(kai.sim.read("philly_jobs.csv"), config={"actions": "allocate"})
    timeline.metrics().completion.mean_s

A workload may start empty, or from an existing cluster (`kai.sim.first_moment`).

The scheduler is the same as in clusters: the compiled core has a store with an engine, and the
decisions of each cycle change the objects of the store. The same workload, configuration, options
and seed give the same timeline.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.api import keys, times
from kai.api.arguments import in_a_sentence
from kai.engine import config as configuration
from kai.engine.config import ConfigSource
from kai.engine.usage_params import UsageParams
from kai.errors import InvalidInputError, PolicyError
from kai.policy.declaring import Policy
from kai.policy.running import causes, configured
from kai.sim import undone
from kai.sim.node_pools import labels_of
from kai.sim.past_usage import compiled_usage, params_in, params_of
from kai.sim.progress import Moved, bar, moment
from kai.sim.timeline import Timeline
from kai.sim.windows import horizon_s, windows_of
from kai.sim.workload import Jobs, NodePool, Queue, Workload

if TYPE_CHECKING:
    from kai import _core

__all__ = ["Failures", "Life", "Outage", "Progress", "QueueChange", "simulate"]

NEVER_NS = np.iinfo(np.int64).max
NEVER_SAVED_NS = -1
FOREVER_NS = NEVER_NS
START = "2026-01-01T00:00:00Z"  # of workloads without a date
MOST_NODES = 1_000_000
STEPS = 2_000  # between checks of the clock and of Ctrl-C
MIB = 1 << 20


@dataclass(frozen=True)
class Outage:
    """A node that is absent from ``from_s`` to ``until_s``; None: for good."""

    node: str
    from_s: float
    until_s: float | None = None


@dataclass(frozen=True)
class QueueChange:
    """A queue that is replaced at a given time; its parent stays."""

    at_s: float
    queue: Queue


@dataclass(frozen=True)
class Failures:
    """Nodes that fail at random: exponential times until a node fails, and until it is repaired."""

    mean_days_between: float  # of one node
    mean_repair_hours: float = 4.0


@dataclass(frozen=True)
class Life:
    """Delays and failures of a cluster outside the scheduler. All are zero by default."""

    bind_s: float = 0.0  # from a decision until the pod is on its node
    startup_s: float = 0.0  # from then until it runs: images, volumes
    terminate_s: float = 0.0  # from an eviction until the pod is gone
    checkpoint_s: float = 0.0  # default for jobs; 0: work is always saved; inf: never
    restart_s: float = 0.0  # default for jobs: the cost of each start after the first one
    failures: Failures | None = None
    outages: Sequence[Outage] = ()
    queue_changes: Sequence[QueueChange] = ()
    scale_every_s: float = 10.0  # the autoscaler acts at multiples of it


@dataclass(frozen=True)
class Progress:
    """The progress of a simulation."""

    now_s: float
    jobs_ended: int
    jobs: int


@in_a_sentence
def simulate(
    workload: Workload | str | os.PathLike[str],
    *,
    config: ConfigSource | None = None,
    as_kai: bool = False,
    policies: Sequence[Policy] = (),
    period_s: float = 1.0,
    until_s: float | None = None,
    seed: int = 0,
    life: Life = Life(),
    usage: Mapping[str, Any] | None = None,
    progress: Callable[[Progress], None] | bool | None = None,
    progress_every_s: float = 0.2,
    reasons: bool = True,
) -> Timeline:
    """Simulates the workload from its start until no event is left, or until ``until_s``.

    ``workload``: a workload, or the path of a file that `kai.sim.traces.read` reads.
    ``config`` and ``policies``: as for `kai.Scheduler`. ``period_s``: a cycle runs at the next
    multiple of it after an event; 0: at once. ``life``: delays, failures, and the work that an
    eviction costs; by default there are none (`kai.sim.simulate.Life`). ``seed``: only for the
    random parts of ``life``.
    ``usage``: settings of time-based fair share, with the members of KAI's `usageParams`; None:
    from ``usageDBConfig`` of ``config``, otherwise from the workload, otherwise off.
    ``progress=True`` shows a bar with the virtual date in a notebook and on a terminal; a function
    is called every ``progress_every_s`` seconds of real time. Ctrl-C ends the simulation early: the
    timeline so far is in the ``timeline`` of the `KeyboardInterrupt`.
    ``reasons=False``: does not compute why jobs did not finish (`Timeline.undone`).

    >>> import kai
    >>> jobs = [kai.sim.Job(f"train-{i}", "a", arrival_s=0, duration_s=600) for i in range(3)]
    >>> nodes = [kai.sim.NodePool("node", gpus=2)]
    >>> workload = kai.sim.Workload.of(jobs, queues=[kai.sim.Queue("a")], nodes=nodes)
    >>> kai.simulate(workload).jobs["end_s"].tolist()
    [600.0, 600.0, 1200.0]

    Raises InvalidInputError for an invalid workload or option, InvalidConfigError for an invalid
    configuration, and PolicyError, also with the ``timeline`` so far, if a policy fails.
    """
    if isinstance(workload, (str, os.PathLike)):
        from kai.sim.traces import read as read_file

        workload = read_file(workload)
    began = time.perf_counter()
    past = _past_that_counts(workload, config, usage)
    if config is None and workload.first is not None:
        config = workload.first.cluster.config
    read = _config(config, as_kai, policies)
    compiled = _compiled(workload, read, period_s, until_s, seed, life, past)
    try:
        if progress is True:
            with bar() as moved:
                shown = None if moved is None else _shown(workload, until_s, moved)
                _run(compiled, len(workload.jobs), shown, progress_every_s)
        else:
            _run(compiled, len(workload.jobs), progress or None, progress_every_s)
    except (KeyboardInterrupt, PolicyError) as interrupt:
        compiled.stop()
        wall_s = time.perf_counter() - began
        interrupt.timeline = Timeline.of(workload, compiled, period_s, wall_s)  # type: ignore[union-attr]
        raise
    timeline = Timeline.of(workload, compiled, period_s, time.perf_counter() - began)
    if not reasons:
        return timeline
    return replace(timeline, undone=undone.reasons(timeline, compiled, read))


def _config(config: ConfigSource | None, as_kai: bool, policies: Sequence[Policy]) -> _core.Config:
    from kai import _core

    text = "" if config is None else configuration.config_json(config)
    text = configuration.without_params(text)  # those of the cluster count
    return configured(_core.Config.parse(text, as_kai=as_kai), policies)


def _past_that_counts(
    workload: Workload, config: ConfigSource | None, usage: Mapping[str, Any] | None
) -> UsageParams | None:
    if usage is not None:
        return params_of(usage)
    if (params := params_in(config)) is not None:
        return params
    given = workload.usage_params
    return None if given is None else params_of(given, "the workload's usageParams")


def _shown(workload: Workload, until_s: float | None, moved: Moved) -> Callable[[Progress], None]:
    """Moves a bar. The last arrival is at nine tenths, because the time after it is unknown."""
    last_s = float(workload.jobs.arrival_s.max(initial=0.0))
    end_s = max(min((each for each in (last_s, until_s) if each), default=0.0), 1.0)

    def show(progress: Progress) -> None:
        when = moment(workload, progress.now_s)
        text = f"{when}, {progress.jobs_ended} of {progress.jobs} jobs ended"
        moved(0.9 * min(progress.now_s / end_s, 1.0), text)

    return show


def _run(
    compiled: _core.Simulation,
    jobs: int,
    progress: Callable[[Progress], None] | None,
    progress_every_s: float,
) -> None:
    shown_at = time.perf_counter()
    while not _ran(compiled):
        if progress is None or time.perf_counter() - shown_at < progress_every_s:
            continue
        shown_at = time.perf_counter()
        progress(Progress(compiled.now_ns / 1e9, compiled.jobs_ended, jobs))


def _ran(compiled: _core.Simulation) -> bool:
    with causes():
        return compiled.run(STEPS)


# --- what the compiled core takes ----------------------------------------------------------------


def _compiled(
    workload: Workload,
    config: _core.Config,
    period_s: float,
    until_s: float | None,
    seed: int,
    life: Life,
    past: UsageParams | None,
) -> _core.Simulation:
    from kai import _core

    jobs = workload.jobs
    if (nodes := sum(pool.most for pool in workload.nodes)) > MOST_NODES:
        raise InvalidInputError(f"the workload has {nodes} nodes, more than {MOST_NODES}")
    queue_place = {queue.name: i for i, queue in enumerate(workload.queues)}
    missing = sorted(set(jobs.queue_names) - queue_place.keys())
    if missing:
        raise InvalidInputError(
            f"queue {missing[0]}: jobs use it, but the workload does not define it"
        )
    first = workload.first
    start_ns = times.to_ns(_start(workload)) if first is None else first.now_ns
    options: dict[str, Any] = {
        "period_ns": _ns("period_s", period_s),
        "bind_ns": _ns("bind_s", life.bind_s),
        "startup_ns": _ns("startup_s", life.startup_s),
        "terminate_ns": _ns("terminate_s", life.terminate_s),
        "start_ns": start_ns,
        "scale_ns": max(_ns("scale_every_s", life.scale_every_s), 1),
    }
    if past is not None:
        options["usage"] = compiled_usage(past, start_ns)
    if until_s is not None:
        options["until_ns"] = _ns("until_s", until_s)
    return _core.Simulation(
        job_names=list(jobs.name),
        job_columns=_columns(workload, queue_place, life),
        queues=[_queue(queue) for queue in workload.queues],
        nodes=[node for pool in workload.nodes for node in _nodes(pool)],
        priority_classes=sorted(workload.priority_classes.items()),
        class_names=list(jobs.priority_class_names),
        model_sets=[list(models) for models in jobs.model_sets],
        speed_tables=[list(table) for table in jobs.speed_tables],
        outages=[
            (each.node, _ns("from_s", each.from_s), NEVER_NS)
            if each.until_s is None
            else (each.node, _ns("from_s", each.from_s), _ns("until_s", each.until_s))
            for each in (*life.outages, *_random_outages(workload, life.failures, until_s, seed))
        ],
        queue_changes=[(_ns("at_s", each.at_s), _queue(each.queue)) for each in life.queue_changes],
        windows=[
            (each.node, _ns("at_s", each.from_s), _ns("duration_s", each.until_s), each.drains)
            for each in windows_of(workload, horizon_s(workload, until_s))
        ],
        pools=[_pool(pool) for pool in workload.nodes if pool.autoscale is not None],
        resizes=[
            (row, _ns("after_s", after_s), pods, least)
            for row in _resizing(jobs)
            for after_s, pods, least in jobs.resize_sets[jobs.resizes[row]]
        ],
        first=None if first is None else first.compiled,
        config=config,
        params_json="",
        options=options,
    )


def _start(workload: Workload) -> str:
    start = workload.start or START
    return start if start.endswith("Z") or "+" in start else start + "Z"


def _ns(name: str, seconds: float) -> int:
    if not 0 <= seconds < NEVER_NS / 1e9:
        raise InvalidInputError(f"{name}: expected a number of seconds of 0 or more, not {seconds}")
    return round(seconds * 1e9)


def _all_ns(seconds: Any, missing: float) -> Any:
    given = np.where(np.isnan(seconds), missing, seconds)
    is_never = np.isinf(given)
    return np.where(is_never, NEVER_SAVED_NS, np.rint(np.where(is_never, 0, given) * 1e9))


def _columns(workload: Workload, queue_place: dict[str, int], life: Life) -> dict[str, Any]:
    jobs, first = workload.jobs, workload.first
    given = np.full(len(jobs), -1) if first is None else first.places_of(jobs)
    ends = np.isfinite(jobs.duration_s)
    places = np.array([queue_place[name] for name in jobs.queue_names], dtype=np.int64)
    columns = {
        "queue": places[jobs.queue] if len(jobs) else jobs.queue,
        "arrival_ns": np.rint(jobs.arrival_s * 1e9),
        "duration_ns": np.rint(np.where(ends, jobs.duration_s, 0) * 1e9),
        "pods": jobs.pods,
        "min_pods": jobs.min_pods,
        "micro_gpus": np.rint(np.where(given < 0, jobs.gpus, 0) * 1e6),
        "millicpu": np.rint(jobs.cpu * 1000),
        "memory_bytes": jobs.memory_mib * MIB,
        "priority_class": jobs.priority_class,
        "preemptible": jobs.preemptible,
        "models": jobs.models,
        "speeds": jobs.speeds,
        "estimate_ns": np.where(
            np.isnan(jobs.estimate_s), -1, np.rint(np.nan_to_num(jobs.estimate_s) * 1e9)
        ),
        "checkpoint_ns": _all_ns(jobs.checkpoint_s, life.checkpoint_s),
        "restart_ns": _all_ns(jobs.restart_s, life.restart_s),
        "given": given,
    }
    made = {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()}
    made["duration_ns"] = np.where(ends, made["duration_ns"], FOREVER_NS)
    return made


def _resizing(jobs: Jobs) -> list[int]:
    sizes = np.array([len(each) for each in jobs.resize_sets], dtype=np.int64)
    return np.flatnonzero(sizes[jobs.resizes]).tolist() if len(jobs) else []


def _pool(pool: NodePool) -> tuple[Any, ...]:
    scale = pool.autoscale
    assert scale is not None
    ready_ns, idle_ns = _ns("ready_s", scale.ready_s), _ns("idle_s", scale.idle_s)
    return pool.name, pool.names(), pool.count, scale.least, ready_ns, idle_ns, pool.price


def _queue(queue: Queue) -> tuple[Any, ...]:
    """In the units of a Queue object: millicores, megabytes and devices (spec 1 F2)."""

    def quotas(factor: float, deserved: float, limit: float) -> list[float]:
        return [
            deserved if deserved < 0 else deserved * factor,
            queue.weight,
            limit if limit < 0 else limit * factor,
        ]

    megabytes = MIB / 1e6
    return (
        queue.name,
        queue.parent,
        queue.priority,
        [
            quotas(1000, queue.deserved_cpu, queue.limit_cpu),
            quotas(megabytes, queue.deserved_memory_mib, queue.limit_memory_mib),
            quotas(1, queue.deserved_gpus, queue.limit_gpus),
        ],
        None if queue.preempt_min_runtime_s is None else round(queue.preempt_min_runtime_s * 1e9),
        None if queue.reclaim_min_runtime_s is None else round(queue.reclaim_min_runtime_s * 1e9),
    )


def _nodes(pool: NodePool) -> list[tuple[Any, ...]]:
    labels = labels_of(pool)
    if pool.gpus:
        labels.append((keys.GPU_COUNT_LABEL, str(pool.gpus)))
    if pool.gpu_memory_mib:
        labels.append((keys.GPU_MEMORY_LABEL, str(pool.gpu_memory_mib)))
    cpu = round(pool.cpu * 1000)
    memory = pool.memory_mib * MIB
    return [(name, pool.gpus, cpu, memory, pool.pods, labels) for name in pool.names()]


def _random_outages(
    workload: Workload, failures: Failures | None, until_s: float | None, seed: int
) -> list[Outage]:
    """Each node has its own random sequence, so adding nodes does not change the others."""
    if failures is None:
        return []
    if failures.mean_days_between <= 0 or failures.mean_repair_hours <= 0:
        raise InvalidInputError("failures: expected times above 0")
    end_s = horizon_s(workload, until_s)
    outages = []
    for number, name in enumerate(sorted(n for pool in workload.nodes for n in pool.names())):
        random = np.random.Generator(np.random.PCG64([seed, number]))
        at_s = 0.0
        while True:
            at_s += random.exponential(failures.mean_days_between * 86_400)
            if at_s >= end_s:
                break
            until = at_s + max(random.exponential(failures.mean_repair_hours * 3600), 1.0)
            outages.append(Outage(name, at_s, until))
            at_s = until
    return outages
