"""tools/bench.py: the cases in which it fails, its output, and its counts."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bench

ROOT = Path(__file__).parents[2]
FIGURES: dict[str, Any] = {
    "compiler": "g++ 12",
    "instructions": {"fill-500": {"load": 1_000_000, "plan": 2_000_000}, "quiet-5": {"next": 100}},
    "ms": {"fill-500": {"load": 1.0, "plan": 2.0}, "quiet-5": {"next": 0.001}},
}

PROFILE = """\
fn=(1) main
0 5
cfn=(7) kai::PhaseLoad(std::string_view)
calls=1 0
0 1000
cfn=(8) kai::PhaseNext(std::vector<int, std::allocator<int> > const&, kai::Store*)
calls=2 0
0 300
cfn=(2) puts
calls=3 0
0 9

fn=(8)
0 10
cfn=(2)
calls=1 0
0 70

fn=(3) kai::LiveOn(std::string_view)
cfn=(8)
calls=2 0
+3 500
cfn=(9) kai::PhasePlan(kai::Session const&)
calls=1 0
* 77
cfn=(4) _GLOBAL__sub_I__ZN3kai9PhaseLoadE
calls=1 0
* 4
"""


def changed(*path: str, times: float) -> dict[str, Any]:
    """The figures, with one of them multiplied."""
    figures: dict[str, Any] = json.loads(json.dumps(FIGURES))
    place = figures
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] *= times
    return figures


def test_a_phase_has_the_counts_of_its_calls() -> None:
    assert bench.counted(PROFILE) == {"load": 1000, "plan": 77, "next": 200}


def test_unchanged_counts_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.judge(FIGURES, FIGURES) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert out.split().count("1.00") == 6


@pytest.mark.parametrize("path", [("fill-500", "load"), ("fill-500", "plan"), ("quiet-5", "next")])
def test_more_instructions_than_the_baseline_fail(
    capsys: pytest.CaptureFixture[str], path: tuple[str, str]
) -> None:
    assert bench.judge(changed("instructions", *path, times=1.03), FIGURES) == 1
    assert f"{path[0]}: {path[1]} takes 1.030 times" in capsys.readouterr().out
    assert bench.judge(changed("instructions", *path, times=1.01), FIGURES) == 0
    assert bench.judge(changed("instructions", *path, times=0.5), FIGURES) == 0


def test_a_phase_that_is_not_counted_fails(capsys: pytest.CaptureFixture[str]) -> None:
    now = FIGURES | {"instructions": {"fill-500": {"load": 1_000_000}}}
    assert bench.judge(now, FIGURES) == 1
    assert "fill-500: plan was not counted" in capsys.readouterr().out


def test_a_longer_time_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.judge(changed("ms", "fill-500", "plan", times=10), FIGURES) == 0
    assert "10.00" in capsys.readouterr().out


def test_another_compiler_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    now = changed("instructions", "fill-500", "plan", times=2) | {"compiler": "g++ 13"}
    assert bench.judge(now, FIGURES) == 0
    out = capsys.readouterr().out
    assert "takes 2.000 times" in out
    assert "the baseline is of g++ 12" in out.lower()


def test_missing_counts_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.judge(FIGURES | {"instructions": {}}, FIGURES) == 0
    assert "valgrind is missing" in capsys.readouterr().out


def test_a_new_workload_has_no_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    nothing: dict[str, Any] = {"compiler": "", "instructions": {}, "ms": {}}
    assert bench.judge(FIGURES, nothing) == 0
    assert capsys.readouterr().out.count("new") == 6


def test_the_baseline_has_all_counts_and_is_written_in_its_format() -> None:
    text = bench.BASELINE.read_text()
    baseline = json.loads(text)
    assert bench.written(baseline) == text
    assert {*baseline["ours"]["instructions"]} == {*bench.WORKLOADS}
    assert {*baseline["ours"]["ms"]} == {*bench.WORKLOADS}


@pytest.mark.skipif(
    not (shutil.which("valgrind") and (ROOT / "build/release/bin/kai_phases").is_file()),
    reason="no valgrind, or no build/release/bin/kai_phases (make bench brings both)",
)
def test_the_phases_of_a_workload_are_counted() -> None:
    command = [
        sys.executable,
        str(ROOT / "tools" / "bench.py"),
        "event-5",
        "fill-5",
        "--loads",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    event, fill = done.stdout.splitlines()[-2:]
    assert (event.split()[0], event.count("new")) == ("event-5", 3)
    assert (fill.split()[0], fill.count("new")) == ("fill-5", 2)
