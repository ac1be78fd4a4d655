"""Controls Python's garbage collections: how long they stop a service, and when they run.

    with Collecting() as collecting:
        collecting.read_all(now)     # existing objects stay
        collecting.is_idle(now)      # nothing to do for a while
    collecting.longest               # seconds, by generation

A collection stops both the event loop and the planning thread: 5 to 30 ms for 50,000 containers,
200 ms and more for half a million. By default Python scans that many as soon as they are new, that
is during heavy work. Here only a few of the youngest are scanned then, and the others in an idle
moment. Objects that survive are not scanned again for an hour.
"""

from __future__ import annotations

import gc
import time
from typing import Any

GENERATIONS = 3
YOUNG, MIDDLE = 5_000, 1_000
"""New containers per collection of the youngest generation, and the number of those per collection
of the middle one: after five million containers, if no moment is idle."""
MUCH = 4
"""Collections of the youngest generation after which an idle moment is used."""
WHOLE_EVERY_S = 3600.0
"""The interval between scans of the objects that survived."""


class Collecting:
    """For the whole process; the original thresholds are restored at the end. `longest` and
    `total`: collections of each generation, in seconds; `count`: their number. `now`: seconds of
    any clock."""

    def __init__(self) -> None:
        self.longest, self.total = [0.0] * GENERATIONS, [0.0] * GENERATIONS
        self.count = [0] * GENERATIONS
        self._began = 0.0
        self._whole_at: float | None = None
        self._thresholds = gc.get_threshold()

    def __enter__(self) -> Collecting:
        self._thresholds = gc.get_threshold()
        gc.set_threshold(YOUNG, MIDDLE, self._thresholds[2])
        gc.callbacks.append(self._saw)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._saw)
        gc.set_threshold(*self._thresholds)

    def read_all(self, now: float) -> None:
        """All initial objects have been read, and stay."""
        self._whole_at = now
        gc.freeze()

    def is_idle(self, now: float) -> bool:
        """Scans the new objects if there are many; returns whether it did."""
        if gc.get_count()[1] < MUCH:
            return False
        if self._whole_at is None or now - self._whole_at >= WHOLE_EVERY_S:
            self._whole_at = now
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        return True

    def _saw(self, phase: str, info: dict[str, Any]) -> None:
        """Runs in the thread that the collection stops, so it takes no lock."""
        now = time.perf_counter()
        if phase == "start":
            self._began = now
            return
        generation, took = info["generation"], now - self._began
        self.count[generation] += 1
        self.total[generation] += took
        self.longest[generation] = max(self.longest[generation], took)
