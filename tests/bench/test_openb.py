"""A real cluster, planned in one cycle: every plan keeps the rules, whatever it decides."""

import json
from collections import Counter
from collections.abc import Iterable

import pytest
from openb_records import expected_share

import kai
from kai.sim import openb
from kai.verify.validate import validate

pytestmark = pytest.mark.skipif(
    not openb.folder().is_dir(),
    reason=f"no openb lists in {openb.folder()}; KAI_DATA names the folder that holds openb/",
)

NODES, PODS, GPUS = 1_523, 8_152, 6_212  # of the lists with the recorded pods
LISTS = (
    "default",
    *(f"gpushare{share}" for share in (20, 40, 60, 80, 100)),
    *(f"gpuspec{share}" for share in ("05", "10", "20", "25", "33")),
    "multigpu50",
)


class Planned:
    """One list of pods, converted, loaded and planned."""

    def __init__(self, workload: str) -> None:
        self.workload = workload
        self.nodes, pods = openb.read(workload)
        self.pods = {f"openb/{row['name']}": row for row in pods}
        self.snapshot = openb.snapshot(self.nodes, pods)
        data = json.dumps(self.snapshot).encode()
        cluster = kai.Cluster.from_snapshot(data, name=f"openb {workload}")
        self.plan = kai.Scheduler().plan(cluster, now=openb.NOW)

    def __str__(self) -> str:
        timing = self.plan.timing_ms
        requested = _share(self.pods.values())
        given = _share(self.pods[decision.pod] for decision in self.plan.decisions)
        text = (
            f"openb {self.workload}: {len(self.plan.decisions):,} of {len(self.pods):,} pods; "
            f"{requested:.1f} % of GPUs asked for, {given:.1f} % given out; "
            f"load {timing['load']:.0f} ms, plan {timing['total'] - timing['load']:.0f} ms"
        )
        for policy in ("04-GpuPacking", "05-BestFit", "06-FGD"):
            expected = expected_share(self.workload, policy, requested)
            text += "" if expected is None else f"; {policy[3:]} {expected:.1f} %"
        return text


def _share(pods: Iterable[openb.Row]) -> float:
    """The pods' requests, in percent of all GPUs."""
    milli = sum(int(row["num_gpu"]) * int(row["gpu_milli"]) for row in pods)
    return 100 * milli / (GPUS * openb.WHOLE_GPU)


@pytest.fixture(scope="module", params=LISTS)
def planned(request: pytest.FixtureRequest) -> Planned:
    return Planned(request.param)


def test_the_plan_violates_no_rule(planned: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{planned}")
    assert planned.plan.rejected == ()
    assert validate(planned.snapshot, planned.plan, now=openb.NOW) == []


def test_pods_run_on_their_requested_models(planned: Planned) -> None:
    model = {row["sn"]: row["model"] for row in planned.nodes}
    for decision in planned.plan.decisions:
        allowed = openb.models_of(planned.pods[decision.pod])
        assert not allowed or model[decision.node] in allowed


class Room:
    """The free resources of a node, computed from the lists and the placed pods."""

    def __init__(self, row: openb.Row) -> None:
        self.model = row["model"]
        self.gpus, self.cpu, self.memory = _amounts(row, "gpu")
        self.shared: dict[str, int] = {}  # thousandths left, by device

    def take(self, row: openb.Row, gpu_groups: tuple[str, ...]) -> None:
        gpus, cpu, memory = _amounts(row, "num_gpu")
        self.cpu -= cpu
        self.memory -= memory
        if not openb.is_fractional(row):
            self.gpus -= gpus
        for group in gpu_groups:
            if group not in self.shared:
                self.gpus -= 1
                self.shared[group] = openb.WHOLE_GPU
            self.shared[group] -= int(row["gpu_milli"])

    def is_valid(self) -> bool:
        return min(self.gpus, self.cpu, self.memory, *self.shared.values(), 0) >= 0

    def holds(self, row: openb.Row) -> bool:
        gpus, cpu, memory = _amounts(row, "num_gpu")
        if self.cpu < cpu or self.memory < memory:
            return False
        models = openb.models_of(row)
        if models and self.model not in models:
            return False
        part = int(row["gpu_milli"])
        if openb.is_fractional(row) and any(left >= part for left in self.shared.values()):
            return True
        return self.gpus >= gpus


def test_no_pod_that_fits_waits(planned: Planned) -> None:
    """Without limits, a waiting pod must not fit on any node; checked with the lists alone."""
    rooms = {row["sn"]: Room(row) for row in planned.nodes}
    placed = set()
    for decision in planned.plan.decisions:
        placed.add(decision.pod)
        rooms[decision.node].take(planned.pods[decision.pod], decision.gpu_groups)
    assert all(room.is_valid() for room in rooms.values())
    waiting = {
        (*_amounts(row, "num_gpu"), row["gpu_milli"], row.get("gpu_spec")): row
        for pod, row in planned.pods.items()
        if pod not in placed
    }
    for row in waiting.values():
        for node, room in rooms.items():
            assert not room.holds(row), f"{row['name']} waits, and {node} has room for it"


def test_the_recorded_pods_get_nearly_all_requested_room() -> None:
    default = Planned("default")
    assert len(default.nodes) == NODES
    assert len(default.pods) == PODS
    verdicts = Counter(group.verdict for group in default.plan.pod_groups.values())
    assert set(verdicts) <= {"placed", "unschedulable"}
    assert sum(verdicts.values()) == PODS
    given = _share(default.pods[decision.pod] for decision in default.plan.decisions)
    assert given > 90


def _amounts(row: openb.Row, gpus: str) -> tuple[int, int, int]:
    return int(row[gpus]), int(row["cpu_milli"]), int(row["memory_mib"])
