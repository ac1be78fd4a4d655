"""A real cluster, placed by KAI: in KAI's mode, each pod of 12 lists gets KAI's node, or waits as
in KAI.

By default three of the lists differ, and one switch explains the difference.

This is the largest comparison: 1,523 nodes, and up to 8,569 pods placed in one cycle.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from openb_records import recorded

import kai
from kai.sim import openb

RECORDED = recorded()
pytestmark = pytest.mark.skipif(
    not (RECORDED and openb.folder().is_dir()),
    reason=f"no openb lists in {openb.folder()}, or KAI's placement of them is not beside them; "
    "KAI_DATA names the folder that holds openb/",
)

LISTS = 12
PLACED = 90_862  # pods of all lists together
EXPLAINED = {"gpuspec10", "gpuspec25", "gpuspec33"}  # by the switch unrelated_blockers


def read(file: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(file.read_bytes())
    return record


def test_all_recorded_lists_exist() -> None:
    records = [read(file) for file in RECORDED]
    assert len(records) >= LISTS
    assert sum(len(record["nodes"]) for record in records) >= PLACED


def plan_of(record: dict[str, Any], compat: dict[str, str], *, as_kai: bool = False) -> kai.Plan:
    nodes, pods = openb.read(record["workload"])
    config = {**record["config"], "compat": compat}
    params = record["schedulerParams"]
    snapshot = openb.snapshot(nodes, pods, config=config, schedulerParams=params)
    cluster = kai.Cluster.from_snapshot(json.dumps(snapshot).encode())
    return kai.Scheduler(as_kai=as_kai).plan(cluster, now=openb.NOW)


def placed_by(plan: kai.Plan) -> dict[str, str]:
    placed = {bind.pod: bind.node for bind in plan.decisions if isinstance(bind, kai.Bind)}
    assert len(placed) == len(plan.decisions)
    return placed


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_every_pod_gets_the_node_that_kai_gave_it(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = read(file)
    plan = plan_of(record, {}, as_kai=True)
    with capsys.disabled():
        own_ms = plan.timing_ms["total"] - plan.timing_ms["load"]
        kais_ms = record["kai_cycle_ms"]
        print(f"\nopenb {file.stem}: {len(plan.decisions):,} pods; {own_ms:.0f} ms", end="")
        print(f", KAI {kais_ms:,} ms")
    assert placed_by(plan) == record["nodes"]


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_default_differs_by_one_switch(file: Path) -> None:
    record = read(file)
    assert placed_by(plan_of(record, {"unrelated_blockers": "kai"})) == record["nodes"]
    differs = placed_by(plan_of(record, {})) != record["nodes"]
    assert differs is (file.stem in EXPLAINED)
