"""The interval for a mean difference, and Holm's correction, compared with simple computations."""

import itertools
import math
import random
import statistics

import numpy as np
import pytest

from kai.sim.comparing.intervals import MeanDifference, holm_levels


def plain_interval(given: list[float], draws: int, seed: int, alpha: float) -> tuple[float, float]:
    """Both intervals by their definitions, draw by draw, with PCG64's numbers."""
    generator = np.random.Generator(np.random.PCG64(seed))
    count = len(given)
    error = statistics.stdev(given) / math.sqrt(count)
    mean = statistics.fmean(given)
    ratios = []
    for places in generator.integers(count, size=(draws, count)).tolist():
        drawn = [given[place] for place in places]
        off = statistics.fmean(drawn) - mean
        of_drawn = statistics.stdev(drawn) / math.sqrt(count)
        ratios.append(off / of_drawn if of_drawn else math.copysign(math.inf, off) if off else 0.0)
    lows, highs = [], []
    for taken in generator.integers(2, size=(draws, count)).tolist():
        chosen = [value for value, is_in in zip(given, taken, strict=True) if is_in]
        lows.append(statistics.fmean(chosen) if chosen else -math.inf)
        highs.append(statistics.fmean(chosen) if chosen else math.inf)
    place = round(alpha / 2 * (draws + 1))
    ratios.sort()
    low = min(mean - ratios[-place] * error, sorted(lows)[place - 1])
    high = max(mean - ratios[place - 1] * error, sorted(highs)[-place])
    return low, high


@pytest.mark.parametrize("count", [6, 9, 20])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_interval_follows_its_definition(count: int, alpha: float) -> None:
    for seed in range(5):
        given = [random.Random(seed).lognormvariate(0, 1) - 1 for _ in range(count)]
        measured = MeanDifference.of(given, draws=999, seed=seed)
        expected = plain_interval(given, 999, seed, alpha)
        assert measured.interval(alpha) == pytest.approx(expected), f"seed {seed}"


def test_p_value_and_interval_agree() -> None:
    numbers = random.Random(3)
    for trial in range(300):
        count = numbers.randint(2, 25)
        center = numbers.choice([0, 0, 0.3, -1])
        given = [center + numbers.choice([0, numbers.gauss(0, 1)]) for _ in range(count)]
        measured = MeanDifference.of(given, draws=199, seed=trial)
        for alpha in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
            low, high = measured.interval(alpha)
            assert (low > 0 or high < 0) == (measured.p_value <= alpha), f"trial {trial}"
            assert low <= measured.mean <= high


def test_subset_means_give_the_p_value_of_all_sign_changes() -> None:
    """Hartigan's test turns signs: here all 2^9 ways to turn them."""
    given = [0.9, -0.2, 1.4, 0.1, 0.8, -0.4, 1.1, 0.3, 0.2]
    signs = itertools.product((1, -1), repeat=len(given))
    sums = [sum(s * each for s, each in zip(row, given, strict=True)) for row in signs]
    exact = 2 * sum(total >= sum(given) - 1e-12 for total in sums) / len(sums)
    means = MeanDifference.of(given, draws=49_999).subset_means
    empty = 49_999 - len(means)
    assert 2 * ((means <= 0).sum() + empty) / 50_000 == pytest.approx(exact, abs=0.006)


def test_negated_differences_mirror_the_interval() -> None:
    given = [random.Random(5).gauss(1, 2) for _ in range(12)]
    low, high = MeanDifference.of(given).interval(0.05)
    assert MeanDifference.of([-each for each in given]).interval(0.05) == (-high, -low)
    shifted = MeanDifference.of([3 * each + 7 for each in given]).interval(0.05)
    assert shifted == pytest.approx((3 * low + 7, 3 * high + 7))


def test_many_normal_differences_give_the_student_interval() -> None:
    numbers = np.random.Generator(np.random.PCG64(1)).standard_normal(400)
    measured = MeanDifference.of(numbers.tolist())
    low, high = measured.interval(0.05)
    assert low == pytest.approx(measured.mean - 1.966 * measured.error, abs=0.15 * measured.error)
    assert high == pytest.approx(measured.mean + 1.966 * measured.error, abs=0.15 * measured.error)


def test_equal_differences_are_bounded_by_their_number() -> None:
    """All differences on one side have a probability of 2^(1 - n) if both sides are as likely."""
    assert MeanDifference.of([0.1] * 3).interval(0.05) == (-math.inf, math.inf)
    assert MeanDifference.of([0.1] * 20).interval(0.05) == pytest.approx((0.1, 0.1))
    assert MeanDifference.of([0.1] * 3).p_value == pytest.approx(0.25, abs=0.02)
    assert MeanDifference.of([0.0] * 20).p_value == 1
    assert MeanDifference.of([0.0] * 20).interval(0.05) == (0, 0)


def test_one_difference_among_zeros_is_not_significant() -> None:
    measured = MeanDifference.of([0.0] * 19 + [5.0])
    low, high = measured.interval(0.05)
    assert measured.p_value > 0.5
    assert low <= 0 < high


def test_five_pairs_are_too_few_for_95_percent() -> None:
    assert MeanDifference.of([1.0, 1.1, 0.9, 1.2, 1.05]).p_value > 0.05
    assert MeanDifference.of([1.0, 1.1, 0.9, 1.2, 1.05, 1.01, 0.97]).p_value < 0.05


def closed(p_values: list[float], alpha: float) -> list[bool]:
    """Holm as a closed test: Bonferroni rejects each set of hypotheses that contains this one."""
    places = range(len(p_values))
    sets = [
        chosen for size in places for chosen in itertools.combinations(places, size + 1)
    ]  # fmt: skip
    return [
        all(
            min(p_values[place] for place in chosen) <= alpha / len(chosen)
            for chosen in sets
            if hypothesis in chosen
        )
        for hypothesis in places
    ]


def test_holm_is_the_closed_test() -> None:
    numbers = random.Random(8)
    for _ in range(300):
        p_values = [round(numbers.random() ** 4, 3) for _ in range(numbers.randint(1, 7))]
        levels = holm_levels(p_values, 0.05)
        found = [p <= level for p, level in zip(p_values, levels, strict=True)]
        assert found == closed(p_values, 0.05), p_values
    assert holm_levels([], 0.05) == []
