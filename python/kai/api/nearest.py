"""Finds the known name closest to a mistyped one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from kai.errors import InvalidInputError

_MOST_KNOWN = 1000


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name; empty if no known name is close.

    Also empty if there are too many known names: of a thousand numbered nodes many are close, and
    a comparison with each takes long.

    >>> did_you_mean("visoin", ["speech", "vision"]), did_you_mean("x", ["speech"])
    ("; did you mean 'vision'?", '')
    """
    names = list(map(str, known))
    close = difflib.get_close_matches(str(name), names, n=1) if len(names) <= _MOST_KNOWN else []
    return f"; did you mean {close[0]!r}?" if close else ""


def check_known(
    names: Iterable[object],
    known: Collection[str],
    message: str,
    kind: type[Exception] = InvalidInputError,
    *,
    lists_all: bool = False,
) -> None:
    """Raises an error about the first name that is not known. `lists_all`: it has all known names
    if none is close.

    >>> check_known(["visoin"], ["speech", "vision"], "there is no queue")
    Traceback (most recent call last):
    kai.errors.InvalidInputError: there is no queue 'visoin'; did you mean 'vision'?
    """
    for name in names:
        if name not in known:
            every = f": {', '.join(known)}" if lists_all else ""
            raise kind(f"{message} {name!r}{did_you_mean(name, known) or every}")


def is_typo(name: str, meant: str, most: int = 1) -> bool:
    """Whether at most this many letters are added, missing, wrong or swapped with the next one.

    >>> is_typo("gpufractoin", "gpufraction"), is_typo("gpumemory", "gpufraction")
    (True, False)
    """
    if abs(len(name) - len(meant)) > most:
        return False
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for at, letter in enumerate(name, start=1):
        above, row = row, [at]
        for to, wanted in enumerate(meant, start=1):
            edits = min(above[to] + 1, row[-1] + 1, above[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == meant[to - 2] and name[at - 2] == wanted:
                edits = min(edits, before[to - 2] + 1)
            row.append(edits)
        before = above
        if min(row) > most:
            return False
    return row[-1] <= most
