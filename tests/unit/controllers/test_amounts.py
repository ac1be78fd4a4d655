"""Sums of amounts, in Kubernetes' format."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kai.api.quantities import parse
from kai.controllers import amounts

NUMBERS = st.integers(-(10**15), 10**15).map(lambda nano: Fraction(nano, 10**6))


@pytest.mark.parametrize(
    ("amount", "binary", "text"),
    [
        (Fraction(0), False, "0"),
        (Fraction(1), False, "1"),
        (Fraction(1, 4), False, "250m"),
        (Fraction(41, 4), False, "10250m"),
        (Fraction(4000), False, "4k"),
        (Fraction(64 * 2**20), True, "64Mi"),
        (Fraction(1088 * 2**20), True, "1088Mi"),
        (Fraction(64 * 2**20), False, "67108864"),
        (Fraction(1000), True, "1k"),
        (Fraction(-1, 1000), False, "-1m"),
        (Fraction(1, 10**10), False, "1n"),
    ],
)
def test_amounts_have_canonical_texts(amount: Fraction, binary: bool, text: str) -> None:
    assert amounts.to_text(amount, binary=binary) == text


@given(NUMBERS, st.booleans())
def test_the_text_of_an_amount_is_parsed_back(amount: Fraction, binary: bool) -> None:
    assert parse(amounts.to_text(amount, binary=binary)) == amount


def test_a_sum_has_the_format_of_its_first_part() -> None:
    assert amounts.added({"memory": "64Mi"}, {"memory": "67108864"}) == {"memory": "128Mi"}
    assert amounts.added({"memory": "67108864"}, {"memory": "64Mi"}) == {"memory": "134217728"}


def test_resources_of_zero_are_left_out() -> None:
    assert amounts.added({"cpu": "1", "nvidia.com/gpu": "0"}, {"cpu": "-1"}) == {}
    assert amounts.equal({"cpu": "0"}, {})
    assert amounts.equal({"cpu": "1000m"}, {"cpu": "1"})
    assert not amounts.equal({"cpu": "1"}, {"cpu": "1", "memory": "1"})


def test_an_invalid_amount_is_zero() -> None:
    assert amounts.added({"cpu": "much"}, {"cpu": "1"}) == {"cpu": "1"}
