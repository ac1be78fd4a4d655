"""The picture of `kai.Scores`: bars of nodes, with a segment for each plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from kai.engine import text
from kai.engine.drawing import axes_of, dress, ground_of, is_dark
from kai.engine.palette import Look, looks
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.engine.scores import NodeScore, Scores

__all__ = ["plot"]

_NARROWEST = 0.07  # of the axis: a narrower segment has no number in it
_ROOM = 0.34  # of the axis, beside the bars: for sums
_LEGEND_COLUMNS = 3


def plot(scores: Scores, *, most: int, ax: Axes | None) -> Axes:
    """See `kai.Scores.plot`."""
    if most < 1:
        raise InvalidInputError(f"most: expected at least 1, not {most}")
    rows = scores.shown(most)
    if not rows:
        raise InvalidInputError(f"no node can run {scores.pod}: there is nothing to draw")
    drawn, alike = scores.alike(rows)
    if not drawn:  # all sums are equal
        drawn, alike = [*alike], {}
    axes = axes_of(ax, (7.5, 1.7 + 0.36 * len(rows)))
    dress(axes)
    axes.grid(visible=False, axis="y")
    every = zip(scores.plugins, looks(len(scores.plugins), dark=is_dark(axes)), strict=True)
    look_of = {plugin: look for plugin, look in every if plugin in drawn}
    low, high = _ends(rows, drawn)
    span = (high - low) or 1.0
    axes.set_xlim(low - 0.03 * span if low < 0 else 0, high + _ROOM * span)
    for at, row in enumerate(rows):
        parts = [(look, row.by_plugin[name]) for name, look in look_of.items()]
        end = _bar(axes, at, parts, span)
        if low < 0:
            total = sum(score for _, score in parts)
            axes.plot([total, total], [at - 0.45, at + 0.45], color=ground_of(axes).ink, lw=2)
        _sum(axes, (end + 0.015 * span, at), row, is_chosen=row.node == scores.chosen)
    _frame(axes, scores, [row.node for row in rows], look_of)
    unit = "score; the line across a bar is its sum" if low < 0 else "score"
    _note(axes, scores, alike, unit, len(scores) - len(rows))
    return axes


def _ends(rows: Sequence[NodeScore], drawn: Sequence[str]) -> tuple[float, float]:
    """The lowest and the highest end of a bar: negative scores go to the left."""
    ends = [0.0]
    for row in rows:
        parts = [row.by_plugin[name] for name in drawn]
        ends += [sum(part for part in parts if part < 0), sum(part for part in parts if part > 0)]
    return min(ends), max(ends)


def _bar(axes: Axes, at: int, parts: Sequence[tuple[Look, float]], span: float) -> float:
    """Draws the segments of a node, and returns the right end of the last one."""
    ground = ground_of(axes)
    left = right = 0.0
    for look, score in parts:
        if not score:
            continue
        start = right if score > 0 else left
        axes.barh(
            at, score, left=start, height=0.72, color=look.colour, hatch=look.hatch, ec=ground.paper
        )
        if abs(score) >= _NARROWEST * span:
            axes.text(
                start + score / 2,
                at,
                text.number(score),
                ha="center",
                va="center",
                fontsize="small",
                color=ground.ink,
                bbox={"facecolor": ground.paper, "edgecolor": "none", "pad": 1.2},
            )
        if score > 0:
            right += score
        else:
            left += score
    return right


def _sum(axes: Axes, place: tuple[float, float], row: NodeScore, *, is_chosen: bool) -> None:
    label = text.number(row.sum) + ("" if row.now else ", has to wait")
    axes.text(
        *place,
        f"{label}  ◀ chosen" if is_chosen else label,
        ha="left",
        va="center",
        fontsize="small",
        fontweight="bold" if is_chosen else "normal",
        color=ground_of(axes).ink,
    )


def _frame(axes: Axes, scores: Scores, nodes: Sequence[str], look_of: dict[str, Look]) -> None:
    ground = ground_of(axes)
    axes.set_yticks(range(len(nodes)), nodes)
    axes.set_ylim(len(nodes) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.axvline(0, color=ground.quiet, lw=0.8)
    for label, node in zip(axes.get_yticklabels(), nodes, strict=True):
        label.set_fontweight("bold" if node == scores.chosen else "normal")
    if look_of:
        axes.legend(
            handles=[
                Patch(facecolor=look.colour, hatch=look.hatch, edgecolor=ground.paper, label=name)
                for name, look in look_of.items()
            ],
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=_LEGEND_COLUMNS,
            frameon=False,
            fontsize="small",
            borderaxespad=0.3,
            borderpad=0,
        )
    when = "when it is placed" if scores.moment == "placement" else "before the plan"
    lines = -(-len(look_of) // _LEGEND_COLUMNS)
    axes.set_title(f"Scores of nodes for {scores.pod} {when}", loc="left", pad=8 + 14 * lines)


def _note(axes: Axes, scores: Scores, alike: dict[str, float], unit: str, left: int) -> None:
    """The unit and what is not drawn, below the axis."""
    notes = [unit]
    if alike:
        notes += text.wrap(scores.equal_scores(alike), 100)
    if tie := scores.tie():
        notes.append(tie)
    if left:
        notes.append(f"and {text.count(left, 'more node')}")
    ground = ground_of(axes)
    axes.set_xlabel("\n".join(notes), loc="left", fontsize="small", color=ground.quiet)
