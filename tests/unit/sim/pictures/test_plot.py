"""The contents of still pictures: panels, bars, legends and words, not pixels."""

from collections.abc import Iterator

import matplotlib
import numpy as np
import pytest
from conftest import HOUR
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection

from kai.engine import palette
from kai.errors import InvalidInputError
from kai.sim.plot import COMPARED, comparison
from kai.sim.series import queue_steps
from kai.sim.simulate import simulate
from kai.sim.timeline import Timeline

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_each_queue_has_a_panel_with_the_busiest_first(morning: Timeline) -> None:
    figure = morning.plot.queues()
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in panels] == ["vision", "speech", "research"]
    assert panels[0].get_ylabel() == "GPUs"
    assert panels[-1].get_xlabel() == "hours since 2026-03-02 08:00:00"


def test_queues_that_are_not_shown_are_counted(morning: Timeline) -> None:
    figure = morning.plot.queues(most=2)
    assert figure.get_supxlabel() == "not shown: 1 queue with fewer GPU-hours"


def test_a_panel_shows_the_gpus_of_the_queue(morning: Timeline) -> None:
    axes = morning.plot.queues(["speech"], from_s=HOUR, until_s=3 * HOUR).axes[0]
    held, fair, request = axes.get_lines()
    assert held.get_ydata()[0] == pytest.approx(8)  # `whole-node`
    assert [line.is_dashed() for line in (held, fair, request)] == [False, True, True]
    assert fair.get_linewidth() > request.get_linewidth()


def test_with_past_usage_a_panel_shows_it(morning: Timeline) -> None:
    timeline = simulate(morning.workload, usage={"windowSize": "1h", "fetchInterval": "1m"})
    axes = timeline.plot.queues(["speech"], from_s=HOUR, until_s=3 * HOUR).axes[0]
    *_, used = axes.get_lines()
    assert used.get_label() == "mean past usage"
    at, parts = queue_steps(timeline, timeline.queue_names.index("speech"), "gpu", "usage")
    expected = parts[np.searchsorted(at, 2 * HOUR, "right") - 1] * timeline.workload.gpus
    assert expected > 1
    assert used.get_ydata()[200] == pytest.approx(expected, rel=0.02)


def test_hours_of_a_removed_node_have_no_shade(morning: Timeline) -> None:
    heat = morning.plot.nodes(from_s=0, until_s=8 * HOUR).axes[0]
    shades = heat.images[0].get_array()
    assert shades.shape == (3, 400)
    gone = np.ma.getmaskarray(shades)[2]
    assert gone.sum() == 50  # an hour of eight
    assert heat.get_title(loc="right") == "crossed: the node does not exist"


def test_a_moment_shows_every_device_and_its_parts(morning: Timeline) -> None:
    axes = morning.plot.nodes(at_s=1.5 * HOUR).axes[0]
    assert axes.get_title(loc="left").startswith("20.75 of 24 GPUs held after 1.5 h")
    free, *queues = (each for each in axes.collections if isinstance(each, PolyCollection))
    assert {each.get_label(): len(each.get_paths()) for each in queues} == {
        "vision": 12,  # `long` and one that borrows
        "speech": 10,  # `whole-node`, and two parts
    }
    assert len(free.get_paths()) == 4  # three GPUs, and the free part of the shared one
    assert [text.get_text() for text in axes.texts] == ["n-0", "n-1", "n-2"]


def test_jobs_are_rows_in_the_order_of_arrival(morning: Timeline) -> None:
    axes = morning.plot.jobs()
    assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["long", "borrows"]
    waits = next(each for each in axes.collections if isinstance(each, LineCollection))
    assert len(waits.get_segments()) == 8
    assert legend_of(axes) == ["vision", "speech", "research", "waiting", "pods evicted"]


def test_jobs_can_be_selected_by_name_and_by_time(morning: Timeline) -> None:
    axes = morning.plot.jobs(["gang", "long"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["long", "gang"]
    assert "speech" not in legend_of(axes)
    early = morning.plot.jobs(until_s=700)
    assert [label.get_text() for label in early.get_yticklabels()] == ["long", "borrows"]


def test_a_curve_ends_at_the_fraction_of_started_jobs(morning: Timeline) -> None:
    axes = morning.plot.waiting(by="queue")
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.get_lines()}
    assert ends == {"vision (3 jobs)": 100, "speech (3 jobs)": 100, "research (2 jobs)": 50}
    looks = {(line.get_linestyle(), line.get_marker()) for line in axes.get_lines()}
    assert len(looks) == 3


def test_utilization_shows_the_existing_gpus(morning: Timeline) -> None:
    axes = morning.plot.utilization(from_s=5 * HOUR, until_s=6 * HOUR)
    held, there = axes.get_lines()
    assert there.get_ydata()[0] == pytest.approx(100 * 16 / 24)
    assert max(held.get_ydata()) <= 100 * 16 / 24 + 1e-9
    assert axes.get_ylabel() == "% of 24 GPUs"


def test_a_picture_can_be_drawn_into_given_axes(morning: Timeline) -> None:
    _, (first, second, third) = plt.subplots(3)
    assert morning.plot.utilization(ax=first) is first
    assert morning.plot.waiting(ax=second) is second
    assert morning.plot.jobs(ax=third) is third


def test_a_comparison_has_a_panel_for_each_metric(morning: Timeline, quiet: Timeline) -> None:
    figure = comparison(
        {"outage": morning, "no outage": quiet}, metrics=["utilization", "evictions"]
    )
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "GPUs held (%), more is better",
        "evicted pods, less is better",
    ]
    evicted = [bar.get_width() for bar in figure.axes[1].patches]
    assert evicted == [morning.metrics().evictions, quiet.metrics().evictions]
    assert len({bar.get_hatch() for bar in figure.axes[1].patches}) == 2


@pytest.mark.parametrize("picture", ["queues", "nodes", "jobs", "waiting", "utilization"])
def test_pictures_use_the_colours_of_their_background(morning: Timeline, picture: str) -> None:
    def colours() -> set[str]:
        drawn = getattr(morning.plot, picture)()
        figure = getattr(drawn, "figure", drawn)
        found = set()
        for axes in figure.axes:
            for each in (*axes.collections, *axes.lines):
                for colour in (
                    each.get_facecolor() if hasattr(each, "get_facecolor") else [each.get_color()]
                ):
                    found.add(matplotlib.colors.to_hex(colour))
        return found

    light = colours()
    with plt.style.context("dark_background"):
        dark = colours()
    assert light & set(palette.LIGHT.series)
    assert dark & set(palette.DARK.series)
    assert not dark & (set(palette.LIGHT.series) - set(palette.DARK.series))


def test_line_styles_differ_in_more_than_colour() -> None:
    made = palette.looks(49, dark=False)
    assert len({(look.colour, look.dash) for look in made}) == 49
    for turn in range(0, 49, 7):
        assert len({look.dash for look in made[turn : turn + 7]}) == 7
        assert len({look.hatch for look in made[turn : turn + 7]}) == 7


def test_series_contrast_with_their_background() -> None:
    def luminance(colour: str) -> float:  # WCAG 2
        parts = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
            for c in matplotlib.colors.to_rgb(colour)
        ]
        return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))

    for ground in (palette.LIGHT, palette.DARK):
        for colour in ground.series:
            low, high = sorted((luminance(colour), luminance(ground.paper)))
            assert (high + 0.05) / (low + 0.05) > 2.2, colour


def test_unknown_names_and_moments_are_refused(morning: Timeline) -> None:
    with pytest.raises(InvalidInputError, match="queue nlp: the timeline has no such queue"):
        morning.plot.queues(["nlp"])
    with pytest.raises(InvalidInputError, match="job x: the timeline has no such job"):
        morning.plot.jobs(["x"])
    with pytest.raises(InvalidInputError, match="at_s: expected a time from 0 to the end"):
        morning.plot.nodes(at_s=-1)
    with pytest.raises(InvalidInputError, match="there is no metric 'speed'"):
        comparison({"one": morning}, metrics=["speed"])
    with pytest.raises(InvalidInputError, match="timelines: expected at least one"):
        comparison({})


def test_a_timeline_without_jobs_can_be_drawn(empty: Timeline) -> None:
    for draw in (empty.plot.nodes, empty.plot.jobs, empty.plot.waiting, empty.plot.utilization):
        drawn = draw()
        getattr(drawn, "figure", drawn).canvas.draw()
    empty.plot.nodes(at_s=0).canvas.draw()
    comparison({"nothing": empty}, metrics=list(COMPARED)).canvas.draw()
    with pytest.raises(InvalidInputError, match="names: expected at least one queue that has jobs"):
        empty.plot.queues()
