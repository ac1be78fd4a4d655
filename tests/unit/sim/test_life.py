"""Nodes that are added and removed, maintenance, and jobs that change size."""

import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kai.errors import InvalidInputError
from kai.sim import traces
from kai.sim.simulate import Life, Outage, simulate
from kai.sim.stay_ends import NODE_EVENTS, STAY_ENDS
from kai.sim.timeline import Timeline
from kai.sim.workload import (
    Autoscale,
    Job,
    Jobs,
    Maintenance,
    NodePool,
    Queue,
    Resize,
    Workload,
)

QUEUES = (Queue("a", deserved_gpus=4), Queue("b", deserved_gpus=4))


def workload(*jobs: Job, nodes: tuple[NodePool, ...] = (NodePool("n", gpus=4),)) -> Workload:
    return Workload(Jobs.of(jobs), QUEUES, nodes, name="small")


def happened(timeline: Timeline, event: str) -> list[tuple[float, str]]:
    table = timeline.node_events
    return [
        (float(at), timeline.node_names[node])
        for at, node, code in zip(table["at_s"], table["node"], table["event"], strict=True)
        if NODE_EVENTS[code] == event
    ]


# ---- autoscaler ----------------------------------------------------------------------------------

SPOT = NodePool("spot", 0, gpus=4, autoscale=Autoscale(most=3, ready_s=60, idle_s=300), price=7.2)


def test_nodes_are_added_for_waiting_pods_and_paid_from_their_order() -> None:
    jobs = [Job(f"j{i}", "a", 100, 600, gpus=4) for i in range(3)]
    given = workload(*jobs, Job("late", "a", 3000, 100), nodes=(NodePool("n", gpus=4), SPOT))
    timeline = simulate(given)
    assert happened(timeline, "ordered") == [(110, "spot-0"), (110, "spot-1")]
    assert happened(timeline, "ready") == [(170, "spot-0"), (170, "spot-1")]
    assert happened(timeline, "removed") == [(1070, "spot-1"), (1070, "spot-0")]
    assert timeline.jobs["first_start_s"].tolist() == [100, 170, 170, 3000]
    metrics = timeline.metrics()
    spot_hours = 2 * (1070 - 110) / 3600
    assert metrics.node_hours == pytest.approx(3100 / 3600 + spot_hours)
    assert metrics.cost == pytest.approx(spot_hours * 7.2)


def test_nodes_under_creation_are_not_capacity() -> None:
    job = Job("one", "a", 0, 100, gpus=4)
    fixed = simulate(workload(job, Job("two", "a", 100, 1))).metrics()
    scaled = workload(job, Job("two", "a", 100, 1), nodes=(NodePool("n", gpus=4), SPOT))
    assert scaled.gpus == 16
    assert simulate(scaled).metrics().utilization == fixed.utilization == 1
    assert fixed.cost is None


def test_a_closed_or_failed_node_is_not_removed() -> None:
    pool = replace(SPOT, count=1)
    jobs = Job("one", "a", 0, 10), Job("two", "a", 2000, 10)
    closed = Maintenance("m", 20, 1000, nodes=("spot-0",))
    given = replace(workload(*jobs, nodes=(pool,)), maintenance=(closed,))
    assert happened(simulate(given), "removed") == [(1320, "spot-0")]
    life = Life(outages=(Outage("spot-0", 20, 500),))
    assert happened(simulate(workload(*jobs, nodes=(pool,)), life=life), "removed") == [
        (800, "spot-0")
    ]


def test_the_interval_of_the_autoscaler() -> None:
    given = workload(Job("one", "a", 5, 10, gpus=4), nodes=(SPOT,))
    assert simulate(given, life=Life(scale_every_s=60)).jobs["first_start_s"].tolist() == [120]


# ---- maintenance ---------------------------------------------------------------------------------


def test_pods_of_a_drained_node_are_evicted() -> None:
    window = Maintenance("kernel", 100, 50, nodes=("n",), drain=True)
    given = replace(workload(Job("one", "a", 0, 200, gpus=4)), maintenance=(window,))
    timeline = simulate(given)
    assert timeline.jobs["end_s"].tolist() == [250]
    assert [STAY_ENDS[end] for end in timeline.stays["end"]] == ["drained", "finished"]
    assert timeline.jobs["evictions"].tolist() == [1]
    softly = replace(given, maintenance=(replace(window, drain=False),))
    assert simulate(softly).jobs["end_s"].tolist() == [200]


def test_repeated_maintenance_uses_the_next_nodes_each_time() -> None:
    window = Maintenance("rolling", 100, 10, count=2, every_s=1000)
    given = workload(Job("one", "a", 0, 1), Job("last", "a", 2500, 1), nodes=(NodePool("n", 3),))
    timeline = simulate(replace(given, maintenance=(window,)), until_s=3000)
    assert happened(timeline, "cordoned") == [
        (100, "n-0"),
        (100, "n-1"),
        (1100, "n-0"),
        (1100, "n-2"),
        (2100, "n-1"),
        (2100, "n-2"),
    ]


def test_nodes_are_selected_by_label_and_model() -> None:
    nodes = (
        NodePool("a", 2, gpus=4, labels=(("zone", "east"),)),
        NodePool("b", 2, gpus=4, model="H100"),
    )
    for labels, names in (
        ((("zone", "east"),), ["a-0", "a-1"]),
        ((("nvidia.com/gpu.product", "H100"),), ["b-0", "b-1"]),
    ):
        window = Maintenance("m", 10, 10, labels=labels)
        given = replace(workload(Job("one", "a", 0, 30), nodes=nodes), maintenance=(window,))
        assert [name for _, name in happened(simulate(given), "cordoned")] == names


@pytest.mark.parametrize(
    ("window", "pools", "left"),
    [
        (Maintenance("m", 0, 5, nodes=("n-2", "n-0")), (NodePool("n", 2),), ["n-0"]),
        (Maintenance("m", 0, 5, nodes=("n-2", "n-0")), (NodePool("n", 1),), ["n"]),
        (Maintenance("m", 0, 5, nodes=("n-2",)), (NodePool("n", 2),), []),
        (Maintenance("m", 0, 5, nodes=("n",)), (NodePool("other"),), []),
        (Maintenance("m", 0, 5, labels=(("zone", "east"),)), (NodePool("n", 2),), []),
        (Maintenance("m", 0, 5), (NodePool("n", 2),), ["n-0", "n-1"]),
    ],
)
def test_nodes_that_are_gone_need_no_maintenance(
    window: Maintenance, pools: tuple[NodePool, ...], left: list[str]
) -> None:
    nodes = (NodePool("n", 3), NodePool("e", labels=(("zone", "east"),)))
    given = replace(workload(Job("one", "a", 0, 30), nodes=nodes), maintenance=(window,))
    timeline = simulate(given.on_nodes(pools), until_s=1)
    assert sorted(name for _, name in happened(timeline, "cordoned")) == left


def test_a_wrong_name_in_maintenance_is_still_an_error() -> None:
    given = workload(Job("one", "a", 0, 10))
    wrong = replace(given, maintenance=(Maintenance("m", 0, 5, nodes=("m",)),))
    with pytest.raises(InvalidInputError, match="there is no node 'm'"):
        simulate(wrong.on_nodes((NodePool("n", 2),)))


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (Maintenance("m", -1, 5), "at_s -1 is not a time"),
        (Maintenance("m", 0, 0), "duration_s 0 is not a time above 0"),
        (Maintenance("m", 0, 5, every_s=0), "every_s 0 is not a time above 0"),
        (Maintenance("m", 0, 5, count=0), "count 0 is less than 1"),
        (Maintenance("m", 0, 5, nodes=("m",)), "nodes: there is no node 'm'"),
        (Maintenance("m", 0, 5, labels=(("a", "b"),)), "labels: no node has all of them"),
        (Maintenance("m", 0, 5, every_s=1e-6), "every_s 1e-06 makes more than 1,000,000 windows"),
    ],
)
def test_invalid_maintenance_is_refused(window: Maintenance, message: str) -> None:
    given = replace(workload(Job("one", "a", 0, 10)), maintenance=(window,))
    with pytest.raises(InvalidInputError) as raised:
        simulate(given)
    assert str(raised.value).startswith(f"maintenance m: {message}")


# ---- jobs that change size -----------------------------------------------------------------------


def test_a_shrinking_job_makes_room_for_others() -> None:
    given = workload(
        Job("wide", "a", 0, 100, pods=4, resizes=(Resize(50, 1, 1), Resize(70, 2, 1))),
        Job("next", "b", 10, 10, gpus=2),
    )
    timeline = simulate(given)
    assert timeline.jobs["first_start_s"].tolist() == [0, 50]
    # 400 - 200 - 20 are left at 70, for two pods.
    assert timeline.jobs["end_s"].tolist() == [160, 60]
    assert timeline.jobs["kept_gpu_s"].tolist() == [400, 20]


@pytest.mark.parametrize(
    ("resizes", "message"),
    [
        ((Resize(-1, 1, 1),), "resizes: after_s -1 is not a time of at least 0"),
        ((Resize(1, 2, 3),), "resizes: min_pods 3 is not between 1 and pods, which is 2"),
        ((Resize(5, 1, 1), Resize(5, 2, 1)), "resizes: are not in the order of their times"),
    ],
)
def test_invalid_resizes_are_refused(resizes: tuple[Resize, ...], message: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Jobs.of([Job("fine", "a", 0, 1), Job("j", "a", 0, 1, resizes=resizes)])
    assert str(raised.value) == f"job j: {message}"


# ---- all together --------------------------------------------------------------------------------


def random_life(seed: int) -> Workload:
    drawn = random.Random(seed)
    jobs = []
    for i in range(20):
        pods = drawn.randrange(1, 4)
        times = sorted(drawn.sample(range(100), drawn.choice([0, 0, 1, 2])))
        jobs.append(
            Job(
                f"j{i}",
                drawn.choice("ab"),
                drawn.randrange(200),
                drawn.randrange(1, 100),
                pods=pods,
                min_pods=drawn.randrange(1, pods + 1),
                gpus=drawn.choice([0.5, 1, 2]),
                checkpoint_s=drawn.choice([0, 10]),
                resizes=tuple(
                    Resize(at, drawn.randrange(2, 5), drawn.randrange(1, 3)) for at in times
                ),
            )
        )
    nodes = (NodePool("n", 2, gpus=4), replace(SPOT, autoscale=Autoscale(2, 0, 30, 40)))
    windows = (
        Maintenance("m", 50, 60, count=1, every_s=100, drain=drawn.choice([True, False])),
        Maintenance("spot", 80, 20, nodes=("spot",)),
    )
    return replace(workload(*jobs, nodes=nodes), maintenance=windows)


@pytest.mark.parametrize("seed", range(6))
def test_any_order_gives_the_same_timeline(seed: int, tmp_path: Path) -> None:
    given = random_life(seed)
    order = list(range(20))
    random.Random(seed + 1).shuffle(order)
    life = Life(startup_s=2, terminate_s=3, restart_s=5)
    first = simulate(given, life=life, until_s=5000)
    again = replace(
        given,
        jobs=given.jobs.take(order),
        nodes=given.nodes[::-1],
        maintenance=given.maintenance[::-1],
    )
    other = simulate(again, life=life, until_s=5000)
    for name, column in first.jobs.items():
        np.testing.assert_array_equal(column[order], other.jobs[name], err_msg=name)
    assert happened(first, "ordered") == happened(other, "ordered")
    jobs = first.jobs
    useful = jobs["kept_gpu_s"] + jobs["lost_gpu_s"] + jobs["idle_gpu_s"]
    np.testing.assert_allclose(useful, jobs["held_gpu_s"])
    held = (first.stays["to_s"] - first.stays["from_s"]) * first.stays["gpus"]
    assert held.sum() == pytest.approx(jobs["held_gpu_s"].sum())
    assert not np.isnan(jobs["end_s"]).any()
    first.save(tmp_path / "run.npz")
    loaded = Timeline.load(tmp_path / "run.npz")
    assert loaded.metrics() == first.metrics()
    assert loaded.workload == replace(given, jobs=loaded.workload.jobs)
    assert loaded.workload.jobs.job(3) == given.jobs.job(3)


def test_pictures_of_added_and_removed_nodes() -> None:
    from kai.sim import series

    given = random_life(1)
    timeline = simulate(given, until_s=400)
    at, there = series.present_gpus(timeline)
    assert at[0] == 0
    assert there[0] == 8
    assert there.max() <= given.gpus
    assert len(series.cards_at(timeline, 0.0)) == 8


# ---- files ---------------------------------------------------------------------------------------

FILE = """
queues: {a: {}}
nodes:
  n: {count: 2, gpu: 8}
  spot: {gpu: 8, price: 30, autoscale: {max: 10, min: 1, ready: 3m, idle: 15m}}
maintenance:
  kernel: {at: 2d, duration: 4h, nodes: [n-0, spot], count: 1, drain: true, every: 7d}
jobs:
  wide: {duration: 1h, pods: 4, min_member: 2, resizes: [{after: 20m, pods: 8, min_member: 4}]}
"""


def read(tmp_path: Path, text: str) -> Workload:
    (tmp_path / "w.yaml").write_text(text, encoding="utf-8")
    return traces.read(tmp_path / "w.yaml")


def test_a_file_may_have_all_kinds_of_events(tmp_path: Path) -> None:
    given = read(tmp_path, FILE)
    assert given.nodes[1] == NodePool("spot", 1, 8, autoscale=Autoscale(10, 1, 180, 900), price=30)
    assert given.maintenance == (
        Maintenance("kernel", 172_800, 14_400, ("n-0", "spot"), (), 1, True, 604_800),
    )
    assert given.jobs.job(0).resizes == (Resize(1200, 8, 4),)
    assert given.gpus == 16 + 80
    again = read(tmp_path, traces.write_yaml(given))
    assert replace(again, jobs=given.jobs) == given
    assert again.jobs.job(0) == given.jobs.job(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("max: 10", "mx: 10"), "nodes.spot.autoscale.mx: `autoscale` has no key 'mx'"),
        (("max: 10, ", ""), "nodes.spot.autoscale: has no max"),
        (("min: 1,", "min: 11,"), "nodes.spot.autoscale.min: is 11, but max is 10"),
        (
            ("{gpu: 8, price", "{count: 0, gpu: 8, price"),
            "nodes.spot.count: is 0, which is less than 1",
        ),
        (
            ("{gpu: 8, price", "{count: 11, gpu: 8, price"),
            "nodes.spot.count: is 11, but autoscale has 1 to 10 nodes",
        ),
        (("price: 30", "price: -3"), "nodes.spot.price: is -3, which is less than 0"),
        (("at: 2d, ", ""), "maintenance.kernel: has no at"),
        (("duration: 4h", "duration: 0"), "maintenance.kernel.duration: is 0"),
        (
            ("[n-0, spot]", "[n-3]"),
            "maintenance.kernel.nodes: there is no node 'n-3'; did you mean 'n-1'?",
        ),
        (("after: 20m", "aftr: 20m"), "jobs.wide.resizes.0.aftr: a resize has no key 'aftr'"),
        (("after: 20m, ", ""), "jobs.wide.resizes.0: has no after"),
        (("min_member: 4}", "min_member: 9}"), "jobs.wide.resizes.0.min_member: is 9, but there"),
        (("[{after", "7 #[{after"), "jobs.wide.resizes: is 7 instead of a list"),
    ],
)
def test_an_error_has_its_keys(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in FILE
    with pytest.raises(InvalidInputError) as raised:
        read(tmp_path, FILE.replace(*change, 1).replace("7 #[{", "7} #[{"))
    assert re.fullmatch(r"w\.yaml:\d+: " + re.escape(message) + ".*", str(raised.value)), (
        raised.value
    )
