"""An existing cluster as the start of a simulation.

    cluster = kai.load("snapshot.zip")
    timeline = simulate(workload_of(cluster, remaining=Remaining.parse("exponential:4h")))

Each pod group that has an existing queue and pods that have not ended becomes a job: its pods keep
running where they are, or wait. The first cycle takes exactly the decisions of
`kai.Scheduler.plan`. All other objects stay: pods without a pod group, pods of other schedulers,
claims and volumes.

No object contains the remaining time of a group, so a model gives it (`Remaining`), for running and
for waiting groups.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kai.api import keys, times
from kai.api.durations import seconds_of, too_long
from kai.api.mig import gpus_of_slice
from kai.api.nearest import did_you_mean
from kai.engine.cluster import Cluster
from kai.engine.slices import totals_of
from kai.errors import InvalidInputError
from kai.sim.workload import Jobs, NodePool, Queue, Workload

if TYPE_CHECKING:
    from kai import _core

__all__ = ["FirstMoment", "Remaining", "with_arrivals", "workload_of"]

MIB = 1 << 20
_MODELS = ("forever", "exponential", "log-normal", "annotation")


@dataclass(frozen=True)
class Remaining:
    """How long each pod group still runs, with all its pods running.

    >>> Remaining.parse("8h")
    Remaining(model='fixed', seconds=28800.0, sigma=0.0, annotation='')
    >>> Remaining.parse("log-normal:30m,1.8").sigma
    1.8
    """

    model: str = "forever"  # fixed, or one of the models in `parse`
    # Fixed time; the mean; the median; or the default without the annotation
    seconds: float = math.inf
    sigma: float = 0.0  # of the logarithm
    annotation: str = ""

    @classmethod
    def parse(cls, text: str) -> Remaining:
        """A model from its text.

        ``8h``: the same time for all. ``forever``. ``exponential:8h``: random with this mean.
        ``log-normal:30m,1.8``: random with this median and standard deviation of the logarithm.
        ``annotation:example.com/left,8h``: the value of this annotation of the pod group, and 8h or
        forever without it. Raises InvalidInputError for anything else.
        """
        model, _, rest = text.strip().partition(":")
        first, comma, second = rest.partition(",")
        if model == "forever" and not rest:
            return cls()
        if not rest and (seconds := seconds_of(model)) is not None:
            return cls("fixed", seconds)
        if model == "exponential" and (mean := seconds_of(first)) and not comma:
            return cls("exponential", mean)
        if model == "log-normal" and (median := seconds_of(first)):
            try:
                sigma = float(second)
            except ValueError:
                sigma = -1.0
            if 0 <= sigma < 10:
                return cls("log-normal", median, sigma)
        if model == "annotation" and first:
            without = math.inf if second in ("", "forever") else seconds_of(second)
            if without is not None:
                return cls("annotation", without, annotation=first)
        if why := next(filter(None, map(too_long, (model, first, second))), ""):
            raise InvalidInputError(f"{text!r} {why}")
        forms = "8h, forever, exponential:8h, log-normal:30m,1.8 or annotation:KEY,8h"
        hint = did_you_mean(model, _MODELS) if model not in _MODELS else ""
        raise InvalidInputError(f"{text!r} is not one of {forms}{hint}")

    def of(self, group: str, seed: int, annotations: Mapping[str, str]) -> float:
        """Seconds for one group; they depend only on its name, the seed and annotations.

        Raises InvalidInputError for an annotation that is not a duration.
        """
        if self.model in ("exponential", "log-normal"):
            number = int.from_bytes(hashlib.sha256(group.encode()).digest()[:8], "big")
            random = np.random.Generator(np.random.PCG64([seed, number]))
            if self.model == "exponential":
                return float(random.exponential(self.seconds))
            return float(self.seconds * math.exp(self.sigma * random.standard_normal()))
        given = annotations.get(self.annotation) if self.annotation else None
        if given is None:
            return self.seconds
        seconds = seconds_of(given)
        if seconds is None:
            why = too_long(given) or "is not a duration such as 90m"
            what = f"annotation {self.annotation}: {given!r} {why}"
            raise InvalidInputError(f"pod group {group}: {what}")
        return seconds


@dataclass(frozen=True)
class FirstMoment:
    """The cluster at second 0 of a workload, and the mapping from its groups to jobs."""

    cluster: Cluster
    now_ns: int  # since 1970

    @cached_property
    def compiled(self) -> _core.FirstMoment:
        """In the form for the compiled core."""
        from kai import _core

        memory = self.cluster._memory or ""
        return _core.FirstMoment(self.cluster._core_cluster(), memory=memory)

    @cached_property
    def groups(self) -> list[tuple[str, str, str, int, list[tuple[str, str, int]]]]:
        """Name, queue, priority class, minimum of pods; for each pod its name, node and millionths
        of a GPU.

        Sorted by name.
        """
        return self.compiled.groups()

    def places_of(self, jobs: Jobs) -> NDArray[np.int64]:
        """For each job the index of its group, or -1."""
        place = {group[0]: i for i, group in enumerate(self.groups)}
        return np.fromiter((place.get(name, -1) for name in jobs.name), np.int64, len(jobs))

    def gpus_of(self, jobs: Jobs, job: Any, pod: Any, otherwise: Any) -> Any:
        """GPUs of single pods, given by job and number; ``otherwise`` for jobs that arrive
        later."""
        amounts = [[each[2] / 1e6 for each in group[4]] for group in self.groups]
        starts = np.cumsum([0, *map(len, amounts)])
        flat = np.array([each for group in amounts for each in group] or [0.0])
        group = self.places_of(jobs)[job] if len(jobs) else np.zeros(0, dtype=np.int64)
        given = group >= 0
        place = np.where(given, starts[np.maximum(group, 0)] + pod, 0)
        return np.where(given, flat[np.minimum(place, len(flat) - 1)], otherwise)

    def __reduce__(self) -> tuple[Any, ...]:
        return FirstMoment, (self.cluster, self.now_ns)


def workload_of(
    cluster: Cluster,
    *,
    remaining: Remaining = Remaining(),
    seed: int = 0,
    arrivals: Workload | None = None,
) -> Workload:
    """A workload that starts with an existing cluster, at the cluster's time or now.

    ``seed``: for the random part of ``remaining``. ``arrivals``: as for `with_arrivals`. Raises
    InvalidInputError as that function does, and for an annotation that is not a duration;
    InvalidClusterError for a cluster that names an object twice.
    """
    now_ns = int(time.time()) * times.SECOND_NS if cluster.now is None else None
    first = FirstMoment(cluster, cluster._now_ns if now_ns is None else now_ns)  # type: ignore[arg-type]
    annotations = _annotations(cluster) if remaining.annotation else {}
    jobs = _jobs(first, remaining, seed, annotations)
    queues = tuple(_queue(*each) for each in first.compiled.queues())
    sliced = _sliced_gpus(cluster)
    nodes = (_node(*each) for each in first.compiled.nodes())
    now = Workload(
        jobs=jobs,
        queues=queues,
        nodes=tuple(replace(each, gpus=each.gpus + sliced.get(each.name, 0)) for each in nodes),
        name=cluster.name or "a cluster",
        source=f"{_description(remaining)}; the first moment is {times.to_text(first.now_ns)}",
        start=times.to_text(first.now_ns),
        priority_classes=dict(first.compiled.priority_classes()),
        first=first,
    )
    return now if arrivals is None else with_arrivals(now, arrivals)


def with_arrivals(workload: Workload, arrivals: Workload) -> Workload:
    """A workload of `workload_of`, and jobs that arrive later.

    Only the jobs, priority classes and maintenance of ``arrivals`` are used, and its jobs must be
    in queues of the cluster. Raises InvalidInputError if they are not.
    """
    queues = {queue.name for queue in workload.queues}
    return replace(
        workload,
        jobs=_with_arrivals(workload.jobs, arrivals.jobs, queues),
        name=f"{workload.name}, then {arrivals.name or 'arrivals'}",
        problems=arrivals.problems,
        priority_classes={**arrivals.priority_classes, **workload.priority_classes},
        maintenance=arrivals.maintenance,
    )


def _description(remaining: Remaining) -> str:
    what = {
        "forever": "forever",
        "fixed": f"for {remaining.seconds:g} s",
        "exponential": f"for a random time with a mean of {remaining.seconds:g} s",
        "log-normal": f"for a random time with a median of {remaining.seconds:g} s",
        "annotation": f"for the time in their annotation {remaining.annotation}",
    }[remaining.model]
    return f"existing pod groups still run {what}"


def _annotations(cluster: Cluster) -> dict[str, dict[str, str]]:
    """Annotations of pod groups that have some, by namespace/name."""
    found = {}
    for group in cluster.objects.get("podGroups", ()):
        metadata = group.get("metadata") or {}
        name = f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"
        found[name] = {
            key: str(value) for key, value in (metadata.get("annotations") or {}).items()
        }
    return found


def _sliced_gpus(cluster: Cluster) -> dict[str, int]:
    """The GPUs that the MIG slices of a node count as, as in queues (spec 3 M5): one for each
    compute slice, or, with countMigAsParts, the parts, rounded up."""
    in_parts = cluster._has_params({"countMigAsParts": True})
    found = {}
    for node, profiles in totals_of(cluster).items():
        gpus = [
            number * gpus_of_slice(profile, in_parts=in_parts)
            for profile, number in profiles.items()
        ]
        found[node] = math.ceil(sum(gpus, Fraction(0)))
    return found


def _jobs(
    first: FirstMoment,
    remaining: Remaining,
    seed: int,
    annotations: Mapping[str, Mapping[str, str]],
) -> Jobs:
    groups = first.groups
    jobs = Jobs.of_columns(
        name=[each[0] for each in groups],
        queue=[each[1] for each in groups],
        arrival_s=[0.0] * len(groups),
        duration_s=[remaining.of(each[0], seed, annotations.get(each[0], {})) for each in groups],
        pods=[len(each[4]) for each in groups],
        min_pods=[each[3] for each in groups],
        priority_class=[each[2] for each in groups],
    )
    # The mean of a group's pods, which may differ.
    gpus = [sum(pod[2] for pod in each[4]) / len(each[4]) / 1e6 for each in groups]
    return jobs.with_columns(gpus=np.array(gpus, dtype=np.float64))


def _with_arrivals(jobs: Jobs, arrivals: Jobs, queues: set[str]) -> Jobs:
    for queue in arrivals.queue_names:
        if queue not in queues:
            row = int((arrivals.queue == arrivals.queue_names.index(queue)).argmax())
            problem = f"the cluster has no queue {queue!r}{did_you_mean(queue, queues)}"
            raise InvalidInputError(f"job {arrivals.name[row]}: queue: {problem}")
    every = [*(jobs.job(row) for row in range(len(jobs)))]
    gpus = np.concatenate((jobs.gpus, arrivals.gpus))
    plain = [replace(job, gpus=0.0) for job in every]
    plain += [replace(arrivals.job(row), gpus=0.0) for row in range(len(arrivals))]
    return Jobs.of(plain).with_columns(gpus=gpus)


def _queue(
    name: str,
    parent: str,
    priority: int,
    amounts: list[list[float]],
    preempt_ns: int | None,
    reclaim_ns: int | None,
) -> Queue:
    def amount(row: int, column: int, unit: float) -> float:
        value = amounts[row][column]
        return value if value < 0 else value / unit

    megabytes = MIB / 1e6
    return Queue(
        name,
        parent,
        priority,
        deserved_cpu=amount(0, 0, 1000),
        deserved_memory_mib=amount(1, 0, megabytes),
        deserved_gpus=amount(2, 0, 1),
        weight=amounts[2][1],
        limit_cpu=amount(0, 2, 1000),
        limit_memory_mib=amount(1, 2, megabytes),
        limit_gpus=amount(2, 2, 1),
        preempt_min_runtime_s=None if preempt_ns is None else preempt_ns / 1e9,
        reclaim_min_runtime_s=None if reclaim_ns is None else reclaim_ns / 1e9,
    )


def _node(
    name: str, gpus: int, millicpu: int, memory: int, pods: int, labels: list[tuple[str, str]]
) -> NodePool:
    return NodePool(
        name,
        gpus=gpus,
        cpu=millicpu / 1000,
        memory_mib=memory // MIB,
        model=dict(labels).get(keys.GPU_PRODUCT_LABEL, ""),
        labels=tuple(labels),
        pods=pods,
    )
