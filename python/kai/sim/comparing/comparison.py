"""``compare(base, variant)``: whether one policy is better than another, and how certain that
is."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kai.api.arguments import in_a_sentence
from kai.engine.config import ConfigSource
from kai.errors import InvalidInputError
from kai.sim.comparing.findings import (
    BETTER,
    CANNOT_TELL,
    LEAST_WEEKS,
    WORSE,
    Findings,
    MetricComparison,
    Undone,
)
from kai.sim.comparing.intervals import MeanDifference, holm_levels
from kai.sim.comparing.measures import MEASURES, PRIMARY, UNFINISHED, Measure, measure
from kai.sim.comparing.running import (
    ExecutorChoice,
    Outcome,
    Progress,
    Work,
    run_all,
)
from kai.sim.comparing.sides import Point, Side
from kai.sim.comparing.worlds import NO_LIFE, Worlds
from kai.sim.simulate import Life
from kai.sim.workload import Workload

__all__ = [
    "Comparison",
    "check_level",
    "compare",
    "compared",
    "seeds_of",
    "workload_of",
]


@dataclass(frozen=True)
class Comparison(Findings):
    """The result of `kai.compare`. It prints as a table, also in a notebook.

    `kai.sim.comparing.findings` describes its members.

    >>> import kai
    >>> kai.Comparison.__name__
    'Comparison'
    """

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        shown = asdict(self)
        for metric, each in zip(shown["metrics"], self.metrics, strict=True):
            metric["relative"] = each.relative
        return {"verdict": self.verdict, "primary": self.primary.name, **shown}

    def to_json(self) -> str:
        """The same bytes for the same inputs, for every executor."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_html(self) -> str:
        """A complete page, without scripts or other files."""
        from kai.sim.comparing.page import page

        return page(self)

    def __str__(self) -> str:
        from kai.sim.comparing.words import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from kai.sim.comparing.page import fragment

        return fragment(self)


@in_a_sentence
def compare(
    base: Side | ConfigSource | None,
    variant: Side | ConfigSource | None,
    *,
    workload: Workload | str | os.PathLike[str],
    seeds: int | Sequence[int] = 20,
    vary: Sequence[str] | None = None,
    primary: str = PRIMARY,
    metrics: Sequence[str] | None = None,
    level: float = 0.95,
    executor: ExecutorChoice = None,
    period_s: float = 1.0,
    until_s: float | None = None,
    warm_up_s: float = 0.0,
    life: Life = NO_LIFE,
    weeks: int | None = None,
    estimate_error: float = 0.5,
    progress: Progress | None = None,
) -> Comparison:
    """Simulates a workload with two configurations, and decides whether the variant is better.

    The unit is a week of the workload: a verdict needs eight of them, and its interval is that of
    the mean difference between weeks like these. A side that leaves more work undone is never
    called better.

    Args:
        base: a configuration as for `kai.Scheduler`, or a `kai.Side` with other queues or nodes
        variant: the same
        workload: a `kai.sim.workload.Workload`, or the path of a file or folder with one
        seeds: their number, or a list of them; each seed is a pair of simulations, in which both
            sides have the same jobs and failures
        vary: what a seed varies: some of "weeks" (their order), "estimates" and "failures";
            default: weeks if the workload lasts for two or more, otherwise nothing
        primary: the metric of the verdict
        metrics: other metrics to compute, such as "waiting_p95_s" or "waiting_mean_s[vision]";
            default: all metrics of the whole workload except fragmentation
        level: confidence level of the interval of the primary metric; the other metrics together
            have this level (Holm), so their intervals are wider
        executor: None or "serial"; "processes" or a number of them; "ray"; or any
            `concurrent.futures.Executor`
        period_s, until_s, warm_up_s: as for a simulation and its metrics
        life: as for a simulation; "failures" varies its failures
        weeks: how many weeks are simulated; default: as many as the workload has
        estimate_error: log-normal error of the estimates that "estimates" varies
        progress: True shows a bar in a notebook and on a terminal; a function is called with
            the number of finished simulations, and the total number

    If nothing is random, each side is simulated once. `kai.sim.comparing.intervals` describes the
    interval.

    >>> import kai
    >>> from kai.sim.generators import generate
    >>> work = generate(1, days=2, load=0.8, jobs_per_day=20)
    >>> done = kai.compare({"actions": "allocate"}, {}, workload=work)
    >>> done.verdict is None, done.primary.name
    (True, 'completion_mean_s')

    Raises InvalidInputError for invalid names and numbers, InvalidConfigError for an invalid
    configuration, PolicyError if a policy fails, and KaiError if processes end before their work
    is done.
    """
    points = (Point.of(base, "base"), Point.of(variant, "variant"))
    check_level(level)
    given = list(MEASURES) if metrics is None else list(metrics)
    names = tuple(dict.fromkeys((primary, *given)))
    for name in names:
        measure(name)
    worlds = Worlds(workload_of(workload), vary, weeks, estimate_error, life)
    chosen = seeds_of(seeds) if worlds.names else seeds_of(seeds)[:1]
    work = Work(points, worlds, names, period_s, until_s, warm_up_s)
    runs = [(place, seed) for seed in chosen for place in (0, 1)]
    outcomes = run_all(work, runs, executor=executor, progress=progress)
    return compared(work, chosen, outcomes[::2], outcomes[1::2], level=level)


def compared(
    work: Work,
    seeds: Sequence[int],
    base: Sequence[Outcome],
    variant: Sequence[Outcome],
    *,
    level: float = 0.95,
    places: tuple[int, int] = (0, 1),
) -> Comparison:
    """Compares existing outcomes: one of each side for each seed."""
    measures = [measure(name) for name in work.metrics]
    weeks = sorted({week for outcome in base for week, _ in outcome.weeks})
    if len(weeks) >= LEAST_WEEKS:
        pairs = [_by_week(place, weeks, base, variant) for place in range(len(measures))]
    else:
        weeks = []
        pairs = [
            tuple((a.values[i], b.values[i]) for a, b in zip(base, variant, strict=True))
            for i in range(len(measures))
        ]
    samples = [_sample(of_metric) if weeks else None for of_metric in pairs]
    levels = _levels(samples, 1 - level)
    undone = (_undone(base), _undone(variant))
    may_win = {BETTER: not undone[1].exceeds(undone[0]), WORSE: not undone[0].exceeds(undone[1])}
    made = [_metric(*each, may_win) for each in zip(measures, pairs, samples, levels, strict=True)]
    first, second = (work.points[place] for place in places)
    return Comparison(
        base=first.name,
        variant=second.name,
        workload=work.worlds.workload.name,
        seeds=tuple(seeds),
        varies=work.worlds.sentences(),
        weeks=tuple(week + 1 for week in weeks),
        undone=undone,
        level=level,
        metrics=tuple(made),
        notes=_notes(work, made, (first, second)),
    )


Pairs = tuple[tuple[float | None, float | None], ...]


def _by_week(
    place: int, weeks: Sequence[int], base: Sequence[Outcome], variant: Sequence[Outcome]
) -> Pairs:
    """One metric of each week: means of both sides over all simulations of the week in which both
    have a value."""
    both: dict[int, list[tuple[float, float]]] = {week: [] for week in weeks}
    for one, other in zip(base, variant, strict=True):
        for (week, left), (_, right) in zip(one.weeks, other.weeks, strict=True):
            a, b = left[place], right[place]
            if a is not None and b is not None:
                both[week].append((a, b))
    return tuple(
        (math.fsum(a for a, _ in its) / len(its), math.fsum(b for _, b in its) / len(its))
        if its
        else (None, None)
        for its in both.values()
    )


def _undone(outcomes: Sequence[Outcome]) -> Undone:
    count = len(outcomes)
    return Undone(
        jobs=math.fsum(each.jobs for each in outcomes) / count,
        unfinished=math.fsum(each.undone_jobs for each in outcomes) / count,
        gpu_hours=math.fsum(each.undone_gpu_hours for each in outcomes) / count,
    )


def _sample(pairs: Pairs) -> MeanDifference | None:
    """None for too few weeks."""
    differences = [b - a for a, b in pairs if a is not None and b is not None]
    return MeanDifference.of(differences) if len(differences) >= LEAST_WEEKS else None


def _levels(samples: Sequence[MeanDifference | None], alpha: float) -> list[float]:
    """The thresholds for p-values: alpha for the primary metric, Holm's for the others."""
    others = [place for place, each in enumerate(samples) if place and each is not None]
    found = holm_levels([samples[place].p_value for place in others], alpha)  # type: ignore[union-attr]
    of_others = dict(zip(others, found, strict=True))
    return [of_others.get(place, alpha) for place in range(len(samples))]


def _metric(
    measured: Measure,
    values: Pairs,
    sample: MeanDifference | None,
    alpha: float,
    may_win: Mapping[str, bool],
) -> MetricComparison:
    whole = [(a, b) for a, b in values if a is not None and b is not None]
    base = math.fsum(a for a, _ in whole) / len(whole) if whole else None
    variant = math.fsum(b for _, b in whole) / len(whole) if whole else None
    difference = None if base is None or variant is None else variant - base
    low: float | None = None
    high: float | None = None
    verdict = None
    if sample is not None:
        low, high = sample.interval(alpha)
        verdict = CANNOT_TELL
        if low > 0 or high < 0:
            verdict = BETTER if (high < 0) == measured.lower_is_better else WORSE
            if measured.name != UNFINISHED and not may_win[verdict]:
                verdict = CANNOT_TELL
    return MetricComparison(
        name=measured.name,
        title=measured.title,
        unit=measured.unit,
        lower_is_better=measured.lower_is_better,
        base=base,
        variant=variant,
        difference=difference,
        low=low if low is not None and math.isfinite(low) else None,
        high=high if high is not None and math.isfinite(high) else None,
        level=None if sample is None else 1 - alpha,
        p_value=None if sample is None else sample.p_value,
        verdict=verdict,
        pairs=len(whole),
        values=values,
    )


def _notes(
    work: Work, metrics: Sequence[MetricComparison], points: tuple[Point, Point]
) -> tuple[str, ...]:
    notes = []
    if not work.worlds.names:
        notes.append("The seeds vary nothing: each side is simulated once.")
    for each in metrics:
        if 0 < each.pairs < len(each.values):
            notes.append(f"{each.title}: {each.pairs} of {len(each.values)} rows have a value.")
    for point in points:
        notes += [f"{point.name}: {warning}" for warning in point.warnings]
    return tuple(notes)


# --- what callers give ----------------------------------------------------------------------------


def check_level(level: float) -> None:
    """Raises InvalidInputError if the number is not a level of an interval."""
    if not 0.5 <= level <= 0.999:
        raise InvalidInputError(f"level: expected 0.5 to 0.999, not {level:g}")


MOST_SEEDS = 1_000_000


def seeds_of(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Raises InvalidInputError for no seeds or too many, a seed below 0, and one that is given
    twice."""
    if isinstance(seeds, int):
        if not 1 <= seeds <= MOST_SEEDS:
            raise InvalidInputError(f"seeds: expected 1 to {MOST_SEEDS}, not {seeds}")
        return tuple(range(1, seeds + 1))
    chosen = tuple(seeds)
    if not chosen or min(chosen) < 0 or len(set(chosen)) < len(chosen):
        raise InvalidInputError("seeds: expected different whole numbers of 0 or more")
    return chosen


def workload_of(workload: Workload | str | os.PathLike[str]) -> Workload:
    """The workload itself, or that of a file or folder.

    Raises InvalidInputError if it cannot be read or has no jobs.
    """
    if not isinstance(workload, Workload):
        from kai.sim.traces import read

        workload = read(workload)
    if not len(workload.jobs):
        raise InvalidInputError(f"{workload.name or 'the workload'}: has no jobs")
    return workload
