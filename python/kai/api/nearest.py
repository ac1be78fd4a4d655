"""The known name that a mistyped one is nearest to, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known; empty where none is near.

    >>> did_you_mean("visoin", ["speech", "vision"]), did_you_mean("x", ["speech"])
    ("; did you mean 'vision'?", '')
    """
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
