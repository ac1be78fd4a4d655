"""Pictures of timelines with matplotlib (extra ``notebook``): ``timeline.plot.queues()``.

    timeline.plot.nodes(at_s=86_400).figure.savefig("nodes.png")
    comparison({"best fit": one, "spread": other})

The colours suit a light or a dark background (``plt.style.use("dark_background")``). Series differ
in line style, marker or hatch as well as in colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from kai.engine.drawing import axes_of as _axes
from kai.engine.drawing import dress as _dress
from kai.engine.drawing import ground_of as _ground
from kai.engine.drawing import is_dark as _is_dark
from kai.engine.palette import DARK, LIGHT, Look, looks
from kai.errors import InvalidInputError
from kai.sim import series
from kai.sim.comparing.measures import measure, needs_fragmentation

if TYPE_CHECKING:
    from kai.sim.metrics import Metrics
    from kai.sim.timeline import Timeline

__all__ = ["COMPARED", "Plots", "comparison"]

BUCKETS = 400  # of time, across a picture
MOST_ROWS = 400  # of nodes in a heat map; more nodes share rows
MOST_NAMED = 40  # the most rows with a name

_UNITS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


class Plots:
    """Pictures of one timeline. Times are seconds from the start of the workload."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def queues(
        self,
        names: Sequence[str] | None = None,
        *,
        most: int = 6,
        from_s: float | None = None,
        until_s: float | None = None,
    ) -> Figure:
        """Each queue's allocation, with its fair share and its request: one panel each.

        With time-based fair share, also the queue's past usage in the window, as that fraction of
        the workload's GPUs.

        Without ``names``: the queues with most GPU-hours, at most ``most``. Values are means over a
        four-hundredth of the shown time. Raises InvalidInputError for an unknown queue and an empty
        window.
        """
        timeline = self._timeline
        window = series.window_of(timeline, from_s, until_s)
        by_use = series.queues_by_use(timeline)
        shown = by_use[:most] if names is None else [self._queue(name) for name in names]
        if not shown:
            raise InvalidInputError("names: expected at least one queue that has jobs")
        columns = 1 if len(shown) == 1 else 2
        rows = -(-len(shown) // columns)
        figure, panels = plt.subplots(
            rows,
            columns,
            figsize=(5 * columns, 0.7 + 1.9 * rows),
            sharex=True,
            squeeze=False,
            layout="constrained",
        )
        edges, unit = np.linspace(*window, BUCKETS + 1), _unit(window)
        for axes, queue in zip(panels.flat, shown, strict=False):
            self._queue_panel(axes, queue, edges, unit)
        for axes in panels.flat[len(shown) :]:
            axes.set_visible(False)
            panels[rows - 2, columns - 1].tick_params(labelbottom=True)
        for axes in panels[-1]:
            axes.set_xlabel(_time_label(timeline, unit))
        for axes in panels[:, 0]:
            axes.set_ylabel("GPUs")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False)
        if names is None and len(by_use) > len(shown):
            left = len(by_use) - len(shown)
            figure.supxlabel(
                f"not shown: {left} queue{'s' * (left > 1)} with fewer GPU-hours",
                x=1,
                ha="right",
                fontsize="small",
            )
        return figure

    def _queue_panel(self, axes: Axes, queue: int, edges: Any, unit: tuple[float, str]) -> None:
        look, ground = looks(2, dark=_is_dark(axes)), _ground(axes)
        middle = (edges[:-1] + edges[1:]) / 2 / unit[0]
        held, requested, fair = (
            series.means(*series.queue_steps(self._timeline, queue, column), edges)
            for column in ("allocated_gpus", "requested_gpus", "fair_share_gpus")
        )
        axes.fill_between(
            middle, held, step="mid", color=look[0].colour, alpha=0.45, lw=0, label="held"
        )
        axes.step(middle, held, where="mid", color=look[0].colour, lw=1)
        for gpus, colour, width, dash, label in (
            (fair, look[1].colour, 1.6, (5, 1.5), "fair share"),
            (requested, ground.quiet, 1, (1, 1.2), "requested, held or not"),
        ):
            line: dict[str, Any] = {"color": colour, "lw": width, "ls": (0, dash), "label": label}
            axes.step(middle, gpus, where="mid", **line)
        top = max(float(held.max()), float(fair.max()), 1.0)
        past = series.queue_steps(self._timeline, queue, "gpu", "usage")
        if len(past[0]):
            used = series.means(*past, edges) * self._timeline.workload.gpus
            axes.plot(middle, used, color=ground.ink, lw=1.4, label="mean past usage")
            top = max(top, float(used.max()))
        # Requests can be many times the cluster; they may leave the panel.
        top *= 1.25
        axes.set_ylim(0, max(top, min(float(requested.max()) * 1.05, top * 1.6)))
        axes.set_xlim(edges[0] / unit[0], edges[-1] / unit[0])
        axes.set_title(self._timeline.queue_names[queue], loc="left", fontsize="medium")
        _dress(axes)

    def nodes(
        self,
        at_s: float | None = None,
        *,
        from_s: float | None = None,
        until_s: float | None = None,
    ) -> Figure:
        """The cluster: at one time each node with its GPUs, or over time as a heat map.

        At one time, a square is a GPU, its colour and hatch show the queue, and a partly filled
        square is partly allocated. Over time, the shade is the allocated fraction of a node's GPUs;
        the panel below shows how many GPUs are allocated whole, partly and not at all. Raises
        InvalidInputError for a time outside the timeline and an empty window.
        """
        if at_s is None:
            return self._node_heat(series.window_of(self._timeline, from_s, until_s))
        if not 0 <= at_s <= self._timeline.end_s:
            raise InvalidInputError(
                f"at_s: expected a time from 0 to the end, {self._timeline.end_s:g} s"
            )
        return self._node_cards(float(at_s))

    def _node_heat(self, window: tuple[float, float]) -> Figure:
        timeline = self._timeline
        edges, unit = np.linspace(*window, BUCKETS + 1), _unit(window)
        figure, (heat, cards) = plt.subplots(
            2,
            1,
            figsize=(10, 6),
            sharex=True,
            height_ratios=(3, 1),
            layout="constrained",
        )
        gpus = series.node_gpus(timeline)
        with_gpus = np.array(series.nodes_in_order(timeline), dtype=np.int64)
        load = series.node_load(timeline, edges)[with_gpus]
        there = series.node_presence(timeline, edges)[with_gpus] * gpus[with_gpus, None]
        starts = np.unique(np.linspace(0, len(with_gpus), MOST_ROWS + 1).astype(int)[:-1])
        if len(with_gpus) > MOST_ROWS:
            load, there = (np.add.reduceat(each, starts, axis=0) for each in (load, there))
        part = np.divide(load, there, out=np.full_like(load, np.nan), where=there > 1e-9)
        shades = colormaps["cividis"].with_extremes(bad=(0, 0, 0, 0))
        heat.patch.set(hatch="xxx", edgecolor=_ground(heat).quiet)  # visible where a node is absent
        image = heat.imshow(
            np.ma.masked_invalid(part * 100),
            aspect="auto",
            interpolation="nearest",
            cmap=shades,
            vmin=0,
            vmax=100,
            extent=(window[0] / unit[0], window[1] / unit[0], len(with_gpus), 0),
        )
        figure.colorbar(image, ax=heat, label="GPUs held (% of the node's)", pad=0.01)
        if len(with_gpus) <= MOST_NAMED:
            heat.set_yticks(
                np.arange(len(with_gpus)) + 0.5, [timeline.node_names[i] for i in with_gpus]
            )
        else:
            heat.set_ylabel("nodes, by name")
        if np.isnan(part).any():
            heat.set_title("crossed: the node does not exist", loc="right", fontsize="small")
        self._card_areas(cards, edges, unit)
        return figure

    def _card_areas(self, axes: Axes, edges: Any, unit: tuple[float, str]) -> None:
        timeline = self._timeline
        whole, shared = (series.means(*s, edges) for s in series.card_counts(timeline))
        there = series.means(*series.present_gpus(timeline), edges)
        free = np.maximum(there - whole - shared, 0)
        middle = (edges[:-1] + edges[1:]) / 2 / unit[0]
        look, ground = looks(2, dark=_is_dark(axes)), _ground(axes)
        areas = axes.stackplot(
            middle,
            whole,
            shared,
            free,
            labels=["held whole", "held in part", "free"],
            colors=[look[0].colour, look[1].colour, ground.paper],
        )
        for area, hatch in zip(areas, ("", "///", ""), strict=True):
            area.set_hatch(hatch)
            area.set_edgecolor(ground.ink if hatch else "none")
            area.set_linewidth(0)
        areas[2].set_edgecolor(ground.quiet)
        areas[2].set_linewidth(0.5)
        axes.set_ylabel("GPUs")
        axes.set_ylim(0, max(float(there.max(initial=0)), 1))
        axes.set_xlabel(_time_label(timeline, unit))
        _dress(axes, grid=False)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05), frameon=False)

    def _node_cards(self, at_s: float) -> Figure:
        timeline = self._timeline
        cards = series.cards_at(timeline, at_s)
        there = {card.node for card in cards}
        nodes = [node for node in series.nodes_in_order(timeline) if node in there]
        size, places = _grid_of_nodes(timeline, nodes)
        width = max((x + w for x, _, w in places.values()), default=1)
        height = max((y + 1 for _, y, _ in places.values()), default=1)
        figure, axes = plt.subplots(
            figsize=(max(width * size + 1.8, 7.5), height * size + 0.7), layout="constrained"
        )
        queue_of = series.job_queue(timeline)
        held: dict[int, list[Any]] = {}
        free = []
        for card in cards:
            x, y, _ = places[card.node]
            low = 0.0
            for row, part in card.parts:
                queue = int(queue_of[timeline.stays["job"][row]])
                held.setdefault(queue, []).append(_square(x + card.place, y, low, low + part))
                low += part
            if low < 1 - 1e-9:
                free.append(_square(x + card.place, y, low, 1))
        ground, dark = _ground(axes), _is_dark(axes)
        axes.add_collection(
            PolyCollection(free, facecolors="none", edgecolors=ground.quiet, lw=0.4)
        )
        order = [queue for queue in series.queues_by_use(timeline) if queue in held]
        fine = width * height > 6_000  # a hatch would cover everything
        for queue, look in zip(order, looks(len(order), dark=dark), strict=True):
            axes.add_collection(
                PolyCollection(
                    held[queue],
                    facecolors=look.colour,
                    edgecolors=ground.paper,
                    lw=0 if fine else 0.5,
                    hatch=None if fine else look.hatch,
                    label=timeline.queue_names[queue],
                )
            )
        if len(places) <= MOST_NAMED:
            for node, (x, y, _) in places.items():
                name = timeline.node_names[node]
                axes.text(x - 0.2, y + 0.45, name, ha="right", va="center", fontsize="small")
        used = sum(part for card in cards for _, part in card.parts)
        when = _time_text(at_s)
        axes.set_title(
            f"{used:g} of {len(cards):,} GPUs held after {when}; a square is a GPU, a row is "
            "a node",
            loc="left",
            fontsize="medium",
        )
        axes.set(xlim=(-0.3, width), ylim=(height + 0.1, -0.3), aspect="equal")
        axes.set_axis_off()
        handles = [
            Patch(fc="none", ec=ground.quiet, label="free"),
            *_patches(timeline, order, dark),
        ]
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return figure

    def jobs(
        self,
        names: Sequence[str] | None = None,
        *,
        from_s: float | None = None,
        until_s: float | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Jobs as a Gantt chart, in the order of their arrival.

        A thin line while a job waits, a bar while it has pods on nodes, a cross where pods are
        evicted.

        Raises InvalidInputError for an unknown job and an empty window.
        """
        timeline = self._timeline
        window = series.window_of(timeline, from_s, until_s)
        unit = _unit(window)
        rows = self._rows(names, window)
        axes = _axes(ax, (10, max(2.0, min(1.0 + 0.22 * len(rows), 6.5))))
        jobs, dark = timeline.workload.jobs, _is_dark(axes)
        place = np.full(len(jobs), -1)
        place[rows] = np.arange(len(rows))
        arrival = jobs.arrival_s[rows]
        ended = np.nan_to_num(timeline.jobs["end_s"][rows], nan=timeline.end_s)
        waits = np.stack((arrival, np.arange(len(rows)), ended, np.arange(len(rows))), axis=1)
        waits[:, (0, 2)] /= unit[0]
        thick = _row_points(axes, len(rows))
        axes.add_collection(
            LineCollection(
                list(waits.reshape(-1, 2, 2)),
                colors=_ground(axes).quiet,
                linewidths=max(0.3, min(thick * 0.25, 1.0)),
            )
        )
        runs = series.runs(timeline)
        shown = place[runs.job] >= 0
        queue = series.job_queue(timeline)
        order = [q for q in series.queues_by_use(timeline) if (queue[rows] == q).any()]
        for number, look in zip(order, looks(len(order), dark=dark), strict=True):
            own = shown & (queue[runs.job] == number)
            _bars(axes, place[runs.job[own]], runs.from_s[own], runs.to_s[own], look, unit, thick)
        job, at_s = series.evictions(timeline)
        of_shown = place[job] >= 0
        axes.plot(
            at_s[of_shown] / unit[0],
            place[job[of_shown]],
            ls="none",
            marker="x",
            color=_ground(axes).evicted,
            zorder=3,
            ms=max(1.0, min(thick * 0.8, 6.0)),
            mew=max(0.3, min(thick * 0.2, 1.2)),
        )
        self._finish_jobs(axes, rows, order, window, unit, bool(of_shown.any()))
        return axes

    def _rows(self, names: Sequence[str] | None, window: tuple[float, float]) -> Any:
        """Jobs that exist in the window, by arrival."""
        timeline = self._timeline
        jobs = timeline.workload.jobs
        if names is None:
            end_s = np.nan_to_num(timeline.jobs["end_s"], nan=np.inf)
            wanted = (jobs.arrival_s < window[1]) & (end_s >= window[0])
        else:
            place = {name: i for i, name in enumerate(jobs.name)}
            missing = [name for name in names if name not in place]
            if missing:
                raise InvalidInputError(f"job {missing[0]}: the timeline has no such job")
            wanted = np.zeros(len(jobs), dtype=bool)
            wanted[[place[name] for name in names]] = True
        rows = np.flatnonzero(wanted)
        return rows[np.argsort(jobs.arrival_s[rows], kind="stable")]

    def _finish_jobs(
        self,
        axes: Axes,
        rows: Any,
        order: list[int],
        window: tuple[float, float],
        unit: tuple[float, str],
        evicted: bool,
    ) -> None:
        timeline = self._timeline
        axes.set_xlim(window[0] / unit[0], window[1] / unit[0])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(_time_label(timeline, unit))
        if len(rows) <= MOST_NAMED:
            axes.set_yticks(np.arange(len(rows)), [timeline.workload.jobs.name[i] for i in rows])
        else:
            axes.set_ylabel("jobs, by arrival")
        _dress(axes)
        ground = _ground(axes)
        handles: list[Any] = _patches(timeline, order, _is_dark(axes))
        handles.append(Line2D([], [], color=ground.quiet, lw=1, label="waiting"))
        if evicted:
            handles.append(
                Line2D([], [], color=ground.evicted, ls="none", marker="x", label="pods evicted")
            )
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)

    def waiting(
        self,
        by: Literal["queue", "size"] = "size",
        *,
        most: int = 7,
        ax: Axes | None = None,
    ) -> Axes:
        """The fraction of jobs that waited at most a given time for their first start.

        A curve for each queue (``by="queue"``) or size class. A curve that ends below 100 % has
        jobs that never started.

        Raises InvalidInputError for another ``by``.
        """
        groups = series.waiting_times(self._timeline, by)
        axes = _axes(ax, (8, 4.5))
        longest = max((float(g.seconds[-1]) for g in groups if len(g.seconds)), default=1.0)
        longest = max(longest * 1.3, 10.0)
        shown = groups[:most]
        for group, look in zip(shown, looks(len(shown), dark=_is_dark(axes)), strict=True):
            seconds = np.concatenate(([1.0], np.maximum(group.seconds, 1.0), [longest]))
            part = np.arange(len(group.seconds) + 1) / group.jobs * 100
            axes.step(
                seconds,
                np.append(part, part[-1]),
                where="post",
                color=look.colour,
                ls=(0, look.dash) if look.dash else "-",
                lw=1.6,
                marker=look.marker,
                markevery=_spaced(seconds, 6),
                ms=5,
                clip_on=False,
                label=f"{group.name} ({group.jobs:,} job{'s' * (group.jobs != 1)})",
            )
        axes.set_xscale("log")
        axes.set_xlim(1, longest)
        axes.set_ylim(0, 102)
        ticks = [t for t in (1, 10, 60, 600, 3600, 36_000, 86_400, 864_000) if t <= longest]
        axes.set_xticks(ticks, ["1 s or less", *map(_time_text, ticks[1:])])
        axes.minorticks_off()
        axes.set_xlabel("time from arrival to the first start")
        axes.set_ylabel("jobs (%)")
        _dress(axes)
        left = len(groups) - len(shown)
        title = None if left == 0 else f"not shown: {left} more"
        if shown:
            axes.legend(loc="lower right", frameon=False, title=title, title_fontsize="small")
        return axes

    def utilization(
        self,
        *,
        from_s: float | None = None,
        until_s: float | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Allocated GPUs and existing GPUs over time, in percent of those of all nodes.

        Raises InvalidInputError for an empty window.
        """
        timeline = self._timeline
        window = series.window_of(timeline, from_s, until_s)
        edges, unit = np.linspace(*window, BUCKETS + 1), _unit(window)
        every = max(float(series.node_gpus(timeline).sum()), 1.0)
        held = series.means(*series.held_gpus(timeline), edges) / every * 100
        there = series.means(*series.present_gpus(timeline), edges) / every * 100
        axes = _axes(ax, (10, 3.2))
        look, ground = looks(1, dark=_is_dark(axes))[0], _ground(axes)
        middle = (edges[:-1] + edges[1:]) / 2 / unit[0]
        mean = float(held.mean() / max(there.mean(), 1e-9) * 100)
        axes.fill_between(middle, held, step="mid", color=look.colour, alpha=0.45, lw=0)
        axes.step(middle, held, where="mid", color=look.colour, lw=1, label="GPUs held")
        axes.step(
            middle,
            there,
            where="mid",
            color=ground.ink,
            lw=1.4,
            ls=(0, (5, 1.5)),
            label="existing GPUs",
        )
        axes.set_xlim(window[0] / unit[0], window[1] / unit[0])
        axes.set_ylim(0, 108)
        axes.set_xlabel(_time_label(timeline, unit))
        axes.set_ylabel(f"% of {every:,.0f} GPUs")
        axes.set_title(f"mean {mean:.1f} % of the existing GPUs", loc="left", fontsize="medium")
        _dress(axes)
        axes.legend(loc="lower right", frameon=True, framealpha=0.85)
        return axes

    def _queue(self, name: str) -> int:
        if name not in self._timeline.queue_names:
            raise InvalidInputError(f"queue {name}: the timeline has no such queue")
        return self._timeline.queue_names.index(name)


# Metrics of a comparison: name, title of its panel, and how it is read from `Metrics`.
COMPARED: Mapping[str, tuple[str, Any]] = {
    "mean_waiting": ("mean waiting (min), less is better", lambda m: _per(m.waiting.mean_s, 60)),
    "p95_waiting": ("p95 waiting (min), less is better", lambda m: _per(m.waiting.p95_s, 60)),
    "mean_completion": (
        "mean completion (h), less is better",
        lambda m: _per(m.completion.mean_s, 3600),
    ),
    "utilization": ("GPUs held (%), more is better", lambda m: _per(m.utilization, 0.01)),
    "lost": ("lost GPU-hours, less is better", lambda m: m.lost_gpu_hours),
    "evictions": ("evicted pods, less is better", lambda m: float(m.evictions)),
    "jain_index": ("Jain's index, 1 is even", lambda m: m.jain_index),
    "share_error": ("share error (%), less is better", lambda m: _per(m.share_error, 0.01)),
}


def comparison(
    timelines: Mapping[str, Timeline],
    *,
    metrics: Sequence[str] = tuple(COMPARED),
    warm_up_s: float = 0.0,
) -> Figure:
    """Metrics of several timelines side by side: a panel for each metric, a bar for each timeline.

    ``metrics``: names in `COMPARED`, or those of `kai.compare`, such as "waiting_mean_s[vision]".
    Raises InvalidInputError for an empty list, an unknown metric, and without timelines.
    """
    if not metrics:
        raise InvalidInputError(
            f"metrics: expected some of {', '.join(COMPARED)}, but none is given"
        )
    for name in metrics:
        _compared(name)
    if not timelines:
        raise InvalidInputError("timelines: expected at least one")
    stuck = needs_fragmentation(metrics)
    measured = {
        name: each.metrics(warm_up_s=warm_up_s, fragmentation=stuck)
        for name, each in timelines.items()
    }
    columns = min(len(metrics), 4)
    rows = -(-len(metrics) // columns)
    figure, panels = plt.subplots(
        rows,
        columns,
        figsize=(3.0 * columns + 0.6, rows * (0.7 + 0.38 * len(measured))),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axes, metric in zip(panels.flat, metrics, strict=False):
        _metric_panel(axes, metric, measured)
    for axes in panels.flat[len(metrics) :]:
        axes.set_visible(False)
    return figure


def _compared(name: str) -> tuple[str, Any]:
    """The title of a metric's panel, and how it is read: waiting in minutes, and hours."""
    if name in COMPARED:
        return COMPARED[name]
    found = measure(name)
    shown, by = (found.unit, 1) if found.unit != "s" else _SHOWN_AS["waiting" in name]
    better = "less" if found.lower_is_better else "more"
    unit = f" ({shown})" if shown else ""
    return f"{found.title}{unit}, {better} is better", lambda m: _per(found.of(m), by)


_SHOWN_AS = {True: ("min", 60), False: ("h", 3600)}


def _metric_panel(axes: Axes, metric: str, measured: Mapping[str, Metrics]) -> None:
    title, read = _compared(metric)
    values = [read(each) for each in measured.values()]
    known = [0.0 if value is None else value for value in values]
    ground = _ground(axes)
    for i, look in enumerate(looks(len(known), dark=_is_dark(axes))):
        axes.barh(i, known[i], height=0.7, color=look.colour, hatch=look.hatch, ec=ground.paper)
        words = "none" if values[i] is None else _short(known[i])
        axes.text(known[i], i, f" {words}", va="center", ha="left", fontsize="small")
    axes.set_yticks(range(len(known)), list(measured))
    axes.set_ylim(len(known) - 0.4, -0.6)
    axes.set_xlim(0, max(*known, 1e-9) * 1.3)
    axes.set_title(title, loc="left", fontsize="small")
    axes.xaxis.set_visible(False)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(left=False)


def _per(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _short(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 or value == 0 else f"{value:.3g}"


# --- shared by the pictures ----------------------------------------------------------------------


def _unit(window: tuple[float, float]) -> tuple[float, str]:
    """Seconds of the largest unit that fits twice into the window, and its name."""
    span = window[1] - window[0]
    return next((unit for unit in _UNITS if span >= 2 * unit[0]), _UNITS[-1])


def _time_label(timeline: Timeline, unit: tuple[float, str]) -> str:
    start = timeline.workload.start
    return f"{unit[1]} since {start.replace('T', ' ') if start else 'the start'}"


def _time_text(seconds: float) -> str:
    for length, name in _UNITS:
        if seconds >= length:
            return f"{seconds / length:.3g} {name[0] if name != 'minutes' else 'min'}"
    return f"{seconds:g} s"


def _row_points(axes: Axes, rows: int) -> float:
    """The height of a row, in points."""
    height = axes.get_window_extent().height * 72 / axes.figure.dpi
    return float(height / max(rows, 1))


def _bars(
    axes: Axes, rows: Any, low: Any, high: Any, look: Look, unit: tuple[float, str], thick: float
) -> None:
    """Bars with hatches if there is room for them, otherwise lines of the row's height."""
    low, high = low / unit[0], high / unit[0]
    if thick >= 6:
        y0, y1 = rows - 0.38, rows + 0.38
        corners = np.stack((low, y0, high, y0, high, y1, low, y1), axis=1).reshape(-1, 4, 2)
        axes.add_collection(
            PolyCollection(
                list(corners),
                facecolors=look.colour,
                edgecolors=_ground(axes).paper,
                lw=0.4,
                hatch=look.hatch,
                zorder=2.5,
            )
        )
        return
    lines = np.stack((low, rows, high, rows), axis=1).reshape(-1, 2, 2)
    axes.add_collection(
        LineCollection(list(lines), colors=look.colour, linewidths=max(thick, 0.6), zorder=2.5)
    )


def _patches(timeline: Timeline, order: Sequence[int], dark: bool) -> list[Patch]:
    paper = (DARK if dark else LIGHT).paper
    return [
        Patch(
            facecolor=look.colour, hatch=look.hatch, edgecolor=paper, label=timeline.queue_names[q]
        )
        for q, look in zip(order, looks(len(order), dark=dark), strict=True)
    ]


def _spaced(x: Any, count: int) -> list[int]:
    """About this many indices, evenly spaced on a logarithmic axis."""
    wanted = np.geomspace(max(float(x[0]), 1.0), max(float(x[-1]), 1.1), count)
    return sorted({min(int(i), len(x) - 1) for i in np.searchsorted(x, wanted)})


def _square(x: float, y: float, low: float, high: float) -> list[tuple[float, float]]:
    """A part of a GPU's square, from its left side."""
    x0, x1 = x + low * 0.9, x + high * 0.9
    return [(x0, y), (x1, y), (x1, y + 0.9), (x0, y + 0.9)]


def _grid_of_nodes(
    timeline: Timeline, nodes: Sequence[int]
) -> tuple[float, dict[int, tuple[float, float, float]]]:
    """The size of a square in inches, and the position of each node: x, y and width in squares.

    Columns from top to bottom, about 3 wide to 2 high. Few nodes have their names on their left.
    """
    gpus = series.node_gpus(timeline)
    wide = float(max((int(gpus[node]) for node in nodes), default=1))
    longest = max((len(timeline.node_names[node]) for node in nodes), default=0)
    named = len(nodes) <= MOST_NAMED
    columns = max(1, round((1.7 * len(nodes) / (wide + 2)) ** 0.5))
    size = 0.36
    for _ in range(2):  # names need more squares if squares are small
        gap = (0.085 * longest / size if named else 0.0) + 0.8
        size = min(size, 8.2 / (columns * (wide + gap)))
    rows = -(-len(nodes) // columns)
    left = gap if named else 0.0
    return size, {
        node: (left + (i // rows) * (wide + gap), float(i % rows) * 1.15, wide)
        for i, node in enumerate(nodes)
    }
