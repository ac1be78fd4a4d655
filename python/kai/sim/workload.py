"""A workload: the jobs, queues and nodes of a simulation, as plain columns.

    train = Job("train", queue="vision", arrival_s=0, duration_s=3600, pods=2, gpus=8)
    workload = Workload.of([train], queues=[Queue("vision")], nodes=[NodePool("a100", 4, gpus=8)])
    workload.with_queue("vision", deserved_gpus=16)

Readers of traces, YAML files and generators all return this type; this module reads no files. Times
are seconds from the start of the workload.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kai.api import arguments
from kai.api.arguments import all_in_sentences
from kai.api.naming import naming
from kai.api.nearest import check_known
from kai.errors import InvalidInputError
from kai.sim.cutting import FIXED, cut
from kai.sim.node_pools import Autoscale, Maintenance, NodePool, maintained

if TYPE_CHECKING:
    from kai.sim.first_moment import FirstMoment

__all__ = [
    "Autoscale",
    "Job",
    "Jobs",
    "Maintenance",
    "NodePool",
    "Queue",
    "Resize",
    "Workload",
    "mean_demand_gpus",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Resize(NamedTuple):
    """From a given time on a job has another number of pods; if it is smaller, the last pods are
    removed."""

    after_s: float  # since its arrival
    pods: int
    min_pods: int


@dataclass(frozen=True)
class Job:
    """One job: ``pods`` equal pods that run for ``duration_s`` when all of them run.

    With fewer running pods, but at least ``min_pods``, a job runs at a proportional rate, and with
    more pods too (``resizes``). A job with infinite ``duration_s`` never ends.
    """

    name: str
    queue: str
    arrival_s: float
    duration_s: float  # with all pods running, on the reference GPU model
    pods: int = 1
    gpus: float = 1.0  # of each pod: whole devices, a fraction of one below 1, or 0
    min_pods: int | None = None  # of the gang; None: all of them
    cpu: float = 1.0  # cores of each pod
    memory_mib: int = 1024  # of each pod
    priority_class: str = "train"
    preemptible: bool | None = None  # None: from the priority class
    estimate_s: float | None = None  # the user's estimate; None: not given
    models: tuple[str, ...] = ()  # GPU models that it may use; empty: any
    speeds: tuple[tuple[str, float], ...] = ()  # by GPU model; default 1.0
    checkpoint_s: float | None = None  # interval of saving work; 0: always; None: the simulation's
    restart_s: float | None = None  # of each start after an eviction; None: the simulation's
    user: str = ""
    application: str = ""  # its application, such as "ResNet-18 (batch size 16)"; empty: unknown
    resizes: tuple[Resize, ...] = ()


@dataclass(frozen=True)
class Queue:
    """A queue; quantities in GPUs, cores and MiB, -1 for no limit."""

    name: str
    parent: str = ""  # empty: no parent
    priority: int = 100
    deserved_gpus: float = 0.0
    deserved_cpu: float = -1.0
    deserved_memory_mib: float = -1.0
    weight: float = 1.0  # for surplus resources
    limit_gpus: float = -1.0
    limit_cpu: float = -1.0
    limit_memory_mib: float = -1.0
    preempt_min_runtime_s: float | None = None
    reclaim_min_runtime_s: float | None = None


_Row = TypeVar("_Row", Queue, NodePool)


@dataclass(frozen=True)
class Jobs:
    """Jobs as columns of equal length; `Job` documents each.

    Texts are codes into a tuple of names: ``queue[i]`` is an index into ``queue_names``. A missing
    number is NaN; ``min_pods`` is always given.
    """

    name: tuple[str, ...]
    queue: Ints
    queue_names: tuple[str, ...]
    arrival_s: Floats
    duration_s: Floats
    pods: Ints
    min_pods: Ints
    gpus: Floats
    cpu: Floats
    memory_mib: Ints
    priority_class: Ints
    priority_class_names: tuple[str, ...]
    preemptible: Ints  # 1, 0, or -1: from the priority class
    estimate_s: Floats
    models: Ints
    model_sets: tuple[tuple[str, ...], ...]
    speeds: Ints
    speed_tables: tuple[tuple[tuple[str, float], ...], ...]
    checkpoint_s: Floats
    restart_s: Floats
    user: Ints
    user_names: tuple[str, ...]
    application: Ints
    application_names: tuple[str, ...]
    resizes: Ints
    resize_sets: tuple[tuple[Resize, ...], ...]
    # Not members of `Job`. kai chose the pods of a job whose `recorded_pods` are not `FIXED`: those
    # of the trace (0: it has none) if they fit the nodes. `whole_cpu`: cores of all pods together;
    # NaN: each pod has its `cpu`, however many there are.
    recorded_pods: Ints
    whole_cpu: Floats

    def __len__(self) -> int:
        return len(self.name)

    @classmethod
    def of(cls, jobs: Iterable[Job]) -> Jobs:
        """The columns of jobs, in their order. Raises InvalidInputError as `of_columns` does."""
        rows = list(jobs)
        columns = {each.name: [getattr(row, each.name) for row in rows] for each in fields(Job)}
        for column, missing in _MISSING.items():
            columns[column] = [missing if each is None else each for each in columns[column]]
        columns["min_pods"] = [
            pods if least is None else least
            for pods, least in zip(columns["pods"], columns["min_pods"], strict=True)
        ]
        return cls.of_columns(**columns)

    @classmethod
    def of_columns(
        cls,
        *,
        name: Sequence[str],
        queue: Sequence[str],
        arrival_s: Any,
        duration_s: Any,
        **columns: Any,
    ) -> Jobs:
        """Jobs from sequences of equal length, one for each member of `Job`, and maybe for
        `recorded_pods` and `whole_cpu`.

        An omitted member has its default. Raises `InvalidInputError` for different lengths, and for
        an invalid number, with the job's name.
        """
        count = len(name)
        given = {"queue": queue, "arrival_s": arrival_s, "duration_s": duration_s, **columns}
        defaults = {each.name: each.default for each in fields(Job)} | dict(UNCUT)
        check_known(given, defaults, "jobs have no column")
        pods = given.get("pods", [1] * count)
        defaults |= {**_MISSING, "min_pods": None}
        made: dict[str, Any] = {"name": tuple(map(str, name))}
        for column, kind in _KINDS.items():
            values = given.get(column)
            if values is None:
                values = pods if column == "min_pods" else [defaults[column]] * count
            if len(values) != count:
                raise InvalidInputError(f"jobs: {column} has {len(values)} rows instead of {count}")
            if kind is None:
                made[column], made[_NAMES[column]] = _coded(values)
            else:
                made[column] = np.asarray(values, dtype=kind)
        jobs = cls(**made)
        jobs._check()
        return jobs

    def job(self, row: int) -> Job:
        """One row as a `Job`."""
        found: dict[str, Any] = {"name": self.name[row]}
        for column in _KINDS.keys() - UNCUT.keys():
            value = getattr(self, column)[row].item()
            if column in _NAMES:
                found[column] = getattr(self, _NAMES[column])[value]
            else:
                found[column] = None if math.isnan(value) else value
        preemptible = found["preemptible"]
        found["preemptible"] = None if preemptible < 0 else bool(preemptible)
        found["resizes"] = tuple(Resize(*each) for each in found["resizes"])
        return Job(**found)

    def take(self, rows: Any) -> Jobs:
        """These rows, in this order: indices, or a mask."""
        places = np.arange(len(self))[rows]
        columns = {column: getattr(self, column)[places] for column in _KINDS}
        return replace(self, name=tuple(self.name[i] for i in places), **columns)

    def with_coded(self, **columns: Sequence[Any]) -> Jobs:
        """The same jobs with other texts in these columns: a value for each job.

        Raises InvalidInputError if the number of values differs.
        """
        made: dict[str, Any] = {}
        for column, values in columns.items():
            if len(values) != len(self):
                problem = f"{column} has {len(values)} rows instead of {len(self)}"
                raise InvalidInputError(f"jobs: {problem}")
            made[column], made[_NAMES[column]] = _coded(values)
        return replace(self, **made)

    def with_columns(self, **columns: Any) -> Jobs:
        """The same jobs with other numbers in these columns, which are not checked."""
        return replace(self, **columns)

    @property
    def total_gpus(self) -> Floats:
        """GPUs that each job requests with all its pods."""
        return self.gpus * self.pods

    @property
    def gpu_seconds(self) -> Floats:
        """GPU-seconds of each job if it runs once from start to end."""
        return self.total_gpus * self.duration_s

    def _check(self) -> None:
        for column, wrong, why in (
            ("arrival_s", ~(np.isfinite(self.arrival_s) & (self.arrival_s >= 0)), "is negative"),
            ("duration_s", ~(self.duration_s >= 0), "is negative"),
            ("pods", self.pods < 1, "is less than 1"),
            ("min_pods", (self.min_pods < 1) | (self.min_pods > self.pods), _MIN_PODS),
            ("gpus", ~((self.gpus >= 0) & ((self.gpus < 1) | (self.gpus % 1 == 0))), _GPUS),
            ("cpu", ~(self.cpu >= 0), "is negative"),
            ("memory_mib", self.memory_mib < 0, "is negative"),
        ):
            if wrong.any():
                row = int(wrong.argmax())
                value = getattr(self, column)[row]
                raise InvalidInputError(f"job {self.name[row]}: {column} {value:g} {why}")
        for place, resizes in enumerate(self.resize_sets):
            if why := _wrong_resize(resizes):
                row = int((self.resizes == place).argmax())
                raise InvalidInputError(f"job {self.name[row]}: resizes: {why}")
        if len(set(self.name)) < len(self.name):
            twice = next(a for a, b in pairwise(sorted(self.name)) if a == b)
            raise InvalidInputError(f"job {twice}: two jobs have this name")


@all_in_sentences
@dataclass(frozen=True)
class Workload:
    """The input of a simulation. Every queue of a job, and its parents, are in ``queues``."""

    jobs: Jobs
    queues: tuple[Queue, ...]
    nodes: tuple[NodePool, ...]
    name: str = ""
    source: str = ""  # its origin, and the choices made for it
    start: str = ""  # date and time of second 0, as in 2026-01-31T08:00:00; empty: unknown
    problems: tuple[str, ...] = ()  # what a reader left out, a sentence for each reason
    priority_classes: Mapping[str, int] = field(default_factory=lambda: dict(PRIORITY_CLASSES))
    maintenance: tuple[Maintenance, ...] = ()
    # Time-based fair share: KAI's members of usageParams
    usage_params: Mapping[str, str] | None = None
    # The existing cluster at second 0, if the simulation does not start empty.
    first: FirstMoment | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        jobs: Iterable[Job],
        *,
        queues: Iterable[Queue],
        nodes: Iterable[NodePool],
        name: str = "",
        start: str = "",
    ) -> Workload:
        """From jobs, queues and nodes, one by one. Raises InvalidInputError as `Jobs.of` does."""
        return cls(Jobs.of(jobs), tuple(queues), tuple(nodes), name=name, start=start)

    def queue(self, name: str, /, **changes: Any) -> Queue:
        """One of its queues, with changed fields, as in ``queue("vision", deserved_gpus=16)``.

        Raises InvalidInputError for an unknown queue or field.
        """
        rows = changed("queue", self.queues, name, changes)
        return next(each for each in rows if each.name == name)

    def with_queue(self, name: str, /, **changes: Any) -> Workload:
        """The same workload with changed fields of one queue, as in ``with_queue("vision",
        weight=2)``.

        Raises InvalidInputError for an unknown queue or field.
        """
        return replace(self, queues=changed("queue", self.queues, name, changes))

    def with_nodes(self, pool: str, /, **changes: Any) -> Workload:
        """The same workload with changed fields of one node pool, as in ``with_nodes("a100",
        count=5)``, and its jobs as for `on_nodes`.

        Raises InvalidInputError for an unknown pool or field.
        """
        return self.on_nodes(changed("node pool", self.nodes, pool, changes))

    def on_nodes(self, nodes: Iterable[NodePool]) -> Workload:
        """The same workload on other nodes.

        If a trace does not say how many pods a job has, kai has cut its GPUs into pods that fit the
        nodes; they are cut again for these nodes. Worked: a job of 16 GPUs has 2 pods on nodes of 8
        GPUs, and 4 pods on nodes of 4. Maintenance of nodes that are gone is left out.
        """
        pools = tuple(nodes)
        jobs = self.jobs
        is_free = jobs.recorded_pods != FIXED
        if is_free.any():
            whole_cpu = np.nan_to_num(jobs.whole_cpu)
            pods, gpus = cut(jobs.total_gpus, whole_cpu, jobs.recorded_pods, pools)
            cpu = np.where(np.isnan(jobs.whole_cpu), jobs.cpu, whole_cpu / pods)
            columns = {"pods": pods, "min_pods": pods, "gpus": gpus, "cpu": cpu}
            jobs = jobs.with_columns(
                **{
                    name: np.where(is_free, column, getattr(jobs, name))
                    for name, column in columns.items()
                }
            )
        maintenance = maintained(self.maintenance, self.nodes, pools)
        return replace(self, jobs=jobs, nodes=pools, maintenance=maintenance)

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        from kai.sim import summary

        return summary.of_workload(self)

    def _repr_html_(self) -> str:
        from kai.engine import text
        from kai.sim import summary

        return text.to_html(str(self), summary.pools(self))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes, including those that an autoscaler may add."""
        return sum(pool.most * pool.gpus for pool in self.nodes)

    @property
    def scales(self) -> bool:
        """Whether a pool of its nodes is autoscaled."""
        return any(pool.autoscale for pool in self.nodes)

    @property
    def mean_demand_gpus(self) -> float:
        """GPU-seconds of all jobs, divided by the time from the first arrival to the last.

        Infinite if all jobs arrive at once.
        """
        return mean_demand_gpus(self.jobs.arrival_s, self.jobs.gpu_seconds)

    @property
    def load(self) -> float:
        """The mean demand as a fraction of the capacity; above 1, queues grow without end.

        Worked: 374.24 GPUs of mean demand on 440 GPUs are a load of 0.851.
        """
        return self.mean_demand_gpus / self.gpus if self.gpus else math.inf


def changed(
    what: str, rows: tuple[_Row, ...], name: str, changes: Mapping[str, Any]
) -> tuple[_Row, ...]:
    """The rows, with changed fields in the row with this name.

    Raises InvalidInputError for an unknown name or field, and for a value of another type.
    """
    names = [each.name for each in rows]
    check_known([name], names, f"the workload has no {what}", lists_all=True)
    known = [each.name for each in fields(rows[0]) if each.name != "name"]
    check_known(changes, known, f"{what} {name}: there is no field", lists_all=True)
    with naming(f"{what} {name}"):
        arguments.check(changes, type(rows[0]))
    return tuple(replace(each, **changes) if each.name == name else each for each in rows)


def mean_demand_gpus(arrival_s: Floats, gpu_seconds: Floats) -> float:
    """See `Workload.mean_demand_gpus`."""
    span_s = float(np.ptp(arrival_s)) if len(arrival_s) else 0.0
    total = float(gpu_seconds.sum())
    return total / span_s if span_s > 0 else (math.inf if total > 0 else 0.0)


# KAI's own priority classes; from 100 on a pod group is not preemptible (spec 2 G5).
PRIORITY_CLASSES: Mapping[str, int] = {
    "train": 50,
    "build-preemptible": 75,
    "build": 100,
    "inference": 125,
}

_MIN_PODS = "is not between 1 and pods"
_GPUS = "is neither a whole number nor a part of one GPU"
_KINDS: Mapping[str, Any] = {
    "queue": None,
    "arrival_s": np.float64,
    "duration_s": np.float64,
    "pods": np.int64,
    "min_pods": np.int64,
    "gpus": np.float64,
    "cpu": np.float64,
    "memory_mib": np.int64,
    "priority_class": None,
    "preemptible": np.int64,
    "estimate_s": np.float64,
    "models": None,
    "speeds": None,
    "checkpoint_s": np.float64,
    "restart_s": np.float64,
    "user": None,
    "application": None,
    "resizes": None,
    "recorded_pods": np.int64,
    "whole_cpu": np.float64,
}
_MISSING = {
    "preemptible": -1,
    "estimate_s": math.nan,
    "checkpoint_s": math.nan,
    "restart_s": math.nan,
}
"""What a column has for None."""
UNCUT: Mapping[str, float] = {"recorded_pods": FIXED, "whole_cpu": math.nan}
"""The values of jobs whose pods are given."""
_NAMES = {
    "queue": "queue_names",
    "priority_class": "priority_class_names",
    "models": "model_sets",
    "speeds": "speed_tables",
    "user": "user_names",
    "application": "application_names",
    "resizes": "resize_sets",
}


def _wrong_resize(resizes: Sequence[Resize]) -> str:
    for each in resizes:
        if not 0 <= each.after_s < math.inf:
            return f"after_s {each.after_s:g} is not a time of at least 0"
        if not 1 <= each.min_pods <= each.pods:
            return f"min_pods {each.min_pods} is not between 1 and pods, which is {each.pods}"
    if any(b.after_s <= a.after_s for a, b in pairwise(resizes)):
        return "are not in the order of their times"
    return ""


def _coded(values: Sequence[Any]) -> tuple[Ints, tuple[Any, ...]]:
    """Indices into the sorted tuple of distinct values."""
    names = tuple(sorted(set(values)))
    place = {each: i for i, each in enumerate(names)}
    return np.fromiter((place[each] for each in values), np.int64, len(values)), names
