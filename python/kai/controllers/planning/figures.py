"""Metrics from the planning thread: how long pods waited, and fair shares of queues.

    figures = Figures()
    figures.saw(drained.pods)                    # remembers when pods were created
    waited = figures.bound(pods, moments)        # seconds, of pods that are bound now
    figures.planned(plan)
    shares = figures.shares(now)                 # of the last plan; None: already read

Fair shares are read at most once a second: for 10,000 queues that takes 8 ms, and a cycle may take
less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from kai.api.times import SECOND_NS, to_ns
from kai.controllers.planning.facts import Facts
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai import _core

SHARES_EVERY_S = 1.0
MOST_PLACED = 10_000
_CREATED = re.compile(rb'"creationTimestamp":\s*"([^"]+)"')
_ON_A_NODE = re.compile(rb'"nodeName":\s*"[^"]')

Shares = Mapping[str, Mapping[str, float | None]]
"""By queue, the fair share of "gpu" (devices), "cpu" (cores), "memory" (bytes); None: no bound."""


class Figures:
    """For the planning thread."""

    def __init__(self) -> None:
        self._created: dict[str, bytes] = {}  # of waiting pods
        self._placed: dict[str, bytes] = {}  # of pods with a node, youngest last
        self._plan: _core.Plan | None = None  # whose shares were not read yet
        self._read_at = float("-inf")

    def saw(self, pods: Iterable[tuple[str, bytes]]) -> None:
        """New or changed pods: names and JSON."""
        for name, data in pods:
            # Searching for the plain text first, without its quotes, takes a third of the time.
            if b"nodeName" not in data or not _ON_A_NODE.search(data):
                at = data.find(b'"creationTimestamp"')
                if at >= 0 and (created := _CREATED.search(data, at)):
                    self._created[name] = created.group(1)
            elif name in self._created:  # the watch can arrive before the answer to the binding
                self._placed[name] = self._created.pop(name)
                if len(self._placed) > MOST_PLACED:
                    del self._placed[next(iter(self._placed))]

    def gone(self, pods: Iterable[str], feed: Facts) -> None:
        """Deleted pods; new ones may have their names."""
        known = [name for name in pods if name in self._created]
        for name, facts in zip(known, feed.pod_facts(known), strict=True):
            if facts is None:
                self._created.pop(name, None)  # a name can go twice at once

    def bound(self, pods: Iterable[str], moments: Iterable[float]) -> list[float]:
        """The seconds from the creation of each pod to the moment when it was bound."""
        waited = []
        for pod, moment in zip(pods, moments, strict=True):
            created = self._created.pop(pod, None) or self._placed.pop(pod, None)
            since = None if created is None else _seconds(created)
            if since is not None:
                waited.append(max(0.0, moment - since))
        return waited

    def planned(self, plan: _core.Plan | None) -> None:
        """None: the last plan is not valid any more."""
        self._plan = plan

    def shares(self, now: float) -> Shares | None:
        """The fair shares of the last plan, once, and at most once a second."""
        plan = self._plan
        if plan is None or now < self._read_at + SHARES_EVERY_S:
            return None
        self._plan, self._read_at = None, now
        return {
            queue: {resource: row[1] for resource, row in rows.items()}
            for queue, rows in plan.queues().items()
        }

    def wake(self) -> float | None:
        """When `shares` has its next result."""
        return None if self._plan is None else self._read_at + SHARES_EVERY_S


@lru_cache(maxsize=256)
def _seconds(created: bytes) -> float | None:
    """Since the epoch; pods that are created together have the same text."""
    try:
        return to_ns(created.decode()) / SECOND_NS
    except (InvalidInputError, UnicodeDecodeError):
        return None
