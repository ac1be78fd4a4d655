"""Kubernetes quantities, exactly.

>>> parse("500m"), parse("2Gi"), parse("1e3")
(Fraction(1, 2), Fraction(2147483648, 1), Fraction(1000, 1))
"""

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"([-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([-+]?[0-9]{1,3})|([numkMGTPE]|[KMGTPE]i)?)"
)
_SUFFIX = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}


LARGEST = 2**63 - 1
"""The largest amount that Kubernetes accepts."""
_LONGEST = 1000  # characters; Python refuses to read and write numbers of over 4300 digits


def parse(text: str | float) -> Fraction:
    """The exact amount. Raises ValueError if the text is not a quantity."""
    stripped = str(text).strip()
    match = _QUANTITY.fullmatch(stripped) if len(stripped) <= _LONGEST else None
    if match is None:
        raise ValueError(f"{stripped[:60]!r} is not a quantity such as 500m, 2 or 16Gi")
    number, exponent, suffix = match.groups()
    scale = _SUFFIX[suffix] if suffix else Fraction(10) ** int(exponent or 0)
    return Fraction(number) * scale


def plain(exact: Fraction) -> int | float:
    """The amount as a whole number, or as the nearest float; every amount that was parsed has one.

    >>> plain(Fraction(4)), plain(Fraction(1, 2))
    (4, 0.5)
    """
    if exact.denominator == 1 or abs(exact) > LARGEST:
        return int(exact)
    return float(exact)


def is_beyond(text: str | float) -> bool:
    """Whether the amount is larger than Kubernetes can hold."""
    return abs(parse_or_zero(text)) > LARGEST


def parse_or_zero(text: object) -> Fraction:
    """The amount, or zero if it is absent or no quantity. For descriptions of objects."""
    try:
        return parse(text) if isinstance(text, (str, int, float)) else Fraction(0)
    except ValueError:
        return Fraction(0)
