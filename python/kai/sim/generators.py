"""Random workloads: arrivals, sizes and durations from distributions, or similar to a trace.

    generate(seed=1, days=7, load=0.9, daily_swing=0.6, burst=5)     # artificial
    model = fit(workload)                                            # similar to a trace
    model.generate(seed=1, days=28)

Bursts of jobs arrive as a Poisson process whose rate follows the hour of the day or of the week.
The jobs of a burst belong to one class: they have the same queue, size and limits, but different
durations. A class is drawn for each burst, so a model does not reproduce that a queue was busy only
in some weeks; `kai.sim.variants.bootstrap` does. Random numbers come from PCG64 with the given
seed: the same seed gives the same workload.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from kai.api.arguments import in_a_sentence
from kai.engine import text
from kai.errors import InvalidInputError
from kai.sim.cutting import equal_pods
from kai.sim.traces.trace import even_queues
from kai.sim.workload import PRIORITY_CLASSES, Floats, Ints, Job, Jobs, NodePool, Queue, Workload

__all__ = ["Bursts", "JobClass", "Model", "Quantiles", "fit", "generate", "made_up"]

DAY_S = 86_400.0
_HOUR_S = 3600.0
_FEW = 30  # jobs; a smaller class uses the durations of other jobs of its size
_POINTS = 1000  # of a fitted distribution below its tail, and values of the tail


@dataclass(frozen=True)
class Quantiles:
    """A distribution of seconds by its quantiles; log(1 + seconds) is linear between them."""

    probability: tuple[float, ...]  # from 0 to 1
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, seconds: Floats) -> Quantiles:
        """From measured values: up to 2,000 values are drawn with equal probability.

        Of more values, the 1,000 largest are kept unchanged, and the others are represented by
        1,000 points with lines between them. Raises InvalidInputError if there are none.
        """
        if not len(seconds):
            raise InvalidInputError("a distribution needs at least one value")
        ordered = np.sort(seconds.astype(np.float64))
        count = len(ordered)
        tail = 0 if count <= 2 * _POINTS else count - _POINTS
        body = np.linspace(0, tail, _POINTS if tail else 0).astype(np.int64)
        steps = np.repeat(np.arange(tail, count), 2)
        edges = (steps + np.tile([0, 1], count - tail)) / count
        at = np.concatenate((body / count, edges))
        values = np.concatenate((ordered[body], ordered[steps]))
        return cls(tuple(at.tolist()), tuple(values.tolist()))

    @classmethod
    def log_normal(cls, median_s: float, sigma: float, longest_s: float = 30 * DAY_S) -> Quantiles:
        """exp(N(log median, sigma²)), cut off at ``longest_s``."""
        inverse = NormalDist().inv_cdf
        at = _PROBABILITIES
        inner = [median_s * math.exp(sigma * inverse(each)) for each in at[1:-1]]
        return cls(at, (0.0, *(min(each, longest_s) for each in inner), longest_s))

    @classmethod
    def pareto(cls, shortest_s: float, alpha: float, longest_s: float = 30 * DAY_S) -> Quantiles:
        """A heavy tail: P(longer than x) = (shortest / x)^alpha, cut off at ``longest_s``."""
        tail = [shortest_s * (1 - each) ** (-1 / alpha) for each in _PROBABILITIES[:-1]]
        return cls(_PROBABILITIES, (*(min(each, longest_s) for each in tail), longest_s))

    @property
    def mean_s(self) -> float:
        """The exact mean of the curve."""
        low, high = np.array(self.seconds[:-1]) + 1, np.array(self.seconds[1:]) + 1
        ratio = np.log(high / low)
        flat = np.abs(ratio) < 1e-9
        means = np.where(flat, low, (high - low) / np.where(flat, 1, ratio))
        return float((np.diff(self.probability) * means).sum() - 1)

    def draw(self, random: np.random.Generator, count: int) -> Floats:
        """This many values, in whole milliseconds."""
        at = random.random(count)
        made = np.expm1(np.interp(at, self.probability, np.log1p(self.seconds)))
        return np.asarray(np.maximum(made, 0.0).round(3), dtype=np.float64)


@dataclass(frozen=True)
class Bursts:
    """How many jobs arrive together: sizes, and how often each occurs."""

    sizes: tuple[int, ...] = (1,)
    weights: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, sizes: Ints) -> Bursts:
        """From measured sizes."""
        values, counts = np.unique(sizes, return_counts=True)
        return cls(tuple(values.tolist()), tuple((counts / counts.sum()).tolist()))

    @classmethod
    def geometric(cls, mean: float) -> Bursts:
        """P(n) proportional to (1 - 1/mean)^n, for n from 1 on; cut off below 10⁻⁹.

        Raises InvalidInputError for a mean below 1.
        """
        if not 1 <= mean <= 1e5:
            raise InvalidInputError(f"a burst has a mean of {mean:g} jobs, but needs at least 1")
        if mean == 1:
            return cls()
        again = 1 - 1 / mean
        most = max(1, math.ceil(math.log(1e-9) / math.log(again)))
        weights: Floats = np.power(again, np.arange(most, dtype=np.float64))
        sizes = tuple(range(1, most + 1))
        return cls(sizes, tuple((weights / weights.sum()).tolist()))

    @property
    def mean(self) -> float:
        """The mean number of jobs in a burst."""
        return float(np.dot(self.sizes, self.weights))

    def draw(self, random: np.random.Generator, count: int) -> Ints:
        """This many sizes."""
        sizes: Ints = np.array(self.sizes, dtype=np.int64)
        return random.choice(sizes, size=count, p=self.weights)


@dataclass(frozen=True)
class JobClass:
    """Jobs that differ only in their durations."""

    like: Job  # its name, arrival and duration are ignored
    share: float  # of all bursts
    durations: Quantiles
    bursts: Bursts = Bursts()

    @property
    def gpu_seconds(self) -> float:
        """The mean of one job."""
        return self.like.gpus * self.like.pods * self.durations.mean_s


@dataclass(frozen=True)
class Model:
    """The distributions from which random workloads are drawn."""

    classes: tuple[JobClass, ...]
    bursts_per_day: float
    queues: tuple[Queue, ...]
    nodes: tuple[NodePool, ...]
    profile: tuple[float, ...] = (1.0,)  # the rate by hour of a day (24) or week (168); mean 1
    gap_s: float = 5.0  # mean time between the jobs of a burst
    name: str = "model"
    priority_classes: Mapping[str, int] = field(default_factory=lambda: dict(PRIORITY_CLASSES))

    def __repr__(self) -> str:
        # The fields of a fitted model are megabytes of numbers.
        gpus = sum(pool.count * pool.gpus for pool in self.nodes)
        return (
            f"<{self.name}: a mean of {self.jobs_per_day:,.0f} jobs a day in"
            f" {text.count(len(self.queues), 'queue')}, which need {self.mean_demand_gpus:,.0f}"
            f" of {text.count(gpus, 'GPU')}>"
        )

    @property
    def jobs_per_day(self) -> float:
        """The mean number of jobs."""
        return self.bursts_per_day * sum(each.share * each.bursts.mean for each in self.classes)

    @property
    def mean_demand_gpus(self) -> float:
        """The mean of requested GPUs, as in `Workload.mean_demand_gpus`."""
        each = (kind.share * kind.bursts.mean * kind.gpu_seconds for kind in self.classes)
        return self.bursts_per_day * sum(each) / DAY_S

    def with_load(self, load: float) -> Model:
        """A model whose bursts per day give this mean demand, as a fraction of the nodes' GPUs.

        Raises InvalidInputError if no job needs a GPU.
        """
        gpus = sum(pool.count * pool.gpus for pool in self.nodes)
        demand = self.mean_demand_gpus
        if not (demand > 0 and gpus > 0 and load > 0):
            raise InvalidInputError("a load needs jobs and nodes with GPUs")
        return replace(self, bursts_per_day=self.bursts_per_day * load * gpus / demand)

    def generate(self, seed: int, *, days: float) -> Workload:
        """A workload of this many days; jobs of a last burst may arrive a little later.

        Raises InvalidInputError if no job arrives in that time.
        """
        random = random_of(seed)
        begin_s = self._arrivals(random, days)
        shares = np.array([each.share for each in self.classes])
        of_class = random.choice(len(shares), size=len(begin_s), p=shares / shares.sum())
        sizes = np.ones(len(begin_s), dtype=np.int64)
        for place, kind in enumerate(self.classes):
            rows = np.flatnonzero(of_class == place)
            sizes[rows] = kind.bursts.draw(random, len(rows))
        first = np.cumsum(sizes) - sizes
        kinds = np.repeat(of_class, sizes)
        gaps = random.exponential(self.gap_s, size=len(kinds))
        if len(first):
            gaps[first] = 0
        so_far = np.cumsum(gaps)
        arrival_s = np.repeat(begin_s, sizes) + so_far - np.repeat(so_far[first], sizes)
        arrival_s = np.round(arrival_s, 3)
        duration_s = np.zeros(len(kinds))
        for place, kind in enumerate(self.classes):
            rows = np.flatnonzero(kinds == place)
            duration_s[rows] = kind.durations.draw(random, len(rows))
        if not len(kinds):
            raise InvalidInputError(f"{self.name}: no job arrives in {days:g} days")
        order = np.argsort(arrival_s, kind="stable")
        description = f"{len(kinds):,} jobs drawn from model {self.name} with seed {seed}"
        return Workload(
            jobs=self._jobs(kinds[order], arrival_s[order], duration_s[order]),
            queues=self.queues,
            nodes=self.nodes,
            name=f"{self.name}-{seed}",
            source=f"{description}, {days:g} days",
            priority_classes=self.priority_classes,
        )

    def _arrivals(self, random: np.random.Generator, days: float) -> Floats:
        """Times of bursts, in order: a Poisson process whose rate changes each hour."""
        hours = days * 24
        whole = math.ceil(hours)
        rates = self.bursts_per_day / 24 * np.resize(np.array(self.profile), whole)
        length = np.minimum(1.0, hours - np.arange(whole))
        counts = random.poisson(rates * length)
        begin = np.repeat(np.arange(whole), counts) * _HOUR_S
        within = random.random(int(counts.sum())) * np.repeat(length, counts) * _HOUR_S
        return np.sort(begin + within)

    def _jobs(self, kinds: Ints, arrival_s: Floats, duration_s: Floats) -> Jobs:
        digits = len(str(len(kinds)))
        templates = Jobs.of(
            replace(each.like, name=str(place), arrival_s=0.0, duration_s=0.0)
            for place, each in enumerate(self.classes)
        ).take(kinds)
        names = tuple(f"job-{place:0{digits}}" for place in range(1, len(kinds) + 1))
        return replace(templates, name=names, arrival_s=arrival_s, duration_s=duration_s)


def random_of(seed: int) -> np.random.Generator:
    """The random numbers of a seed. Raises InvalidInputError for a seed below 0."""
    if seed < 0:
        raise InvalidInputError(f"seed is {seed}: write a whole number of 0 or more")
    return np.random.Generator(np.random.PCG64(seed))


@in_a_sentence
def generate(seed: int, *, days: float = 7, **of_model: Any) -> Workload:
    """A workload of an artificial model; for options besides seed and days see `made_up`.

    Raises InvalidInputError as `made_up` and `Model.generate` do.
    """
    made = made_up(**of_model).generate(seed, days=days)
    uncut = np.zeros(len(made.jobs), np.int64)  # `made_up` cuts jobs into pods that fit the nodes
    return replace(made, jobs=made.jobs.with_columns(recorded_pods=uncut))


def made_up(
    *,
    nodes: Sequence[NodePool] = (NodePool("node", 8, gpus=8),),
    load: float = 0.85,
    jobs_per_day: float | None = None,
    gpus: Mapping[float, float] | None = None,
    durations: Quantiles | None = None,
    queues: Mapping[str, float] | None = None,
    daily_swing: float = 0.0,
    weekend: float = 1.0,
    burst: float = 1.0,
    gap_s: float = 5.0,
    name: str = "made-up",
) -> Model:
    """A model from a few numbers.

    Args:
        nodes: the cluster
        load: mean demand as a fraction of its GPUs, unless jobs_per_day is given
        jobs_per_day: the mean number
        gpus: GPUs of a job and its weight; below 1: a fraction of one GPU; default: 1 to 32
        durations: of all jobs; default: log-normal, median 20 minutes, sigma 2, at most 14 days
        queues: names and weights of queues, which deserve equal parts; default: one queue
        daily_swing: 0: a constant rate; 0.6: from 0.4 to 1.6 times the mean during a day,
            highest 12 hours after the start
        weekend: the rate on the last two days of each week, as a fraction of the other days' rate
        burst: mean number of jobs that arrive together, with gap_s mean time between them
        name: of the model

    Raises InvalidInputError for invalid numbers.
    """
    sizes = _GPUS if gpus is None else gpus
    of_queues = {"jobs": 1.0} if queues is None else queues
    given: Any = nodes
    if not isinstance(given, Sequence) or not all(isinstance(each, NodePool) for each in given):
        raise InvalidInputError(
            f"nodes: expected pools, such as [NodePool('node', 8, gpus=8)], not {nodes!r}"
        )
    for what, weights in (("gpus", sizes), ("queues", of_queues)):
        if not weights or min(weights.values()) < 0 or not sum(weights.values()) > 0:
            raise InvalidInputError(f"{what}: weights must be at least 0, and one of them above 0")
    if not 0 <= daily_swing <= 1:
        raise InvalidInputError(f"daily_swing is {daily_swing:g}: it must be between 0 and 1")
    if weekend < 0 or gap_s < 0:
        raise InvalidInputError("weekend and gap_s must be at least 0")
    lasting = Quantiles.log_normal(1200, 2, 14 * DAY_S) if durations is None else durations
    total = sum(of_queues.values()) * sum(sizes.values())
    most = max((pool.gpus for pool in nodes), default=8) or 8
    classes = []
    for queue, of_queue in of_queues.items():
        for size, of_size in sizes.items():
            pods, each = equal_pods(np.array([float(size)]), most)
            like = Job("", queue, 0.0, 0.0, pods=int(pods[0]), gpus=float(each[0]))
            share = of_queue * of_size / total
            classes.append(JobClass(like, share, lasting, Bursts.geometric(burst)))
    capacity = sum(pool.count * pool.gpus for pool in nodes)
    model = Model(
        classes=tuple(classes),
        bursts_per_day=(100.0 if jobs_per_day is None else jobs_per_day) / burst,
        queues=even_queues(list(of_queues), capacity, name),
        nodes=tuple(nodes),
        profile=_profile(daily_swing, weekend),
        gap_s=gap_s,
        name=name,
    )
    return model.with_load(load) if jobs_per_day is None else model


@in_a_sentence
def fit(workload: Workload, *, burst_gap_s: float = 60.0) -> Model:
    """A model for workloads similar to a given one.

    Jobs with the same queue, size, limits and application form a class. Jobs of a class that arrive
    at most ``burst_gap_s`` after one another form a burst. A class keeps its burst sizes and the
    quantiles of its durations; a class with fewer than 30 jobs uses the durations of all jobs with
    as many GPUs. The rate follows the hour of the week if the workload lasts four weeks, the hour
    of the day if it lasts four days. Users and estimates are dropped.

    Raises InvalidInputError if all jobs arrive at the same time.
    """
    jobs = workload.jobs
    span_s = float(np.ptp(jobs.arrival_s)) if len(jobs) else 0.0
    if span_s <= 0:
        raise InvalidInputError(f"{workload.name}: a model needs jobs that arrive at several times")
    of_class, examples = _classes(jobs)
    order = np.lexsort((jobs.arrival_s, of_class))
    gaps = np.diff(jobs.arrival_s[order])
    goes_on = (np.diff(of_class[order]) == 0) & (gaps <= burst_gap_s)
    first = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    sizes = np.diff(np.append(first, len(jobs)))
    begin_s, burst_class = jobs.arrival_s[order][first], of_class[order][first]
    totals = jobs.total_gpus
    classes = []
    for place, row in enumerate(examples):
        rows = np.flatnonzero(of_class == place)
        bursts = sizes[burst_class == place]
        if len(rows) < _FEW:
            rows = np.flatnonzero(totals == totals[row])
        classes.append(
            JobClass(
                replace(jobs.job(row), user="", estimate_s=None),
                share=len(bursts) / len(sizes),
                durations=Quantiles.of(jobs.duration_s[rows]),
                bursts=Bursts.of(bursts),
            )
        )
    within = gaps[goes_on]
    return Model(
        classes=tuple(classes),
        bursts_per_day=len(sizes) / span_s * DAY_S,
        queues=workload.queues,
        nodes=workload.nodes,
        profile=_profile_of(begin_s - jobs.arrival_s.min(), span_s),
        gap_s=float(within.mean()) if len(within) else 5.0,
        name=f"like-{workload.name}" if workload.name else "model",
        priority_classes=workload.priority_classes,
    )


_GPUS: Mapping[float, float] = {1: 0.6, 2: 0.12, 4: 0.12, 8: 0.12, 16: 0.03, 32: 0.01}
# Points of a curve: each hundredth, and ten points for each power of ten of both tails, down to
# 10⁻⁹.
_TAIL = [10 ** -(2 + i / 10) for i in range(1, 71)]
_PROBABILITIES = (
    *(0.0, *reversed(_TAIL)),
    *(round(i / 100, 2) for i in range(1, 100)),
    *(*(1 - each for each in _TAIL), 1.0),
)


def _classes(jobs: Jobs) -> tuple[Ints, list[int]]:
    """The class of each job, and a job of each class."""
    names = [each.name for each in fields(Job) if each.name not in _NOT_OF_A_CLASS]
    columns = [np.nan_to_num(np.asarray(getattr(jobs, name), float), nan=-1.0) for name in names]
    _, rows, of_class = np.unique(
        np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
    )
    return of_class.reshape(-1).astype(np.int64), [int(row) for row in rows]


_NOT_OF_A_CLASS = ("name", "arrival_s", "duration_s", "estimate_s", "user")


def _profile(daily_swing: float, weekend: float) -> tuple[float, ...]:
    day = 1 - daily_swing * np.cos((np.arange(24) + 0.5) / 24 * 2 * np.pi)
    if weekend == 1:
        return tuple(day.tolist()) if daily_swing else (1.0,)
    week = np.concatenate((np.tile(day, 5), np.tile(day, 2) * weekend))
    return tuple((week / week.mean()).tolist())


def _profile_of(begin_s: Floats, span_s: float) -> tuple[float, ...]:
    """The rate of bursts in each hour of the week or the day."""
    if span_s < 4 * DAY_S:
        return (1.0,)
    hours = 168 if span_s >= 28 * DAY_S else 24
    place = (begin_s // _HOUR_S).astype(np.int64) % hours
    found = np.bincount(place, minlength=hours)
    whole = math.ceil(span_s / _HOUR_S)
    length = np.minimum(1.0, span_s / _HOUR_S - np.arange(whole))
    lasted = np.bincount(np.arange(whole) % hours, weights=length, minlength=hours)
    rate = found / lasted
    return tuple((rate / rate.mean()).tolist())
