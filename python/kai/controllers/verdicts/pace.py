"""How often texts are written again: soon when they say something else, seldom for new counts."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal
from zlib import crc32

SETTLED_S = 0.5
"""A text takes the place of another one when it has been true for so long: a node that comes is not
ready for a moment."""
COUNTS_S = 60.0
"""A text that differs in counts alone is written again once in so many seconds, each object."""
OTHER_S = 2.0
"""Any other rewrite: so many seconds after the last, twice as many each time, up to COUNTS_S."""
CALM_S = 300.0
"""After so many seconds without one it starts anew."""
COUNTS_A_SECOND, OTHERS_A_SECOND = 5.0, 50.0
"""Rewrites of all objects together."""
BATCH = 500
"""First verdicts that are written at once; the others follow in the next call, so that none takes
long."""
SHORTEST_S = 0.1  # between two looks at what is due, where a budget is spent

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@lru_cache(maxsize=4096)
def shape(text: str) -> int:
    """Equal for texts that differ in numbers alone."""
    return hash(_NUMBER.sub("#", text))


def spread(name: str) -> float:
    """A part of COUNTS_S, by name: after a restart the rewrites do not come all at once."""
    return COUNTS_S * (crc32(name.encode()) / 2**32)


class Pace:
    """When one object was written again, and may be the next time."""

    __slots__ = ("at", "count", "due", "kind")

    def __init__(self) -> None:
        self.at: float | None = None  # the last write
        self.count = 0  # of rewrites that were no counts
        self.due: float | None = None
        self.kind: Literal["counts", "other"] = "counts"

    def next(self, kind: Literal["counts", "other"], now: float, name: str) -> float:
        """When a text that differs in this way may be written."""
        if kind == "counts":
            return now + spread(name) if self.at is None else max(now, self.at + COUNTS_S)
        if self.at is None:
            return now + SETTLED_S
        if now - self.at > CALM_S:
            self.count = 0
        return max(now + SETTLED_S, self.at + min(OTHER_S * 2.0 ** min(self.count, 10), COUNTS_S))

    @property
    def free_at(self) -> float:
        """From then on it does not matter any more when the last write was."""
        return 0.0 if self.at is None else self.at + COUNTS_S

    def wrote(self, now: float, kind: Literal["first", "counts", "other"]) -> None:
        self.at, self.due = now, None
        self.count = 0 if kind == "first" else self.count + (kind == "other")


class Budget:
    """So many a second, and no more than two seconds' worth at once."""

    __slots__ = ("at", "left", "rate")

    def __init__(self, rate: float) -> None:
        self.rate, self.left, self.at = rate, 2 * rate, 0.0

    def take(self, now: float) -> bool:
        """Takes one, if there is one."""
        if now > self.at:
            self.left = min(2 * self.rate, self.left + (now - self.at) * self.rate)
            self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True

    def next(self, now: float) -> float:
        """When there is one."""
        return now if self.left >= 1 else now + max((1 - self.left) / self.rate, SHORTEST_S)


class Timers:
    """What is due when, the earliest first; one time for each name, the last that was set."""

    __slots__ = ("_at", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._at: dict[str, float] = {}

    def set(self, name: str, at: float) -> None:
        if self._at.get(name) != at:
            self._at[name] = at
            heapq.heappush(self._heap, (at, name))

    def clear(self, name: str) -> None:
        self._at.pop(name, None)

    def get(self, name: str) -> float | None:
        return self._at.get(name)

    def pop(self, now: float, budget: Budget | None = None) -> Iterator[str]:
        """Those that are due, as far as the budget goes; the others wait for it."""
        while (at := self.next()) is not None and at <= now:
            if budget is not None and not budget.take(now):
                return
            name = self.pop_one(now)
            assert name is not None
            yield name

    def pop_one(self, now: float) -> str | None:
        """The next one that is due; None: none is."""
        at = self.next()
        if at is None or at > now:
            return None
        name = heapq.heappop(self._heap)[1]
        del self._at[name]
        return name

    def next(self) -> float | None:
        """When the next one is due."""
        while self._heap:
            at, name = self._heap[0]
            if self._at.get(name) == at:
                return at
            heapq.heappop(self._heap)
        return None

    def __len__(self) -> int:
        return len(self._at)
