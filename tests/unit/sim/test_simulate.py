"""Workloads in virtual time, and the results."""

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kai
from kai.sim.metrics import Distribution
from kai.sim.simulate import Failures, Life, Outage, QueueChange, simulate
from kai.sim.timeline import Timeline
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

QUEUES = (
    Queue("root"),
    Queue("a", "root", deserved_gpus=2),
    Queue("b", "root", deserved_gpus=2),
)


def workload(*jobs: Job, gpus: int = 4, nodes: int = 1) -> Workload:
    return Workload(Jobs.of(jobs), QUEUES, (NodePool("n", nodes, gpus=gpus),), name="small")


def test_a_job_runs_when_there_is_room() -> None:
    timeline = simulate(
        workload(Job("one", "a", 0, 100, gpus=4), Job("two", "a", 5, 50, gpus=2)), period_s=1
    )
    assert timeline.jobs["first_start_s"].tolist() == [0, 100]
    assert timeline.jobs["end_s"].tolist() == [100, 150]
    assert timeline.end_s == 150
    metrics = timeline.metrics()
    assert metrics.waiting == Distribution(2, 47.5, 47.5, 90.25, 94.05)
    assert metrics.completion.mean_s == (100 + 145) / 2
    assert metrics.held_gpu_hours == pytest.approx(500 / 3600)


def test_gpu_hours_are_useful_or_lost_or_idle() -> None:
    given = workload(
        Job("low", "a", 0, 100, gpus=4, checkpoint_s=30),
        Job("high", "a", 50, 10, gpus=4, priority_class="build-preemptible"),
    )
    timeline = simulate(given, life=Life(startup_s=2, restart_s=3))
    low = {name: column[0] for name, column in timeline.jobs.items()}
    assert low["kept_gpu_s"] == 4 * 100
    assert low["lost_gpu_s"] == 4 * (48 - 30)
    assert low["idle_gpu_s"] == 4 * (2 + 2 + 3)
    assert low["held_gpu_s"] == low["kept_gpu_s"] + low["lost_gpu_s"] + low["idle_gpu_s"]
    assert (low["restarts"], low["evictions"]) == (1, 1)


def test_a_queue_lends_unused_gpus() -> None:
    timeline = simulate(workload(Job("one", "a", 0, 3600, gpus=4), Job("two", "a", 3600, 1)))
    queues = timeline.metrics().queues
    assert queues["a"].borrowed_gpu_hours == pytest.approx(2)
    assert queues["b"].lent_gpu_hours == pytest.approx(2)
    assert queues["a"].lent_gpu_hours == queues["b"].borrowed_gpu_hours == 0


def test_jain_index_and_share_error_of_saturated_queues() -> None:
    many = [Job(f"{q}-{i}", q, 0, 100, gpus=1) for q in "ab" for i in range(8)]
    metrics = simulate(workload(*many, Job("last", "a", 150, 1))).metrics()
    assert metrics.jain_index == pytest.approx(1)
    assert metrics.share_error == pytest.approx(0)


def test_rho_is_relative_to_a_part_of_the_cluster() -> None:
    # Two queues: alone, four GPUs' work runs on two, in 200 s. It waits 100 s and runs 100 s.
    given = workload(Job("first", "a", 0, 100, gpus=4), Job("second", "b", 0, 100, gpus=4))
    metrics = simulate(given).metrics()
    assert metrics.rho["max"] == pytest.approx(1)
    assert metrics.rho["mean"] == pytest.approx(0.75)


def test_jobs_that_arrive_before_the_window_do_not_count() -> None:
    timeline = simulate(workload(Job("early", "a", 0, 10), Job("late", "a", 100, 10)))
    assert timeline.metrics(warm_up_s=50).jobs == 1
    with pytest.raises(
        kai.InvalidInputError, match=r"the warm-up of .* s is not between 0 and the last arrival"
    ):
        timeline.metrics(warm_up_s=101)


def test_jobs_that_have_not_ended_are_listed() -> None:
    timeline = simulate(workload(Job("long", "a", 0, 1000), Job("short", "a", 0, 10)), until_s=100)
    metrics = timeline.metrics()
    assert metrics.unfinished_jobs == ("long",)
    assert metrics.completion.count == 1
    assert math.isnan(timeline.jobs["end_s"][0])


def test_a_removed_node_has_no_capacity() -> None:
    given = workload(Job("one", "a", 0, 50, gpus=1), Job("two", "a", 100, 1), nodes=2)
    whole = simulate(given).metrics().utilization
    outage = Outage("n-1", from_s=0, until_s=100)
    half = simulate(given, life=Life(outages=(outage,))).metrics().utilization
    assert whole is not None
    assert half == pytest.approx(2 * whole)


def test_a_queue_may_change() -> None:
    given = workload(Job("one", "a", 0, 100, gpus=3))
    limited = replace(QUEUES[1], limit_gpus=2)
    change = QueueChange(40, QUEUES[1])
    timeline = simulate(
        replace(given, queues=(QUEUES[0], limited, QUEUES[2])), life=Life(queue_changes=(change,))
    )
    assert timeline.jobs["first_start_s"].tolist() == [40]


def random_workload(seed: int) -> Workload:
    drawn = random.Random(seed)
    jobs = [
        Job(
            f"j{i}",
            drawn.choice("ab"),
            drawn.randrange(100),
            drawn.randrange(60),
            pods=drawn.randrange(1, 3),
            gpus=drawn.choice([0.5, 1, 2]),
            priority_class=drawn.choice(["train", "build-preemptible"]),
            checkpoint_s=drawn.choice([0, 10, math.inf]),
        )
        for i in range(20)
    ]
    return workload(*jobs, nodes=2)


@pytest.mark.parametrize("seed", range(4))
def test_equal_input_gives_equal_bytes_in_any_order(seed: int, tmp_path: Path) -> None:
    given = random_workload(seed)
    life = Life(failures=Failures(mean_days_between=0.001, mean_repair_hours=0.01))
    order = list(range(20))
    random.Random(seed + 1).shuffle(order)
    first = simulate(given, seed=seed, life=life, until_s=2000)
    again = simulate(given, seed=seed, life=life, until_s=2000)
    shuffled = simulate(
        replace(given, jobs=given.jobs.take(order)), seed=seed, life=life, until_s=2000
    )
    first.save(tmp_path / "first.npz")
    again.save(tmp_path / "again.npz")
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    for name, column in first.jobs.items():
        np.testing.assert_array_equal(column[order], shuffled.jobs[name], err_msg=name)
    assert first.metrics().waiting == shuffled.metrics().waiting
    assert first.metrics().queues == shuffled.metrics().queues


def test_a_seed_changes_the_failures_and_nothing_else() -> None:
    given = random_workload(1)
    life = Life(failures=Failures(mean_days_between=0.001, mean_repair_hours=0.01))
    assert simulate(given, seed=1).metrics() == simulate(given, seed=2).metrics()
    one, other = (simulate(given, seed=s, life=life, until_s=2000) for s in (1, 2))
    assert one.nodes["at_s"].tolist() != other.nodes["at_s"].tolist()


def test_a_timeline_is_saved_and_loaded(tmp_path: Path) -> None:
    timeline = simulate(random_workload(3))
    timeline.save(tmp_path / "run.npz")
    loaded = Timeline.load(tmp_path / "run.npz")
    assert loaded.metrics() == timeline.metrics()
    assert loaded.workload.jobs.job(4) == timeline.workload.jobs.job(4)
    assert loaded.workload.queues == QUEUES
    (tmp_path / "other").write_text("nothing")
    for name in ("other", "missing"):
        with pytest.raises(kai.InvalidInputError, match=name):
            Timeline.load(tmp_path / name)


def test_tables_have_the_names_of_objects() -> None:
    pytest.importorskip("pandas")
    timeline = simulate(workload(Job("one", "a", 0, 10, gpus=1)))
    assert timeline.to_pandas("jobs")["queue"].tolist() == ["a"]
    [stay] = timeline.to_pandas("stays").to_dict("records")
    assert (stay["job"], stay["node"], stay["end"]) == ("one", "n", "finished")
    assert set(timeline.to_pandas("queues")["queue"]) == {"root", "a", "b"}
    with pytest.raises(kai.InvalidInputError, match="no table 'pods'"):
        timeline.to_pandas("pods")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period_s": -1}, "period_s: expected a number of seconds of 0 or more, not -1"),
        ({"life": Life(outages=(Outage("x", 0),))}, "outage: node x does not exist"),
        ({"life": Life(failures=Failures(0))}, "failures: expected times above 0"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(kai.InvalidInputError) as raised:
        simulate(workload(Job("one", "a", 0, 10)), **options)  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_a_missing_queue_is_named() -> None:
    given = replace(workload(Job("one", "a", 0, 10)), queues=(Queue("b"),))
    with pytest.raises(kai.InvalidInputError, match="queue a: jobs use it"):
        simulate(given)


def test_ctrl_c_keeps_the_timeline_so_far() -> None:
    jobs = [Job(f"j{i}", "a", i, 10) for i in range(20_000)]

    def stop(progress: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        simulate(workload(*jobs), progress=stop, progress_every_s=0)
    timeline: Timeline = raised.value.timeline  # type: ignore[attr-defined]
    assert 0 < timeline.end_s < 20_000
    assert not np.isnan(timeline.jobs["end_s"]).all()
