"""The workloads on which KAI was measured: ours are similar, and KAI's figures are as recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from openb_records import recorded

from kai.sim import openb
from kai.sim.bench import measure
from kai.sim.workloads import BARS_MS, KAI_MS, LADDER, LARGE, needs_data, workload

KAIS: dict[str, Any] = json.loads(Path(__file__).with_name("baseline.json").read_text())["kai"]
GANGS = {"gang3-5000", "gang250-5000"}  # KAI was measured on both in one cluster: gang-5000


def test_kais_figures_equal_the_recorded_ones() -> None:
    for name, ms in KAI_MS.items():
        if not needs_data(name):
            known = "gang-5000" if name in GANGS else name
            assert ms == KAIS["workloads"][known]["total_ms"][0], name


@pytest.mark.skipif(not recorded(), reason=f"no KAI records beside {openb.folder()}")
def test_kais_figure_of_the_alibaba_cluster_equals_the_recorded_one() -> None:
    [record] = [file for file in recorded() if file.stem == "default"]
    assert KAI_MS["openb"] == json.loads(record.read_bytes())["kai_cycle_ms"]


def test_every_figure_belongs_to_a_workload_of_the_ladder() -> None:
    assert {*BARS_MS, *KAI_MS} <= {*LADDER, *LARGE}


@pytest.mark.parametrize(
    "name", [name for name in KAIS["workloads"] if name not in ("fill-5000", "gang-5000")]
)
def test_kai_and_we_decide_the_same_number_of_pods(name: str) -> None:
    measured = measure(workload(name), loads=1)
    assert [*measured.decided.values()] == KAIS["workloads"][name]["decided"]


@pytest.mark.skipif(
    not openb.folder().is_dir(),
    reason=f"no openb lists in {openb.folder()}; KAI_DATA names the folder that holds openb/",
)
def test_the_alibaba_cluster_is_in_the_ladder() -> None:
    measured = measure(workload("openb"), loads=1)
    assert (measured.nodes, measured.pods, measured.decided["bind"]) == (1523, 8152, 7614)
    # As in KAI's measurement
    assert set(measured.stages_ms) & {"allocate", "reclaim"} == {"allocate"}
    if not openb.file_of("openb-reclaim-31").is_file():
        pytest.skip("KAI's records are not beside the lists")
    full = measure(workload("openb-reclaim-31"), loads=1)
    assert (full.nodes, full.pods) == (1213, 3699)
    assert full.decided["evict"] > 100
