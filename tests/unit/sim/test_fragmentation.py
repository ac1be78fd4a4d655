"""F of simulated clusters, against its definition at each moment."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

import kai

np = pytest.importorskip("numpy")

from kai.sim import fragmentation, series  # noqa: E402
from kai.sim.metrics import MeanFragmentation  # noqa: E402
from kai.sim.simulate import Life, Outage  # noqa: E402
from kai.sim.workload import Job, NodePool, Queue, Workload  # noqa: E402


def workload(seed: int) -> Workload:
    draw = random.Random(seed)
    jobs = [
        Job(
            f"j{i}",
            queue="a",
            arrival_s=float(draw.randint(0, 60)),
            duration_s=float(draw.randint(1, 40)),
            pods=draw.randint(1, 2),
            gpus=draw.choice((0, 0.3, 0.5, 1, 2, 4)),
            cpu=float(draw.choice((1, 4, 8))),
            models=draw.choice(((), ("A",))),
        )
        for i in range(25)
    ]
    pools = (
        NodePool("big", count=2, gpus=4, cpu=16.0, model="A"),
        NodePool("small", gpus=2, cpu=8.0, model="B"),
    )
    return Workload.of(jobs, queues=(Queue("a"),), nodes=pools)


def slow_f(timeline: kai.sim.Timeline, at_s: float) -> tuple[float, float]:
    """F and idle GPUs, from the cards of the picture of nodes and the definition."""
    pods = fragmentation.typical_pods(timeline.workload)
    pools = {name: pool for pool in timeline.workload.nodes for name in pool.names()}
    jobs, stays = timeline.workload.jobs, timeline.stays
    idle: dict[int, list[float]] = {}
    for card in series.cards_at(timeline, at_s):
        idle.setdefault(card.node, []).append(1 - sum(part for _, part in card.parts))
    fragment = 0.0
    for node, parts in idle.items():
        pool = pools[timeline.node_names[node]]
        here = (stays["node"] == node) & (stays["from_s"] <= at_s) & (at_s < stays["to_s"])
        cpus = pool.cpu - jobs.cpu[stays["job"][here]].sum()
        for pod in pods:
            kinds = ("A", "B")
            is_open = not pod.kinds or pod.kinds[kinds.index(pool.model)]
            usable = [part for part in parts if part >= pod.portion - 1e-9]
            fits = 0 < pod.devices <= len(usable) and cpus >= pod.cpus - 1e-9 and is_open
            fragment += pod.weight * (sum(parts) - (sum(usable) if fits else 0))
    return fragment / sum(pod.weight for pod in pods), sum(map(sum, idle.values()))


@pytest.mark.parametrize("seed", range(6))
def test_each_moment_has_the_fragmentation_of_the_definition(seed: int) -> None:
    timeline = kai.simulate(workload(seed))
    moments, stuck, idle = fragmentation.over_time(timeline)
    assert (np.diff(moments) > 0).all()
    assert len(moments) > 20
    for i in range(0, len(moments) - 1, 3):
        expected = slow_f(timeline, float(moments[i]))
        assert (stuck[i], idle[i]) == pytest.approx(expected, abs=1e-6), moments[i]
        found = timeline.fragmentation(float(moments[i]))
        assert (found.gpus, found.idle_gpus) == pytest.approx(expected, abs=1e-6)


def slow_means(timeline: kai.sim.Timeline, low: float, high: float) -> tuple[float, float]:
    """Sums F and idle GPUs from each change to the next one."""
    stays, nodes = timeline.stays, timeline.nodes
    changes = {*stays["from_s"].tolist(), *stays["to_s"].tolist(), *nodes["at_s"].tolist()}
    edges = [low, *sorted(each for each in changes if low < each < high), high]
    stuck = idle = 0.0
    for start, end in pairwise(edges):
        values = slow_f(timeline, start)
        stuck += values[0] * (end - start)
        idle += values[1] * (end - start)
    return stuck / (high - low), idle / (high - low)


@pytest.mark.parametrize("seed", range(6))
def test_the_mean_is_over_the_window_between_warm_up_and_last_arrival(seed: int) -> None:
    life = Life(outages=(Outage("big-1", from_s=30, until_s=45),))
    timeline = kai.simulate(workload(seed), life=life)
    metrics = timeline.metrics(warm_up_s=13.5, fragmentation=True)
    assert metrics.window_s[0] == 13.5
    assert metrics.window_s[1] < timeline.end_s
    stuck, idle = slow_means(timeline, *metrics.window_s)
    found = metrics.fragmentation
    assert found is not None
    assert stuck > 0
    assert (found.gpus, found.idle_gpus) == pytest.approx((stuck, idle), abs=1e-6)
    assert found.share == pytest.approx(stuck / idle)
    assert metrics.to_dict()["fragmentation"] == {
        "gpus": found.gpus,
        "idle_gpus": found.idle_gpus,
        "share": found.share,
    }


def test_the_mean_is_measured_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = kai.simulate(workload(0))
    with monkeypatch.context() as patch:
        patch.setattr(fragmentation, "over_time", None)
        metrics = timeline.metrics()
    assert metrics.fragmentation is None
    assert "not usable" not in str(metrics)
    with_it = timeline.metrics(fragmentation=True)
    assert replace(with_it, fragmentation=None) == metrics
    assert "  not usable by the typical pod" in str(with_it)


def test_without_idle_gpus_the_share_is_0() -> None:
    jobs = [Job(f"j{i}", queue="a", arrival_s=i, duration_s=10, gpus=2, cpu=1) for i in range(2)]
    pools = (NodePool("n", gpus=2, cpu=8.0),)
    metrics = kai.simulate(Workload.of(jobs, queues=(Queue("a"),), nodes=pools)).metrics(
        fragmentation=True
    )
    assert metrics.fragmentation == MeanFragmentation(gpus=0.0, idle_gpus=0.0, share=0.0)


def test_a_window_without_length_has_no_mean() -> None:
    work = Workload.of([], queues=(Queue("a"),), nodes=(NodePool("n", gpus=2),))
    assert kai.simulate(work).metrics(fragmentation=True).fragmentation is None


def test_a_timeline_can_be_measured_against_other_pods() -> None:
    jobs = [Job("x", queue="a", arrival_s=1, duration_s=10, gpus=1, cpu=1)]
    timeline = kai.simulate(
        Workload.of(jobs, queues=(Queue("a"),), nodes=(NodePool("n", gpus=2, cpu=8.0),))
    )
    assert timeline.fragmentation(5).gpus == 0
    assert timeline.fragmentation(5, "2 1 1").to_dict()["gpus"] == 1
    moments, stuck, idle = fragmentation.over_time(timeline, "2 1 1")
    assert series.means(moments, stuck, np.array([1.0, 11.0])) == pytest.approx([1.0])
    assert series.means(moments, idle, np.array([0.0, 1.0])) == pytest.approx([2.0])


def test_a_moment_outside_the_timeline_is_refused() -> None:
    timeline = kai.simulate(workload(0))
    with pytest.raises(kai.InvalidInputError, match="at_s: expected a time from 0 to the end"):
        timeline.fragmentation(1e9)
