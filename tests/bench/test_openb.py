"""A real cluster, planned in one cycle: every plan must hold, whatever it decides."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import openb
import pytest

import kai
from kai.verify.validate import validate

pytestmark = pytest.mark.skipif(
    not openb.folder().is_dir(),
    reason=f"no openb lists in {openb.folder()}; KAI_DATA names the folder that holds openb/",
)

NODES, PODS = 1_523, 8_152  # of the lists with the recorded pods
WHOLE_GPU_PODS, CPU_PODS = 3_986, 1_088


class Planned:
    """One list of pods, converted, loaded and planned."""

    def __init__(self, workload: str) -> None:
        self.workload = workload
        self.nodes, pods = openb.read(workload)
        self.pods = {f"openb/{row['name']}": row for row in pods if not openb.is_fractional(row)}
        self.left_out = len(pods) - len(self.pods)
        self.snapshot = openb.snapshot(self.nodes, pods)
        data = json.dumps(self.snapshot).encode()
        cluster = kai.Cluster.from_snapshot(data, name=f"openb {workload}")
        self.plan = kai.Scheduler().plan(cluster, now=openb.NOW)

    def __str__(self) -> str:
        gpus = sum(decision.gpus for decision in self.plan.decisions)
        timing = self.plan.timing_ms
        plan_ms = timing["total"] - timing["load"]
        return (
            f"openb {self.workload}: {len(self.nodes):,} nodes, {len(self.pods):,} pods; "
            f"{len(self.plan.decisions):,} placed with {gpus:,} GPUs; "
            f"load {timing['load']:.0f} ms, plan {plan_ms:.0f} ms"
        )


@pytest.fixture(scope="module", params=["default", "gpuspec33", "multigpu50"])
def planned(request: pytest.FixtureRequest) -> Planned:
    return Planned(request.param)


def test_the_plan_keeps_every_rule(planned: Planned, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{planned}")
    assert planned.plan.rejected == ()
    assert validate(planned.snapshot, planned.plan, now=openb.NOW) == []


def test_pods_run_on_the_models_they_ask_for(planned: Planned) -> None:
    model = {row["sn"]: row["model"] for row in planned.nodes}
    for decision in planned.plan.decisions:
        asked = openb.models_of(planned.pods[decision.pod])
        assert not asked or model[decision.node] in asked


def test_nobody_waits_who_would_fit(planned: Planned) -> None:
    """Without limits, what waits must be what no node has room for; told from the lists alone."""
    room = {row["sn"]: (row["model"], _amounts(row, "gpu")) for row in planned.nodes}
    placed = {decision.pod: decision.node for decision in planned.plan.decisions}
    for pod, node in placed.items():
        model, free = room[node]
        room[node] = model, tuple(_minus(free, _amounts(planned.pods[pod], "num_gpu")))
    assert all(min(free) >= 0 for _, free in room.values())
    waiting = {
        (_amounts(row, "num_gpu"), tuple(openb.models_of(row)))
        for pod, row in planned.pods.items()
        if pod not in placed
    }
    for asked, models in waiting:
        for node, (model, free) in room.items():
            fits = min(_minus(free, asked)) >= 0 and (not models or model in models)
            assert not fits, f"{node} has {free}, and pods that ask for {asked} wait"


def test_the_recorded_pods_all_find_room() -> None:
    default = Planned("default")
    assert len(default.nodes) == NODES
    assert len(default.pods) + default.left_out == PODS
    asked = Counter(int(row["num_gpu"]) > 0 for row in default.pods.values())
    assert asked == {True: WHOLE_GPU_PODS, False: CPU_PODS}
    verdicts = Counter(group.verdict for group in default.plan.pod_groups.values())
    assert verdicts == {"placed": WHOLE_GPU_PODS + CPU_PODS}


def _amounts(row: openb.Row, gpus: str) -> tuple[int, ...]:
    return int(row[gpus]), int(row["cpu_milli"]), int(row["memory_mib"])


def _minus(left: Iterable[int], right: Iterable[int]) -> Iterator[int]:
    return (a - b for a, b in zip(left, right, strict=True))
