"""FGD's published experiment with every policy: table and chart of docs/howto/fragmentation.md.

    python tests/bench/fgd.py                  17 workloads, 10 orders of arrival, 9 policies
    python tests/bench/fgd.py --seeds 2 default multigpu50
    python tests/bench/fgd.py --write          also writes the page's table and its chart

KAI_DATA names the folder that holds the lists (`openb/`) and the published figures
(`openb_expected/`). Run with the interpreter that has kai and NumPy.
"""

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from kai.sim import openb
from kai.sim.filling import FillCluster, Filling, fill, openb_cluster

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "fragmentation.md"
CHART = ROOT / "docs" / "howto" / "fragmentation.svg"
BEGIN, END = "<!-- figures: tests/bench/fgd.py -->", "<!-- end of figures -->"


class Way(NamedTuple):
    """A policy, its options for `kai.sim.filling.fill`, and its name in the published figures."""

    policy: str
    published: str = ""
    options: Mapping[str, Any] = {}


WAYS = {
    "random": Way("random", "01-Random"),
    "dot product": Way("dot-product", "02-DotProd"),
    "GPU clustering": Way("gpu-clustering", "03-GpuClustering"),
    "GPU packing": Way("gpu-packing", "04-GpuPacking"),
    "best fit": Way("best-fit", "05-BestFit"),
    "FGD": Way("fgd", "06-FGD"),
    "FGD, exact scores": Way("fgd", options={"scores": "exact"}),
    "FGD, random ties": Way("fgd", options={"ties": "random"}),
    "least waste": Way("least-waste"),
}
# Variants for the last table: with migration, and with a mix of the pods that have arrived.
BESIDE = {
    "FGD, migration": Way("fgd", options={"migrate": True}),
    "FGD, learnt mix": Way("fgd", options={"learn_every": 0.05}),
    "least waste, migration": Way("least-waste", options={"migrate": True}),
    "least waste, learnt mix": Way("least-waste", options={"learn_every": 0.05}),
}
BESIDE_SEEDS = 3
FIRST_SEED = 42
Figures = NDArray[np.float64]  # a row per seed: percent allocated by demand from 0 to 130 %


def published() -> dict[tuple[str, str], Figures]:
    """The published figures, by workload and policy."""
    table = openb.folder().parent / "openb_expected" / "analysis_allo_discrete.csv"
    rows: dict[tuple[str, str], list[list[float]]] = {}
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            figures = [float(row[str(k)] or "nan") for k in range(131)]
            name = row["workload"].removeprefix("openb_pod_list_")
            rows.setdefault((name, row["sc_policy"]), []).append(figures)
    return {key: np.array(figures) for key, figures in rows.items()}


class Runs:
    """All orders of arrival of one workload with one policy."""

    def __init__(self, cluster: FillCluster, way: str, seeds: int) -> None:
        policy, _, options = (WAYS | BESIDE)[way]

        def run(seed: int) -> tuple[Figures, int, int]:
            filled: Filling = fill(cluster, policy, seed=seed, **options)  # type: ignore[arg-type]
            return filled.allocated_percent(), *placed(filled)

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            done = list(pool.map(run, range(FIRST_SEED, FIRST_SEED + seeds)))
        self.figures: Figures = np.array([each[0] for each in done])
        self.large = float(np.mean([each[1] for each in done]))
        self.bound = float(np.mean([each[2] for each in done]))

    def at(self, percent: int) -> float:
        return float(np.nanmean(self.figures[:, percent]))


def placed(filled: Filling) -> tuple[int, int]:
    """Placed pods with 8 GPUs, and placed pods that are limited to some models."""
    pods = filled.cluster.pods[filled.pod[filled.node >= 0]]
    bound = np.array([bool(kinds) for kinds in filled.cluster.constraints])
    return int((pods[:, 2] >= 8).sum()), int(bound[pods[:, 4]].sum())


def differences(
    done: Mapping[tuple[str, str], Runs], known: Mapping[tuple[str, str], Figures]
) -> list[str]:
    """A table of the differences between our figures and the published ones, by policy."""
    lines = [
        "| Policy | Runs that equal the published ones in all 131 figures "
        "| Largest difference of the mean at 100 % and 130 %, points |",
        "| --- | --: | --: |",
    ]
    for way, (_, name, _) in WAYS.items():
        pairs = [
            (runs.figures, known[workload, name][: len(runs.figures)])
            for (workload, each), runs in done.items()
            if each == way and (workload, name) in known
        ]
        if not pairs:
            continue
        equal = sum(
            np.array_equal(own, theirs, equal_nan=True)
            for owns, all_theirs in pairs
            for own, theirs in zip(owns, all_theirs, strict=True)
        )
        largest = max(
            abs(np.nanmean(own[:, k]) - np.nanmean(theirs[:, k]))
            for own, theirs in pairs
            for k in (100, 130)
        )
        lines.append(f"| {way} | {equal} of {sum(len(own) for own, _ in pairs)} | {largest:.2f} |")
    return lines


def table(
    done: Mapping[tuple[str, str], Runs], workloads: Iterable[str], ways: Iterable[str]
) -> list[str]:
    """A table of the percentage of allocated GPUs at 100 % and 130 % of demand."""
    shown = [*ways]
    lines = [
        "| Workload | " + " | ".join(shown) + " |",
        "| --- |" + " --: |" * len(shown),
    ]
    for workload in workloads:
        runs = [done[workload, way] for way in shown]
        cells = [f"{each.at(100):.1f} / {each.at(130):.1f}" for each in runs]
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    return lines


def against_fgd(done: Mapping[tuple[str, str], Runs], workloads: Iterable[str]) -> list[str]:
    lines = [
        "| Workload | at 100 %, points | at 130 %, points "
        "| pods with 8 GPUs placed | pods restricted to models placed |",
        "| --- | --: | --: | --: | --: |",
    ]
    for workload in workloads:
        own, fgd = done[workload, "least waste"], done[workload, "FGD"]
        lines.append(
            f"| {workload} | {own.at(100) - fgd.at(100):+.2f} | {own.at(130) - fgd.at(130):+.2f} "
            f"| {fgd.large:.0f} → {own.large:.0f} | {fgd.bound:.0f} → {own.bound:.0f} |"
        )
    return lines


# ---- the chart -----------------------------------------------------------------------------------

COLOURS = {
    "random": "#999999",
    "GPU packing": "#56b4e9",
    "best fit": "#009e73",
    "FGD": "#d55e00",
    "least waste": "#0072b2",
}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 56, 44, 130, 48
X_RANGE, Y_RANGE = (80, 130), (80, 98)


def place(demand: float, percent: float) -> tuple[float, float]:
    x = LEFT + (demand - X_RANGE[0]) / (X_RANGE[1] - X_RANGE[0]) * (WIDTH - LEFT - RIGHT)
    y = (
        HEIGHT
        - BOTTOM
        - (percent - Y_RANGE[0]) / (Y_RANGE[1] - Y_RANGE[0]) * (HEIGHT - TOP - BOTTOM)
    )
    return x, y


def chart(done: Mapping[tuple[str, str], Runs], workload: str) -> str:
    """An SVG chart of allocated against requested GPUs, with one line for each policy."""
    parts = []
    for demand in range(X_RANGE[0], X_RANGE[1] + 1, 10):
        (x, top), (_, bottom) = place(demand, Y_RANGE[1]), place(demand, Y_RANGE[0])
        parts.append(
            f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" class="grid"/>'
            f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{demand} %</text>'
        )
    for percent in range(Y_RANGE[0], Y_RANGE[1] + 1, 2):
        (left, y), (right, _) = place(X_RANGE[0], percent), place(X_RANGE[1], percent)
        parts.append(
            f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" class="grid"/>'
            f'<text x="{left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{percent} %</text>'
        )
    for way, colour in COLOURS.items():
        means = np.nanmean(done[workload, way].figures, axis=0)
        points = [place(k, means[k]) for k in range(X_RANGE[0], X_RANGE[1] + 1) if means[k] >= 80]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        x, y = points[-1]
        parts.append(
            f'<polyline points="{path}" style="stroke: {colour}"/>'
            f'<text x="{x + 8:.1f}" y="{y + 4:.1f}">{way} {means[130]:.1f}</text>'
        )
    head = f"Allocated against requested GPUs, openb {workload}, mean of the orders of arrival"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
        f"<title>{escape(head)}</title>\n<style>{STYLE}</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="ground"/>\n'
        f'<text x="{LEFT}" y="24" class="head">{escape(head)}</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .head { font-size: 14px; font-weight: 600; }
  .ground { fill: #ffffff; }
  .grid { stroke: #d8dee4; }
  polyline { fill: none; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .ground { fill: #0d1117; }
    .grid { stroke: #30363d; }
  }
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="lists of openb [those that were published]")
    parser.add_argument("--seeds", type=int, default=10, help="orders of arrival, from 42 on [10]")
    parser.add_argument("--write", action="store_true", help="write the page's table and chart")
    options = parser.parse_args()
    known = published()
    workloads = options.workloads or sorted({workload for workload, _ in known})
    started = time.perf_counter()
    done: dict[tuple[str, str], Runs] = {}
    beside: dict[tuple[str, str], Runs] = {}
    for workload in workloads:
        cluster = openb_cluster(workload)
        for way in WAYS:
            done[workload, way] = Runs(cluster, way, options.seeds)
        for way in ("FGD", "least waste", *BESIDE):
            beside[workload, way] = Runs(cluster, way, min(options.seeds, BESIDE_SEEDS))
        print(f"{workload}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    lines = [
        *differences(done, known),
        "",
        "Percent of all GPUs that are allocated when pods have requested 100 % / 130 % of them:",
        "",
        *table(done, workloads, WAYS),
        "",
        "Least waste compared with FGD:",
        "",
        *against_fgd(done, workloads),
        "",
        "With migration, and with a learnt mix. All columns are means of the first three orders of",
        "arrival:",
        "",
        *table(beside, workloads, ("FGD", "least waste", *BESIDE)),
    ]
    print("\n".join(lines))
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = "\n".join([before + BEGIN, "", *lines, "", END]) + after
        PAGE.write_text(text, encoding="utf-8")
        CHART.write_text(chart(done, "default"), encoding="utf-8")


if __name__ == "__main__":
    main()
