"""The picture of scores: a bar for each node, a segment for each plugin whose scores differ."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import kai

matplotlib.use("Agg")

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@kai.policy.score
def gpus_in_use(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> np.ndarray:
    return nodes.gpus - nodes.gpu_idle_milli.sum(axis=1) / 1000


@kai.policy.score
def cores_in_use(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> np.ndarray:
    return (nodes.cpu_idle_milli - nodes.cpu_milli) / 4000


def scores() -> kai.Scores:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=8)
    cluster.running("a/gpus", pods=4, gpus=1, cpus=1, node="n2")
    cluster.running("a/cores", cpus=8, node="n3").pending("a/x", gpus=1)
    policies = [gpus_in_use, cores_in_use]
    return kai.Scheduler(policies=policies).plan(cluster).scores("a/x-0")


def segments(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The left and right ends of the bars, by node."""
    names = [label.get_text() for label in axes.get_yticklabels()]
    ends: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for bar in axes.patches:
        left, right = sorted((bar.get_x(), bar.get_x() + bar.get_width()))
        ends[names[round(bar.get_y() + bar.get_height() / 2)]].append((left, right))
    return ends


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [each.get_text() for each in legend.get_texts()]


def test_positive_scores_go_right_and_negative_ones_left() -> None:
    axes = scores().plot()
    assert segments(axes) == {"n2": [(0, 4), (-1, 0)], "n1": [], "n3": [(-2, 0)]}
    assert legend_of(axes) == ["gpus_in_use", "cores_in_use"]
    low, high = axes.get_xlim()
    assert low < -2
    assert high > 4
    sums = [line.get_xdata()[0] for line in axes.get_lines() if len(line.get_ydata()) == 2]
    assert sums[-3:] == [3, 0, -2] or sums[:3] == [3, 0, -2]


def test_the_chosen_node_is_marked_without_colour() -> None:
    axes = scores().plot()
    bold = [each.get_text() for each in axes.get_yticklabels() if each.get_fontweight() == "bold"]
    assert bold == ["n2"]
    assert [each.get_text() for each in axes.texts if "chosen" in each.get_text()] == [
        "1,003  ◀ chosen"
    ]
    hatches = {bar.get_hatch() for bar in axes.patches}
    assert len(hatches) == 2, "the plugins differ without their colours"


def test_the_number_of_nodes_that_are_not_drawn_is_shown() -> None:
    lines = scores().plot(most=2).get_xlabel().splitlines()
    assert lines == [
        "score; the line across a bar is its sum",
        "each node also has 1,000 from nodeavailability",
        "and 1 more node",
    ]


def test_equal_nodes_show_what_they_have() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 2).pending("a/x")
    axes = kai.Scheduler().plan(cluster).scores("a/x-0").plot()
    assert "2 nodes have the highest sum: the first name decides" in axes.get_xlabel()
    assert legend_of(axes) == ["nodeavailability", "resourcetype", "nodeplacement"]


def test_on_a_dark_ground_other_colours_are_used() -> None:
    light = scores().plot().patches[0].get_facecolor()
    with plt.style.context("dark_background"):
        dark = scores().plot().patches[0].get_facecolor()
    assert light != dark


def test_it_can_be_drawn_into_a_figure_that_exists() -> None:
    _, (left, right) = plt.subplots(1, 2)
    assert scores().plot(ax=right) is right
    assert not left.patches


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(kai.InvalidInputError, match="most: expected at least 1, not 0"):
        scores().plot(most=0)
    cluster = kai.Cluster(now=NOW).queue("a").pending("a/x")
    with pytest.raises(kai.InvalidInputError, match="no node can run a/x-0: there is nothing to"):
        kai.Scheduler().plan(cluster).scores("a/x-0").plot()
