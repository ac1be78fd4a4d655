"""A timeline: the events of a simulation as columns; saved to one file and loaded again.

    timeline.jobs["end_s"]            # NumPy columns, one row for each job of `timeline.workload`
    timeline.stays                    # pods on nodes
    timeline.queues                   # allocation, request and fair share of queues over time
    timeline.save("run.npz")

Times are seconds from the start of the workload; NaN: it did not happen.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.api import files
from kai.api.arguments import all_in_sentences
from kai.api.naming import naming
from kai.errors import InvalidInputError
from kai.sim.stay_ends import NODE_EVENTS, STAY_ENDS
from kai.sim.workload import (
    UNCUT,
    Autoscale,
    Jobs,
    Maintenance,
    NodePool,
    Queue,
    Workload,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from kai import _core
    from kai.engine.fragmentation import Fragmentation, Mix
    from kai.sim.difference import Difference
    from kai.sim.metrics import Metrics
    from kai.sim.plot import Plots

__all__ = ["NODE_EVENTS", "STAY_ENDS", "Timeline"]

Columns = Mapping[str, Any]
Undone = tuple[tuple[str, tuple[str, ...]], ...]
"""Sentences, each with the names of its jobs; the sentence of the most jobs first."""

_NEVER_NS = np.iinfo(np.int64).max
_FORMAT = 2


@all_in_sentences
@dataclass(frozen=True)
class Timeline:
    """The result of a simulation. All tables map names to NumPy columns of equal length.

    ``jobs``, in the order of ``workload.jobs``: ``first_start_s``, ``end_s``, ``working_s`` (time
    during which at least its minimum of pods ran), ``restarts``, ``evictions`` (of its pods), and
    GPU-seconds: ``held_gpu_s`` = ``kept_gpu_s`` + ``lost_gpu_s`` + ``idle_gpu_s``. Kept is work
    that counts, lost is work that was repeated after an eviction, idle is allocated time without
    work: start-up, restart, waiting for the rest of a gang.

    ``stays``: ``job``, ``pod`` and ``node`` as indices, ``shared_card`` (equal for pods that share
    one GPU, -1 for others), ``gpus`` of the pod, ``from_s``, ``runs_s``, ``to_s``, and ``end``, an
    index into `STAY_ENDS`. ``queues``: ``at_s``, ``queue`` (an index), ``allocated_gpus``,
    ``requested_gpus``, ``fair_share_gpus``, each valid from that cycle until the next row of the
    queue. ``usage``: the queue's past usage as fractions of the cluster's capacity: ``at_s``,
    ``queue``, ``gpu``, ``cpu``, ``memory``, a row for each changed value; empty without time-based
    fair share. ``nodes``: ``at_s``, ``node``, ``is_there``, a row for each time a node left or
    returned; a node that an autoscaler has not added yet left at 0. ``node_events``: ``at_s``,
    ``node``, and ``event``, an index into `NODE_EVENTS`: of autoscalers and maintenance.

    ``undone``: why jobs have not ended: sentences, each with the names of its jobs.
    """

    workload: Workload
    jobs: Columns
    stays: Columns
    queues: Columns
    usage: Columns
    nodes: Columns
    node_events: Columns
    node_names: tuple[str, ...]
    queue_names: tuple[str, ...]
    end_s: float  # the end of the simulated time
    period_s: float
    cycles: int
    engine_ms: float  # real time spent in cycles
    wall_s: float  # real time in total
    undone: Undone = ()

    @classmethod
    def of(
        cls, workload: Workload, compiled: _core.Simulation, period_s: float, wall_s: float
    ) -> Timeline:
        """The timeline of a simulation that has ended or was stopped."""
        raw = compiled.timeline()
        its = raw["jobs"]
        order = np.argsort(its["input"])
        gpus = workload.jobs.gpus
        first = workload.first

        def by_input(column: str) -> Any:
            return its[column][order]

        jobs = {
            "first_start_s": _seconds(by_input("first_start_ns")),
            "end_s": _seconds(by_input("end_ns")),
            "working_s": by_input("working_ns") / 1e9,
            "restarts": by_input("restarts"),
            "evictions": by_input("evictions"),
        }
        for name in ("held", "kept", "lost", "idle"):
            jobs[f"{name}_gpu_s"] = by_input(f"{name}_ns") / 1e9 * gpus
        stays, queues = raw["stays"], raw["queues"]
        stay_job = its["input"][stays["job"]]
        stay_gpus = gpus[stay_job]
        if first is not None:
            stay_gpus = first.gpus_of(workload.jobs, stay_job, stays["pod"], stay_gpus)
        return cls(
            workload=workload,
            jobs=jobs,
            stays={
                "job": stay_job,
                "pod": np.array(stays["pod"]),
                "node": np.array(stays["node"]),
                "shared_card": np.array(stays["shared_card"]),
                "gpus": stay_gpus,
                "from_s": stays["from_ns"] / 1e9,
                "runs_s": _seconds(stays["runs_ns"]),
                "to_s": stays["to_ns"] / 1e9,
                "end": np.array(stays["end"]),
            },
            queues={
                "at_s": queues["at_ns"] / 1e9,
                "queue": np.array(queues["queue"]),
                "allocated_gpus": queues["allocated"] / 1e6,
                "requested_gpus": queues["requested"] / 1e6,
                "fair_share_gpus": np.array(queues["fair_share"]),
            },
            usage=_moments(raw["usage"], "queue", "gpu", "cpu", "memory"),
            nodes=_moments(raw["nodes"], "node", "is_there"),
            node_events=_moments(raw["node_events"], "node", "event"),
            node_names=tuple(raw["node_names"]),
            queue_names=tuple(raw["queue_names"]),
            end_s=raw["end_ns"] / 1e9,
            period_s=period_s,
            cycles=raw["cycles"],
            engine_ms=raw["engine_ns"] / 1e6,
            wall_s=wall_s,
        )

    @property
    def unfinished(self) -> Any:
        """Which jobs have arrived, and have not ended: a NumPy array of truth values."""
        return (self.workload.jobs.arrival_s <= self.end_s) & np.isnan(self.jobs["end_s"])

    def metrics(self, *, warm_up_s: float = 0.0, fragmentation: bool = False) -> Metrics:
        """Its metrics; `kai.sim.metrics` defines them. ``fragmentation``: also the mean F.

        Raises InvalidInputError for a negative time.
        """
        from kai.sim.metrics import measure

        return measure(self, warm_up_s=warm_up_s, fragmentation=fragmentation)

    def fragmentation(self, at_s: float, mix: Mix | None = None) -> Fragmentation:
        """How much of the GPUs that are idle at a moment the typical pod of a job cannot use.

        `mix`: other typical pods, as `kai.Fragmentation.against` takes them. Over time:
        `kai.sim.fragmentation.over_time`; the mean: ``metrics(fragmentation=True)``. Raises
        InvalidInputError for a time outside the timeline and for an invalid mix.
        """
        from kai.sim import fragmentation

        return fragmentation.at(self, at_s, mix)

    def __repr__(self) -> str:
        from kai.sim import summary

        return f"<kai.sim.Timeline of {summary.of_timeline(self)}>"

    def __str__(self) -> str:
        from kai.engine import text
        from kai.sim import summary

        return text.to_text(summary.of_timeline(self), summary.tables(self.metrics()))

    def _repr_html_(self) -> str:
        from kai.engine import text
        from kai.sim import summary

        return text.to_html(summary.of_timeline(self), summary.tables(self.metrics()))

    @property
    def plot(self) -> Plots:
        """Its pictures: `kai.sim.plot.Plots`. Needs the extra ``notebook``."""
        from kai.sim.plot import Plots

        return Plots(self)

    def to_html(
        self,
        path: str | Path,
        *,
        title: str = "",
        warm_up_s: float = 0.0,
        fragmentation: bool = False,
    ) -> None:
        """Writes a page with interactive pictures, which needs no network: `kai.sim.page`.

        ``title``: default: the name of the workload. ``warm_up_s``, ``fragmentation``: of its
        metrics. Raises InvalidInputError if the file cannot be written, and for a time that leaves
        no window.
        """
        from kai.sim import page

        page.write(self, path, title=title, warm_up_s=warm_up_s, fragmentation=fragmentation)

    def to_perfetto(self, path: str | Path) -> None:
        """Writes a trace for https://ui.perfetto.dev: `kai.sim.perfetto`.

        Raises InvalidInputError if the file cannot be written.
        """
        from kai.sim import perfetto

        perfetto.write(self, path)

    def diff(self, other: Timeline) -> Difference:
        """Jobs that start or end at other times in the other timeline: `kai.sim.difference`.

        Raises InvalidInputError if a job is in only one of the two, or in different queues.
        """
        from kai.sim.difference import compare

        return compare(self, other)

    def to_arrow(self, table: str = "jobs") -> pyarrow.Table:
        """One of its tables, with names instead of codes. Needs the extra ``arrow``.

        Raises InvalidInputError for a table that does not exist.
        """
        import pyarrow

        return pyarrow.table(self._named(table))

    def to_pandas(self, table: str = "jobs") -> pandas.DataFrame:
        """One of its tables, with names instead of codes. Needs the extra ``notebook``.

        Raises InvalidInputError for a table that does not exist.
        """
        import pandas

        return pandas.DataFrame(self._named(table))

    def save(self, path: str | Path) -> None:
        """Writes it to one file, for `load`. The same timeline gives the same bytes.

        Real times are omitted. Raises InvalidInputError if the file cannot be written.
        """
        arrays: dict[str, Any] = {}
        for table in _TABLES:
            arrays |= {f"{table}.{name}": column for name, column in getattr(self, table).items()}
        jobs = self.workload.jobs
        texts: dict[str, Any] = {}
        for each in fields(Jobs):
            value = getattr(jobs, each.name)
            if isinstance(value, np.ndarray):
                arrays[f"workload.{each.name}"] = value
            else:
                texts[each.name] = value
        about = {
            "format": _FORMAT,
            "texts": texts,
            "queues": [asdict(queue) for queue in self.workload.queues],
            "nodes": [asdict(pool) for pool in self.workload.nodes],
            "maintenance": [asdict(window) for window in self.workload.maintenance],
            "workload": {name: getattr(self.workload, name) for name in _WORKLOAD_TEXTS},
            "priority_classes": dict(self.workload.priority_classes),
            "undone": self.undone,
            **{name: getattr(self, name) for name in _NUMBERS},
        }
        arrays["about"] = np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        with naming(str(path)):
            files.check_name(path)
            Path(path).write_bytes(buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Timeline:
        """Reads a file of `save`. Raises InvalidInputError for any other file."""
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about = json.loads(arrays.pop("about").tobytes())
            if about["format"] != _FORMAT:
                raise InvalidInputError(f"{path}: unknown format {about['format']}")
        except OSError as error:
            raise InvalidInputError(f"{path}: {error.strerror or 'not a timeline'}") from None
        except (KeyError, ValueError):
            raise InvalidInputError(f"{path}: not a timeline") from None

        def table(prefix: str) -> dict[str, Any]:
            start = f"{prefix}."
            return {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}

        texts = {name: _tuples(value) for name, value in about["texts"].items()}
        workload = Workload(
            jobs=Jobs(**texts, **_with_new_columns(table("workload"))),
            queues=tuple(Queue(**each) for each in about["queues"]),
            nodes=tuple(_pool(each) for each in about["nodes"]),
            maintenance=tuple(Maintenance(**_with_tuples(each)) for each in about["maintenance"]),
            priority_classes=about["priority_classes"],
            **_with_tuples(about["workload"]),
        )
        members: dict[str, Any] = {name: _tuples(about[name]) for name in _NUMBERS}
        members |= {name: table(name) for name in _TABLES}
        members["undone"] = _tuples(about.get("undone", []))
        members["usage"] = members["usage"] or _NO_USAGE
        return cls(workload=workload, engine_ms=0.0, wall_s=0.0, **members)

    def _named(self, table: str) -> dict[str, Any]:
        columns: dict[str, Any]
        jobs = self.workload.jobs
        if table == "jobs":
            queue = np.array(jobs.queue_names, dtype=object)
            return {
                "job": np.array(jobs.name, dtype=object),
                "queue": queue[jobs.queue] if len(jobs) else queue[:0],
                "gpus": jobs.total_gpus,
                "arrival_s": jobs.arrival_s,
                "duration_s": jobs.duration_s,
                **self.jobs,
            }
        if table == "stays":
            columns = dict(self.stays)
            columns["job"] = np.array(jobs.name, dtype=object)[columns["job"]]
            columns["node"] = np.array(self.node_names, dtype=object)[columns["node"]]
            columns["end"] = np.array(STAY_ENDS, dtype=object)[columns["end"]]
            return columns
        if table in ("queues", "usage"):
            columns = dict(getattr(self, table))
            columns["queue"] = np.array(self.queue_names, dtype=object)[columns["queue"]]
            return columns
        if table == "nodes":
            columns = dict(self.nodes)
            columns["node"] = np.array(self.node_names, dtype=object)[columns["node"]]
            return columns
        if table == "node_events":
            columns = dict(self.node_events)
            columns["node"] = np.array(self.node_names, dtype=object)[columns["node"]]
            columns["event"] = np.array(NODE_EVENTS, dtype=object)[columns["event"]]
            return columns
        raise InvalidInputError(f"a timeline has no table {table!r}: {', '.join(_TABLES)}")


_TABLES = ("jobs", "stays", "queues", "usage", "nodes", "node_events")
_NO_USAGE = {name: np.zeros(0) for name in ("at_s", "gpu", "cpu", "memory")} | {
    "queue": np.zeros(0, np.int32)
}
"""For timelines saved before time-based fair share existed."""
_WORKLOAD_TEXTS = ("name", "source", "start", "problems", "usage_params")
_NUMBERS = ("node_names", "queue_names", "end_s", "period_s", "cycles")


def _with_new_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """For timelines saved before jobs had these columns."""
    count = len(columns["arrival_s"])
    return {name: np.full(count, value) for name, value in UNCUT.items()} | columns


def _moments(table: Mapping[str, Any], *columns: str) -> dict[str, Any]:
    """A copy of these columns, with the times in seconds."""
    return {"at_s": table["at_ns"] / 1e9, **{each: np.array(table[each]) for each in columns}}


def _seconds(times_ns: Any) -> Any:
    return np.where(times_ns == _NEVER_NS, np.nan, times_ns / 1e9)


def _tuples(value: Any) -> Any:
    """Converts the lists of JSON back to tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _pool(members: Mapping[str, Any]) -> NodePool:
    autoscale = members["autoscale"]
    made = None if autoscale is None else Autoscale(**autoscale)
    return NodePool(**_with_tuples({**members, "autoscale": made}))


def _with_tuples(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _tuples(value) for name, value in members.items()}
