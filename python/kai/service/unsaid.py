"""Groups that a plan had before the API server had them: nothing could be written about them then.

    unsaid = Unsaid()
    unsaid.planned("team/a")                # a plan will have it; it is created later
    unsaid.look(now, touched, is_there)     # each turn: the groups that changed since the last plan
    if unsaid.is_due(now): ...              # the last plan is read once more

For the planning thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

WAIT_S = 0.5
"""Groups are created one after the other: those that come meanwhile are read together."""


class Unsaid:
    def __init__(self) -> None:
        self._planned: set[str] = set()
        self._came: float | None = None  # when the first one was there

    def planned(self, group: str) -> None:
        """It is part of the cluster that is planned, and is not created yet."""
        self._planned.add(group)

    def gone(self, group: str) -> None:
        """It is not planned any more."""
        self._planned.discard(group)

    def look(self, now: float, touched: Collection[str], is_there: Callable[[str], bool]) -> None:
        """`touched`: groups that changed, or of which a pod did."""
        came = [name for name in self._planned.intersection(touched) if is_there(name)]
        if came:
            self._planned.difference_update(came)
            self._came = now if self._came is None else self._came

    def is_due(self, now: float) -> bool:
        return self._came is not None and now >= self._came + WAIT_S

    def read(self) -> None:
        """A plan was read, and about those that came everything is said."""
        self._came = None

    def wake(self) -> float | None:
        """When it is due."""
        return None if self._came is None else self._came + WAIT_S
