"""What the API server has accepted, and no watch has shown yet.

    unshown = Unshown()
    unshown.add(now, Accepted("binding", "Pod", "team/train-0", uid, assumption))
    for each in unshown.due(now, is_open): ...    # still not shown after 15 s: to be read

An answer 2xx is no proof that a write took effect: a proxy may have given it, or an etcd that was
restored from a backup has lost the write since. And the event that would show it can be lost. So
what no watch has shown for `READ_AFTER_S` is read, and again after growing waits while it stays
open. No I/O.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

READ_AFTER_S, MOST_WAIT_S = 15.0, 240.0
TOGETHER_S = 1.0
"""The shortest time between two looks: finding out what is open has a price."""


BINDING, EVICTION, GROUP, GROUP_OF_POD = "binding", "eviction", "pod group", "group of pod"
ACCEPTED = (BINDING, EVICTION, GROUP, GROUP_OF_POD)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A write that the API server has accepted. `what`: one of `ACCEPTED`. `name`: "namespace/name"
    of its object; `uid`: "" if unknown. `number`: of the engine's assumption; 0: there is none."""

    what: str
    kind: str
    name: str
    uid: str = ""
    number: int = 0


class Unshown:
    """Accepted writes, each with the time of the next look."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, float, Accepted]] = []  # a heap: time, number, wait
        self._count = 0
        self._looked = float("-inf")

    def __len__(self) -> int:
        return len(self._due)

    def add(self, now: float, accepted: Accepted) -> None:
        """It was accepted now."""
        self._push(now, READ_AFTER_S, accepted)

    def due(self, now: float, is_open: Callable[[Accepted], bool]) -> list[Accepted]:
        """Those to be read now. The others whose time has come are not open any more, and are
        dropped."""
        if now < (self.next() or now + 1):
            return []
        self._looked = now
        found = []
        while self._due and self._due[0][0] <= now:
            _, _, wait, accepted = heapq.heappop(self._due)
            if is_open(accepted):
                found.append(accepted)
                self._push(now, min(wait * 2, MOST_WAIT_S), accepted)
        return found

    def next(self) -> float | None:
        """The time at which `due` has something to do."""
        return max(self._due[0][0], self._looked + TOGETHER_S) if self._due else None

    def _push(self, now: float, wait: float, accepted: Accepted) -> None:
        self._count += 1
        heapq.heappush(self._due, (now + wait, self._count, wait, accepted))
