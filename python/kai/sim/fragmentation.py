"""Fragmentation of a simulated cluster (F, `kai.engine.fragmentation`), at a moment and over time.

    at(timeline, 86_400).gpus                # F in GPUs after a day
    moments, stuck, idle = over_time(timeline)
    stuck, idle = means(timeline, (0.0, timeline.end_s))

GPUs and CPUs of a node are idle if no pod occupies them. Without a mix, the typical pods are the
most frequent pods of the workload's jobs that together are 95 % of all. Removed nodes have no idle
GPUs. Each stay of a pod is read once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from kai.engine.fragmentation import (
    Fragmentation,
    Mix,
    TypicalPod,
    fragmentation_of,
)
from kai.errors import InvalidInputError
from kai.sim.stay_ends import SIMULATION_ENDS

if TYPE_CHECKING:
    from kai.sim.timeline import Timeline
    from kai.sim.workload import Workload

__all__ = ["at", "means", "over_time", "typical_pods"]

_WHOLE = 1000  # thousandths
_Shape = tuple[int, int, tuple[int, ...]]  # as kai._core._IdleNode, and hashable


def at(timeline: Timeline, at_s: float, mix: Mix | None = None) -> Fragmentation:
    """F at a moment, after all events of this moment.

    Raises InvalidInputError for a time outside the timeline and for an invalid mix.
    """
    if not 0 <= at_s <= timeline.end_s:
        raise InvalidInputError(
            f"at_s: expected a time from 0 to the end, {timeline.end_s:g} s, not {at_s:g}"
        )
    nodes = _Nodes(timeline)
    for moment, _ in nodes.changes():
        if moment > at_s:
            break
        nodes.apply()
    named = ((name, nodes.shape(i)) for i, name in enumerate(timeline.node_names))
    shapes = sorted((name, shape) for name, shape in named if shape is not None)
    own = [] if mix is not None else [pod._row() for pod in typical_pods(timeline.workload)]
    rows = [(cpu, kind, list(idle)) for _, (cpu, kind, idle) in shapes]
    return fragmentation_of(([name for name, _ in shapes], rows, own), mix)


def over_time(timeline: Timeline, mix: Mix | None = None) -> tuple[Any, Any, Any]:
    """Moments in order, and for each the F in GPUs and the idle GPUs from this moment on.

    `kai.sim.series.means` computes their means. Raises InvalidInputError for an invalid mix.
    """
    from kai import _core

    nodes = _Nodes(timeline)
    number: dict[_Shape | None, int] = {None: 0}
    now = [number.setdefault(nodes.shape(i), len(number)) for i in range(len(timeline.node_names))]
    count = Counter(now)
    moments, changes = [0.0], [count]
    for moment, touched in nodes.changes():
        nodes.apply()
        change: Counter[int] = Counter()
        for node in touched:
            after = number.setdefault(nodes.shape(node), len(number))
            change[now[node]] -= 1
            change[after] += 1
            now[node] = after
        moments.append(moment)
        changes.append(change)
    shapes = [shape for shape in number if shape is not None]
    given = fragmentation_of(([], [], []), mix).mix if mix is not None else None
    pods = given if given is not None else typical_pods(timeline.workload)
    found = _core.fragments(
        nodes=[(cpu, kind, list(idle)) for cpu, kind, idle in shapes],
        mix=[pod._row() for pod in pods],
    )
    stuck_of = np.array([0.0, *found]) / _WHOLE
    idle_of = np.array([0.0, *(sum(idle) for _, _, idle in shapes)]) / _WHOLE
    sums = [
        np.cumsum([sum(n * of[shape] for shape, n in change.items()) for change in changes])
        for of in (stuck_of, idle_of)
    ]
    # If there are several changes at a moment, the last one counts.
    last = np.append(np.diff(moments) > 0, True)
    return np.array(moments)[last], *(np.round(each[last], 9) for each in sums)


def means(timeline: Timeline, window: tuple[float, float]) -> tuple[float, float] | None:
    """The mean F in GPUs and the mean idle GPUs over a window, weighted by time; None if it has no
    length. Worked: an F of 2 for 30 s and of 1 for 10 s has the mean 1.75.
    """
    low, high = window
    if not low < high:
        return None
    moments, stuck, idle = over_time(timeline)
    lengths = np.diff(np.clip(np.append(moments, high), low, high))
    span_s = high - low
    return float((stuck * lengths).sum()) / span_s, float((idle * lengths).sum()) / span_s


def typical_pods(workload: Workload) -> tuple[TypicalPod, ...]:
    """The most frequent pods of the jobs, 95 % of all; among equals, large requests come first."""
    from kai import _core

    jobs, kinds = workload.jobs, _kinds(workload)
    counts: Counter[tuple[int, int, int, tuple[int, ...]]] = Counter()
    for gpus, cpu, models, pods in zip(jobs.gpus, jobs.cpu, jobs.models, jobs.pods, strict=True):
        names = jobs.model_sets[models] if gpus and models >= 0 else ()
        open_to = tuple(int(kind in names) for kind in kinds) if names else ()
        part = 0 < gpus < 1
        devices = 1 if part else int(gpus)
        milli = round(gpus * _WHOLE) if part else _WHOLE
        counts[round(cpu * 1000), devices, milli, open_to] += int(pods)
    ordered = sorted(counts.items(), key=lambda each: ([-x for x in each[0][:3]], each[0]))
    rows = [
        (cpu_milli, devices, milli, weight, list(open_to))
        for (cpu_milli, devices, milli, open_to), weight in ordered
    ]
    return tuple(map(TypicalPod._of, _core.most_frequent(rows)))


def _kinds(workload: Workload) -> list[str]:
    """The GPU models, sorted; the kind of a node is the index of its model."""
    return sorted({pool.model for pool in workload.nodes})


class _Nodes:
    """The idle resources of all nodes, updated event by event."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        kinds = _kinds(timeline.workload)
        pools = {name: pool for pool in timeline.workload.nodes for name in pool.names()}
        own = [pools[name] for name in timeline.node_names]
        self._kind = [kinds.index(pool.model) for pool in own]
        self._cpu_milli = [round(pool.cpu * 1000) for pool in own]
        self._idle = [pool.gpus for pool in own]  # GPUs that no pod holds a part of
        self._shared: list[dict[int, int]] = [{} for _ in own]  # thousandths held, by GPU
        self._is_there = [True] * len(own)
        self._pending: list[tuple[int, int]] = []
        self._collect()

    def _collect(self) -> None:
        """Columns of changes, sorted by time. Row -1: a node comes or goes; else a row of stays."""
        stays, nodes = self._timeline.stays, self._timeline.nodes
        count, rows = len(stays["job"]), np.arange(len(stays["job"]))
        # A pod that still runs when the simulation ends keeps its resources.
        ended = ~((stays["end"] == SIMULATION_ENDS) & (stays["to_s"] >= self._timeline.end_s))
        at_s = np.concatenate((nodes["at_s"], stays["to_s"][ended], stays["from_s"]))
        self._node = np.concatenate((nodes["node"], stays["node"][ended], stays["node"])).tolist()
        self._row = np.concatenate((np.full(len(nodes["at_s"]), -1), rows[ended], rows)).tolist()
        self._sign = np.concatenate(
            (np.where(nodes["is_there"], 1, 0), np.full(int(ended.sum()), -1), np.ones(count))
        ).tolist()
        self._order = np.argsort(at_s, kind="stable").tolist()
        self._at_s = at_s.tolist()
        jobs = self._timeline.workload.jobs
        self._stay_cpu = np.round(jobs.cpu[stays["job"]] * 1000).astype(int).tolist()
        self._stay_gpus = np.asarray(stays["gpus"]).tolist()
        self._stay_card = np.asarray(stays["shared_card"]).tolist()

    def changes(self) -> Iterator[tuple[float, set[int]]]:
        """Each moment with changes, and the nodes that change; `apply` carries the changes out."""
        start = 0
        while start < len(self._order):
            moment = self._at_s[self._order[start]]
            stop = start
            while stop < len(self._order) and self._at_s[self._order[stop]] == moment:
                stop += 1
            self._pending = [(place, self._node[place]) for place in self._order[start:stop]]
            yield moment, {node for _, node in self._pending}
            start = stop

    def apply(self) -> None:
        for place, node in self._pending:
            row, sign = self._row[place], int(self._sign[place])
            if row < 0:
                self._is_there[node] = sign == 1
                continue
            self._cpu_milli[node] -= sign * self._stay_cpu[row]
            gpus = self._stay_gpus[row]
            if gpus >= 1:
                self._idle[node] -= sign * int(gpus)
            elif gpus > 0:
                self._share(node, self._stay_card[row], sign * round(gpus * _WHOLE))

    def _share(self, node: int, card: int, milli: int) -> None:
        held = self._shared[node]
        if card not in held:
            self._idle[node] -= 1
        held[card] = held.get(card, 0) + milli
        if held[card] == 0:
            del held[card]
            self._idle[node] += 1

    def shape(self, node: int) -> _Shape | None:
        """The idle resources of the node; None if it has been removed."""
        if not self._is_there[node]:
            return None
        parts = (max(0, _WHOLE - held) for held in self._shared[node].values())
        idle = tuple(sorted((*parts, *[_WHOLE] * max(0, self._idle[node]))))
        return max(0, self._cpu_milli[node]), self._kind[node], idle
