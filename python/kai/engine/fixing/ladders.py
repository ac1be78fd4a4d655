"""Changes of one kind by growing size, and the search for the smallest that starts a group.

Starting is not monotone: a queue with more quota, or a cluster with more nodes, may start fewer of
its groups. So an answer is a value that was tried: the one below it was tried too, and failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kai.engine.fixing.changes import Change

MOST_RUNGS = 4


@dataclass(frozen=True)
class Ladder:
    """`values`: the proposed ones, the smallest change first. `make`: the change to a value.
    `unit`: the step from a value to the next larger change; negative if less is more. `now`: the
    value without a change."""

    values: Sequence[float]
    make: Callable[[float], Change]
    unit: float
    now: float

    def smallest(self, starts: Callable[[Change], bool]) -> Change | None:
        """The first proposed change that starts the group, made smaller as long as that is found to
        start it too: one unit less does not. None if none of them does."""
        below = self.now
        for value in self.values[:MOST_RUNGS]:
            if starts(self.make(value)):
                return self.make(self._lowered(value, below, starts))
            below = value
        return None

    def _lowered(self, value: float, below: float, starts: Callable[[Change], bool]) -> float:
        """A value that starts the group while one unit less does not, between one that failed and
        one that starts it. One unit less is tried first, as most proposals are exact."""
        less = value - self.unit
        if (less - below) * self.unit <= 0 or not starts(self.make(less)):
            return value
        # Counted down from a value that was tried: `below` may be no whole number of units away.
        starts_at, fails_at = 0, math.ceil((less - below) / self.unit)
        while fails_at - starts_at > 1:
            middle = (starts_at + fails_at) // 2
            if starts(self.make(less - middle * self.unit)):
                starts_at = middle
            else:
                fails_at = middle
        return less - starts_at * self.unit


def one(change: Change) -> Ladder:
    """A ladder of one change that has no size."""
    return Ladder([1], lambda _: change, unit=1, now=0)


def several(changes: Sequence[Change]) -> Ladder:
    """Changes that have no size, the likeliest first."""
    return Ladder(range(1, len(changes) + 1), lambda place: changes[int(place) - 1], unit=1, now=0)
