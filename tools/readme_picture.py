"""The picture of README.md: the time of one cycle of kai-sched beside that of KAI, as bars.

    tools/readme_picture.py       docs/speed.svg, from the table "The ladder" of docs/performance.md

The axis is linear, so that lengths can be compared. Bars of the two schedulers differ in colour and
pattern, and each bar has its name and time beside it. Colours follow the reader's system: light
or dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from picture import text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "speed.svg"

# Rows of the table, and what the cycle does.
ROWS = {
    "fill-5000": "Place 40,000 pods on 5,000 empty nodes",
    "unschedulable-1000": "Find that a gang of 100 pods cannot start on 1,000 nodes",
    "reclaim-1000": "Reclaim half of the GPUs of 1,000 nodes for a gang of 4,000 pods",
    "openb": "Place the pods of the Alibaba cluster: 8,152 pods, 1,523 nodes",
}
OURS_COLUMN, KAIS_COLUMN = 4, 8  # first plan, KAI

WIDTH, LEFT, TOP = 760, 24, 62
BAR_LEFT, BAR_RIGHT = 110, 640  # where the axis begins and ends
BAR_HEIGHT, ROW_HEIGHT = 18, 78
LEAST_WIDTH = 2.0  # of a bar
AXIS_S, TICK_S = 300, 50
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .head { font-size: 16px; font-weight: 600; }
  .task { font-weight: 600; }
  .note { font-size: 12px; fill: #57606a; }
  .ground { fill: #ffffff; }
  .grid { stroke: #d8dee4; }
  .ours { fill: #0072b2; stroke: #0072b2; }
  .kais { fill: url(#hatch); stroke: #d55e00; }
  .hatch-ground { fill: #ffffff; }
  .hatch-line { stroke: #d55e00; stroke-width: 2.5; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .note { fill: #9da7b3; }
    .ground, .hatch-ground { fill: #0d1117; }
    .grid { stroke: #30363d; }
    .ours { fill: #56b4e9; stroke: #56b4e9; }
    .kais { stroke: #e69f00; }
    .hatch-line { stroke: #e69f00; }
  }
"""
HATCH = (
    '<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="7" height="7" class="hatch-ground"/>'
    '<line x1="0" y1="0" x2="0" y2="7" class="hatch-line"/></pattern>'
)


class Figure(NamedTuple):
    """The times of one row, as the table writes them: "18.5 ms"."""

    ours: str
    kais: str


def seconds(time: str) -> float:
    value, unit = time.split()
    return float(value) * SECONDS[unit]


def figures() -> dict[str, Figure]:
    found = {}
    ladder = FIGURES.read_text(encoding="utf-8").split("## The ladder")[1].split("\n## ")[0]
    for line in ladder.splitlines():
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        if cells[0] in ROWS:
            found[cells[0]] = Figure(cells[OURS_COLUMN], cells[KAIS_COLUMN])
    return {name: found[name] for name in ROWS}


def x_of(time_s: float) -> float:
    return BAR_LEFT + (BAR_RIGHT - BAR_LEFT) * time_s / AXIS_S


def bar(y: float, name: str, time: str, kind: str) -> Iterable[str]:
    width = max(x_of(seconds(time)) - BAR_LEFT, LEAST_WIDTH)
    middle = y + BAR_HEIGHT / 2 + 5
    yield text(BAR_LEFT - 8, middle, name, anchor="end")
    yield (
        f'<rect x="{BAR_LEFT}" y="{y:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" '
        f'class="{kind}"/>'
    )
    yield text(BAR_LEFT + width + 8, middle, time)


def draw(rows: dict[str, Figure]) -> str:
    """The picture, as SVG."""
    bottom = TOP + ROW_HEIGHT * len(rows)
    head = "Time of one scheduling cycle"
    notes = (
        "Shorter is better. With their true length, the bars of kai-sched would be invisible.",
        "Both on two cores at 2.6 GHz. KAI is v0.17.0 plus later commits. See docs/performance.md.",
    )
    about = "; ".join(
        f"{ROWS[name]}: kai-sched {each.ours}, KAI {each.kais}" for name, each in rows.items()
    )
    height = bottom + 22 + 20 * len(notes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(head)}</title>",
        f"<desc>{escape(about)}</desc>",
        f"<style>{STYLE}</style>",
        f"<defs>{HATCH}</defs>",
        f'<rect width="{WIDTH}" height="{height}" class="ground"/>',
        text(LEFT, 28, head, kind="head"),
    ]
    for tick in range(0, AXIS_S + 1, TICK_S):
        x = x_of(tick)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP - 14}" x2="{x:.1f}" y2="{bottom - 10}" class="grid"/>'
        )
        parts.append(text(x, bottom + 6, f"{tick} s", "middle", "note"))
    for number, (name, each) in enumerate(rows.items()):
        y = TOP + ROW_HEIGHT * number
        parts.append(text(LEFT, y + 4, ROWS[name], kind="task"))
        parts.extend(bar(y + 13, "kai-sched", each.ours, "ours"))
        parts.extend(bar(y + 35, "KAI", each.kais, "kais"))
    parts.extend(
        text(LEFT, bottom + 30 + 20 * number, note, kind="note")
        for number, note in enumerate(notes)
    )
    return "\n".join((*parts, "</svg>\n"))


if __name__ == "__main__":
    PICTURE.write_text(draw(figures()), encoding="utf-8")
