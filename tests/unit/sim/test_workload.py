"""Jobs as columns, and the load of a workload."""

import math

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload


def jobs(*arrivals: float, **members: object) -> Jobs:
    return Jobs.of(
        Job(f"job-{i}", "vision", at, 100.0, **members)  # type: ignore[arg-type]
        for i, at in enumerate(arrivals)
    )


def test_a_job_is_read_back_from_its_columns() -> None:
    job = Job(
        "train",
        "vision",
        3.0,
        60.0,
        pods=4,
        gpus=0.5,
        min_pods=2,
        preemptible=False,
        estimate_s=90.0,
        models=("A100",),
        speeds=(("V100", 0.5),),
        user="ann",
        application="ResNet-18 (batch size 16)",
    )
    assert Jobs.of([job, Job("other", "speech", 0, 1)]).job(0) == job


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gpus": 1.5}, "job job-0: gpus 1.5 is neither a whole number nor a part of one GPU"),
        ({"pods": 0}, "job job-0: pods 0 is less than 1"),
        ({"min_pods": 2}, "job job-0: min_pods 2 is not between 1 and pods"),
        ({"cpu": -1}, "job job-0: cpu -1 is negative"),
    ],
)
def test_an_invalid_number_raises_one_sentence(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        jobs(0, **wrong)
    assert str(error.value) == message


def test_duplicate_job_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^job a: two jobs have this name$"):
        Jobs.of([Job("a", "q", 0, 1), Job("b", "q", 0, 1), Job("a", "q", 5, 1)])


def test_coded_columns_must_have_a_value_for_each_job() -> None:
    two = jobs(0, 1).with_coded(application=["b", "a"])
    assert [two.job(row).application for row in (0, 1)] == ["b", "a"]
    with pytest.raises(InvalidInputError, match="application has 1 rows instead of 2"):
        two.with_coded(application=["b"])


def test_the_load_is_mean_demand_over_capacity() -> None:
    # 3 jobs of 2 pods of 4 GPUs for 100 s are 2,400 GPU-seconds in 200 s: 12 GPUs of 16.
    three = jobs(50, 100, 250, pods=2, gpus=4)
    workload = Workload(three, (Queue("vision"),), (NodePool("n", 2, gpus=8),))
    assert (workload.mean_demand_gpus, workload.load) == (12, 0.75)


def test_the_load_of_jobs_that_come_at_once_is_infinite() -> None:
    workload = Workload(jobs(5, 5), (Queue("vision"),), (NodePool("n"),))
    assert workload.load == math.inf
    assert Workload(jobs(), (), (NodePool("n"),)).load == 0


def test_taking_rows_keeps_all_columns_of_a_job() -> None:
    three = jobs(0, 1, 2)
    assert three.take([2, 0]).job(0) == three.job(2)
    assert len(three.take(np.array([True, False, True]))) == 2
