"""A timeline as one HTML page with interactive pictures, which needs no network.

    kai.sim.page.write(timeline, "run.html")

The page contains all rows of the timeline, as columns of numbers: compressed with zlib, then
base64. Its program (``page.js``) is our own; docs/decisions/0026 gives the reasons. The same
timeline gives the same page.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.api import files
from kai.api.naming import naming
from kai.engine import text
from kai.engine.palette import DARK, LIGHT, SHADES, Ground, looks
from kai.sim import series, summary

if TYPE_CHECKING:
    from kai.sim.metrics import Distribution, Metrics
    from kai.sim.timeline import Timeline

__all__ = ["html", "write"]

NEVER = 0xFFFFFFFF  # a time that did not happen
NOTHING = "\u2013"  # in a table
MOST_POINTS = 200  # of a distribution

_NAMED_COLOURS = ("paper", "ink", "faint", "quiet", "evicted")


def write(
    timeline: Timeline,
    path: str | Path,
    *,
    title: str = "",
    warm_up_s: float = 0.0,
    fragmentation: bool = False,
) -> None:
    """Writes the page to a file.

    Raises InvalidInputError if the file cannot be written, and as `html` does.
    """
    text = html(timeline, title=title, warm_up_s=warm_up_s, fragmentation=fragmentation)
    with naming(str(path)):
        files.check_name(path)
        Path(path).write_text(text, encoding="utf-8")


def html(
    timeline: Timeline, *, title: str = "", warm_up_s: float = 0.0, fragmentation: bool = False
) -> str:
    """The page. ``title``: default: the name of the workload.

    ``warm_up_s``, ``fragmentation``: of the metrics. Raises InvalidInputError for a warm-up that
    leaves no window.
    """
    workload = timeline.workload
    packed = _Packed(timeline)
    about = _about(timeline, packed)
    return Template(_text("page.html")).substitute(
        title=escape(title or workload.name or "Simulation"),
        source=escape(workload.source),
        summary=escape(_summary(timeline)),
        colours=_colours(),
        style=_text("page.css"),
        shades=", ".join(SHADES),
        metrics=_metrics(timeline.metrics(warm_up_s=warm_up_s, fragmentation=fragmentation)),
        about=_json(about),
        data=packed.data(),
        script=_text("page.js"),
    )


def _text(name: str) -> str:
    return (resources.files(__name__) / name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """JSON for a script element: no text may contain the end of that element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _summary(timeline: Timeline) -> str:
    workload = timeline.workload
    nodes = sum(pool.most for pool in workload.nodes)
    return (
        f"{len(workload.jobs):,} jobs in {len(series.queues_by_use(timeline)):,} queues on"
        f" {nodes:,} nodes with {workload.gpus:,} GPUs; {timeline.end_s / 86_400:.3g} days in"
        f" {timeline.cycles:,} cycles, at most one each {timeline.period_s:g} s."
    )


# --- columns -------------------------------------------------------------------------------------


class _Packed:
    """All rows as columns. Jobs are in the order of arrival, queues by most use."""

    def __init__(self, timeline: Timeline) -> None:
        self.tick_s = max(1e-3, timeline.end_s / 4e9)
        self.queues = series.queues_by_use(timeline)
        self.queue_rows = [0]
        self.usage_rows = [0]
        self.columns: list[tuple[str, str, int, int]] = []
        self._bytes: list[bytes] = []
        jobs = timeline.workload.jobs
        self.order = np.argsort(jobs.arrival_s, kind="stable")
        self._place = np.empty(len(jobs), dtype=np.int64)
        self._place[self.order] = np.arange(len(jobs))
        self._jobs(timeline)
        self._rows(timeline)
        self._queue_steps(timeline)
        self._usage_steps(timeline)

    def data(self) -> str:
        return base64.b64encode(zlib.compress(b"".join(self._bytes), 9)).decode("ascii")

    def _add(self, name: str, kind: str, values: Any, *, as_steps: bool = False) -> None:
        """``as_steps``: differences of neighbours, modulo 2^32, which compress better."""
        column = np.asarray(values).astype(f"<{kind}")
        if as_steps:
            column = np.diff(column, prepend=column[:0].sum(dtype=column.dtype))
        raw = column.tobytes()
        self.columns.append((name, kind, len(column), int(as_steps)))
        self._bytes.append(raw + bytes(-len(raw) % 4))

    def _ticks(self, seconds: Any) -> Any:
        known = ~np.isnan(seconds)
        return np.where(known, np.rint(np.where(known, seconds, 0) / self.tick_s), NEVER)

    def _small(self, values: Any) -> tuple[str, Any]:
        most = int(values.max(initial=0))
        return ("u1" if most < 2**8 else "u2" if most < 2**16 else "u4"), values

    def _jobs(self, timeline: Timeline) -> None:
        jobs, order = timeline.workload.jobs, self.order
        arrival = jobs.arrival_s[order]
        place = np.full(len(timeline.queue_names), 0)
        place[self.queues] = np.arange(len(self.queues))
        self._add("job_arrival", "u4", self._ticks(arrival), as_steps=True)
        for name, column in (("job_waited", "first_start_s"), ("job_took", "end_s")):
            self._add(name, "u4", self._ticks(timeline.jobs[column][order] - arrival))
        self._add("job_queue", *self._small(place[series.job_queue(timeline)][order]))
        self._add("job_pods", *self._small(jobs.pods[order]))
        self._add("job_gpus", "f4", jobs.gpus[order])

    def _rows(self, timeline: Timeline) -> None:
        runs = series.runs(timeline)
        by_job = np.lexsort((runs.from_s, self._place[runs.job]))
        self._add("run_job", "u4", self._place[runs.job][by_job], as_steps=True)
        self._add("run_from", "u4", self._ticks(runs.from_s[by_job]), as_steps=True)
        self._add("run_length", "u4", self._ticks((runs.to_s - runs.from_s)[by_job]))
        stays = timeline.stays
        job = self._place[stays["job"]]
        by_time = np.lexsort((stays["pod"], job, stays["from_s"]))
        self._add("stay_from", "u4", self._ticks(stays["from_s"][by_time]), as_steps=True)
        self._add("stay_length", "u4", self._ticks((stays["to_s"] - stays["from_s"])[by_time]))
        self._add("stay_job", "u4", job[by_time], as_steps=True)
        self._add("stay_node", *self._small(stays["node"][by_time]))
        self._add("stay_card", *self._small(stays["shared_card"][by_time] + 1))
        evicted, at_s = series.evictions(timeline)
        by_job = np.lexsort((at_s, self._place[evicted]))
        self._add("eviction_job", "u4", self._place[evicted][by_job], as_steps=True)
        self._add("eviction_at", "u4", self._ticks(at_s[by_job]), as_steps=True)

    def _queue_steps(self, timeline: Timeline) -> None:
        table = timeline.queues
        rows = [np.flatnonzero(table["queue"] == queue) for queue in self.queues]
        self.queue_rows = [0, *np.cumsum([len(each) for each in rows]).tolist()]
        every = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        self._add("queue_at", "u4", self._ticks(table["at_s"][every]), as_steps=True)
        for name, column in (
            ("queue_held", "allocated_gpus"),
            ("queue_asked", "requested_gpus"),
            ("queue_fair", "fair_share_gpus"),
        ):
            self._add(name, "f4", np.round(table[column][every], 3))

    def _usage_steps(self, timeline: Timeline) -> None:
        steps = [series.queue_steps(timeline, each, "gpu", "usage") for each in self.queues]
        self.usage_rows = [0, *np.cumsum([len(at_s) for at_s, _ in steps]).tolist()]
        at_s = np.concatenate([np.zeros(0), *(at_s for at_s, _ in steps)])
        part = np.concatenate([np.zeros(0), *(part for _, part in steps)])
        self._add("usage_at", "u4", self._ticks(at_s), as_steps=True)
        self._add("usage_part", "f4", np.round(part, 6))


# --- what the program of the page reads besides ---------------------------------------------------


def _about(timeline: Timeline, packed: _Packed) -> dict[str, Any]:
    workload = timeline.workload
    count = len(packed.queues)
    colours = len(LIGHT.series)
    every_look = looks(max(count, 8), dark=False)
    at_s, held = series.held_gpus(timeline)
    return {
        "end_s": max(timeline.end_s, 1.0),
        "start_ms": _start_ms(workload.start),
        "moment_s": float(at_s[np.argmax(held)]) if len(at_s) else 0.0,
        "tick_s": packed.tick_s,
        "columns": packed.columns,
        "names_joined": "\n".join(workload.jobs.name[i] for i in packed.order),
        "queues": [timeline.queue_names[i] for i in packed.queues],
        "queue_rows": packed.queue_rows,
        "usage_rows": packed.usage_rows,
        "gpus": workload.gpus,
        "nodes": timeline.node_names,
        "node_gpus": series.node_gpus(timeline).tolist(),
        "node_order": series.nodes_in_order(timeline),
        "absences": [
            (node, low, high if np.isfinite(high) else None)
            for node, low, high in series.absences(timeline)
        ],
        "colours": list(range(colours)),
        "shades": SHADES,
        "hatches": [look.hatch[:1] for look in every_look],
        "looks": [{"colour": i % colours, "dash": look.dash} for i, look in enumerate(every_look)],
        "waiting": {
            "size": [_waiting(each) for each in series.waiting_times(timeline, "size")],
            "queue": [
                {**_waiting(each), "queue": i}
                for i, each in enumerate(series.waiting_times(timeline, "queue"))
            ],
        },
    }


def _start_ms(start: str) -> int | None:
    """Milliseconds since 1970 of second 0; None: unknown."""
    try:
        when = datetime.fromisoformat(start.replace("Z", "+00:00"))
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return round(when.timestamp() * 1000)


def _waiting(group: series.WaitingTimes) -> dict[str, Any]:
    """Points of the distribution: seconds, and percent of the jobs that have started by then."""
    started = len(group.seconds)
    last = np.unique(np.linspace(0, max(started - 1, 0), MOST_POINTS).astype(int))[:started]
    return {
        "name": group.name,
        "jobs": group.jobs,
        "started": started,
        "s": np.round(group.seconds[last], 3).tolist() if started else [],
        "p": np.round((last + 1) / group.jobs * 100, 3).tolist() if started else [],
    }


def _colours() -> str:
    def block(ground: Ground) -> str:
        named = {name: getattr(ground, name) for name in _NAMED_COLOURS}
        named |= {f"s{i}": colour for i, colour in enumerate(ground.series)}
        return "".join(f" --{name}: {colour};" for name, colour in named.items())

    return "\n".join(
        (
            f":root {{{block(LIGHT)} }}",
            f"@media (prefers-color-scheme: dark) {{ :root {{{block(DARK)} }} }}",
            f':root[data-theme="light"] {{{block(LIGHT)} color-scheme: light; }}',
            f':root[data-theme="dark"] {{{block(DARK)} color-scheme: dark; }}',
        )
    )


# --- tables --------------------------------------------------------------------------------------


def _metrics(metrics: Metrics) -> str:
    low, high = metrics.window_s
    sizes = {k: v for k, v in metrics.completion_by_size.items() if v.count}
    parts = [
        f"<p>Jobs that arrived from {_span(low)} to {_span(high)}: {metrics.jobs:,}, of these"
        f" {metrics.unfinished:,} did not finish. Means over time use the same window.</p>",
        *(
            f"<p>{len(names):,} of these: {escape(why)} {escape(text.listing(names))}</p>"
            for why, names in metrics.why_unfinished.items()
        ),
        _table(
            ("Time of jobs", "jobs", "mean", "median", "95 %", "99 %"),
            [
                ("waiting for the first start", *_distribution(metrics.waiting)),
                ("not running", *_distribution(metrics.not_running)),
                ("completion", *_distribution(metrics.completion)),
                *((f"completion, {name}", *_distribution(each)) for name, each in sizes.items()),
            ],
        ),
        _table(
            ("GPUs", ""),
            [
                ("held, as part of the existing GPUs", _percent(metrics.utilization)),
                ("GPU-hours held", f"{metrics.held_gpu_hours:,.1f}"),
                ("useful", f"{metrics.useful_gpu_hours:,.1f}"),
                ("lost to evictions", f"{metrics.lost_gpu_hours:,.1f}"),
                ("held without working", f"{metrics.idle_gpu_hours:,.1f}"),
                ("evictions of pods", f"{metrics.evictions:,}"),
                ("restarts of jobs", f"{metrics.restarts:,}"),
                ("Jain's index (1: even)", _number(metrics.jain_index)),
                ("share error", _percent(metrics.share_error)),
                *summary.fragmentation_rows(metrics),
                ("finish-time fairness rho, mean", _number(metrics.rho["mean"])),
            ],
        ),
        _table(
            (
                *("Queue", "jobs", "mean wait", "95 % wait", "mean completion"),
                *("mean GPUs", "mean fair share", "GPU-hours borrowed", "lent"),
            ),
            [
                (
                    name,
                    f"{each.jobs:,}",
                    _span(each.waiting.mean_s),
                    _span(each.waiting.p95_s),
                    _span(each.completion.mean_s),
                    f"{each.mean_allocated_gpus:,.1f}",
                    f"{each.mean_fair_share_gpus:,.1f}",
                    f"{each.borrowed_gpu_hours:,.1f}",
                    f"{each.lent_gpu_hours:,.1f}",
                )
                for name, each in metrics.queues.items()
            ],
        ),
    ]
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return (
        f'<div class="scroll"><table><thead>{line(head, "th")}</thead>'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _distribution(each: Distribution) -> tuple[str, ...]:
    times = (each.mean_s, each.median_s, each.p95_s, each.p99_s)
    return (f"{each.count:,}", *map(_span, times))


def _span(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def _percent(part: float | None) -> str:
    return NOTHING if part is None else f"{part * 100:.1f} %"


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
