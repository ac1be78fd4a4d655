"""The programs for a machine with a GPU run over the pretended driver, too, so that they work when
there is a device. Their times mean nothing here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pretended import BUILT, GUARD, MIB, Machine

PROGRAM = BUILT / "bin/kai_guard_device"

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def context(machine: Machine) -> None:
    machine.more["STUB_CONTEXT"] = str(4 * MIB)


def check(
    machine: Machine, *only: str, library: Path | None = None, programs: Path = PROGRAM.parent
) -> dict[str, Row]:
    """What check.py finds, by the name of the check."""
    figures = machine.folder / "figures.json"
    command = [sys.executable, str(GUARD / "device/check.py"), "--json", str(figures)]
    command += ["--programs", str(programs), "--image", str(PROGRAM), "--launches", "500"]
    command += ["--library", str(library)] if library else []
    done = subprocess.run(
        [*command, "--only", *only],
        env=machine.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    found = {row["check"]: row for row in json.loads(figures.read_text())}
    failed = [name for name, row in found.items() if row["ok"] is False]
    assert done.returncode == (1 if failed else 0), done.stdout + done.stderr
    return found


def test_what_needs_no_device_is_right_over_the_pretended_driver(machine: Machine) -> None:
    names = ("machine", "families", "three processes", "two pods", "late pods")
    found = check(machine, *names)
    assert [found[name]["ok"] for name in names] == [True] * 5, found
    families = found["families"]["figures"]["rows"]
    assert {row["family"] for row in families} >= {
        "linear",
        "graph",
        "own pool",
        "stack of kernels",
        "variable of a module",
    }
    three = found["three processes"]["figures"]
    assert (three["overshoot"], three["limit"]) == (0, 512 * MIB)
    assert sum(row["refusals"] for row in three["processes"]) > 0
    for row in found["two pods"]["figures"]["processes"]:
        assert 480 * MIB < row["held"] <= 508 * MIB


def test_the_times_are_measured_with_and_without_the_guard(machine: Machine) -> None:
    times = check(machine, "speed")["speed"]["figures"]["times"]
    assert set(times) >= {"kernel_us", "alloc_page_us", "graph_us", "loop_us"}
    assert all(row["bare"] > 0 and row["guard"] > 0 for row in times.values())


def test_without_a_guard_the_checks_fail(machine: Machine) -> None:
    """A library that limits nothing in the place of the guard."""
    nothing = machine.folder / "nothing.so"
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-o", str(nothing)], check=True)
    found = check(machine, "families", "three processes", library=nothing)
    assert [found[name]["ok"] for name in ("families", "three processes")] == [False, False]


def test_a_process_that_escapes_is_found(machine: Machine) -> None:
    """The card is watched from outside: here the third process clears LD_PRELOAD."""
    program = machine.folder / PROGRAM.name
    program.write_text(
        f'#!/bin/sh\n[ "$1 $2" = "fill 3" ] && unset LD_PRELOAD\nexec {PROGRAM} "$@"\n'
    )
    program.chmod(0o755)
    found = check(machine, "three processes", programs=machine.folder)["three processes"]
    assert found["ok"] is False
    assert found["figures"]["overshoot"] > 0
