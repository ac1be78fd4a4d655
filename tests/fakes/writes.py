"""Writes, and the answers to them that most tests need."""

from typing import Any

from kai.api.writes import Outcome, Result, Write

DONE = Outcome(Result.DONE, 201)
LOST = Outcome(Result.LOST)
REFUSED = Outcome(Result.REFUSED, 403, "Forbidden", "policy says no")
BUSY = Outcome(Result.FAILED, 503, "ServiceUnavailable", "busy")


def body_of(write: Write) -> dict[str, Any]:
    assert isinstance(write.body, dict)
    return write.body
