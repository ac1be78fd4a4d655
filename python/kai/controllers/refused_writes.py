"""The events about a write that an admission rule refuses: their reasons and their text.

    text = refused_text("create PodGroup", "team/g", outcome.message)
    refused_in(text)             # Refused("create PodGroup team/g", the rule); None: another text

A process that writes creates them, and `kai explain` reads them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kai.api.refusals import Refusal, refusal

REFUSED, ACCEPTED = "WriteRefused", "WriteAccepted"
"""The reasons of events."""
AGAIN_S = 300.0
"""An event about a refusal that goes on is repeated after this time."""
FRESH_S = AGAIN_S + 60.0
"""A refusal that goes on has an event of this age or younger: writes are tried every 30 s."""
LONGEST = 1000

_MESSAGE = re.compile(
    r"(?P<what>(?:create|patch|delete) \S+ \S+) is refused: (?P<why>.*)", re.DOTALL
)
_BLOCKING = ("create PodGroup ", "create BindRequest ", "create Pod/binding ")


class Refused(NamedTuple):
    """A refused write in the text of an event. `what`: "create PodGroup team/g"."""

    what: str
    rule: Refusal

    @property
    def blocks(self) -> bool:
        """Whether a pod cannot be bound without it."""
        return self.what.startswith(_BLOCKING)


def refused_text(what: str, name: str, why: str) -> str:
    """`what`: "create Pod/binding"; `name`: of the object; `why`: the server's message."""
    return f"{what} {name} is refused: {why}"[:LONGEST]


def refused_in(message: str) -> Refused | None:
    """The refused write in the message of an event of ours; None for other messages."""
    found = _MESSAGE.fullmatch(message)
    rule = None if found is None else refusal(found["why"], inside=True)
    return None if found is None or rule is None else Refused(found["what"], rule)
