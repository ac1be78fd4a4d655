"""A comparison as a page: HTML with a picture in SVG, without scripts or other files.

Verdicts are words and shapes as well as colours, so the page can be read in black and white. The
colours are Okabe and Ito's, which people with red-green colour blindness can distinguish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from kai.sim.comparing import words
from kai.sim.comparing.findings import BETTER, CANNOT_TELL, WORSE, Findings, MetricComparison

__all__ = ["fragment", "page"]

_STYLE = """
.kai { --ink: #1c1c1c; --paper: #fff; --soft: #5a5a5a; --line: #d5d5d5;
       --better: #0072b2; --worse: #d55e00; --unknown: #6a6a6a;
       font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
@media (prefers-color-scheme: dark) {
  .kai { --ink: #ececec; --paper: #16181b; --soft: #a8a8a8; --line: #3c4046;
         --better: #56b4e9; --worse: #e69f00; --unknown: #a8a8a8; } }
.kai h1 { font-size: 1.45em; margin: 0 0 0.2em; }
.kai h2 { font-size: 1.1em; margin: 2em 0 0.4em; }
.kai p { max-width: 46em; margin: 0.4em 0; }
.kai .soft { color: var(--soft); }
.kai svg { max-width: 100%; height: auto; display: block; }
.kai svg text { fill: var(--ink); font-size: 13px; }
.kai svg text.soft { fill: var(--soft); font-size: 12px; }
.kai table { border-collapse: collapse; }
.kai .scroll { overflow-x: auto; }
.kai th, .kai td { text-align: left; padding: 0.3em 1em 0.3em 0; background: none;
                   border: 0; border-bottom: 1px solid var(--line); }
.kai th { color: var(--soft); font-weight: 600; }
.kai td.n, .kai th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""
_BODY_STYLE = """
body { margin: 0; } .kai { min-height: 100vh; box-sizing: border-box;
       padding: 2em max(1em, 50vw - 32em); }
@media print { .kai { --ink: #000; --paper: #fff; --soft: #333; padding: 0; } }
"""
_COLORS = {BETTER: "--better", WORSE: "--worse", CANNOT_TELL: "--unknown", None: "--unknown"}


def page(found: Findings) -> str:
    """The whole page."""
    title = escape(f"{found.variant} against {found.base}")
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title><style>{_BODY_STYLE}</style></head><body>",
            fragment(found),
            "</body></html>",
            "",
        )
    )


def fragment(found: Findings) -> str:
    """The same for a place inside another page, such as a notebook."""
    title = escape(words.heading(found)).replace(" %", "&nbsp;%")
    about = [f"<p>{escape(each)}</p>" for each in words.paragraphs(found)]
    parts = [
        f'<div class="kai"><style>{_STYLE}</style>',
        f"<h1>{title}</h1>",
        f'<p class="soft">Workload: {escape(found.workload or "without a name")}. '
        f"Base: {escape(found.base)}. Variant: {escape(found.variant)}.</p>",
        *_forest(found),
        "<h2>All metrics</h2>",
        *_table(found),
        *_pairs(found),
        "<h2>How this was measured</h2>",
        *about,
        "<p>Each seed gives both sides the same conditions; a difference is the variant's value"
        " minus "
        "the base's. Definitions of the metrics: the documentation of kai.sim.metrics.</p>",
        "</div>",
    ]
    return "\n".join(parts)


# --- the picture ----------------------------------------------------------------------------------

_LEFT, _RIGHT, _TOP, _ROW, _PLOT = 210, 130, 34, 26, 480
_WIDTH = _LEFT + _PLOT + _RIGHT
_MOST = 5.0  # a mean that is six times the base's; larger values are cut


def _forest(found: Findings) -> Iterator[str]:
    """Differences as fractions of the base's mean, with their intervals, the primary one first."""
    shown = [each for each in found.metrics if each.relative is not None]
    if not shown:
        return
    reach = max(0.01, *(abs(part) for each in shown for part in _ends(each)))
    reach = min(reach, _MOST) * 1.05
    height = _TOP + _ROW * len(shown) + 10
    title = escape("Differences in percent of the base's mean, with their intervals")
    yield f"<h2>{title}</h2>"
    yield (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="{title}">'
    )
    for part in _ticks(reach):
        x = _x(part, reach)
        bold = ' stroke-width="2"' if part == 0 else ' stroke-dasharray="2 3"'
        color = "--ink" if part == 0 else "--line"
        yield f'<path d="M{x:.1f} {_TOP - 8}V{height}" stroke="var({color})"{bold}/>'
        label = f"{100 * part:+.4g} %" if part else "equal"
        yield f'<text class="soft" x="{x:.1f}" y="14" text-anchor="middle">{label}</text>'
    for row, each in enumerate(shown):
        yield from _bar(each, _TOP + _ROW * row + _ROW / 2, reach, each is found.primary)
    yield "</svg>"
    yield (
        '<p class="soft">Filled square: better; filled triangle: worse; open circle: cannot tell, '
        "or no interval. The line is the interval.</p>"
    )


def _ends(metric: MetricComparison) -> list[float]:
    base = abs(metric.base or 1.0)
    ends = [metric.difference, metric.low, metric.high]
    return [end / base for end in ends if end is not None]


def _bar(metric: MetricComparison, y: float, reach: float, is_primary: bool) -> Iterator[str]:
    color = f"var({_COLORS[metric.verdict]})"
    base = abs(metric.base or 1.0)
    x = _x((metric.difference or 0.0) / base, reach)
    weight = ' font-weight="700"' if is_primary else ""
    text = f'<text y="{y + 4:.1f}"{weight}'
    yield f'{text} x="{_LEFT - 12}" text-anchor="end">{escape(metric.title)}</text>'
    if metric.level is not None:
        low = _x(-reach if metric.low is None else metric.low / base, reach)
        high = _x(reach if metric.high is None else metric.high / base, reach)
        yield f'<path d="M{low:.1f} {y:.1f}H{high:.1f}" stroke="{color}" stroke-width="2"/>'
        for at in (low, high):
            yield f'<path d="M{at:.1f} {y - 4:.1f}v8" stroke="{color}" stroke-width="2"/>'
    if metric.verdict == BETTER:
        yield f'<rect x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10" fill="{color}"/>'
    elif metric.verdict == WORSE:
        yield f'<path d="M{x - 6:.1f} {y + 5:.1f}h12l-6 -11z" fill="{color}"/>'
    else:
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="var(--paper)" stroke="{color}" '
            'stroke-width="2"/>'
        )
    yield f'{text} x="{_LEFT + _PLOT + 12}">{escape(metric.verdict or "")}</text>'


def _x(part: float, reach: float) -> float:
    return _LEFT + _PLOT * (1 + max(-1.0, min(1.0, part / reach))) / 2


def _step(reach: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that fits twice into ``reach``."""
    power = 10.0 ** math.floor(math.log10(reach / 2))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= reach / 2)


def _ticks(reach: float) -> list[float]:
    """Round numbers from -reach to reach, 0 among them."""
    step = _step(reach)
    count = int(reach / step)
    return [round(step * i, 9) for i in range(-count, count + 1)]


def _table(found: Findings) -> Iterator[str]:
    table = words.table(found)

    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f'<{tag} class="n">{escape(cell)}</{tag}>'
            if i in table.right
            else f"<{tag}>{escape(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    yield '<div class="scroll"><table>'
    yield f"<thead><tr>{cells('th', tuple(table.columns))}</tr></thead><tbody>"
    for row in table.rows:
        yield f"<tr>{cells('td', tuple(row))}</tr>"
    yield "</tbody></table></div>"


def _pairs(found: Findings) -> Iterator[str]:
    """The pairs of the primary metric: a line from the base's value to the variant's."""
    primary = found.primary
    pairs = [
        (name, base, variant)
        for name, (base, variant) in zip(found.rows, primary.values, strict=True)
        if base is not None and variant is not None
    ]
    if len(pairs) < 2:
        return
    unit, factor = words.unit_of(primary)
    largest = max(max(base, variant) for _, base, variant in pairs) or 1.0
    height = _TOP + 18 * len(pairs) + 10
    of_each = "each week" if found.weeks else "each seed"
    title = escape(f"{primary.title}{f', {unit}' if unit else ''}: {of_each}")
    yield f"<h2>{title}</h2>"
    yield f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="{title}">'
    for value in (tick for tick in _ticks(largest / factor) if tick >= 0):
        x = _LEFT + _PLOT * value * factor / largest
        label = words.amount(value)
        yield f'<path d="M{x:.1f} {_TOP - 8}V{height}" stroke="var(--line)"/>'
        yield f'<text class="soft" x="{x:.1f}" y="14" text-anchor="middle">{label}</text>'
    for row, (name, base, variant) in enumerate(pairs):
        y = _TOP + 18 * row + 9
        at, to = (_LEFT + _PLOT * value / largest for value in (base, variant))
        better = (variant < base) == primary.lower_is_better and variant != base
        color = f"var({'--unknown' if variant == base else '--better' if better else '--worse'})"
        yield (
            f'<text class="soft" x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{name}</text>'
            f'<path d="M{at:.1f} {y}H{to:.1f}" stroke="{color}" stroke-width="2"/>'
            f'<circle cx="{at:.1f}" cy="{y}" r="4" fill="var(--paper)" stroke="var(--ink)"/>'
            f'<circle cx="{to:.1f}" cy="{y}" r="4" fill="{color}"/>'
        )
    yield "</svg>"
    yield '<p class="soft">Open circle: base; filled circle: variant.</p>'
