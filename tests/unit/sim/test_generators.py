"""Random workloads: the same for the same seed, with the numbers of their model."""

import math
from dataclasses import fields

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim.generators import Bursts, Quantiles, fit, generate, made_up
from kai.sim.traces import write_yaml
from kai.sim.workload import Jobs, NodePool, Workload


def numbers(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def equal(one: Jobs, other: Jobs) -> bool:
    return all(
        np.array_equal(getattr(one, each.name), getattr(other, each.name), equal_nan=True)
        if isinstance(getattr(one, each.name), np.ndarray)
        else getattr(one, each.name) == getattr(other, each.name)
        for each in fields(Jobs)
    )


def test_the_same_seed_makes_the_same_workload() -> None:
    one, other = (generate(7, days=3, burst=3, daily_swing=0.5) for _ in range(2))
    assert equal(one.jobs, other.jobs)
    assert not equal(one.jobs, generate(8, days=3, burst=3, daily_swing=0.5).jobs)


def test_a_fixed_seed_gives_fixed_jobs() -> None:
    # Fails if other numbers are drawn for a seed, because results then change.
    jobs = generate(1, days=1, jobs_per_day=5).jobs
    text = write_yaml(Workload(jobs, (), (NodePool("n"),)))
    assert [line.strip() for line in text.split("\n") if "job-" in line] == KNOWN


KNOWN = [
    "job-1: {queue: jobs, arrival: 7091.731, duration: 209.77, gpu: 2}",
    "job-2: {queue: jobs, arrival: 9057.847, duration: 6571.329, gpu: 8}",
    "job-3: {queue: jobs, arrival: 14817.116, duration: 7465.217}",
    "job-4: {queue: jobs, arrival: 74244.563, duration: 3114.989}",
    "job-5: {queue: jobs, arrival: 74796.059, duration: 5901.998}",
]


def test_arrivals_are_a_poisson_process() -> None:
    arrival_s = generate(3, days=400, jobs_per_day=50).jobs.arrival_s
    gaps = np.diff(arrival_s)
    assert len(gaps) == pytest.approx(20_000, rel=0.03)
    assert gaps.mean() == pytest.approx(1728, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.03)
    a_day = np.bincount((arrival_s // 86_400).astype(int))
    assert a_day.var() / a_day.mean() == pytest.approx(1, abs=0.25)


def test_the_rate_swings_with_the_day_and_falls_at_the_weekend() -> None:
    model = made_up(jobs_per_day=200, daily_swing=0.8, weekend=0.25)
    assert len(model.profile) == 168
    assert np.mean(model.profile) == pytest.approx(1)
    arrival_s = model.generate(5, days=280).jobs.arrival_s
    hour = (arrival_s // 3600 % 24).astype(int)
    by_hour = np.bincount(hour, minlength=24)
    assert by_hour[11:13].sum() / by_hour[[0, 23]].sum() == pytest.approx(1.8 / 0.2, rel=0.15)
    day = (arrival_s // 86_400 % 7).astype(int)
    by_day = np.bincount(day, minlength=7)
    assert by_day[5:].mean() / by_day[:5].mean() == pytest.approx(0.25, rel=0.1)
    assert len(arrival_s) == pytest.approx(280 * 200, rel=0.03)


def test_bursts_have_jobs_of_one_class() -> None:
    workload = generate(2, days=200, jobs_per_day=100, burst=10, gap_s=1, queues={"a": 1, "b": 3})
    jobs = workload.jobs
    assert len(jobs) == pytest.approx(20_000, rel=0.1)
    starts = np.concatenate(([True], np.diff(jobs.arrival_s) > 60))
    assert len(jobs) / starts.sum() == pytest.approx(10, rel=0.1)
    same = (np.diff(jobs.queue) == 0) & (np.diff(jobs.total_gpus) == 0)
    assert same[~starts[1:]].mean() > 0.95
    shares = np.bincount(jobs.queue) / len(jobs)
    assert shares[jobs.queue_names.index("b")] == pytest.approx(0.75, abs=0.03)


def test_the_load_equals_the_argument() -> None:
    model = made_up(load=0.7, nodes=[NodePool("n", 50, gpus=8)])
    assert model.mean_demand_gpus == pytest.approx(0.7 * 400)
    assert model.generate(1, days=400).load == pytest.approx(0.7, rel=0.03)
    assert model.with_load(1.4).jobs_per_day == pytest.approx(2 * model.jobs_per_day)


def test_jobs_larger_than_a_node_have_equal_pods() -> None:
    jobs = generate(1, days=2, gpus={12: 1}, nodes=[NodePool("n", 4, gpus=8)]).jobs
    assert set(jobs.pods) == {2}
    assert set(jobs.gpus) == {6.0}


def test_a_log_normal_distribution() -> None:
    made = Quantiles.log_normal(600, 1.0, 1e7)
    drawn = made.draw(numbers(1), 100_000)
    assert np.median(drawn) == pytest.approx(600, rel=0.03)
    assert np.log(drawn[drawn > 0]).std() == pytest.approx(1, rel=0.03)
    assert made.mean_s == pytest.approx(600 * math.exp(0.5), rel=0.02)
    assert drawn.mean() == pytest.approx(made.mean_s, rel=0.03)


def test_a_heavy_tail() -> None:
    # P(longer than 10 times the shortest) = 10^-1.5 = 3.2 %.
    made = Quantiles.pareto(60, 1.5, 1e9)
    drawn = made.draw(numbers(2), 200_000)
    assert drawn.min() >= 60
    assert (drawn > 600).mean() == pytest.approx(10**-1.5, rel=0.05)
    assert (drawn > 6000).mean() == pytest.approx(10**-3, rel=0.2)
    assert made.mean_s == pytest.approx(180, rel=0.05)


@pytest.mark.parametrize("count", [1, 2, 30, 5000])
def test_a_measured_distribution_has_the_values_and_the_mean(count: int) -> None:
    values = np.exp(numbers(count).standard_normal(count) * 2 + 6)
    made = Quantiles.of(values)
    assert made.mean_s == pytest.approx(values.mean(), rel=0.002)
    drawn = made.draw(numbers(1), 20_000)
    assert drawn.max() <= values.max() + 0.001
    assert drawn.min() >= values.min() - 0.001
    for part in (10, 50, 90) if count > 2 else ():
        low, high = np.percentile(values, [max(part - 6, 0), part + 6])
        assert low - 0.01 <= np.percentile(drawn, part) <= high + 0.01


def test_sizes_of_bursts() -> None:
    assert Bursts.geometric(1).mean == 1
    made = Bursts.geometric(4)
    assert made.mean == pytest.approx(4, rel=1e-4)
    assert made.draw(numbers(1), 50_000).mean() == pytest.approx(4, rel=0.03)
    assert Bursts.of(np.array([1, 1, 5])).mean == pytest.approx(7 / 3)


def test_a_fitted_model_generates_similar_workloads() -> None:
    source = generate(
        11,
        days=84,
        jobs_per_day=400,
        burst=4,
        daily_swing=0.7,
        weekend=0.4,
        queues={"a": 1, "b": 2},
        gpus={0.5: 1, 1: 4, 8: 1, 32: 0.2},
    )
    model = fit(source)
    assert len(model.classes) == 8
    assert model.jobs_per_day == pytest.approx(len(source.jobs) / 84, rel=0.01)
    assert model.mean_demand_gpus == pytest.approx(source.mean_demand_gpus, rel=0.02)
    made = model.generate(1, days=84)
    assert len(made.jobs) == pytest.approx(len(source.jobs), rel=0.05)
    for of in (lambda jobs: jobs.total_gpus, lambda jobs: jobs.arrival_s // 3600 % 24):
        before, after = (
            np.unique(of(each.jobs), return_counts=True)[1] / len(each.jobs)
            for each in (source, made)
        )
        assert after == pytest.approx(before, abs=0.02)
    for part in (10, 50, 90, 99):
        before, after = (np.percentile(each.jobs.duration_s, part) for each in (source, made))
        assert after == pytest.approx(before, rel=0.15)
    assert (made.queues, made.nodes) == (source.queues, source.nodes)
    # Gaps of jobs in bursts are short in both.
    short = [np.mean(np.diff(each.jobs.arrival_s) < 20) for each in (source, made)]
    assert short[1] == pytest.approx(short[0], rel=0.1)


def test_a_short_workload_gives_an_even_rate() -> None:
    assert fit(generate(1, days=3, jobs_per_day=100)).profile == (1.0,)
    assert len(fit(generate(1, days=10, jobs_per_day=100)).profile) == 24


def test_invalid_numbers_are_refused() -> None:
    for wrong in ({"daily_swing": 2}, {"gpus": {}}, {"queues": {"a": -1}}, {"burst": 0.5}):
        with pytest.raises(InvalidInputError):
            made_up(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="a load needs jobs and nodes with GPUs"):
        made_up(gpus={0: 1})
    with pytest.raises(InvalidInputError, match=r"no job arrives in 1e-06 days"):
        generate(1, days=1e-6)
    with pytest.raises(InvalidInputError, match="jobs that arrive at several times"):
        fit(Workload(generate(1, days=1, jobs_per_day=5).jobs.take([0]), (), ()))


@pytest.mark.parametrize("nodes", [20, NodePool("node", 2), ["node"]])
def test_nodes_that_are_not_pools_are_rejected(nodes: object) -> None:
    with pytest.raises(InvalidInputError, match=r"nodes: expected pools, such as \[NodePool"):
        made_up(nodes=nodes)  # type: ignore[arg-type]


def test_a_model_prints_as_one_line() -> None:
    model = fit(generate(1, days=30, jobs_per_day=500))
    assert repr(model).startswith("<like-made-up-1: a mean of ")
    assert repr(model).endswith("64 GPUs>")
    assert len(repr(model)) < 120
