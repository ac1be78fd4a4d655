"""Durations as Go and as Prometheus write them."""

import random

import pytest

from kai.api.durations import go_seconds, prometheus_seconds, to_go, to_prometheus
from kai.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("-5s", -5), ("0", 0), ("1.5h", 5400), ("10ms", 0.01), ("+2m", 120)],
)
def test_go_durations(text: str, seconds: float) -> None:
    assert go_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "1w", "1h 30m", "h", "1d", "0x", "99999999h"])
def test_what_go_refuses(text: str) -> None:
    with pytest.raises(InvalidInputError):
        go_seconds(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1w", 604_800), ("1y2w3d", 365 * 86400 + 17 * 86400), ("250ms", 0.25), ("0", 0)],
)
def test_prometheus_durations(text: str, seconds: float) -> None:
    assert prometheus_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "1d1w", "-1w", "1.5h", "1h 1m", "9999y"])
def test_what_prometheus_refuses(text: str) -> None:
    with pytest.raises(InvalidInputError):
        prometheus_seconds(text)


def test_what_is_written_reads_back() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(500):
        seconds = drawn.randrange(0, 10**9) / drawn.choice((1, 10, 1000))
        assert prometheus_seconds(to_prometheus(seconds)) == pytest.approx(seconds, abs=6e-4)
        assert go_seconds(to_go(seconds)) == pytest.approx(seconds, abs=1e-6)


def test_weeks_and_years_are_written_where_nothing_is_left() -> None:
    assert to_prometheus(604_800 * 2) == "2w"
    assert to_prometheus(604_800 + 3600) == "7d1h"
    assert to_prometheus(365 * 86_400) == "1y"
    assert to_go(60) == "1m0s"
