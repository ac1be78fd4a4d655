"""Virtual time: it passes when a test says so.

clock = VirtualClock()
clock.later(5.0, print)
clock.run(10.0)             # prints at 5 s; without an event loop
await clock.advance(10.0)   # the same, and lets tasks run in between
"""

import asyncio
import heapq
import random
from collections.abc import Callable
from typing import Any

from kai.k8s.clock import Clock

EPOCH_S = 1_800_000_000.0  # 2027-01-15T08:00:00Z


class VirtualClock(Clock):
    """`dice`: the answer to `random`; with a seed, random numbers."""

    def __init__(self, now: float = 1000.0, *, seed: int | None = None) -> None:
        self.now, self.dice = now, 0.0
        self._chance = None if seed is None else random.Random(seed)
        self._agenda: list[tuple[float, int, Callable[[], Any]]] = []
        self._number = 0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return EPOCH_S + self.now

    def random(self) -> float:
        return self.dice if self._chance is None else self._chance.random()

    def later(self, seconds: float, action: Callable[[], Any]) -> None:
        """Actions of one moment happen in the order in which they were added."""
        self._number += 1
        heapq.heappush(self._agenda, (self.now + seconds, self._number, action))

    @property
    def next(self) -> float | None:
        """The time of the next action."""
        return self._agenda[0][0] if self._agenda else None

    def run(self, seconds: float) -> None:
        ends = self.now + seconds
        while self._step(ends):
            pass
        self.now = max(self.now, ends)

    async def sleep(self, seconds: float) -> None:
        wakes = asyncio.Event()
        self.later(seconds, wakes.set)
        await wakes.wait()

    async def advance(self, seconds: float) -> None:
        ends = self.now + seconds
        await settle()
        while self._step(ends):
            await settle()
        self.now = max(self.now, ends)

    def _step(self, ends: float) -> bool:
        if not self._agenda or self._agenda[0][0] > ends:
            return False
        at, _, action = heapq.heappop(self._agenda)
        self.now = max(self.now, at)
        action()
        return True


class QuickClock(VirtualClock):
    """A sleep returns at once and moves the clock. `slept`: the seconds of each."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = list[float]()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now += seconds
        await asyncio.sleep(0)


async def settle() -> None:
    """Lets ready tasks run, including requests to a server in this process."""
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.sleep(0.002)
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object], why: Callable[[], object] = str) -> None:
    """Waits for a condition, for at most 30 s of real time. `why`: shown if it does not come."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + 30.0
    while not condition():
        assert loop.time() < ends, why()
        await asyncio.sleep(0.001)
