"""Workloads derived from others: other weeks, another load, wrong estimates.

    bootstrap(workload, seed=1, weeks=12)      # weeks of a trace, drawn again
    scaled(workload, load=1.1)                 # gaps between arrivals, shorter or longer
    with_estimates(workload, seed=1, error=0.5)

Random numbers come from PCG64 with the given seed: the same seed gives the same workload.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from kai.api.arguments import in_a_sentence
from kai.errors import InvalidInputError
from kai.sim.generators import DAY_S, random_of
from kai.sim.workload import Ints, Workload

__all__ = ["bootstrap", "drawn_blocks", "scaled", "whole_blocks", "with_estimates"]


@in_a_sentence
def bootstrap(
    workload: Workload,
    seed: int,
    *,
    weeks: int | None = None,
    block_days: float = 7,
    replacement: bool = True,
) -> Workload:
    """Weeks of a workload, drawn with replacement and concatenated.

    The workload is cut into whole weeks from its first arrival (`whole_blocks`); the rest at the
    end is not used.
    Jobs keep their order and their time in the week, and get the suffix ``-w`` with the index of
    their week. ``weeks``: how many; default: as many as the workload has. ``block_days``: the
    length of a block instead of a week. ``replacement=False``: the weeks in a random order, and
    each week once before any week comes again.

    Raises InvalidInputError for a workload that is shorter than a block.
    """
    jobs = workload.jobs
    if weeks is not None and weeks < 1:
        raise InvalidInputError(f"weeks is {weeks}: it must be at least 1")
    if not block_days > 0:
        raise InvalidInputError(f"block_days is {block_days:g}: it must be more than 0")
    block_s = block_days * DAY_S
    first_s = float(jobs.arrival_s.min()) if len(jobs) else 0.0
    whole = whole_blocks(workload, block_days)
    if not whole:
        span_s = float(np.ptp(jobs.arrival_s)) if len(jobs) else 0.0
        raise InvalidInputError(
            f"{workload.name or 'the workload'}: lasts {span_s / DAY_S:.1f} days, "
            f"and a block has {block_days:g}"
        )
    count = whole if weeks is None else weeks
    drawn = drawn_blocks(whole, count, seed, replacement=replacement)
    since_s = jobs.arrival_s - first_s
    of_block = (since_s // block_s).astype(np.int64)
    rows = [np.flatnonzero(of_block == block) for block in drawn]
    lengths = [len(each) for each in rows]
    if not sum(lengths):
        raise InvalidInputError(f"{workload.name or 'the workload'}: no job in the blocks drawn")
    taken = np.concatenate(rows)
    place = np.repeat(np.arange(count), lengths)
    arrival_s = since_s[taken] + (place - of_block[taken]) * block_s
    order = np.argsort(arrival_s, kind="stable")
    digits = len(str(count))
    names = tuple(
        f"{jobs.name[row]}-w{week + 1:0{digits}}"
        for row, week in zip(taken[order].tolist(), place[order].tolist(), strict=True)
    )
    made = replace(jobs.take(taken[order]), name=names, arrival_s=arrival_s[order])
    how = "drawn" if replacement else "in a random order"
    change = f"{count} blocks of {block_days:g} days, {how} with seed {seed} out of {whole}"
    return replace(workload, jobs=made, source=_and(workload.source, change))


def whole_blocks(workload: Workload, block_days: float = 7) -> int:
    """The number of whole weeks, or other blocks, in a workload.

    The last one is whole if jobs arrive in its last seventh: a trace of 14 days whose last job
    arrives on day 13.9 has two weeks.
    """
    arrival_s = workload.jobs.arrival_s
    span_s = float(np.ptp(arrival_s)) if len(arrival_s) else 0.0
    return math.floor(span_s / (block_days * DAY_S) + 1 / 7)


def drawn_blocks(whole: int, count: int, seed: int, *, replacement: bool) -> Ints:
    """The blocks that `bootstrap` takes, in their order: indices below `whole`."""
    random = np.random.Generator(np.random.PCG64(seed))
    if replacement:
        return random.integers(whole, size=count)
    rounds = [random.permutation(whole) for _ in range(math.ceil(count / whole))]
    return np.concatenate(rounds)[:count]


def scaled(
    workload: Workload, *, load: float | None = None, factor: float | None = None
) -> Workload:
    """The same jobs with other gaps between their arrivals.

    Give either the ``load``, the mean demand as a fraction of the GPUs, or the ``factor`` by which
    it changes. Worked: with a load of 0.85, ``load=1.1`` and ``factor=1.294`` both divide the time
    of each arrival since the first by 1.294.

    Raises InvalidInputError unless exactly one is given and above 0, and for a ``load`` if the
    workload has no GPUs, or its jobs all arrive at once.
    """
    if (load is None) == (factor is None):
        raise InvalidInputError("give either load or factor")
    if load is not None:
        if not 0 < workload.load < math.inf:
            raise InvalidInputError(f"{workload.name or 'the workload'}: has no load to change")
        factor = load / workload.load
    assert factor is not None
    if not 0 < factor < math.inf:
        raise InvalidInputError(f"the load cannot be multiplied by {factor:g}")
    arrival_s = workload.jobs.arrival_s
    first_s = arrival_s.min() if len(arrival_s) else 0.0
    jobs = workload.jobs.with_columns(arrival_s=first_s + (arrival_s - first_s) / factor)
    change = f"gaps between arrivals divided by {factor:.4g}"
    return replace(workload, jobs=jobs, source=_and(workload.source, change))


@in_a_sentence
def with_estimates(
    workload: Workload, seed: int, *, error: float = 0.5, factor: float = 1.0
) -> Workload:
    """The same jobs with wrong estimates of their durations.

    An estimate is duration · factor · exp(N(0, error²)): its median is ``factor`` times the
    duration. Worked: with an error of 0.5, two thirds of the estimates are between 0.61 and 1.65
    times the duration.

    Raises InvalidInputError for an error below 0 or a factor that is not above 0.
    """
    if not 0 <= error < math.inf or not 0 < factor < math.inf:
        raise InvalidInputError(f"an error of {error:g} and a factor of {factor:g} are not valid")
    random = random_of(seed)
    wrong = np.exp(error * random.standard_normal(len(workload.jobs)))
    jobs = workload.jobs
    estimates = np.round(jobs.duration_s * factor * wrong, 3)
    change = f"estimates with a log-normal error of {error:g}, seed {seed}"
    return replace(
        workload, jobs=jobs.with_columns(estimate_s=estimates), source=_and(workload.source, change)
    )


def _and(source: str, change: str) -> str:
    return f"{source}; {change}" if source else change
