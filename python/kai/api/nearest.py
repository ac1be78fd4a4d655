"""Finds the known name closest to a mistyped one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name; empty if no known name is close.

    >>> did_you_mean("visoin", ["speech", "vision"]), did_you_mean("x", ["speech"])
    ("; did you mean 'vision'?", '')
    """
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
