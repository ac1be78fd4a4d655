"""FGD as a Python function on openb: the same plans as the compiled one, and the time they take."""

import json
from pathlib import Path

import pytest

import kai
from kai.sim import openb

pytest.importorskip("numpy")

FGD = Path(__file__).parents[2] / "examples" / "policies" / "fgd.py"
COMPILED = {"plugins": {"placementpolicy": {"policy": "fgd"}}}
MOST_TIMES = 20

pytestmark = pytest.mark.skipif(
    not openb.folder().is_dir(),
    reason=f"no openb lists in {openb.folder()}; KAI_DATA names the folder that holds openb/",
)


@pytest.mark.parametrize("workload", ["default", "gpushare100", "gpuspec33", "multigpu50"])
def test_fgd_in_python_equals_compiled_fgd(
    workload: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.dumps(openb.snapshot(*openb.read(workload))).encode()

    def planned(scheduler: kai.Scheduler) -> kai.Plan:
        return scheduler.plan(kai.Cluster.from_snapshot(data), now=openb.NOW)

    def seconds(plan: kai.Plan) -> float:
        return (plan.timing_ms["total"] - plan.timing_ms["load"]) / 1000

    compiled = planned(kai.Scheduler(COMPILED))
    python = planned(kai.Scheduler(policies=kai.policy.load(FGD)))
    assert python.decisions == compiled.decisions
    times = seconds(python) / seconds(compiled)
    with capsys.disabled():
        print(
            f"\nopenb {workload}: FGD compiled {seconds(compiled):.2f} s, in Python "
            f"{seconds(python):.2f} s, {times:.1f} times; {len(python.decisions):,} decisions"
        )
    assert times < MOST_TIMES
