"""The colours of all pictures, each with a line style, a marker and a hatch.

    look = looks(3, dark=False)[2]     # colour, dash, marker, hatch of the third series

The colours are Okabe and Ito's (2008): people with red-green colour blindness can distinguish them.
Yellow has too little contrast on white, and black on a dark ground; both are replaced. After the
last colour they repeat with another line style and hatch.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "LIGHT", "SHADES", "Ground", "Look", "looks"]


@dataclass(frozen=True)
class Ground:
    """The background of a picture: colours of the page, its text, its lines, and of series."""

    paper: str
    ink: str
    faint: str  # grids, and absent nodes
    quiet: str  # secondary lines and notes
    series: tuple[str, ...]
    evicted: str  # where pods are evicted


LIGHT = Ground(
    paper="#ffffff",
    ink="#24292f",
    faint="#d8dee4",
    quiet="#57606a",
    series=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#57606a"),
    evicted="#000000",
)
DARK = Ground(
    paper="#0d1117",
    ink="#e6edf3",
    faint="#30363d",
    quiet="#9da7b3",
    series=("#56b4e9", "#e69f00", "#1bbf91", "#e59ac6", "#f0e442", "#3f8fd6", "#9da7b3"),
    evicted="#ffffff",
)

# Shades of a heat map from 0 to 1: ten of matplotlib's cividis, whose lightness increases evenly.
SHADES = (
    *("#00224e", "#123570", "#3b496c", "#575d6d", "#707173"),
    *("#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"),
)

# A line style is lengths of ink and gap; empty: a solid line.
DASHES: tuple[tuple[float, ...], ...] = ((), (6, 2), (2, 2), (6, 2, 2, 2), (10, 3), (1, 3), (4, 1))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "++")


@dataclass(frozen=True)
class Look:
    """The look of one series."""

    colour: str
    dash: tuple[float, ...]
    marker: str
    hatch: str


def looks(count: int, *, dark: bool) -> list[Look]:
    """One look for each series; up to 49 series, two of them differ in more than colour."""
    colours = (DARK if dark else LIGHT).series
    made = []
    for i in range(count):
        turn = i // len(colours)
        other = (i + turn) % len(DASHES)
        made.append(
            Look(
                colour=colours[i % len(colours)],
                dash=DASHES[other],
                marker=MARKERS[other],
                hatch=HATCHES[other],
            )
        )
    return made
