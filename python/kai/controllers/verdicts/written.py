"""What of an object is written, on its way, or still has to be.

    written = Written({"PodScheduled": None})
    written.want("PodScheduled", condition)
    fields = written.send()        # {"PodScheduled": condition}: what the patch has to say
    written.confirm(written.number)

A patch that waits to be sent is replaced by the next one of its key. So each patch says all that no
answer has confirmed yet, and no change is lost by a later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api.writes import Outcome, Result


def is_another(outcome: Outcome) -> bool:
    """The object that the patch was for is gone, or another one has its name by now.

    The API server calls the second an attempt to change the UID (422).
    """
    return outcome.result in (Result.GONE, Result.CONFLICT) or (
        outcome.result is Result.REFUSED and "metadata.uid" in outcome.message
    )


UNKNOWN = object()
"""An unknown value: a write without an answer. It differs from every other."""
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0


class Written:
    """The fields of one object that one role writes."""

    __slots__ = ("failures", "number", "on_its_way", "there", "wanted")

    def __init__(self, there: Mapping[str, Any] | None = None) -> None:
        self.there = dict(there or {})
        self.wanted: dict[str, Any] = {}
        self.on_its_way: dict[str, Any] = {}
        self.number = 0
        self.failures = 0

    def current(self, field: str) -> Any:
        """What the field holds once all that was sent has arrived."""
        return self.on_its_way.get(field, self.there.get(field))

    def want(self, field: str, value: Any) -> bool:
        """The field has to hold the value; returns whether that takes a write."""
        if self.current(field) == value:
            self.wanted.pop(field, None)
            return False
        self.wanted[field] = value
        return True

    @property
    def is_settled(self) -> bool:
        """Nothing is on its way, and nothing has to be sent."""
        return not self.wanted and not self.on_its_way

    def send(self) -> dict[str, Any]:
        """All that the next patch has to say; empty where there is nothing to send."""
        if not self.wanted:
            return {}
        self.on_its_way = {**self.on_its_way, **self.wanted}
        self.wanted = {}
        self.number += 1
        return dict(self.on_its_way)

    def confirm(self, number: int) -> None:
        """The patch of that number was carried out, or will never be and must not be repeated."""
        if number == self.number:
            self.there.update(self.on_its_way)
            self.on_its_way = {}
            self.failures = 0

    def fail(self, number: int) -> float | None:
        """It may or may not have been carried out. Returns after how many seconds to send again,
        None where a later patch says the same."""
        if number != self.number or not self.on_its_way:
            return None
        self.there.update(dict.fromkeys(self.on_its_way, UNKNOWN))
        self.wanted = {**self.on_its_way, **self.wanted}
        self.on_its_way = {}
        self.failures += 1
        return float(min(_FIRST_RETRY_S * 2 ** min(self.failures - 1, 10), _LAST_RETRY_S))

    def look(self, there: Mapping[str, Any]) -> None:
        """The object as it is, where nothing is on its way."""
        if not self.on_its_way:
            self.there.update(there)
