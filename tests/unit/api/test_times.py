"""Times at the edge: exact to the nanosecond; invalid ones are rejected."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kai.api import times
from kai.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T19:30:00-04:30", 0),
        ("1969-12-31T23:59:59Z", -times.SECOND_NS),
        ("1970-01-01t00:00:01z", times.SECOND_NS),
    ],
)
def test_rfc_3339_times_are_read_exactly(text: str, ns: int) -> None:
    assert times.to_ns(text) == ns


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-01-01T25:00:00Z",
        "0001-01-01T00:00:00+10:00",
    ],
)
def test_an_invalid_time_is_named(text: str) -> None:
    with pytest.raises(InvalidInputError, match="not an RFC 3339 time such as"):
        times.to_ns(text)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="has no time zone"):
        times.to_ns(datetime(2026, 1, 1))


def test_a_time_beyond_64_bits_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="between the years"):
        times.to_ns("9999-01-01T00:00:00Z")


def test_datetimes_of_any_zone_are_converted() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    assert times.to_ns(datetime(2026, 1, 1, 5, 30, tzinfo=zone)) == times.to_ns(
        "2026-01-01T00:00:00Z"
    )


@given(st.integers(min_value=-(2**62), max_value=2**62))
def test_times_survive_conversion_to_text(ns: int) -> None:
    assert times.to_ns(times.to_text(ns)) == ns
