"""How often texts are rewritten: soon for a new message, rarely for new numbers."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sized
from functools import lru_cache
from typing import Literal
from zlib import crc32

from kai.controllers.waits import earliest

SETTLED_S = 0.5
"""A new text replaces another one when it has been true for this long: a new node is not ready for
a moment."""
COUNTS_S = 60.0
"""A text that differs only in numbers is rewritten at most once in this time, for each object."""
OTHER_S = 2.0
"""Any other rewrite: this long after the last one, doubled each time, up to COUNTS_S."""
CALM_S = 300.0
"""After this long without a rewrite, the wait starts again at OTHER_S."""
COUNTS_A_SECOND, OTHERS_A_SECOND = 5.0, 50.0
"""Limits on rewrites of all objects together."""
BATCH = 500
"""The number of first verdicts written at once; the others follow in the next call, so no call
takes long."""
SHORTEST_S = 0.1  # between two checks of the due texts, if a budget is used up

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@lru_cache(maxsize=4096)
def shape(text: str) -> int:
    """Equal for texts that differ only in numbers."""
    return hash(_NUMBER.sub("#", text))


def spread(name: str) -> float:
    """A part of COUNTS_S, by name: spreads the rewrites after a restart."""
    return COUNTS_S * (crc32(name.encode()) / 2**32)


class Pace:
    """When one object was last rewritten, and when the next rewrite is allowed."""

    __slots__ = ("at", "count", "due", "kind")

    def __init__(self) -> None:
        self.at: float | None = None  # the last write
        self.count = 0  # rewrites with a new message
        self.due: float | None = None
        self.kind: Literal["counts", "other"] = "counts"

    def next(self, kind: Literal["counts", "other"], now: float, name: str) -> float:
        """The time from which a text with this kind of difference may be written."""
        if kind == "counts":
            return now + spread(name) if self.at is None else max(now, self.at + COUNTS_S)
        if self.at is None:
            return now + SETTLED_S
        if now - self.at > CALM_S:
            self.count = 0
        return max(now + SETTLED_S, self.at + min(OTHER_S * 2.0 ** min(self.count, 10), COUNTS_S))

    @property
    def free_at(self) -> float:
        """The time from which the last write does not matter any more."""
        return 0.0 if self.at is None else self.at + COUNTS_S

    def wrote(self, now: float, kind: Literal["first", "counts", "other"]) -> None:
        self.at, self.due = now, None
        self.count = 0 if kind == "first" else self.count + (kind == "other")


class Budget:
    """A rate per second, with a burst of at most two seconds' worth."""

    __slots__ = ("at", "left", "rate")

    def __init__(self, rate: float) -> None:
        self.rate, self.left, self.at = rate, 2 * rate, 0.0

    def take(self, now: float) -> bool:
        """Takes one token, if available."""
        if now > self.at:
            self.left = min(2 * self.rate, self.left + (now - self.at) * self.rate)
            self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True

    def next(self, now: float) -> float:
        """The time of the next token."""
        return now if self.left >= 1 else now + max((1 - self.left) / self.rate, SHORTEST_S)


class Timers:
    """Due times of names, earliest first; each name has one time, the last one set."""

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
        """The due names, as far as the budget allows; the others wait for it."""
        while (at := self.next()) is not None and at <= now:
            if budget is not None and not budget.take(now):
                return
            name = self.pop_one(now)
            assert name is not None
            yield name

    def pop_one(self, now: float) -> str | None:
        """The next due name; None: there is none."""
        at = self.next()
        if at is None or at > now:
            return None
        name = heapq.heappop(self._heap)[1]
        del self._at[name]
        return name

    def next(self) -> float | None:
        """The earliest due time."""
        while self._heap:
            at, name = self._heap[0]
            if self._at.get(name) == at:
                return at
            heapq.heappop(self._heap)
        return None

    def __len__(self) -> int:
        return len(self._at)


class Rewrites:
    """The names whose text has to be written: first texts, and rewrites by what they change.

    First texts come before rewrites, at most BATCH writes in a call. Rewrites wait for the pace of
    their object, and for the budget of all objects together.
    """

    def __init__(self, counts: Budget, others: Budget) -> None:
        self.firsts = Timers()
        self._counts, self._counts_budget = Timers(), counts
        self._others, self._others_budget = Timers(), others

    def add(self, name: str, kind: Literal["counts", "other"], pace: Pace, now: float) -> None:
        """A rewrite of this kind, and none of the other; a time that is set already stays."""
        timers, others = (
            (self._others, self._counts) if kind == "other" else (self._counts, self._others)
        )
        others.clear(name)
        at = timers.get(name)
        timers.set(name, pace.next(kind, now, name) if at is None else at)

    def clear(self, name: str) -> None:
        self.firsts.clear(name)
        self._counts.clear(name)
        self._others.clear(name)

    def pop(self, now: float, writes: Sized) -> Iterator[str]:
        """The due names; `writes` has the writes of this call."""
        while len(writes) < BATCH and (name := self.firsts.pop_one(now)) is not None:
            yield name
        yield from self._others.pop(now, self._others_budget)
        yield from self._counts.pop(now, self._counts_budget)

    def next(self, now: float) -> float | None:
        """The earliest due time at which the budget is not used up."""
        return earliest(
            (
                self.firsts.next(),
                _within(self._others_budget, self._others.next(), now),
                _within(self._counts_budget, self._counts.next(), now),
            )
        )


def _within(budget: Budget, at: float | None, now: float) -> float | None:
    return at if at is None or at > now else budget.next(now)
