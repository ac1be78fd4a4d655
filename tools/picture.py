"""The picture of docs/performance.md: time of a cycle against the size of the cluster.

    tools/picture.py              docs/performance.svg, from docs/performance.json
    tools/picture.py --measure    measures first, and writes docs/performance.json; ten minutes

KAI's figures are those of tests/bench/baseline.json. Both axes are logarithmic. Ours and KAI's
differ in colour, line and marker, and each line has its name beside it. The picture has a ground
of its own, light or dark as the reader's system is.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "performance.json"
PICTURE = ROOT / "docs" / "performance.svg"
BASELINE = ROOT / "tests" / "bench" / "baseline.json"

Points = list[tuple[float, float]]  # nodes and milliseconds

# Each panel: a family, what is above it, and the sizes of ours.
PANELS = (
    ("fill", "Eight pods a node, all placed", (10, 50, 100, 500, 1000, 5000, 20000)),
    ("reclaim", "A gang takes back half the cluster", (10, 50, 100, 500, 1000, 5000)),
    ("unschedulable", "A gang that cannot be placed", (10, 50, 100, 500, 1000, 5000)),
    ("event", "A pod ends in a full cluster", (10, 50, 100, 500, 1000, 5000)),
)

X_RANGE, Y_RANGE = (10, 30_000), (0.01, 1_000_000)
WIDTH, HEIGHT = 760, 620
PANEL_WIDTH, PANEL_HEIGHT = 300, 210
LEFT, TOP, X_GAP, Y_GAP = 62, 62, 60, 74

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .head { font-size: 14px; font-weight: 600; }
  .ground { fill: #ffffff; }
  .frame { fill: none; stroke: #8c959f; }
  .grid { stroke: #d8dee4; }
  .second { stroke: #57606a; stroke-dasharray: 1 3; }
  .ours { stroke: #0072b2; fill: #0072b2; }
  .kais { stroke: #d55e00; fill: #ffffff; stroke-dasharray: 6 3; }
  polyline { stroke-width: 2; }
  .mark { stroke-width: 1.5; stroke-dasharray: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .ground { fill: #0d1117; }
    .grid { stroke: #30363d; }
    .second { stroke: #9da7b3; }
    .ours { stroke: #56b4e9; fill: #56b4e9; }
    .kais { stroke: #e69f00; fill: #0d1117; }
  }
"""


def x_of(nodes: float) -> float:
    low, high = map(math.log10, X_RANGE)
    return PANEL_WIDTH * (math.log10(nodes) - low) / (high - low)


def y_of(ms: float) -> float:
    low, high = map(math.log10, Y_RANGE)
    return PANEL_HEIGHT * (1 - (math.log10(ms) - low) / (high - low))


def text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def time_text(ms: float) -> str:
    return f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms" if ms >= 1 else f"{ms * 1000:g} µs"


def axes() -> Iterable[str]:
    """The grid of a panel, with its ticks."""
    nodes: float = X_RANGE[0]
    while nodes <= X_RANGE[1]:
        yield line(x_of(nodes), 0, x_of(nodes), PANEL_HEIGHT, "grid")
        yield text(x_of(nodes), PANEL_HEIGHT + 16, f"{nodes:,}", "middle")
        nodes *= 10
    ms = Y_RANGE[0]
    for _ in range(9):
        yield line(0, y_of(ms), PANEL_WIDTH, y_of(ms), "grid")
        if round(math.log10(ms)) % 2 == 0:
            yield text(-6, y_of(ms) + 4, time_text(round(ms, 2)), "end")
        ms *= 10
    yield line(0, y_of(1000), PANEL_WIDTH, y_of(1000), "second")
    yield f'<rect width="{PANEL_WIDTH}" height="{PANEL_HEIGHT}" class="frame"/>'


def curve(points: Points, kind: str) -> Iterable[str]:
    """A line with a marker for each figure: ours round, KAI's square; its name beside the last."""
    places = [(x_of(nodes), y_of(ms)) for nodes, ms in points]
    if len(places) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" class="{kind}" style="fill: none"/>'
    for x, y in places:
        if kind == "ours":
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="ours mark"/>'
        else:
            yield f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" class="kais mark"/>'
    x, y = places[-1]
    name = f"{'kai-sched' if kind == 'ours' else 'KAI'} {time_text(float(f'{points[-1][1]:.2g}'))}"
    if kind == "ours":
        yield text(x, y - 10, name, "end")
    else:
        yield text(x - 6, y + 20, name)


def panel(title: str, ours: Points, kais: Points) -> Iterable[str]:
    yield text(0, -10, title, kind="head")
    yield from axes()
    for points, kind in ((kais, "kais"), (ours, "ours")):
        if points:
            yield from curve(points, kind)
    if not kais:
        yield text(8, y_of(1000) - 6, "no figure of KAI")


def draw(ours: Mapping[str, Points], kais: Mapping[str, Points]) -> str:
    """The picture, as SVG."""
    parts = []
    for number, (family, title, _) in enumerate(PANELS):
        x = LEFT + number % 2 * (PANEL_WIDTH + X_GAP)
        y = TOP + number // 2 * (PANEL_HEIGHT + Y_GAP)
        inside = "\n".join(panel(title, ours[family], kais.get(family, [])))
        parts.append(f'<g transform="translate({x} {y})">\n{inside}\n</g>')
    head = "Time of one cycle against the number of nodes, both logarithmic"
    note = "Dotted: one second, in which KAI starts its next cycle."
    about = (
        "Four panels. kai-sched takes microseconds to a second, KAI milliseconds to 300 seconds."
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(head)}</title>",
            f"<desc>{escape(about)}</desc>",
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" class="ground"/>',
            text(LEFT, 24, head, kind="head"),
            *parts,
            text(LEFT, HEIGHT - 10, note),
            "</svg>\n",
        )
    )


def kais_figures() -> dict[str, Points]:
    """By family: the fewest milliseconds of a whole cycle, by nodes."""
    figures: dict[str, Points] = {}
    for name, each in json.loads(BASELINE.read_text())["kai"]["workloads"].items():
        family, _, nodes = name.rpartition("-")
        figures.setdefault(family, []).append((int(nodes), each["total_ms"][0]))
    return {family: sorted(points) for family, points in figures.items()}


def our_figures() -> dict[str, Points]:
    known = json.loads(FIGURES.read_text())["ms"]
    return {
        family: sorted((int(nodes), ms) for nodes, ms in known[family].items())
        for family, _, _ in PANELS
    }


def measure(loads: int) -> None:
    from kai.sim.bench import measure
    from kai.sim.workloads import workload

    found: dict[str, dict[str, float]] = {}
    for family, _, sizes in PANELS:
        for size in sizes:
            done = measure(workload(f"{family}-{size}"), loads)
            ms = done.plan_ms if done.further_ms is None else done.further_ms
            found.setdefault(family, {})[str(size)] = round(ms, 4)
            print(f"{family}-{size}: {ms:.4f} ms", file=sys.stderr)
    about = "milliseconds of a first plan, or of an event and a plan, by nodes; tools/picture.py"
    FIGURES.write_text(json.dumps({"about": about, "ms": found}, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="measure our figures again")
    parser.add_argument("--loads", type=int, default=5, help="how often each is loaded [5]")
    options = parser.parse_args()
    if options.measure:
        measure(options.loads)
    PICTURE.write_text(draw(our_figures(), kais_figures()))


if __name__ == "__main__":
    main()
