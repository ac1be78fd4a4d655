"""Durations as people, Go and Prometheus write them."""

import math
import random

import pytest

from kai.api.durations import (
    duration_text,
    go_seconds,
    prometheus_seconds,
    seconds_of,
    to_go,
    to_prometheus,
    too_long,
)
from kai.errors import InvalidInputError


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *[("90s", 90), ("90m", 5400), ("36h", 129_600), ("7d", 604_800), ("2w", 1_209_600)],
        *[("250ms", 0.25), ("1.5h", 5400), ("2h30m", 9000), ("1d12h", 129_600), ("1h 30m", None)],
        *[("90", 90), ("0", 0), ("0.5", 0.5), (" 15m ", 900), (90, 90), (0.25, 0.25), (0, 0)],
        *[("", None), ("m", None), ("5 m", None), ("-5m", None), (-1, None), ("5y", None)],
        *[("5M", None), ("1e3", None), ("5.", None), (".5h", None), ("soon", None)],
        *[
            ("never", None),
            (None, None),
            (True, None),
            ([5], None),
            ("٣s", None),
            ("99999999h", None),
        ],
        *[(math.nan, None), (math.inf, None), ("inf", None), ("9" * 400 + "s", None)],
    ],
)
def test_durations_of_options_and_workloads_are_parsed(
    value: object, seconds: float | None
) -> None:
    assert seconds_of(value) == seconds
    assert seconds_of(value, never=True) == (math.inf if value == "never" else seconds)


def test_the_text_of_a_duration_is_parsed_back() -> None:
    for value in (0.0, 1.0, 90.0, 5400.0, 0.1, 86_400.0, 1e9 + 0.5, math.inf):
        assert seconds_of(duration_text(value), never=True) == value


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("1h30m", 5400), ("-5s", -5), ("0", 0), ("1.5h", 5400), ("10ms", 0.01), ("+2m", 120)],
        *[("5m0s", 300), ("1h2m3.5s", 3723.5), ("0s", 0)],
    ],
)
def test_go_durations_are_parsed(text: str, seconds: float) -> None:
    assert go_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "1w", "1h 30m", "h", "1d", "0x", "99999999h"])
def test_texts_that_go_refuses_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        go_seconds(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1w", 604_800), ("1y2w3d", 365 * 86400 + 17 * 86400), ("250ms", 0.25), ("0", 0)],
)
def test_prometheus_durations_are_parsed(text: str, seconds: float) -> None:
    assert prometheus_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "1d1w", "-1w", "1.5h", "1h 1m", "9999y"])
def test_texts_that_prometheus_refuses_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        prometheus_seconds(text)


def test_written_durations_are_parsed_back() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(500):
        seconds = drawn.randrange(0, 10**9) / drawn.choice((1, 10, 1000))
        assert prometheus_seconds(to_prometheus(seconds)) == pytest.approx(seconds, abs=6e-4)
        assert go_seconds(to_go(seconds)) == pytest.approx(seconds, abs=1e-6)


def test_weeks_and_years_are_used_only_without_remainder() -> None:
    assert to_prometheus(604_800 * 2) == "2w"
    assert to_prometheus(604_800 + 3600) == "7d1h"
    assert to_prometheus(365 * 86_400) == "1y"
    assert to_go(60) == "1m0s"


@pytest.mark.parametrize("value", ["1000000d", "9" * 400 + "s", math.inf, 10**400, 1e300])
def test_a_time_that_is_too_long_is_refused_for_its_length(value: object) -> None:
    assert seconds_of(value) is None
    assert too_long(value) == "is longer than the longest time, 106,751 days"


@pytest.mark.parametrize("value", ["soon", "", None, math.nan, True, -1, "106751d", "never"])
def test_other_values_are_not_too_long(value: object) -> None:
    assert too_long(value) == ""


@pytest.mark.parametrize("text", ["9" * 5000 + "d", "٣d"])
def test_a_duration_of_prometheus_with_odd_digits_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a duration such as"):
        prometheus_seconds(text)
