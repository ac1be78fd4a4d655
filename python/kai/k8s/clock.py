"""Time and randomness as arguments, so that tests of waiting code do not wait."""

from __future__ import annotations

import asyncio
import random
import time


class Clock:
    """The clock of this machine. Tests use their own."""

    def monotonic(self) -> float:
        """Seconds that never go back. They continue while the machine is suspended, because a
        leader must notice after waking up that its lease has ended."""
        boot_time = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)

    def wall(self) -> float:
        """Seconds since 1970, by this machine's clock."""
        return time.time()

    def random(self) -> float:
        """A random number between 0 and 1."""
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Backoff:
    """The wait before the next try: it doubles each time, with a random part.

        backoff = Backoff(clock, first=0.1, most=30)
        await clock.sleep(backoff.next())
        backoff.reset()                       # it worked

    A wait is random between half and all of a base: `first`, then twice as much each time, up to
    `most`.
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
