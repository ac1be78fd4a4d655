"""Comparisons on a real Ray, started on this machine: the same bytes as without it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install ray")

import ray

import kai
from kai.errors import InvalidInputError
from kai.sim.comparing import RayExecutor
from kai.sim.generators import generate
from kai.sim.workload import NodePool, Workload

FIFO = {"actions": "allocate"}


@pytest.fixture(scope="module")
def weeks() -> Workload:
    nodes = [NodePool("n", 2, gpus=4)]
    return generate(3, days=30, load=0.9, nodes=nodes, gpus={1: 6, 4: 1}, queues={"a": 1, "b": 1})


@pytest.fixture(scope="module")
def executor() -> Iterator[RayExecutor]:
    with RayExecutor(num_cpus=2) as executor:
        assert ray.is_initialized()
        yield executor
    assert not ray.is_initialized()


def test_a_comparison_gives_the_same_bytes(executor: RayExecutor, weeks: Workload) -> None:
    alone = kai.compare(FIFO, None, workload=weeks, seeds=4)
    beside = kai.compare(FIFO, None, workload=weeks, seeds=4, executor=executor)
    assert beside.to_json() == alone.to_json()


POLICY = """\
import kai


@kai.policy.pod_group_order
def widest_first(groups):
    return -groups.gpus
"""


def test_a_python_policy_gives_the_same_bytes(
    executor: RayExecutor, weeks: Workload, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(POLICY)
    mine = kai.Side(policies=kai.policy.load(tmp_path / "mine.py"))
    alone = kai.compare(None, mine, workload=weeks, seeds=2)
    assert alone.primary.difference != 0
    assert kai.compare(None, mine, workload=weeks, seeds=2, executor=executor).to_json() == (
        alone.to_json()
    )
    (tmp_path / "mine.py").write_text(POLICY.replace("gpus", "gpu"))
    broken = kai.Side(policies=kai.policy.load(tmp_path / "mine.py"))
    with pytest.raises(kai.PolicyError, match=r"^policy widest_first \(.*mine.py, line 6\)"):
        kai.compare(None, broken, workload=weeks, seeds=2, executor=executor)


def test_the_name_ray_uses_the_open_connection(executor: RayExecutor, weeks: Workload) -> None:
    grid = {"config.actions": ["allocate", "allocate, reclaim"]}
    beside = kai.sweep(grid, weeks, seeds=2, executor="ray")
    assert beside.to_json() == kai.sweep(grid, weeks, seeds=2).to_json()
    assert ray.is_initialized()


def test_an_error_of_a_simulation_is_raised(executor: RayExecutor, weeks: Workload) -> None:
    with pytest.raises(InvalidInputError, match=r"^queue a: jobs use it, but the workload"):
        kai.compare(None, kai.Side(queues=()), workload=weeks, vary=(), executor=executor)
