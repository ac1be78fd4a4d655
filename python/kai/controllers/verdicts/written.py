"""Tracks the fields of an object that are written, under way, or still to be written.

    written = Written({"PodScheduled": None})
    written.want("PodScheduled", condition)
    fields = written.send()        # {"PodScheduled": condition}: the contents of the patch
    written.confirm(written.number)

A waiting patch is replaced by the next one with its key. Each patch therefore contains everything
that no answer has confirmed yet, and no change is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api.writes import Outcome, Result


def is_another(outcome: Outcome) -> bool:
    """Whether the patched object is gone, or a new one has its name.

    For a new one the API server reports an attempt to change the UID (422).
    """
    return outcome.result in (Result.GONE, Result.CONFLICT) or (
        outcome.result is Result.REFUSED and "metadata.uid" in outcome.message
    )


UNKNOWN = object()
"""An unknown value: a write without an answer. It differs from every other value."""
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
        """The value of the field after all sent writes."""
        return self.on_its_way.get(field, self.there.get(field))

    def want(self, field: str, value: Any) -> bool:
        """Sets the wanted value of a field; returns whether that needs a write."""
        if self.current(field) == value:
            self.wanted.pop(field, None)
            return False
        self.wanted[field] = value
        return True

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way and nothing is left to send."""
        return not self.wanted and not self.on_its_way

    def send(self) -> dict[str, Any]:
        """The contents of the next patch; empty if there is nothing to send."""
        if not self.wanted:
            return {}
        self.on_its_way = {**self.on_its_way, **self.wanted}
        self.wanted = {}
        self.number += 1
        return dict(self.on_its_way)

    def confirm(self, number: int) -> None:
        """The patch with this number was applied, or never will be and must not be repeated."""
        if number == self.number:
            self.there.update(self.on_its_way)
            self.on_its_way = {}
            self.failures = 0

    def fail(self, number: int) -> float | None:
        """The patch may or may not have been applied. Returns the seconds until the retry; None if
        a later patch has the same contents."""
        if number != self.number or not self.on_its_way:
            return None
        self.there.update(dict.fromkeys(self.on_its_way, UNKNOWN))
        self.wanted = {**self.on_its_way, **self.wanted}
        self.on_its_way = {}
        self.failures += 1
        return float(min(_FIRST_RETRY_S * 2 ** min(self.failures - 1, 10), _LAST_RETRY_S))

    def look(self, there: Mapping[str, Any]) -> None:
        """Takes over the object's state, if nothing is under way."""
        if not self.on_its_way:
            self.there.update(there)
