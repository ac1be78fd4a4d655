"""How often a comparison is wrong: false alarms between equal policies, and missed effects.

`KAI_TRIALS` is the number of trials on the simulator (tools/test.sh seeds: 400).
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kai.sim.comparing.comparison import compared
from kai.sim.comparing.intervals import MeanDifference
from kai.sim.comparing.running import Outcome, Work
from kai.sim.comparing.sides import Point
from kai.sim.comparing.worlds import Worlds
from kai.sim.generators import DAY_S, Quantiles, generate
from kai.sim.workload import NodePool

TRIALS = int(os.environ.get("KAI_TRIALS", "12"))
PAIRS, DRAWS = 20, 1_999
LASTING = Quantiles.log_normal(3 * 3600, 1.5, 3 * DAY_S)

Draw = Callable[[np.random.Generator], Any]


def share_found(draw: Draw, trials: int = 1_000) -> float:
    """The fraction of trials in which the mean difference is called nonzero."""
    random = np.random.Generator(np.random.PCG64(1))
    found = [
        MeanDifference.of(draw(random), draws=DRAWS, seed=trial).p_value <= 0.05
        for trial in range(trials)
    ]
    return sum(found) / trials


def heavy(random: np.random.Generator, sigma: float) -> Any:
    """Mean completion times of 20 worlds: log-normal, because the longest jobs dominate them."""
    return random.lognormal(8, sigma, PAIRS)


@pytest.mark.parametrize("sigma", [0.3, 0.5, 1.0, 1.5])
def test_equal_policies_differ_in_3_to_7_percent_of_trials(sigma: float) -> None:
    share = share_found(lambda random: heavy(random, sigma) - heavy(random, sigma))
    assert 0.03 <= share <= 0.07, share


def test_means_of_few_heavy_jobs_cause_no_more_false_alarms() -> None:
    def means(random: np.random.Generator) -> Any:
        return random.lognormal(6, 2, (PAIRS, 200)).mean(axis=1)

    share = share_found(lambda random: means(random) - means(random))
    assert 0.03 <= share <= 0.07, share


def test_skewed_differences_cause_few_more_false_alarms() -> None:
    """Their mean is 0, and most of them are below it: Student's t is wrong in 8 %."""
    share = share_found(lambda random: random.exponential(1, PAIRS) - 1)
    assert 0.03 <= share <= 0.07, share


def test_a_difference_of_a_tenth_is_found_in_90_percent() -> None:
    def paired(random: np.random.Generator) -> Any:
        base = heavy(random, 1.0)
        effect = -0.1 + 0.05 * random.standard_normal(PAIRS)  # a different one in each world
        return effect * base

    share = share_found(paired)
    assert share >= 0.9, share


# --- on the simulator -----------------------------------------------------------------------------
#
# Two placements that draw a random node differ only by chance. `NOISE` is that chance: the standard
# deviation, over traces, of the difference of their mean completion times in one simulation of
# eight weeks.

NODES = (NodePool("n", 3, gpus=4),)
SEEDS = (1, 2)


def at_random(seed: int) -> Point:
    """A placement that draws nodes with this seed."""
    plugin = {"policy": "random", "seed": str(seed)}
    return Point.of({"plugins": {"placementpolicy": plugin}}, f"seed {seed}")


def eight_weeks(trial: int) -> Work:
    workload = generate(
        trial,
        days=56,
        load=0.9,
        nodes=NODES,
        gpus={1: 6, 2: 2, 4: 1},
        queues={"a": 1, "b": 1},
        durations=LASTING,
    )
    points = (at_random(2 * trial), at_random(2 * trial + 1))
    return Work(points, Worlds(workload), ("completion_mean_s",), 1.0, None, 0.0)


def outcomes(trial: int) -> tuple[Work, list[Outcome], list[Outcome]]:
    work = eight_weeks(trial)
    base, variant = ([work.run(place, seed) for seed in SEEDS] for place in (0, 1))
    return work, base, variant


def slower_by(outcome: Outcome, seconds: float) -> Outcome:
    weeks = tuple((week, (values[0] + seconds,)) for week, values in outcome.weeks)
    return replace(outcome, weeks=weeks)


@pytest.mark.timeout(3600)  # for hundreds of trials
def test_two_random_placements_on_eight_weeks() -> None:
    """A verdict about equal policies is rare, and an effect of twice the noise is found."""
    found = [outcomes(trial) for trial in range(TRIALS)]
    alarms = sum(
        compared(work, SEEDS, base, variant).verdict != "cannot tell"
        for work, base, variant in found
    )
    differences = [variant[0].values[0] - base[0].values[0] for _, base, variant in found]
    noise = float(np.std(differences, ddof=1))
    seen = sum(
        compared(work, SEEDS, base, [slower_by(each, 2 * noise) for each in variant]).verdict
        == "worse"
        for work, base, variant in found
    )
    print(f"of {TRIALS} trials: {alarms} false alarms, {seen} effects of {2 * noise:.0f} s found")
    if TRIALS >= 400:
        assert alarms <= 0.08 * TRIALS
        assert seen >= 0.6 * TRIALS
    else:
        assert alarms <= 0.08 * TRIALS + 4
        assert seen >= 0.6 * TRIALS - 4
