"""Workloads derived from others."""

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim.generators import generate
from kai.sim.variants import bootstrap, scaled, with_estimates
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

WEEK_S = 7 * 86_400


def workload(*arrivals: float) -> Workload:
    jobs = Jobs.of(Job(f"j{i}", "q", at, 100.0 + i) for i, at in enumerate(arrivals))
    return Workload(jobs, (Queue("q"),), (NodePool("n", 1, gpus=1),), name="three", source="a test")


def test_the_bootstrap_draws_whole_weeks() -> None:
    source = workload(*(10 + week * WEEK_S + offset for week in range(3) for offset in (0, 5, 9)))
    for seed in range(10):
        made = bootstrap(source, seed, weeks=5)
        jobs = made.jobs
        weeks = (jobs.arrival_s // WEEK_S).astype(int)
        assert weeks.tolist() == sorted(weeks)
        for week in set(weeks):
            rows = np.flatnonzero(weeks == week)
            drawn = {int(jobs.name[row].split("-")[0][1:]) // 3 for row in rows}
            assert drawn in ({0}, {1}), f"seed {seed}"  # the third week is incomplete
            assert (jobs.arrival_s[rows] - week * WEEK_S).tolist() == [0, 5, 9]
            assert all(jobs.name[row].endswith(f"-w{week + 1}") for row in rows)
            assert [jobs.duration_s[row] for row in rows] == [
                100.0 + int(jobs.name[row].split("-")[0][1:]) for row in rows
            ]
        assert len(jobs) == 15


def test_the_bootstrap_is_the_same_for_the_same_seed() -> None:
    source = generate(1, days=30, jobs_per_day=20)
    one, two, other = (bootstrap(source, seed).jobs for seed in (4, 4, 5))
    assert one.name == two.name
    assert (one.arrival_s == two.arrival_s).all()
    assert one.name != other.name
    assert one.arrival_s.max() < 4 * WEEK_S


def test_a_job_on_the_edge_of_a_week_is_in_one_of_them() -> None:
    source = workload(0, WEEK_S, WEEK_S + 1, 2 * WEEK_S)
    drawn = {bootstrap(source, seed, weeks=1).jobs.name for seed in range(20)}
    assert drawn == {("j0-w1",), ("j1-w1", "j2-w1")}


def test_a_workload_without_a_whole_week_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^three: lasts 0\.0 days, and a block has 7$"):
        bootstrap(workload(0, 100), 1)
    assert len(bootstrap(workload(0, 100, 86_400), 1, block_days=1).jobs) == 2
    for wrong in ({"weeks": 0}, {"block_days": 0}):
        with pytest.raises(InvalidInputError):
            bootstrap(workload(0, 1e9), 1, **wrong)  # type: ignore[arg-type]


def test_scaling_reaches_a_load_exactly() -> None:
    source = workload(100, 300, 1100)  # 303 GPU-seconds in 1,000 s
    made = scaled(source, load=0.606)
    assert made.load == pytest.approx(0.606)
    assert made.jobs.arrival_s.tolist() == pytest.approx([100, 200, 600])
    assert scaled(source, factor=2).jobs.arrival_s.tolist() == pytest.approx([100, 200, 600])
    assert made.jobs.duration_s.tolist() == source.jobs.duration_s.tolist()
    assert made.source == "a test; gaps between arrivals divided by 2"


def test_scaling_needs_a_load_or_a_factor() -> None:
    for wrong in ({}, {"load": 1, "factor": 1}, {"factor": 0}, {"load": -1}):
        with pytest.raises(InvalidInputError):
            scaled(workload(0, 1), **wrong)
    with pytest.raises(InvalidInputError, match="has no load to change"):
        scaled(workload(5, 5), load=1)


def test_estimates_are_wrong_by_a_log_normal_factor() -> None:
    source = generate(1, days=500, jobs_per_day=50)
    made = with_estimates(source, 3, error=0.5, factor=2)
    ratio = made.jobs.estimate_s / source.jobs.duration_s
    assert np.median(ratio) == pytest.approx(2, rel=0.02)
    assert np.log(ratio).std() == pytest.approx(0.5, rel=0.02)
    assert (made.jobs.duration_s == source.jobs.duration_s).all()
    same = with_estimates(source, 3, error=0.5, factor=2).jobs.estimate_s
    assert (same == made.jobs.estimate_s).all()
    exact = with_estimates(source, 3, error=0).jobs
    assert exact.estimate_s == pytest.approx(source.jobs.duration_s, abs=0.001)
    with pytest.raises(InvalidInputError):
        with_estimates(source, 1, error=-1)
