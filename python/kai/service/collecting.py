"""Python's garbage collections: how long they stop a service, and when they run.

    with Collecting() as collecting:
        collecting.read_all(now)     # what is there by now stays
        collecting.is_idle(now)      # nothing is to be done for a while
    collecting.longest               # seconds, by generation

A collection holds up both the event loop and the planning thread: 5 to 30 ms for 50,000 containers,
200 ms and more for half a million. Python looks through that many whenever they are new, which is
in the middle of much work. Here a few of the youngest are looked through then, and the others in a
moment without work. What survives that is not looked at again until an hour has gone by.
"""

from __future__ import annotations

import gc
import time
from types import TracebackType
from typing import Any

GENERATIONS = 3
YOUNG, MIDDLE = 5_000, 1_000
"""New containers until the youngest are looked through, and how often that happens until those of
the middle generation are: after five million, if no moment is idle."""
MUCH = 4
"""Collections of the youngest after which an idle moment is used."""
WHOLE_EVERY_S = 3600.0
"""Garbage among what has survived is looked for as rarely as that."""


class Collecting:
    """Of the whole process; when it ends, thresholds are what they were. `longest` and `total`: of
    collections of each generation, in seconds; `count`: how many there were. `now`: seconds of any
    clock."""

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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        gc.callbacks.remove(self._saw)
        gc.set_threshold(*self._thresholds)

    def read_all(self, now: float) -> None:
        """All that was there in the beginning has been read, and stays."""
        self._whole_at = now
        gc.freeze()

    def is_idle(self, now: float) -> bool:
        """All that is new is looked through, if it is much; whether it was."""
        if gc.get_count()[1] < MUCH:
            return False
        if self._whole_at is None or now - self._whole_at >= WHOLE_EVERY_S:
            self._whole_at = now
            gc.unfreeze()
        gc.collect()
        gc.freeze()
        return True

    def _saw(self, phase: str, info: dict[str, Any]) -> None:
        """In the thread that the collection stops: it takes no lock."""
        now = time.perf_counter()
        if phase == "start":
            self._began = now
            return
        generation, took = info["generation"], now - self._began
        self.count[generation] += 1
        self.total[generation] += took
        self.longest[generation] = max(self.longest[generation], took)
