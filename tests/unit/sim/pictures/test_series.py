"""Sums over pods, means in buckets, pods on GPUs."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import HOUR

from kai.errors import InvalidInputError
from kai.sim import series
from kai.sim.timeline import Timeline
from kai.sim.workload import NodePool


def held_at(timeline: Timeline, at_s: float) -> float:
    """The slow reference: pod by pod."""
    stays, gpus = timeline.stays, timeline.workload.jobs.gpus
    return sum(
        float(gpus[job])
        for job, low, high in zip(stays["job"], stays["from_s"], stays["to_s"], strict=True)
        if low <= at_s < high
    )


def test_a_mean_weights_values_by_their_duration() -> None:
    at, values = np.array([0.0, 5.0]), np.array([2.0, 4.0])
    assert series.means(at, values, np.array([0.0, 4.0, 6.0])).tolist() == [2.0, 3.0]


def test_a_step_function_is_0_before_its_first_moment() -> None:
    means = series.means(np.array([2.0]), np.array([6.0]), np.array([0.0, 1.0, 3.0]))
    assert means.tolist() == [0.0, 3.0]
    assert series.means(np.array([]), np.array([]), np.array([0.0, 1.0])).tolist() == [0.0]


def test_held_gpus_are_the_sum_over_pods(morning: Timeline) -> None:
    at, held = series.held_gpus(morning)
    for moment, value in zip(at, held, strict=True):
        assert value == pytest.approx(held_at(morning, moment))
    assert held[-1] == pytest.approx(0)


def test_the_load_of_all_nodes_equals_the_held_gpus(morning: Timeline) -> None:
    edges = np.linspace(0, morning.end_s, 38)  # buckets that begin and end within stays
    load = series.node_load(morning, edges)
    assert load.shape == (3, 37)
    assert load.sum(axis=0) == pytest.approx(series.means(*series.held_gpus(morning), edges))
    assert load.max() <= 8 + 1e-9


def test_a_removed_node_and_its_gpus_are_absent(morning: Timeline) -> None:
    hours = np.linspace(0, 8 * HOUR, 9)
    assert series.node_presence(morning, hours)[2].tolist() == [1, 1, 1, 1, 1, 0, 1, 1]
    at, gpus = series.present_gpus(morning)
    assert (at / HOUR).tolist() == [0, 5, 6]
    assert gpus.tolist() == [24, 16, 24]


def test_node_names_are_sorted_by_their_numbers(empty: Timeline) -> None:
    names = ("n-10", "n-2", "n-1", "m")
    pools = tuple(NodePool(name) for name in names)
    timeline = replace(
        empty, workload=replace(empty.workload, nodes=pools), node_names=tuple(sorted(names))
    )
    ordered = [timeline.node_names[node] for node in series.nodes_in_order(timeline)]
    assert ordered == ["m", "n-1", "n-2", "n-10"]


def test_pods_with_parts_of_one_gpu_share_a_device(morning: Timeline) -> None:
    cards = series.cards_at(morning, 1.5 * HOUR)
    assert len(cards) == 24
    names = morning.workload.jobs.name
    shared = [card for card in cards if any(part < 1 for _, part in card.parts)]
    assert [
        sorted((names[morning.stays["job"][row]], part) for row, part in card.parts)
        for card in shared
    ] == [[("half", 0.5), ("quarter", 0.25)]]
    assert sum(part for card in cards for _, part in card.parts) == pytest.approx(
        held_at(morning, 1.5 * HOUR)
    )


def test_devices_of_a_removed_node_are_left_out(morning: Timeline) -> None:
    assert {card.node for card in series.cards_at(morning, 5.5 * HOUR)} == {0, 1}


def test_a_shared_device_counts_once_while_a_pod_uses_it(morning: Timeline) -> None:
    (_, _), (at, shared) = series.card_counts(morning)
    assert (at / HOUR).round(3).tolist() == [1.2, 4.2]  # while `half` exists
    assert shared.tolist() == [1, 0]


def test_runs_of_a_gang_are_the_union_of_its_pods(morning: Timeline) -> None:
    runs = series.runs(morning)
    jobs = morning.workload.jobs
    gang = runs.job == jobs.name.index("gang")
    # One cycle reclaims its GPUs, the next one binds its pods.
    assert runs.from_s[gang].tolist() == [2 * HOUR + 1]
    assert runs.to_s[gang].tolist() == [3 * HOUR + 1]
    # Every run of every job is compared with its stays, one by one.
    for job, low, high in zip(runs.job, runs.from_s, runs.to_s, strict=True):
        own = morning.stays["job"] == job
        assert low in morning.stays["from_s"][own]
        assert high in morning.stays["to_s"][own]
    held = [
        (job, low, high)
        for job, low, high in zip(runs.job, runs.from_s, runs.to_s, strict=True)
        if jobs.name[job] == "borrows-too"
    ]
    assert len(held) >= 2  # it was reclaimed, and ran again


def test_pods_evicted_at_one_moment_are_one_row(morning: Timeline) -> None:
    job, at_s = series.evictions(morning)
    counted = dict(zip(*np.unique(job, return_counts=True), strict=True))
    for row, count in counted.items():
        assert count <= morning.jobs["evictions"][row] + 1  # a removed node evicts nothing
    assert (np.diff(job) >= 0).all()
    assert 5 * HOUR in at_s


def test_jobs_that_never_start_count_but_have_no_waiting_time(morning: Timeline) -> None:
    groups = {each.name: each for each in series.waiting_times(morning, "size")}
    assert list(groups) == ["part of a GPU", "2-7 GPUs", "8 GPUs", "more than 8 GPUs"]
    assert groups["more than 8 GPUs"].jobs == 1
    assert groups["more than 8 GPUs"].seconds.tolist() == []
    by_queue = {each.name: each.jobs for each in series.waiting_times(morning, "queue")}
    assert by_queue == {"vision": 3, "speech": 3, "research": 2}


def test_the_queue_with_the_most_gpu_hours_is_first(morning: Timeline) -> None:
    assert [morning.queue_names[i] for i in series.queues_by_use(morning)] == [
        *("vision", "speech", "research")
    ]


def test_a_timeline_without_jobs_has_empty_series(empty: Timeline) -> None:
    assert series.held_gpus(empty)[0].tolist() == []
    assert len(series.runs(empty).job) == 0
    assert series.waiting_times(empty, "size") == []
    assert len(series.cards_at(empty, 0)) == 16


def test_a_wrong_grouping_and_an_empty_window_are_refused(morning: Timeline) -> None:
    with pytest.raises(InvalidInputError, match="by: expected queue or size, not 'user'"):
        series.waiting_times(morning, "user")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="until_s: expected a time after 10 s, not 5"):
        series.window_of(morning, 10, 5)
