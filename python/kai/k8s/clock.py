"""Time and chance, as arguments: what the client does over time is tested without waiting."""

from __future__ import annotations

import asyncio
import random
import time


class Clock:
    """The clock of this machine. A test puts its own in the place of it."""

    def monotonic(self) -> float:
        """Seconds that only go forward. They count while the machine is suspended, too: a leader
        that was asleep has to see that its lease is over."""
        boot_time = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)

    def wall(self) -> float:
        """Seconds since 1970, as this machine believes."""
        return time.time()

    def random(self) -> float:
        """Between 0 and 1."""
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Backoff:
    """How long to wait before the next try: longer each time, and by chance.

        backoff = Backoff(clock, first=0.1, most=30)
        await clock.sleep(backoff.next())
        backoff.reset()                       # it worked

    A wait is between half and all of `first`, then of twice as much, up to `most`.
    """

    def __init__(self, clock: Clock, first: float, most: float) -> None:
        self._clock, self._first, self._most = clock, first, most
        self._bound = first

    def next(self) -> float:
        wait = self._bound * (0.5 + self._clock.random() / 2)
        self._bound = min(self._most, self._bound * 2)
        return wait

    def reset(self) -> None:
        self._bound = self._first
