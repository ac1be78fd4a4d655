"""The time of a cluster: an accepted time of its API server, and the monotonic time since then.

    time = ServerTime()
    time.observe(date, sent=10.0, received=10.2, wall=own_time)   # each answer's Date header
    time.at(now)                # the time of day; None before the first Date
    time.trusted(now)           # when durations count
    for step in time.take_steps():
        print(step.before, step.after, step.why)

Several API servers can be behind one address, and the clock of one can be wrong. So one Date moves
the time by at most `MOST_S` in `AFTER_S`. A Date that differs by more is a doubt: the accepted time
goes on, but no duration ends, until another answer agrees with it. If instead all answers of
`AFTER_S` agree with each other, the time is theirs: a step. The first Date is compared with this
machine's clock in the same way; if they differ, one more answer that agrees with this machine
decides for it.

Dates have whole seconds, and an answer arrives some time after its Date was written. So a Date is
not a time but the two bounds between which it was: exact ones, however slow the answer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MOST_S = 2.0
"""A Date that differs by no more agrees with the accepted time, and moves it."""
AFTER_S = 60.0
"""All answers of this time must agree to cause a step. Without any answer for as long, durations
do not count either: the monotonic clock may have jumped."""


class Step(NamedTuple):
    """A correction of the time by more than `MOST_S`: seconds since 1970 before and after it."""

    before: float
    after: float
    why: str


class Moment(NamedTuple):
    """The time of a plan, in nanoseconds since 1970. `shift_ns`: the sum of all steps.
    `trusted_ns`: the bounds within which durations count."""

    now_ns: int
    shift_ns: int
    trusted_ns: tuple[int, int]


ALWAYS = (-(2**63), 2**63 - 1)
"""The bounds if all durations count."""


class Trusted(NamedTuple):
    """A duration that began before `since` counts from there, and none ends after `until`."""

    since: float
    until: float


class _Bounds(NamedTuple):
    """Of the difference between the server's time and the monotonic time."""

    low: float
    high: float

    def missing(self, offset: float) -> float:
        """How far the offset is from the bounds; 0: it is within them."""
        return min(0.0, self.high - offset) or max(0.0, self.low - offset)

    def agrees(self, offset: float) -> bool:
        return abs(self.missing(offset)) <= MOST_S

    def with_others(self, other: _Bounds) -> _Bounds | None:
        """The bounds after both answers; None: they do not agree."""
        both = _Bounds(max(self.low, other.low), min(self.high, other.high))
        if both.low <= both.high:
            return both
        return other if both.low - both.high <= MOST_S else None

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


class ServerTime:
    """Not thread-safe. All times are in seconds; those in arguments are monotonic, except `date`
    and `wall`."""

    def __init__(self) -> None:
        self.shift = 0.0
        """The sum of all steps: `at() - shift` never steps."""
        self._offset: float | None = None  # the server's time minus the monotonic time
        self._moved_at = 0.0
        self._agreed_at = 0.0  # when an answer last agreed with the accepted time
        self._reached = 0.0  # the accepted time at that moment
        self._since = -math.inf
        self._rival: _Bounds | None = None  # of answers that differ
        self._own: float | None = None  # this machine's clock, while it differs from the first Date
        self._doubted_since = 0.0  # when the answers that do not agree began
        self._steps: list[Step] = []

    @property
    def is_in_doubt(self) -> bool:
        return self._rival is not None or self._own is not None

    @property
    def heard_at(self) -> float:
        """When an answer last agreed with the accepted time."""
        return self._agreed_at

    def difference(self) -> float:
        """Seconds by which the doubtful time is ahead of the accepted one; 0 without a doubt."""
        if self._offset is None:
            return 0.0
        if self._rival is not None:
            return self._rival.middle - self._offset
        return 0.0 if self._own is None else self._own - self._offset

    def at(self, now: float) -> float | None:
        """Seconds since 1970; None before the first Date."""
        return None if self._offset is None else now + self._offset

    def is_trusted(self, now: float) -> bool:
        """Whether durations may end now. Without any Date there is only one clock."""
        if self._offset is None:
            return True
        return not self.is_in_doubt and now - self._agreed_at <= AFTER_S

    def trusted(self, now: float) -> Trusted:
        """When durations count."""
        return Trusted(self._since, math.inf if self.is_trusted(now) else self._reached)

    def take_steps(self) -> list[Step]:
        """The steps since the last call."""
        steps, self._steps = self._steps, []
        return steps

    def observe(self, date: float, *, sent: float, received: float, wall: float) -> None:
        """The Date of an answer, the times of its request and its arrival, and this machine's
        clock, in seconds since 1970."""
        found = _Bounds(date - received, date + 1.0 - sent)
        if self._offset is None:
            self._begin(found, received, wall - received)
        elif found.agrees(self._offset):
            self._follow(self._offset, found, received)
        elif self._own is not None and found.agrees(self._own):
            why = "another answer agrees with the clock of this machine"
            self._step(_nearest(self._own, found), received, why)
        else:
            self._doubt(self._offset, found, received)

    def _begin(self, found: _Bounds, now: float, own: float) -> None:
        self._moved_at = self._agreed_at = now
        if found.agrees(own):
            self._offset = _nearest(own, found)
            self._reached = now + self._offset
        else:
            self._offset = found.low + 0.5
            self._own, self._doubted_since = own, now
            self._reached = now + min(own, self._offset)

    def _follow(self, offset: float, found: _Bounds, now: float) -> None:
        most = min(MOST_S, (now - self._moved_at) * MOST_S / AFTER_S)
        self._moved_at = now
        self._offset = offset + max(-most, min(most, found.missing(offset)))
        if self._own is not None:
            if self._rival is not None:
                self._doubted_since = now  # the answers differ among themselves
            elif now - self._doubted_since >= AFTER_S:
                why = f"the clock of this machine differs from all answers of {AFTER_S:g} s"
                self._steps.append(Step(now + self._own, now + self._offset, why))
                self._own = None
        self._rival = None
        if self._own is None:
            self._agreed_at, self._reached = now, now + self._offset

    def _doubt(self, offset: float, found: _Bounds, now: float) -> None:
        both = None if self._rival is None else self._rival.with_others(found)
        if both is None:
            self._rival, self._doubted_since = found, now
            return
        self._rival = both
        if now - self._doubted_since >= AFTER_S:
            self._step(both.middle, now, f"all answers of {AFTER_S:g} s agree")

    def _step(self, offset: float, now: float, why: str) -> None:
        assert self._offset is not None
        self._steps.append(Step(now + self._offset, now + offset, why))
        self.shift += offset - self._offset
        self._offset, self._moved_at = offset, now
        self._agreed_at = now
        # Time stamps from before may be of the other time, so durations begin again.
        self._since = self._reached = now + offset
        self._rival = self._own = None


def _nearest(offset: float, bounds: _Bounds) -> float:
    return max(bounds.low, min(bounds.high, offset))


def moment(time: ServerTime, now: float, wall: float) -> Moment:
    """`now`: monotonic. `wall`: this machine's clock, used before the first Date."""
    at, (since, until) = time.at(now), time.trusted(now)
    trusted = (
        ALWAYS[0] if since == -math.inf else int(since * 1e9),
        ALWAYS[1] if until == math.inf else int(until * 1e9),
    )
    return Moment(int((wall if at is None else at) * 1e9), int(time.shift * 1e9), trusted)
