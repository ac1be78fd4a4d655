"""The results of a comparison, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BETTER", "CANNOT_TELL", "WORSE", "Findings", "MetricComparison"]

BETTER, WORSE, CANNOT_TELL = "better", "worse", "cannot tell"


@dataclass(frozen=True)
class MetricComparison:
    """One metric of both sides; a difference is the variant's value minus the base's.

    `low` and `high` are the ends of the interval for the mean difference at `level`; None for an
    unknown end. `verdict`, `level` and `p_value` are None without an interval. `values` has a row
    for each seed: base, variant.
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
class Findings:
    """Two sides, metric by metric; `metrics` begin with the primary one.

    `varies`: what a seed varies; empty: nothing, and each side is one simulation without an
    interval.
    """

    base: str
    variant: str
    workload: str
    seeds: tuple[int, ...]
    varies: tuple[str, ...]
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

    def __getitem__(self, name: str) -> MetricComparison:
        """A metric by its name. Raises KeyError for one that was not compared."""
        for each in self.metrics:
            if each.name == name:
                return each
        raise KeyError(name)
