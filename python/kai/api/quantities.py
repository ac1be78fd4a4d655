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
"""Amounts of Kubernetes end here."""


def parse(text: str | float) -> Fraction:
    """The exact amount; raises ValueError for what is not a quantity."""
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m, 2 or 16Gi")
    number, exponent, suffix = match.groups()
    scale = _SUFFIX[suffix] if suffix else Fraction(10) ** int(exponent or 0)
    return Fraction(number) * scale


def is_beyond(text: str | float) -> bool:
    """Whether it is an amount that is larger than Kubernetes can hold."""
    return abs(parse_or_zero(text)) > LARGEST


def parse_or_zero(text: object) -> Fraction:
    """For describing objects: what is absent or no quantity counts as nothing."""
    try:
        return parse(text) if isinstance(text, (str, int, float)) else Fraction(0)
    except ValueError:
        return Fraction(0)
