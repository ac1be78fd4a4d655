"""Windows of time, and the usage in them (spec 1 F118-F127)."""

import random
from datetime import datetime, timezone

import numpy as np
import pytest

from kai.engine.windows import Samples, Window, cron_reset_s, tumbling_reset_s, usage_of
from kai.errors import InvalidInputError

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def held(gpus: list[float], *, had: float = 10.0, every_s: float = MINUTE) -> Samples:
    """Samples of one queue `q`; the last one is the youngest."""
    count = len(gpus)
    times = [every_s * (number + 1) for number in range(count)]
    return Samples.of_rows(times, [{"q": (each, 0, 0)} for each in gpus], [(had, 0, 0)] * count)


def test_the_share_of_ten_hours() -> None:
    """Spec 1 F119: 10 GPUs, 8 of them held for 3 of 10 hours."""
    samples = held([8.0] * 180 + [0.0] * 420)
    assert usage_of(samples, Window(size=10 * HOUR)) == {"q": (0.24, 0.0, 0.0)}


def test_samples_older_than_the_window_are_ignored() -> None:
    samples = held([10.0] * 5 + [0.0] * 5)
    assert usage_of(samples, Window(size=5 * MINUTE))["q"][0] == 0
    assert usage_of(samples, Window(size=6 * MINUTE))["q"][0] == pytest.approx(1 / 6)
    assert usage_of(samples, Window(size=5 * MINUTE), now_s=7 * MINUTE)["q"][0] == 0.6


def test_a_resource_without_capacity_has_no_usage() -> None:
    """KAI divides by zero, and nothing is distributed any more (spec 1 W4)."""
    samples = Samples.of_rows([1.0], [{"q": (0.0, 2.0, 3.0)}], [(0.0, 4.0, 0.0)])
    assert usage_of(samples, Window()) == {"q": (0.0, 0.5, 0.0)}


def test_without_samples_nothing_was_used() -> None:
    assert usage_of(held([]), Window()) == {}
    assert usage_of(held([1.0]), Window(size=MINUTE), now_s=HOUR) == {"q": (0.0, 0.0, 0.0)}


def test_usage_counts_half_after_a_half_life() -> None:
    samples = Samples.of_rows(
        [0.0, 600.0], [{"old": (10, 0, 0)}, {"new": (10, 0, 0)}], [(10, 0, 0)] * 2
    )
    used = usage_of(samples, Window(half_life=600.0), now_s=1200.0)
    assert used["old"][0] == pytest.approx(1 / 3)
    assert used["new"][0] == pytest.approx(2 / 3)
    for off in (0.0, -5.0, None):
        assert usage_of(samples, Window(half_life=off), now_s=1200.0)["old"][0] == 0.5


def test_very_old_samples_do_not_underflow() -> None:
    samples = held([5.0, 5.0])
    used = usage_of(samples, Window(size=10 * 365 * DAY, half_life=1.0), now_s=365 * DAY)
    assert used["q"][0] == 0.5


def test_windows_of_samples_equal_kais_simulator() -> None:
    """Spec 1 F127, with the weights as they are written there."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(50):
        count, size = drawn.randint(1, 12), drawn.randint(1, 8)
        half_life = drawn.choice((None, 0.5, 2.0, 7.0))
        gpus = [float(drawn.randint(0, 9)) for _ in range(count)]
        last = gpus[-size:]
        weights = [0.5 ** ((size - i) / half_life) if half_life else 1.0 for i in range(len(last))]
        expected = sum(a * w for a, w in zip(last, weights, strict=True)) / (10 * sum(weights))
        window = Window(kind="samples", size=size, half_life=half_life)
        assert usage_of(held(gpus), window)["q"][0] == pytest.approx(expected)


def test_usage_is_a_plain_sum_over_the_samples_in_the_window() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(50):
        times = sorted(drawn.uniform(0, 1000) for _ in range(drawn.randint(1, 30)))
        queues = ("a", "b")
        allocated = [
            {queue: (drawn.random(), drawn.random(), 0.0) for queue in queues} for _ in times
        ]
        capacity = [(1 + drawn.random(), 2.0, 0.0) for _ in times]
        now, half_life = drawn.uniform(500, 1000), drawn.choice((None, 100.0))
        kind = drawn.choice(("sliding", "tumbling"))
        window = Window(kind=kind, size=300.0, half_life=half_life, start_s=-50.0)
        begin = now - 300 if kind == "sliding" else tumbling_reset_s(-50.0, 300.0, now)
        used = usage_of(Samples.of_rows(times, allocated, capacity), window, now_s=now)
        for queue in queues:
            for resource in range(2):
                above = below = 0.0
                for time, row, there in zip(times, allocated, capacity, strict=True):
                    if begin <= time <= now:
                        weight = 0.5 ** ((now - time) / half_life) if half_life else 1.0
                        above += row[queue][resource] * weight
                        below += there[resource] * weight
                expected = above / below if below else 0.0
                assert used[queue][resource] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("now", "reset"),
    [
        ("2026-01-05T13:00:00", "2026-01-05T12:00:00"),
        ("2026-01-05T13:00:01", "2026-01-05T13:00:00"),
        ("2026-01-05T10:00:00", "2026-01-05T10:00:00"),  # it starts now
        ("2026-01-05T11:00:00", "2026-01-05T10:00:00"),
        ("2026-01-05T09:00:00", "2026-01-05T09:00:00"),  # it starts later: an empty window
    ],
)
def test_tumbling_windows_reset_at_their_interval(now: str, reset: str) -> None:
    """Spec 1 F120."""
    assert tumbling_reset_s(at("2026-01-05T10:00:00"), HOUR, at(now)) == at(reset)


def test_tumbling_windows_keep_their_offset() -> None:
    start = at("2026-01-05T10:15:30")
    assert tumbling_reset_s(start, HOUR, at("2026-01-07T14:00:00")) == at("2026-01-07T13:15:30")


def test_a_tumbling_window_begins_at_the_last_boundary_before_now() -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    for _ in range(500):
        size = drawn.choice((60.0, 3600.0, 0.1, 7.3))
        start, now = 1.7e9 + drawn.randint(0, 10**6), 1.7e9 + drawn.randint(0, 10**7)
        reset = tumbling_reset_s(start, size, now)
        if now <= start:
            assert reset == now
            continue
        assert reset < now
        steps = (reset - start) / size
        assert steps == pytest.approx(round(steps), abs=1e-3)
        assert now - reset <= size * (1 + 1e-3)


@pytest.mark.parametrize(
    ("cron", "now", "reset"),
    [
        ("0 * * * *", "2026-01-05T14:00:00", "2026-01-05T13:00:00"),
        ("0 * * * *", "2026-01-05T14:00:01", "2026-01-05T14:00:00"),
        ("0 0 1 * *", "2026-03-31T23:00:00", "2026-03-01T00:00:00"),
        ("0 23 31 * *", "2026-05-31T23:00:00", "2026-03-31T23:00:00"),  # not each month has one
        ("0 23 31 3 *", "2026-03-01T00:00:00", "2025-03-31T23:00:00"),
        ("0 0 * * MON", "2026-01-07T12:00:00", "2026-01-05T00:00:00"),
        ("@daily", "2026-01-07T12:00:00", "2026-01-07T00:00:00"),
    ],
)
def test_cron_windows_begin_at_the_last_time_before_now(cron: str, now: str, reset: str) -> None:
    assert cron_reset_s(cron, at(now)) == at(reset)


@pytest.mark.parametrize("cron", ["", "hello", "* * * *", "61 * * * *", "R * * * *", "@every 1h"])
def test_invalid_cron_strings_are_refused(cron: str) -> None:
    message = f"error parsing cron string '{cron}' for usage tumbling window: "
    with pytest.raises(InvalidInputError) as error:
        Window(kind="cron", cron=cron)
    assert str(error.value).startswith(message)


def test_cron_windows_count_from_their_last_reset() -> None:
    start = at("2026-01-05T13:30:00")
    times = [start + MINUTE * number for number in range(61)]  # 30 before, one at, 30 after 14:00
    rows = [{"q": (10.0 if time < at("2026-01-05T14:00:00") else 0.0, 0.0, 0.0)} for time in times]
    samples = Samples.of_rows(times, rows, [(10.0, 0.0, 0.0)] * len(times))
    assert usage_of(samples, Window(kind="cron", cron="0 * * * *"))["q"][0] == 0
    assert usage_of(samples, Window(size=HOUR))["q"][0] == pytest.approx(29 / 60)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"windowType": "Tumbling"}, "windowType: is sliding, tumbling or cron, not 'Tumbling'"),
        ({"windowType": "samples"}, "windowType: is sliding, tumbling or cron, not 'samples'"),
        ({"windowType": "tumbling"}, "tumbling windows need tumblingWindowStartTime"),
        ({"windowSize": "a week"}, "windowSize: 'a week' is not a duration such as 1w or 2d12h"),
        ({"windowSize": 7}, "windowSize: is not a string: 7"),
        ({"windowSize": "0"}, "the size of a window must be above 0, not 0"),
        ({"windowsize": "1w"}, "there is no member 'windowsize'; did you mean 'windowSize'?"),
        ({"tumblingWindowStartTime": "noon"}, "tumblingWindowStartTime: 'noon' is not an RFC 3339"),
        ("1w", "is not a mapping: '1w'"),
    ],
)
def test_invalid_windows_are_refused(params: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        Window.of(params)
    assert str(error.value).startswith(f"usageParams: {message}")


def test_a_window_is_read_from_kais_parameters() -> None:
    assert Window.of({}) == Window(kind="sliding", size=7 * DAY, half_life=None)
    given = {"windowSize": "2d", "halfLifePeriod": "1h30m", "windowType": "tumbling"}
    window = Window.of({**given, "tumblingWindowStartTime": "2026-01-05T10:15:30Z"})
    assert (window.size, window.half_life) == (2 * DAY, 5400.0)
    assert window.start_s == at("2026-01-05T10:15:30")


def test_columns_must_have_matching_shapes() -> None:
    with pytest.raises(InvalidInputError, match="have no columns of the shapes"):
        Samples(np.zeros(2), ("a",), np.zeros((2, 1, 3)), np.zeros((1, 3)))
    with pytest.raises(InvalidInputError, match="must ascend"):
        Samples.of_rows([2.0, 1.0], [{}, {}], [(1, 1, 1)] * 2)
