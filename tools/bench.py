"""Compares the cost of loading and planning with the committed baseline: `make bench`.

    tools/bench.py                  all workloads below; three minutes on two cores
    tools/bench.py fill-500 --loads 9
    tools/bench.py --write          makes the current figures the baseline

Instructions are counted by callgrind (of Debian's package valgrind) in the phases of kai_phases: a
load, a first plan, and plans after events. They do not depend on the load of the machine, so the
check uses them: it fails if a phase takes over 2 % more than in tests/bench/baseline.json. They do
depend on the compiler; with another compiler than the baseline's, the check never fails. Times are
shown for information, and never fail the check.
Exit status: 0, or 1 if a phase takes more instructions. Without valgrind no instructions are
counted, a line reports it, and the check does not fail.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kai.cli.show import Page
from kai.engine.text import Table
from kai.sim.bench import measure
from kai.sim.workloads import Workload, workload

ROOT = Path(__file__).parents[1]
PHASES = ROOT / "build" / "release" / "bin" / "kai_phases"
BASELINE = ROOT / "tests" / "bench" / "baseline.json"
WORKLOADS = (
    "fill-500", "fill-5000", "spread-500", "shapes-500", "halves-500", "cpus-500", "affinity-500",
    "gang3-1000", "gang250-1000", "topology-1024", "too-large-1024", "unschedulable-1000",
    "unschedulable-late-1000", "reclaim-1000", "consolidation-50", "saturated-500", "queues-1000",
    "event-500", "events-500", "quiet-500", "real-500",
)  # fmt: skip
MOST = 1.02  # times the baseline's instructions
FURTHER_PLANS = 10
NAMES = ("load", "plan", "next")  # of the phases; "next": after events, on average
FUNCTIONS = {f"kai::Phase{name.capitalize()}": name for name in NAMES}

Figures = dict[str, float]  # by phase


def counted(profile: str) -> Figures:
    """Instructions of each phase by call, from the text that callgrind writes."""
    names: dict[str, str] = {}  # callgrind writes a name once, and then its number
    calls: dict[str, int] = {}
    spent: Figures = {}
    phase = None
    lines = iter(profile.splitlines())
    for line in lines:
        if found := re.match(r"c?fn=(\(\d+\))(?: (.*))?", line):
            number, name = found.groups()
            if name:
                names[number] = name
            phase = FUNCTIONS.get(names[number].partition("(")[0])
        elif phase and (found := re.match(r"calls=(\d+) ", line)):
            calls[phase] = calls.get(phase, 0) + int(found[1])
            spent[phase] = spent.get(phase, 0) + int(next(lines).split()[-1])
    return {name: round(spent[name] / calls[name]) for name in NAMES if name in spent}


def count(made: Workload, decisions: int) -> Figures:
    """Instructions of each phase of a workload; `decisions`: those of its first plan."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "snapshot.json").write_bytes(made.snapshot())
        command = [PHASES, folder / "snapshot.json"]
        if made.events_per_plan is not None:
            batches = (
                b"".join(line + b"\n" for line in each) for each in made.events(FURTHER_PLANS)
            )
            (folder / "events").write_bytes(b"".join(batch + b"\n" for batch in batches))
            command.append(folder / "events")
        callgrind = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/profile"]
        done = subprocess.run([*callgrind, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{made.name}: {done.stderr.strip()}")
        found = int(done.stdout.split()[0])
        if found != decisions:
            raise SystemExit(f"{made.name}: {found} decisions in C++, and {decisions} in Python")
        return counted((folder / "profile").read_text())


def compiler() -> str:
    command = [os.environ.get("CXX", "g++"), "-dumpfullversion"]
    return (
        f"g++ {subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()}"
    )


def worse(now: Mapping[str, Figures], baseline: Mapping[str, Figures]) -> list[str]:
    """A sentence for each phase that takes too many instructions, or lacks a count."""
    found = []
    for name, figures in now.items():
        for phase, before in baseline.get(name, {}).items():
            figure = figures.get(phase)
            if figure is None:
                found.append(f"{name}: {phase} was not counted")
            elif figure > MOST * before:
                ratio = f"{figure / before:.3f}"
                found.append(
                    f"{name}: {phase} takes {ratio} times the instructions of the baseline"
                )
    return found


def table(
    title: str, now: Mapping[str, Figures], baseline: Mapping[str, Figures], unit: float
) -> Table:
    """A row for each workload: each phase, and its ratio to the baseline."""

    def cells(name: str, phase: str) -> tuple[str, str]:
        figure = now[name].get(phase)
        if figure is None:
            return "", ""
        before = baseline.get(name, {}).get(phase)
        shown = figure / unit
        return (
            f"{shown:,.{3 if shown >= 0.01 else 5}f}",
            f"{figure / before:.2f}" if before else "new",
        )

    rows = [(name, *(cell for phase in NAMES for cell in cells(name, phase))) for name in now]
    columns = ("workload", *(column for phase in NAMES for column in (phase, "ratio")))
    return Table(title, columns, rows, right=frozenset(range(1, 7)))


def judge(now: Mapping[str, Any], baseline: Mapping[str, Any]) -> int:
    """Prints both tables and the phases that are worse, and returns the exit status."""
    page = Page()
    page.tables(
        [
            table("Milliseconds (information)", now["ms"], baseline["ms"], 1),
            table("Millions of instructions", now["instructions"], baseline["instructions"], 1e6),
        ]
    )
    if not now["instructions"]:
        page.paragraph("No instructions were counted: valgrind is missing (apt install valgrind).")
        return 0
    found = worse(now["instructions"], baseline["instructions"])
    for sentence in found:
        page.paragraph(sentence)
    if found and now["compiler"] != baseline["compiler"]:
        page.paragraph(
            f"The baseline is of {baseline['compiler']}, this of {now['compiler']}: no failure."
        )
        return 0
    return 1 if found else 0


def written(value: Mapping[str, Any]) -> str:
    """JSON with a line for each workload."""

    def text(value: Any, depth: int) -> str:
        if depth == 4 or not isinstance(value, dict) or not value:
            return json.dumps(value)
        members = [f"{'  ' * depth}{json.dumps(k)}: {text(v, depth + 1)}" for k, v in value.items()]
        return "{\n" + ",\n".join(members) + "\n" + "  " * (depth - 1) + "}"

    return text(value, 1) + "\n"


def figures_of(names: Sequence[str], loads: int, jobs: int) -> dict[str, Any]:
    """Instructions and milliseconds of workloads, by name and phase."""
    ms: dict[str, Figures] = {}
    decisions = {}
    for name in names:
        done = measure(workload(name), loads)
        decisions[name] = sum(done.decided.values())
        times = zip(NAMES, (done.load_ms, done.plan_ms, done.further_ms), strict=True)
        ms[name] = {phase: round(time, 4) for phase, time in times if time is not None}
    instructions = {}
    if shutil.which("valgrind"):
        with ThreadPoolExecutor(jobs) as pool:
            every = pool.map(lambda name: count(workload(name), decisions[name]), names)
            instructions = dict(zip(names, every, strict=True))
    return {"compiler": compiler(), "instructions": instructions, "ms": ms}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--loads", type=int, default=3, help="how often each is timed [3]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="callgrinds at once")
    parser.add_argument("--write", action="store_true", help="make these figures the baseline")
    options = parser.parse_args()
    now = figures_of(options.workloads or WORKLOADS, options.loads, options.jobs)
    baseline = json.loads(BASELINE.read_text())
    status = judge(now, baseline["ours"])
    if options.write:
        if not now["instructions"]:
            raise SystemExit("nothing was counted, and nothing is written")
        for part in ("instructions", "ms"):
            baseline["ours"][part] |= now[part]
        baseline["ours"]["compiler"] = now["compiler"]
        BASELINE.write_text(written(baseline))
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
