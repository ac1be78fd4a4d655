"""Quantities are exact fractions, never floating-point numbers."""

from fractions import Fraction

import pytest

from kai.api import quantities


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("500m", Fraction(1, 2)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("1e3", Fraction(1000)),
        ("1E3", Fraction(1000)),
        ("1E", Fraction(10**18)),
        ("2Gi", Fraction(2 * 2**30)),
        ("-3k", Fraction(-3000)),
        (8, Fraction(8)),
        (0.1, Fraction(1, 10)),
    ],
)
def test_quantities_are_read_exactly(text: str | float, amount: Fraction) -> None:
    assert quantities.parse(text) == amount


@pytest.mark.parametrize(
    "text", ["", "1Gx", "Gi", "1 Gi", "--1", "nan", "inf", "1e9999", "9" * 5000]
)
def test_an_invalid_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity such as"):
        quantities.parse(text)


def test_an_invalid_quantity_is_zero_in_descriptions() -> None:
    assert quantities.parse_or_zero({"not": "a quantity"}) == 0
