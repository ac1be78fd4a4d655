"""A comparison in words and numbers, for people."""

from __future__ import annotations

from collections.abc import Iterable

from kai.engine.text import Table, to_text
from kai.sim.comparing.findings import (
    BETTER,
    CANNOT_TELL,
    LEAST_WEEKS,
    WORSE,
    Findings,
    MetricComparison,
)

__all__ = ["as_text", "heading", "paragraphs", "table"]

# Lower limit of a unit in seconds, its name, and its seconds.
_TIMES = ((2 * 86_400.0, "days", 86_400.0), (2 * 3_600.0, "h", 3_600.0), (120.0, "min", 60.0))


def as_text(found: Findings) -> str:
    """The heading, a table, and notes."""
    parts = [to_text(heading(found), [table(found)]), *paragraphs(found)]
    return "\n\n".join(parts)


def heading(found: Findings) -> str:
    """The answer. If a side leaves more work undone, this comes first."""
    undone = _undone(found)
    return f"{undone} {_answer(found)}" if undone else _answer(found)


def _undone(found: Findings) -> str:
    """Which side leaves more work undone; empty: neither."""
    base, variant = found.undone
    sides = ((found.variant, variant, found.base, base), (found.base, base, found.variant, variant))
    exceeds = [each for each in sides if each[1].exceeds(each[3])]
    if not exceeds:
        return ""
    name, its, other_name, other = exceeds[0]
    how = "leaves more undone than" if len(exceeds) == 1 else "leaves other jobs undone than"
    return (
        f"{name} {how} {other_name}: {amount(its.unfinished)} of {amount(its.jobs)} jobs "
        f"({amount(its.gpu_hours)} GPU-hours) do not finish, instead of "
        f"{amount(other.unfinished)} ({amount(other.gpu_hours)} GPU-hours)."
    )


def _answer(found: Findings) -> str:
    primary = found.primary
    prefix = {
        BETTER: f"{found.variant} is better than {found.base}",
        WORSE: f"{found.variant} is worse than {found.base}",
        CANNOT_TELL: f"{found.variant} against {found.base}: cannot tell",
        None: f"{found.variant} against {found.base}",
    }[primary.verdict]
    if primary.difference is None:
        return f"{prefix}: no pair has a value for {primary.title}"
    by = f"{primary.title} {difference(primary)}"
    if primary.relative is not None:
        by += f" ({signed(100 * primary.relative)} %)"
    if primary.level is not None:
        by += f", interval {interval(primary)}"
    else:
        by += ", no verdict"
    return f"{prefix}: {by}"


def table(found: Findings) -> Table:
    """A row for each metric that has values, the primary one first."""
    rows = []
    for each in found.metrics:
        if each.difference is None:
            continue
        unit, factor = unit_of(each)
        rows.append(
            (
                f"{each.title}, {unit}" if unit else each.title,
                amount((each.base or 0.0) / factor),
                amount((each.variant or 0.0) / factor),
                signed(each.difference / factor),
                interval(each, with_unit=False) if each.level is not None else "",
                each.verdict or "",
            )
        )
    columns = ("metric", "base", "variant", "difference", "interval", "verdict")
    kept = len(columns) if any(each.level is not None for each in found.metrics) else 4
    of_each = f"{len(found.weeks)} weeks, " if found.weeks else ""
    title = f"{found.workload or 'workload'}, {of_each}{_pairs(len(found.seeds))}"
    return Table(
        title,
        columns[:kept],
        [row[:kept] for row in rows],
        right=frozenset(range(1, min(kept, 5))),
        name=0,
    )


def paragraphs(found: Findings) -> Iterable[str]:
    """What a seed varies, the meaning of the interval, and further notes."""
    if found.varies:
        yield f"A seed varies {'; '.join(found.varies)}."
    if found.weeks:
        yield (
            "Values are means over the weeks of this workload. An interval, at "
            f"{percent(found.level)}, is that of the mean difference if other weeks like these "
            "came; it does not cover other clusters or other users."
        )
        if any(each.level is not None for each in found.metrics[1:]):
            yield (
                "The intervals of the metrics after the first are wider, as they hold for all "
                "together (Holm). An interval is unknown if there are too few weeks for so many "
                "metrics: name fewer of them."
            )
    else:
        yield (
            "There are no intervals and no verdicts: they need a workload of "
            f"{LEAST_WEEKS} whole weeks, each of them simulated."
        )
    if any(each.unfinished for each in found.undone):
        yield (
            "Completion and waiting times are those of finished jobs. A side that leaves more "
            "undone is not called better."
        )
    yield from found.notes


def difference(metric: MetricComparison) -> str:
    """The mean difference with its sign and unit."""
    unit, factor = unit_of(metric)
    return f"{signed((metric.difference or 0.0) / factor)}{f' {unit}' if unit else ''}"


def interval(metric: MetricComparison, *, with_unit: bool = True) -> str:
    """ "-12 to -3 min"; an unknown end is "?", and "unknown" if both are."""
    if metric.low is metric.high is None:
        return "unknown"
    unit, factor = unit_of(metric)
    low, high = ("?" if end is None else signed(end / factor) for end in (metric.low, metric.high))
    return f"{low} to {high}{f' {unit}' if unit and with_unit else ''}"


def unit_of(metric: MetricComparison) -> tuple[str, float]:
    """The unit in which a metric is shown, and its size in the metric's own unit."""
    if metric.unit != "s":
        return metric.unit, 1.0
    largest = max(abs(metric.base or 0.0), abs(metric.variant or 0.0))
    for from_s, unit, factor in _TIMES:
        if largest >= from_s:
            return unit, factor
    return "s", 1.0


def amount(value: float) -> str:
    """Up to three significant digits, and always all digits before the point.

    >>> [amount(value) for value in (0, 3, 0.123456, 12345.6, -0.00001234)]
    ['0', '3', '0.123', '12,346', '-1.23e-05']
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def signed(value: float) -> str:
    """With a sign unless it is 0.

    >>> signed(2.5), signed(-2.5), signed(0.0)
    ('+2.5', '-2.5', '0')
    """
    return f"+{amount(value)}" if value > 0 else amount(value + 0.0)


def percent(part: float) -> str:
    """ "95 %"."""
    return f"{100 * part:.4g} %"


def _pairs(count: int) -> str:
    return "one pair" if count == 1 else f"{count} pairs"
