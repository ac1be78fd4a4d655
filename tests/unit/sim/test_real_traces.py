"""The public traces, if available: in KAI_DATA, or ../shared/data beside the checkout.

The figures are those of the traces' publishers, or were computed from the files without kai.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from kai.sim import traces
from kai.sim.generators import fit
from kai.sim.variants import bootstrap, scaled
from kai.sim.workload import NodePool, Workload

DATA = Path(os.environ["KAI_DATA"])
pytestmark = pytest.mark.skipif(
    not (DATA / "philly").is_dir(),
    reason=f"no traces in {DATA}; KAI_DATA names the folder that holds philly/",
)


@pytest.fixture(scope="module")
def philly() -> Workload:
    return traces.read(DATA / "philly" / "philly_jobs.csv")


def gpu_hours(workload: Workload) -> float:
    return float(workload.jobs.gpu_seconds.sum()) / 3600


def test_philly(philly: Workload) -> None:
    with (DATA / "philly" / "philly_jobs.csv").open(newline="") as file:
        gpu_time = sum(float(row["gpu_time"]) for row in csv.DictReader(file) if row["timestamp"])
    assert len(philly.jobs) == 82_247
    assert philly.problems == ()
    assert philly.jobs.gpu_seconds.sum() == pytest.approx(gpu_time)
    assert philly.gpus == 440
    assert philly.mean_demand_gpus == pytest.approx(374.24, abs=0.01)
    assert philly.load == pytest.approx(0.85, abs=0.001)
    assert len(philly.queues) == 16
    assert philly.jobs.gpus.max() == 8
    assert (philly.jobs.pods > 1).sum() == 199 + 67 + 7 + 7 + 6 + 3


def test_philly_at_110_percent(philly: Workload) -> None:
    assert scaled(philly, load=1.1).load == pytest.approx(1.1)
    assert scaled(philly, load=1.1).mean_demand_gpus == pytest.approx(484)


def test_a_model_fitted_to_philly(philly: Workload) -> None:
    model = fit(philly)
    assert len(model.profile) == 168
    assert model.mean_demand_gpus == pytest.approx(philly.mean_demand_gpus, rel=0.03)
    days = float(np.ptp(philly.jobs.arrival_s)) / 86_400
    made = model.generate(1, days=days)
    assert len(made.jobs) == pytest.approx(len(philly.jobs), rel=0.1)
    for part in (10, 50, 90, 99):
        before, after = (np.percentile(each.jobs.duration_s, part) for each in (philly, made))
        assert after == pytest.approx(before, rel=0.1)


def test_weeks_of_philly(philly: Workload) -> None:
    made = bootstrap(philly, 1, weeks=4)
    assert made.jobs.arrival_s.max() < 28 * 86_400
    assert made.jobs.gpu_seconds.sum() > 0


# Nodes of 8 GPUs for 85 %: mean demand / 0.85 / 8, rounded; at least the largest job.
ITP = {
    "cluster01": (1595, 8),
    "cluster02": (5778, 13),
    "cluster03": (3011, 21),
    "cluster04": (15802, 73),
    "cluster05": (3629, 1),
    "cluster06": (2396, 13),
    "cluster07": (12699, 38),
    "cluster08": (13047, 10),
    "cluster09": (11134, 5),
    "cluster10": (260, 2),
}


def test_each_itp_cluster() -> None:
    workloads = traces.read_all(DATA / "itp")
    found = {each.name: (len(each.jobs), each.nodes[0].count) for each in workloads}
    assert found == ITP
    assert sum(gpu_hours(each) for each in workloads) == pytest.approx(1_632_719.7, abs=0.05)
    for each in workloads:
        largest = float(each.jobs.total_gpus.max())
        assert each.gpus >= largest
        assert each.load < 0.85 + 4 / each.gpus
        assert each.load > 0.85 - 4 / each.gpus or each.gpus == max(largest, 8)


def test_all_itp_clusters_as_one() -> None:
    workload = traces.read(DATA / "itp")
    assert len(workload.jobs) == 69_351
    assert gpu_hours(workload) == pytest.approx(1_632_719.7, abs=0.05)
    assert workload.gpus == 8 * sum(nodes for _, nodes in ITP.values())


def test_openb() -> None:
    workload = traces.read(DATA / "openb")
    assert len(workload.jobs) == 8152
    assert (workload.gpus, len(workload.nodes)) == (6212, 1523)
    assert workload.problems == ()
    assert (workload.jobs.gpus == 0).sum() == 1088
    # 51,470.67 GPU-hours of pods that were scheduled, and 28.07 of pods that were not.
    assert gpu_hours(workload) == pytest.approx(51_498.74, abs=0.01)
    assert workload.mean_demand_gpus == pytest.approx(14.37, abs=0.01)


@pytest.mark.parametrize(
    ("name", "jobs"), [("gpuspec33", 8152), ("multigpu50", 9061), ("cpu300", 10094)]
)
def test_other_openb_lists(name: str, jobs: int) -> None:
    workload = traces.read(DATA / "openb" / f"openb_pod_list_{name}.csv")
    assert len(workload.jobs) == jobs
    assert workload.problems == ()
    assert any(workload.jobs.model_sets) == (name == "gpuspec33")


@pytest.mark.parametrize(
    ("number", "jobs", "hours"),
    [(1, 1494, 383_326.77), (2, 5755, 824_082.01), (3, 992, 116_690.10), (4, 2638, 204_902.10)],
)
def test_muri(number: int, jobs: int, hours: float) -> None:
    workload = traces.read(DATA / "muri" / f"trace{number}.csv")
    assert (len(workload.jobs), workload.gpus) == (jobs, 64)
    assert gpu_hours(workload) == pytest.approx(hours, abs=0.01)
    assert len(workload.jobs.application_names) == 8


def test_tiresias() -> None:
    workload = traces.read(DATA / "tiresias" / "60_job.csv")
    assert (len(workload.jobs), workload.gpus) == (60, 16)
    assert workload.jobs.gpu_seconds.sum() == 26_624
    assert workload.mean_demand_gpus == pytest.approx(26_624 / 1779)


def test_gavels_throughputs() -> None:
    throughputs = traces.read_throughputs(DATA / "gavel" / "simulation_throughputs.json")
    assert throughputs.gpu_models == ("k80", "p100", "v100")
    assert len(throughputs.applications) == 26
    assert throughputs.speeds("ResNet-18 (batch size 16)", 1)["v100"] == 1
    muri = traces.read(DATA / "muri" / "trace1.csv", nodes=[NodePool("n", model="k80")])
    speeds = throughputs.applied(muri).jobs
    resnet = [i for i, each in enumerate(speeds.application_names) if "resnet18" in each]
    rows = np.flatnonzero(np.isin(speeds.application, resnet))
    assert len(rows) == 195
    assert all(0 < dict(speeds.job(int(row)).speeds)["k80"] < 1 for row in rows)
