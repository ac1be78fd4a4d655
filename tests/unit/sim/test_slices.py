"""Simulations that start with MIG slices: their sums agree with the queues of a plan."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main
from kai.sim.first_moment import Remaining, workload_of

NOW = "2026-01-01T00:00:00Z"
MIXED = {"nvidia.com/mig.strategy": "mixed"}
SLICES = {"nvidia.com/mig-1g.5gb": 7, "nvidia.com/mig-3g.20gb": 2}


def cluster(**params: Any) -> kai.Cluster:
    made = kai.Cluster(now=NOW).queue("a", deserved_gpus=4)
    made.node("m1", resources=SLICES, labels=MIXED).node("w1", gpus=8)
    made.running("a/r", node="m1", resources={"nvidia.com/mig-3g.20gb": 1})
    made.pending("a/w", resources={"nvidia.com/mig-1g.5gb": 2})
    return made.configure(**params)


@pytest.mark.parametrize(
    ("params", "capacity"),
    [({}, 7 + 6), ({"countMigAsParts": True}, 2)],  # 7/7 + 6/7, rounded up
)
def test_a_simulation_counts_slices_as_the_queues_do(params: Any, capacity: int) -> None:
    queue = kai.Scheduler().plan(cluster(**params)).queues["a"].gpu
    work = workload_of(cluster(**params), remaining=Remaining(seconds=3600.0))
    assert {each.name: each.gpus for each in work.nodes} == {"m1": capacity, "w1": 8}
    assert work.jobs.total_gpus.sum() == pytest.approx(queue.request, abs=1e-5)
    metrics = kai.simulate(work).metrics()
    assert 0 < metrics.utilization <= 1
    assert metrics.utilization == pytest.approx(queue.request / (capacity + 8), abs=1e-5)


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    def run(*options: str) -> tuple[str, str]:
        cluster().save(tmp_path / "c.json")
        assert main(["simulate", str(tmp_path / "c.json"), "--remaining", "1h", *options]) == 0
        out, err = capfd.readouterr()
        return " ".join(out.split()), err

    return run


def test_the_command_uses_the_parameters_of_its_configuration(
    tmp_path: Path, run: Callable[..., tuple[str, str]]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("schedulerParams: {countMigAsParts: true}\n")
    assert "2 jobs on 21 GPUs" in run()[0]
    out, err = run("--config", str(config))
    assert "2 jobs on 10 GPUs" in out
    assert "schedulerParams" not in err


def test_without_a_cluster_its_parameters_are_skipped_with_a_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    work, config = tmp_path / "w.yaml", tmp_path / "config.yaml"
    work.write_text("nodes: {n: {gpu: 8}}\njobs: {a: {duration: 1h}}\n")
    config.write_text("schedulerParams: {countMigAsParts: true}\n")
    assert main(["simulate", str(work), "--config", str(config)]) == 0
    expected = "kai: schedulerParams are skipped, as no cluster is given: countMigAsParts\n"
    assert expected in capfd.readouterr().err
