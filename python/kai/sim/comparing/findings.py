"""The results of a comparison, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "BETTER",
    "CANNOT_TELL",
    "LEAST_WEEKS",
    "WORSE",
    "Findings",
    "MetricComparison",
    "Undone",
]

BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"
LEAST_WEEKS = 8
"""A comparison of fewer weeks has no intervals and no verdict."""


@dataclass(frozen=True)
class MetricComparison:
    """One metric of both sides; a difference is the variant's value minus the base's.

    `low` and `high` are the ends of the interval for the mean difference at `level`; None for an
    unknown end. `verdict`, `level` and `p_value` are None without an interval. `values` has a row
    for each of `Findings.rows`: base, variant.
    """

    name: str
    title: str
    unit: str
    lower_is_better: bool
    base: float | None
    variant: float | None
    difference: float | None
    low: float | None
    high: float | None
    level: float | None
    p_value: float | None
    verdict: str | None
    pairs: int
    values: tuple[tuple[float | None, float | None], ...]

    @property
    def relative(self) -> float | None:
        """The difference as a fraction of the base's mean."""
        return self.difference / self.base if self.base and self.difference is not None else None


@dataclass(frozen=True)
class Undone:
    """What one side leaves undone, as means over its simulations.

    `jobs`: of these, `unfinished` have not ended, which need `gpu_hours`.
    """

    jobs: float
    unfinished: float
    gpu_hours: float

    def exceeds(self, other: Undone) -> bool:
        """Whether this side leaves more jobs or more GPU-hours undone than the other one."""
        is_more = self.unfinished > other.unfinished
        return is_more or self.gpu_hours > other.gpu_hours + 1e-6 * (1 + other.gpu_hours)


@dataclass(frozen=True)
class Findings:
    """Two sides, metric by metric; `metrics` begin with the primary one.

    With at least eight whole weeks, `weeks` are their numbers, from 1, and a row of values is a
    week: the mean over all simulations of this week. Otherwise `weeks` is empty, a row is a seed,
    and there are no intervals. `varies`: what a seed varies; empty: nothing, and each side is
    simulated once.
    """

    base: str
    variant: str
    workload: str
    seeds: tuple[int, ...]
    varies: tuple[str, ...]
    weeks: tuple[int, ...]
    undone: tuple[Undone, Undone]
    level: float
    metrics: tuple[MetricComparison, ...]
    notes: tuple[str, ...]

    @property
    def primary(self) -> MetricComparison:
        """The metric that decides."""
        return self.metrics[0]

    @property
    def verdict(self) -> str | None:
        """The verdict on the primary metric: "better", "worse", "cannot tell", or None without an
        interval."""
        return self.primary.verdict

    @property
    def rows(self) -> tuple[str, ...]:
        """What the rows of values are."""
        if self.weeks:
            return tuple(f"week {week}" for week in self.weeks)
        return tuple(f"seed {seed}" for seed in self.seeds)

    def __getitem__(self, name: str) -> MetricComparison:
        """A metric by its name. Raises KeyError for one that was not compared."""
        for each in self.metrics:
            if each.name == name:
                return each
        raise KeyError(name)
