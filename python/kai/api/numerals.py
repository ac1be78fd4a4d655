"""Numbers in sentences, as people write them in YAML."""

from __future__ import annotations

from decimal import Decimal

_LONG = 1e15
"""From this amount on a whole float has an exponent."""


def numeral(value: float) -> str:
    """The number without ".0", and without a sign or zeros in front of an exponent.

    >>> numeral(1e15), numeral(3e-7), numeral(1000.0), numeral(0.5), numeral(16)
    ('1e15', '3e-7', '1000', '0.5', '16')
    """
    if not isinstance(value, float):
        return str(value)
    if value.is_integer() and abs(value) < _LONG:
        return str(int(value))
    mantissa, is_exponent, exponent = repr(value).partition("e")
    if is_exponent:
        return f"{mantissa}e{int(exponent)}"
    if not value.is_integer():
        return mantissa
    return str(Decimal(mantissa).normalize()).lower().replace("e+", "e")


def literal(value: float) -> str:
    """The number as it probably is in a file: a version 1.0 is not 1.

    >>> literal(1.0), literal(1e15), literal(3e-7)
    ('1.0', '1e15', '3e-7')
    """
    return str(value) if abs(value) < _LONG and "e" not in str(value) else numeral(value)


def rounded(value: float, digits: int = 6) -> str:
    """The number with at most so many digits that are not zeros.

    >>> rounded(1e15), rounded(2.0), rounded(1 / 3), rounded(1_000_000.0)
    ('1e15', '2', '0.333333', '1000000')
    """
    return numeral(float(f"{value:.{digits}g}"))
