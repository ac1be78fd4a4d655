"""What the pictures with matplotlib share: axes, and colours that suit a light or dark background.

axes = axes_of(None, (7, 3))
ground = ground_of(axes)           # kai.engine.palette.DARK on a dark background
"""

from __future__ import annotations

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from kai.api.rules import shown
from kai.engine.palette import DARK, LIGHT, Ground
from kai.errors import InvalidInputError


def axes_of(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """`ax`, or the axes of a new figure of that size in inches.

    Raises InvalidInputError for an `ax` that is none.
    """
    given: object = ax
    if given is not None and not isinstance(given, Axes):
        raise InvalidInputError(f"ax is {shown(given)}: write axes of matplotlib")
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def is_dark(axes: Axes) -> bool:
    """By the luminance of the background (ITU-R BT.709)."""
    ground = axes.get_facecolor()
    if len(ground) == 4 and ground[3] == 0:  # transparent: the figure's colour counts
        ground = axes.figure.get_facecolor()
    red, green, blue = to_rgb(ground)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5


def ground_of(axes: Axes) -> Ground:
    return DARK if is_dark(axes) else LIGHT


def dress(axes: Axes, *, grid: bool = True) -> None:
    """Removes two sides of the frame, and draws a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    if grid:
        axes.grid(color=ground_of(axes).faint, lw=0.6)
        axes.set_axisbelow(True)
