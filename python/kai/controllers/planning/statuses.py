"""Writes the status of pod groups and queues at a moderate rate (spec 6 C32-C34).

    statuses = Statuses(feed, groups=True, queues=True)
    statuses.touch(now, drained.groups, drained.queues)
    writes = statuses.due(now)

The status of queues is the sum of those of pod groups. A process that writes both computes it from
the pods; one that writes only queues reads what the statuses of pod groups report, as KAI's.

A group's status is computed `WAIT_S` after its first change, so that a pod that is created, bound
and started within a second causes one write instead of three.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api.kinds import full_name
from kai.api.reading import at, text
from kai.api.writes import Outcome, Result, Write
from kai.controllers.planning.facts import Facts
from kai.controllers.status import (
    OF_GROUP,
    OF_QUEUE,
    QueueFacts,
    Reported,
    Sums,
    pod_group_write,
    queue_sums,
    queue_write,
)
from kai.controllers.unshown import READ_AFTER_S
from kai.k8s.sinks import DictSink

if TYPE_CHECKING:
    from kai.k8s.sinks import Sink

WAIT_S = 1.0
MOST_AT_ONCE = 1000
"""Accepted writes that are looked at in one turn."""


class _Report(NamedTuple):
    """The arguments of `Reported.put`."""

    group: str
    queue: str
    status: object


def _report_of(group: Mapping[str, Any]) -> _Report:
    queue, status = at(group, "spec", "queue"), at(group, "status", "resourcesStatus")
    return _Report(full_name(group), text(queue), status)


class Statuses:
    """`groups`, `queues`: which of the two this process writes. For the planning thread."""

    def __init__(self, feed: Facts, *, groups: bool, queues: bool) -> None:
        self._feed, self._groups, self._queues = feed, groups, queues
        self.queue_sums: dict[str, Sums] = {}
        """The last computed sums of queues."""
        self._right: Counter[str] = Counter()
        self._touched: dict[str, float] = {}  # oldest first
        self._queues_since: float | None = None
        self._reported = Reported() if queues and not groups else None
        self._reports: deque[_Report] = deque()  # written on the event loop
        self._accepted: dict[str, float] = {}  # by key, oldest first: when a write was accepted

    def touch(self, now: float, groups: Iterable[str], queues: Iterable[str]) -> None:
        """These groups and queues changed, or pods of them did."""
        groups = list(groups)
        if self._groups:
            for name in groups:
                self._touched.setdefault(name, now)
        if self._queues and self._queues_since is None and (groups or any(True for _ in queues)):
            self._queues_since = now

    def sinks(self) -> dict[str, list[Sink]]:
        """They must get all that the feed gets: the reports of pod groups, if these count."""
        if self._reported is None:
            return {}
        return {"PodGroup": [DictSink(self._saw, keep=_report_of)]}

    def _saw(self, kind: str, before: _Report | None, after: _Report | None) -> None:
        del kind
        if after is not None:
            self._reports.append(after)
        elif before is not None:
            self._reports.append(_Report(before.group, "", None))

    def answered(self, now: float, write: Write, outcome: Outcome) -> None:
        """The outcome of a write: a failed one is computed again, and an accepted one later, when
        a watch must have shown it. Others are ignored."""
        if not write.key.startswith((OF_GROUP, OF_QUEUE)):
            return
        if outcome.result in (Result.FAILED, Result.LOST):
            self._touch(now, write.key)
        elif outcome.result is Result.DONE:
            self._accepted.pop(write.key, None)
            self._accepted[write.key] = now

    def _touch(self, now: float, key: str) -> None:
        """The status that writes with this key set."""
        if key.startswith(OF_GROUP):
            self.touch(now, [key.removeprefix(OF_GROUP)], ())
        else:
            self.touch(now, (), [key])

    def due(self, now: float) -> list[Write]:
        """The writes that are due now; none for values that are there already."""
        for key, since in list(islice(self._accepted.items(), MOST_AT_ONCE)):
            if now - since < READ_AFTER_S:
                break
            del self._accepted[key]
            self._touch(now, key)
        names = []
        for name, since in self._touched.items():
            if now - since < WAIT_S:
                break
            names.append(name)
        for name in names:
            del self._touched[name]
        writes = self._of_groups(names)
        if self._queues_since is not None and now - self._queues_since >= WAIT_S:
            self._queues_since = None
            writes += self._of_queues()
        return writes

    def take_right(self) -> Counter[str]:
        """By KAI's controller, the number of objects since the last call that needed no write."""
        right, self._right = self._right, Counter()
        return right

    def wake(self) -> float | None:
        """When `due` has something to do."""
        first = next(iter(self._touched.values()), None)
        times = [each + WAIT_S for each in (first, self._queues_since) if each is not None]
        times += [each + READ_AFTER_S for each in islice(self._accepted.values(), 1)]
        return min(times, default=None)

    def _of_groups(self, names: list[str]) -> list[Write]:
        found: list[Write] = []
        facts = self._feed.group_facts(names)
        for name, status, known in zip(names, self._feed.group_status(names), facts, strict=True):
            if status is None or known is None:
                continue
            there = json.loads(known[5]) if known[5] else None
            self._take(found, "podgroup", pod_group_write(name, Sums(*status[:3]), there))
        return found

    def _of_queues(self) -> list[Write]:
        found: list[Write] = []
        statuses = self._feed.queue_status()
        self.queue_sums = {name: Sums(*each[1:4]) for name, each in statuses.items()}
        if self._reported is not None:
            children_of = {name: each[0] for name, each in statuses.items()}
            self.queue_sums = self._reported_sums(self._reported, children_of)
        for name, (children, *_, written) in statuses.items():
            there = json.loads(written) if written else {}
            sums = self.queue_sums[name]
            self._take(found, "queue", queue_write(name, sums, children, there))
        return found

    def _reported_sums(
        self, reported: Reported, children_of: Mapping[str, Sequence[str]]
    ) -> dict[str, Sums]:
        while self._reports:
            reported.put(*self._reports.popleft())
        parents = {child: name for name, children in children_of.items() for child in children}
        tree = {name: QueueFacts(name, parents.get(name, "")) for name in children_of}
        found = queue_sums(tree, reported.of_queues())
        return {name: sums for name, (sums, _) in found.items()}

    def _take(self, found: list[Write], controller: str, write: Write | None) -> None:
        if write is None:
            self._right[controller] += 1
        else:
            found.append(write)
