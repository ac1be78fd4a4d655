"""The differences between two timelines of the same jobs: ``timeline.diff(other)``.

    found = timeline.diff(other)
    found.rows[0]            # the job whose end moved most
    print(found)
    found.to_pandas()

Times that differ by less than a millionth of a second count as equal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.engine.text import Table, number, to_html
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas

    from kai.sim.timeline import Timeline

__all__ = ["Difference", "JobDifference", "QueueDifference", "compare"]

SAME_S = 1e-6


@dataclass(frozen=True)
class JobDifference:
    """A job that started or ended at another time, in seconds; None: it did not happen."""

    job: str
    queue: str
    gpus: float  # of all its pods
    start_s: float | None
    other_start_s: float | None
    end_s: float | None
    other_end_s: float | None

    @property
    def start_later_s(self) -> float | None:
        """How much later it starts in the other timeline; None if it never starts in one of
        them."""
        return _later(self.start_s, self.other_start_s)

    @property
    def end_later_s(self) -> float | None:
        """How much later it ends in the other timeline; None if it does not end in one of them."""
        return _later(self.end_s, self.other_end_s)


@dataclass(frozen=True)
class QueueDifference:
    """Sums for the jobs of a queue; only jobs that happen in both timelines are added up."""

    queue: str
    jobs: int
    differ: int
    starts_earlier: int
    starts_later: int
    ends_earlier: int
    ends_later: int
    ends_in_one: int  # in only one of the two
    start_later_s: float  # sum: later starts minus earlier starts
    end_later_s: float


@dataclass(frozen=True)
class Difference:
    """`rows`: jobs that differ: first those that end in only one timeline, then by how much the end
    moved, by the start, and by name. `queues`: each queue with jobs, by name; `total`: all jobs."""

    rows: tuple[JobDifference, ...]
    queues: tuple[QueueDifference, ...]
    total: QueueDifference

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __str__(self) -> str:
        total = self.total
        if not self.rows:
            return f"{total.jobs:,} jobs, which start and end at the same times"
        lines = [
            f"{total.differ:,} of {total.jobs:,} jobs differ: {total.starts_later:,} start later"
            f" and {total.starts_earlier:,} earlier, {total.ends_later:,} end later and"
            f" {total.ends_earlier:,} earlier, {total.ends_in_one:,} in only one timeline"
        ]
        wide = max(len("queue"), *(len(each.queue) for each in self.queues))
        lines.append(f"{'queue':{wide}} {'jobs':>9} {'differ':>9} {'start +h':>12} {'end +h':>12}")
        for each in (*self.queues, total):
            lines.append(
                f"{each.queue or 'all':{wide}} {each.jobs:9,} {each.differ:9,}"
                f" {each.start_later_s / 3600:+12,.2f} {each.end_later_s / 3600:+12,.2f}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heading, *_ = str(self).split("\n", 1)
        rows = [
            (
                each.queue or "all",
                *(number(count) for count in (each.jobs, each.differ)),
                *(f"{late / 3600:+,.2f}" for late in (each.start_later_s, each.end_later_s)),
            )
            for each in (*self.queues, self.total)
        ]
        columns = ("queue", "jobs", "differ", "start later, h", "end later, h")
        table = Table("", columns, rows if self.rows else (), right=frozenset(range(1, 5)))
        return to_html(heading, [table])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table, including both columns ``..._later_s``. Needs the extra
        ``notebook``."""
        import pandas

        names = [each.name for each in fields(JobDifference)] + ["start_later_s", "end_later_s"]
        table = {name: [getattr(row, name) for row in self.rows] for name in names}
        frame = pandas.DataFrame(table)
        times = [name for name in names if name.endswith("_s")]
        return frame.astype(dict.fromkeys(times, "float64"))


def compare(timeline: Timeline, other: Timeline) -> Difference:
    """The differences of `other` from `timeline`. Jobs are matched by name.

    Raises InvalidInputError if a job is in only one of the two, or in different queues.
    """
    jobs, others = timeline.workload.jobs, other.workload.jobs
    place = {name: i for i, name in enumerate(others.name)}
    for name in sorted(place.keys() ^ set(jobs.name)):
        raise InvalidInputError(f"job {name}: it is in only one of the two timelines")
    rows = np.array([place[name] for name in jobs.name], dtype=np.int64)
    queues = np.array(jobs.queue_names, dtype=object)[jobs.queue] if len(jobs) else np.array([])
    their_queues = (
        np.array(others.queue_names, dtype=object)[others.queue[rows]] if len(rows) else queues
    )
    if (queues != their_queues).any():
        name = jobs.name[int(np.argmax(queues != their_queues))]
        raise InvalidInputError(f"job {name}: the two timelines have it in different queues")
    columns = _Columns.of(timeline, other, rows)
    differ = columns.differ
    order = sorted(np.flatnonzero(differ).tolist(), key=lambda i: (*columns.key(i), jobs.name[i]))
    return Difference(
        rows=tuple(
            JobDifference(
                jobs.name[i],
                str(queues[i]),
                float(jobs.total_gpus[i]),
                *(_or_none(each[i]) for each in (columns.start, columns.other_start)),
                *(_or_none(each[i]) for each in (columns.end, columns.other_end)),
            )
            for i in order
        ),
        queues=tuple(columns.summed(name, queues == name) for name in sorted(set(queues))),
        total=columns.summed("", np.ones(len(jobs), dtype=bool)),
    )


@dataclass(frozen=True)
class _Columns:
    start: Any
    other_start: Any
    end: Any
    other_end: Any

    @classmethod
    def of(cls, timeline: Timeline, other: Timeline, rows: Any) -> _Columns:
        return cls(
            timeline.jobs["first_start_s"],
            other.jobs["first_start_s"][rows],
            timeline.jobs["end_s"],
            other.jobs["end_s"][rows],
        )

    @property
    def differ(self) -> Any:
        return _other(self.start, self.other_start) | _other(self.end, self.other_end)

    def key(self, i: int) -> tuple[bool, float, float]:
        moved = abs(self.other_end[i] - self.end[i])
        started = abs(self.other_start[i] - self.start[i])
        in_both = np.isnan(self.end[i]) == np.isnan(self.other_end[i])
        return (bool(in_both), -np.nan_to_num(moved), -np.nan_to_num(started))

    def summed(self, queue: str, rows: Any) -> QueueDifference:
        start, end = (
            self.other_start[rows] - self.start[rows],
            self.other_end[rows] - self.end[rows],
        )
        once = np.isnan(self.end[rows]) != np.isnan(self.other_end[rows])
        return QueueDifference(
            queue=queue,
            jobs=int(rows.sum()),
            differ=int(self.differ[rows].sum()),
            starts_earlier=int((start <= -SAME_S).sum()),
            starts_later=int((start >= SAME_S).sum()),
            ends_earlier=int((end <= -SAME_S).sum()),
            ends_later=int((end >= SAME_S).sum()),
            ends_in_one=int(once.sum()),
            start_later_s=float(np.nansum(start)),
            end_later_s=float(np.nansum(end)),
        )


def _other(one: Any, other: Any) -> Any:
    return (np.abs(one - other) >= SAME_S) | (np.isnan(one) != np.isnan(other))


def _or_none(seconds: float) -> float | None:
    return None if np.isnan(seconds) else float(seconds)


def _later(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else other - one
