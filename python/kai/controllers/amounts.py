"""Amounts of resources in Kubernetes objects: sums, and their canonical texts.

>>> added({"cpu": "100m", "memory": "64Mi"}, {"cpu": "1", "memory": "1Gi"})
{'cpu': '1100m', 'memory': '1088Mi'}
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from kai.api import quantities

Amounts = Mapping[str, str]
"""Quantities by resource."""

_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


_of_text = lru_cache(maxsize=4096)(quantities.parse_or_zero)  # many pods request the same amounts


def parse_or_zero(amount: object) -> Fraction:
    """The same as in kai.api.quantities, with a cache."""
    return _of_text(amount) if isinstance(amount, str) else quantities.parse_or_zero(amount)


def added(*amounts: Amounts) -> dict[str, str]:
    """The sum, sorted by resource, without resources whose amount is zero.

    A sum has a power-of-two suffix if its first term has one, as in Kubernetes.
    """
    total: dict[str, Fraction] = {}
    binary: dict[str, bool] = {}
    for each in amounts:
        for name, text in each.items():
            amount = parse_or_zero(text)
            if amount and name not in binary:
                binary[name] = str(text).rstrip().endswith("i")
            total[name] = total.get(name, Fraction(0)) + amount
    return {
        name: to_text(total[name], binary=binary[name]) for name in sorted(total) if total[name]
    }


@lru_cache(maxsize=4096)
def to_text(amount: Fraction, *, binary: bool = False) -> str:
    """A quantity as the API server writes it: a whole number with the largest exact suffix.

    >>> to_text(Fraction(11, 2)), to_text(Fraction(4000)), to_text(Fraction(2**30), binary=True)
    ('5500m', '4k', '1Gi')
    """
    if binary and abs(amount) >= 1024 and amount.denominator == 1:
        return _scaled(int(amount), 1024, _BINARY)
    nano = amount * 10**9
    whole = -(-nano.numerator // nano.denominator)  # fractions of a billionth are rounded up
    return _scaled(whole, 1000, _DECIMAL) if whole else "0"


def equal(one: Amounts, other: Amounts) -> bool:
    """Whether both amounts are equal in value; zero equals a missing resource."""
    if one == other:
        return True
    names = {**one, **other}
    return all(
        parse_or_zero(one.get(name, "")) == parse_or_zero(other.get(name, "")) for name in names
    )


def _scaled(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    place = 0
    while place + 1 < len(suffixes) and number % base == 0:
        number //= base
        place += 1
    return f"{number}{suffixes[place]}"
