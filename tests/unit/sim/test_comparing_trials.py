"""How often a comparison is wrong: false alarms between equal policies, and missed effects.

`KAI_TRIALS` is the number of trials on the simulator (tools/test.sh seeds: 1000).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kai.sim.comparing.comparison import compared
from kai.sim.comparing.intervals import MeanDifference
from kai.sim.comparing.running import Values, Work
from kai.sim.comparing.sides import Point
from kai.sim.comparing.worlds import Worlds
from kai.sim.generators import generate
from kai.sim.workload import NodePool

TRIALS = int(os.environ.get("KAI_TRIALS", "30"))
PAIRS, DRAWS = 20, 1_999

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

NODES = (NodePool("n", 2, gpus=4),)
MORE = (NodePool("n", 3, gpus=4),)


def one_world(seed: int) -> Work:
    workload = generate(
        seed,
        days=0.5,
        load=0.9,
        nodes=NODES,
        gpus={1: 6, 2: 2, 4: 1},
        queues={"a": 1, "b": 1},
        daily_swing=0,
    )
    points = (Point("base", None), Point("more nodes", None, nodes=MORE))
    metrics = ("completion_mean_s", "waiting_mean_s")
    return Work(points, Worlds(workload, vary=()), metrics, 1.0, None, 0.0)


def verdict(base: list[Values], variant: list[Values]) -> str | None:
    seeds = range(PAIRS)
    return compared(one_world(0), seeds, base, variant).verdict


def test_equal_policies_in_independent_worlds() -> None:
    alarms = 0
    for trial in range(TRIALS):
        start = 2 * PAIRS * trial
        values = [one_world(seed).run(0, seed) for seed in range(start, start + 2 * PAIRS)]
        alarms += verdict(values[::2], values[1::2]) != "cannot tell"
    print(f"{alarms} false alarms in {TRIALS} trials")
    if TRIALS >= 1000:
        assert 0.03 <= alarms / TRIALS <= 0.07
    else:
        assert alarms <= max(5, 0.1 * TRIALS)  # 6 or more of 30 have a probability of 0.3 %


def test_half_as_many_more_nodes_are_found() -> None:
    trials = max(4, TRIALS // 5)
    found = 0
    for trial in range(trials):
        worlds = [(one_world(seed), seed) for seed in range(PAIRS * trial, PAIRS * (trial + 1))]
        base, variant = ([work.run(side, seed) for work, seed in worlds] for side in (0, 1))
        found += verdict(base, variant) == "better"
    print(f"found in {found} of {trials} trials")
    assert found >= 0.9 * trials
