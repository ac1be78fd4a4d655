"""Writes the status of pod groups and queues at a moderate rate (spec 6 C32-C34).

    statuses = Statuses(feed, groups=True, queues=True)
    statuses.touch(now, drained.groups, drained.queues)
    writes = statuses.due(now)

A group's status is computed `WAIT_S` after its first change, so that a pod that is created, bound
and started within a second causes one write instead of three.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kai.api.writes import Outcome, Result, Write
from kai.controllers.status import OF_GROUP, OF_QUEUE, Sums, pod_group_write, queue_write

if TYPE_CHECKING:
    from kai import _core

WAIT_S = 1.0


class Statuses:
    """`groups`, `queues`: which of the two this process writes. For the planning thread."""

    def __init__(self, feed: _core.Feed, *, groups: bool, queues: bool) -> None:
        self._feed, self._groups, self._queues = feed, groups, queues
        self.queue_sums: dict[str, Sums] = {}
        """The last computed sums of queues."""
        self._right: Counter[str] = Counter()
        self._touched: dict[str, float] = {}  # oldest first
        self._queues_since: float | None = None

    def touch(self, now: float, groups: Iterable[str], queues: Iterable[str]) -> None:
        """These groups and queues changed, or pods of them did."""
        groups = list(groups)
        if self._groups:
            for name in groups:
                self._touched.setdefault(name, now)
        if self._queues and self._queues_since is None and (groups or any(True for _ in queues)):
            self._queues_since = now

    def answered(self, now: float, write: Write, outcome: Outcome) -> None:
        """The outcome of a write: a failed one is computed again. Others are ignored."""
        if outcome.result in (Result.FAILED, Result.LOST):
            if write.key.startswith(OF_GROUP):
                self.touch(now, [write.key.removeprefix(OF_GROUP)], ())
            elif write.key.startswith(OF_QUEUE):
                self.touch(now, (), [write.name])

    def due(self, now: float) -> list[Write]:
        """The writes that are due now; none for values that are there already."""
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
        self.queue_sums = {}
        for name, (children, *amounts, written) in self._feed.queue_status().items():
            there = json.loads(written) if written else {}
            sums = self.queue_sums[name] = Sums(*amounts)
            self._take(found, "queue", queue_write(name, sums, children, there))
        return found

    def _take(self, found: list[Write], controller: str, write: Write | None) -> None:
        if write is None:
            self._right[controller] += 1
        else:
            found.append(write)
