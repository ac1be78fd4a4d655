"""Workloads and timelines as people see them: printed, in a notebook, and during a simulation."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import kai
from kai.errors import InvalidInputError
from kai.sim import progress

HOUR = 3600.0


def two_teams() -> kai.sim.Workload:
    jobs = [
        kai.sim.Job(f"train-{i}", "vision", arrival_s=0, duration_s=HOUR, gpus=4) for i in range(3)
    ]
    jobs.append(kai.sim.Job("sweep", "speech", arrival_s=HOUR, duration_s=HOUR))
    return kai.sim.Workload.of(
        jobs,
        queues=[kai.sim.Queue("vision", deserved_gpus=6), kai.sim.Queue("speech", limit_gpus=2)],
        nodes=[kai.sim.NodePool("a100", gpus=8)],
        name="teams",
        start="2026-01-05T08:00:00",
    )


def test_kai_sim_exports_every_name() -> None:
    for name in kai.sim.__all__:
        assert getattr(kai.sim, name) is not None
    assert set(kai.sim.__all__) < set(dir(kai.sim))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = kai.sim.nothing  # type: ignore[attr-defined]


def test_with_queue_changes_a_queue_in_a_copy() -> None:
    workload = two_teams()
    changed = workload.with_queue("vision", deserved_gpus=2, weight=3)
    assert changed.queue("vision") == workload.queue("vision", deserved_gpus=2, weight=3)
    assert changed.queue("speech") == workload.queue("speech")
    assert workload.queue("vision").deserved_gpus == 6
    assert workload.with_nodes("a100", count=3).gpus == 24


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("visoin", {}, "the workload has no queue 'visoin'; did you mean 'vision'?"),
        ("vision", {"wieght": 2}, "queue vision: there is no field 'wieght'; did you mean"),
        ("vision", {"name": "x"}, "queue vision: there is no field 'name'"),
    ],
)
def test_a_mistyped_queue_or_field_is_named(
    name: str, changes: dict[str, Any], message: str
) -> None:
    for method in (two_teams().with_queue, two_teams().queue):
        with pytest.raises(InvalidInputError) as failed:
            method(name, **changes)
        assert message in str(failed.value)
    with pytest.raises(InvalidInputError, match="no node pool 'h100'"):
        two_teams().with_nodes("h100", count=1)


def test_a_workload_shows_its_queues_and_nodes() -> None:
    workload = two_teams()
    assert repr(workload) == "<teams: 4 jobs on 8 GPUs>"
    shown = workload._repr_html_()
    for cell in ("vision", "6", "unlimited", "12", "speech", "a100"):
        assert f">{cell}</td>" in shown


def test_a_timeline_prints_its_metrics_and_no_time_of_the_machine() -> None:
    timeline = kai.simulate(two_teams())
    assert repr(timeline) == "<kai.sim.Timeline of teams: 4 jobs on 8 GPUs, 2.0 h>"
    again = kai.simulate(two_teams())
    assert str(timeline) == str(again)
    assert timeline._repr_html_() == again._repr_html_()
    assert "waiting to start" in str(timeline)
    assert str(timeline.metrics()) in str(timeline)
    assert timeline.metrics()._repr_html_() in timeline._repr_html_()
    assert repr(timeline.metrics()) == "<kai.sim.Metrics of 4 jobs>"


def test_the_virtual_date_needs_a_start() -> None:
    workload = two_teams()
    assert progress.moment(workload, 90 * 60) == "2026-01-05 09:30"
    assert progress.moment(kai.sim.generate(seed=1, days=1), 36 * HOUR) == "day 1.5"


class Shown:
    """The output of a notebook in one place."""

    def __init__(self) -> None:
        self.bundles: list[dict[str, str]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Shown:
        assert raw
        assert display_id
        self.update(bundle, raw=raw)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.bundles.append(bundle)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    display = pytest.importorskip("IPython.display")
    shown = Shown()
    monkeypatch.setattr(progress, "_in_notebook", lambda: True)
    monkeypatch.setattr(display, "display", shown.display)
    return shown


def test_a_notebook_shows_a_temporary_bar_with_the_virtual_date(
    notebook: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0.0)
    monkeypatch.setattr("kai.sim.simulate.STEPS", 1)
    kai.simulate(two_teams(), progress=True, progress_every_s=0.0)
    found = [bundle["text/plain"] for bundle in notebook.bundles]
    assert "2026-01-05 09:00, 2 of 4 jobs ended" in " | ".join(found)
    assert '<progress value="0.9' in notebook.bundles[-2]["text/html"]
    assert found[-1] == ""


def test_a_short_simulation_shows_no_bar(notebook: Shown) -> None:
    kai.simulate(two_teams(), progress=True)
    assert notebook.bundles == []


def test_simulations_of_a_comparison_are_counted(
    notebook: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "APPEARS_AFTER_S", 0.0)
    kai.compare(None, {"actions": "allocate"}, workload=two_teams(), progress=True)
    found = [bundle["text/plain"] for bundle in notebook.bundles]
    assert found == ["50% 1 of 2 simulations", "100% 2 of 2 simulations", ""]


def test_there_is_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None if sys.stderr is None else sys.__stdout__)
    if sys.stderr is not None and not sys.stderr.isatty():
        with progress.bar() as moved:
            assert moved is None


def test_a_sweep_uses_the_names_of_a_mapping() -> None:
    policies = {"KAI": None, "place only": {"actions": "allocate"}}
    found = kai.sweep({"config": policies, "queues.vision.weight": [1, 2]}, two_teams())
    assert [point["config"] for point in found.points] == ["KAI", "KAI", "place only", "place only"]
    assert found.compare(0, 3).variant == "place only, queues.vision.weight=2"
    same = kai.sweep({"config": list(policies.values())}, two_teams(), metrics=["waiting_mean_s"])
    assert found.compare(0, 2)["waiting_mean_s"].variant == same.values[1][0][0]


def test_a_picture_compares_a_metric_of_one_queue() -> None:
    pytest.importorskip("matplotlib").use("agg")
    metrics = ["waiting_mean_s[vision]", "completion_mean_s", "lost_gpu_hours"]
    figure = kai.sim.plot.comparison({"a": kai.simulate(two_teams())}, metrics=metrics)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "vision: waiting, mean (min), less is better",
        "completion, mean (h), less is better",
        "lost work (GPU-hours), less is better",
    ]
    (bar,) = figure.axes[0].patches
    assert bar.get_width() == pytest.approx(20, abs=0.2)  # 0, 0 and 60 minutes
