"""Waits that grow: after a failure a key is left alone for some seconds, longer each time.

    waits = Waits()
    until = waits.begin(now, ("team/a", "n1"))
    waits.ended(now)                 # [("team/a", "n1")] once that time has come

No randomness and no clock: the same events lead to the same waits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

FIRST_S, MOST_S = 10.0, 320.0
CALM_S = 600.0
"""This long after the end of a wait, the next one is as short as the first."""

Key = TypeVar("Key", bound=Hashable)


def earliest(times: Iterable[float | None]) -> float | None:
    """The earliest of them; None means never."""
    return min((each for each in times if each is not None), default=None)


class Waits(Generic[Key]):
    """For each key: the end of its wait, and the number of waits.

    A second event during a wait does not count: it was decided before the first was known.
    """

    def __init__(self, first: float = FIRST_S, most: float = MOST_S, calm: float = CALM_S) -> None:
        self._first, self._most, self._calm = first, most, calm
        self._until: dict[Key, float] = {}
        self._past: dict[Key, tuple[int, float]] = {}  # how often, and when the last one ended

    def __contains__(self, key: Key) -> bool:
        return key in self._until

    def begin(self, now: float, key: Key, longest: float | None = None) -> float:
        """Starts a wait and returns its end; it is not longer than `longest` seconds."""
        if key in self._until:
            return self._until[key]
        count, ended = self._past.pop(key, (0, now))
        if now - ended > self._calm:
            count = 0
        most = self._most if longest is None else min(longest, self._most)
        until = now + min(self._first * 2.0 ** min(count, 20), most)
        self._until[key] = until
        self._past[key] = (count + 1, until)
        return until

    def keys(self) -> list[Key]:
        """All keys that wait."""
        return list(self._until)

    def ended(self, now: float) -> list[Key]:
        """The keys whose wait has ended, each once."""
        found = [key for key, until in self._until.items() if until <= now]
        for key in found:
            del self._until[key]
        for key, (_, ended) in list(self._past.items()):
            if now - ended > self._calm:
                del self._past[key]
        return found

    def next(self) -> float | None:
        """The time when `ended` has a next result."""
        return min(self._until.values(), default=None)
