"""An existing cluster as the start of a simulation."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.errors import InvalidInputError
from kai.sim.first_moment import Remaining, with_arrivals, workload_of
from kai.sim.simulate import Life, simulate
from kai.sim.stay_ends import STAY_ENDS
from kai.sim.timeline import Timeline
from kai.sim.traces import read_arrivals
from kai.sim.workload import Job, Jobs, Maintenance, NodePool, Queue, Workload

NOW = "2026-01-01T12:00:00Z"


def cluster() -> kai.Cluster:
    return (
        kai.Cluster(now=NOW)
        .queue("a", deserved_gpus=4)
        .queue("b", deserved_gpus=4)
        .node("n1", gpus=8)
        .running("a/bulk", pods=6, gpus=1, min_member=1, node="n1")
        .pending("b/gang", pods=2, gpus=2, min_member=2)
    )


def arrivals(*jobs: Job) -> Workload:
    return Workload(Jobs.of(jobs), (Queue("other"),), (NodePool("m", 9),), name="later")


def times(timeline: Timeline, column: str) -> dict[str, float]:
    return dict(zip(timeline.workload.jobs.name, timeline.jobs[column].tolist(), strict=True))


def test_running_pods_continue_and_pending_pods_are_planned() -> None:
    given = workload_of(cluster(), remaining=Remaining.parse("1h"))
    assert given.jobs.name == ("a/bulk", "b/gang")
    assert (given.gpus, given.start) == (8, NOW)
    timeline = simulate(given, life=Life(terminate_s=5))
    starts, ends = times(timeline, "first_start_s"), times(timeline, "end_s")
    # Two pods of bulk are evicted for the gang; bulk continues with four of six.
    assert (starts["a/bulk"], starts["b/gang"]) == (0, 5)
    assert ends["b/gang"] == 3605
    assert ends["a/bulk"] > 3600
    assert timeline.jobs["evictions"].tolist() == [2, 0]
    jobs = timeline.jobs
    assert jobs["kept_gpu_s"].tolist() == pytest.approx([6 * 3600, 4 * 3600])


def test_forever_lasts_as_long_as_the_simulation() -> None:
    timeline = simulate(workload_of(cluster()), until_s=7200)
    assert timeline.end_s == 7200
    assert timeline.metrics().unfinished_jobs == ("a/bulk", "b/gang")
    # Without an end time it ends when nothing happens any more.
    assert simulate(workload_of(cluster())).end_s < 100


def test_later_jobs_arrive_in_queues_of_the_cluster() -> None:
    later = arrivals(Job("new", "b", 600, 60, gpus=4), Job("half", "a", 0, 60, gpus=0.5))
    given = workload_of(cluster(), remaining=Remaining.parse("10m"), arrivals=later)
    timeline = simulate(given)
    starts = times(timeline, "first_start_s")
    assert starts["new"] >= 600
    assert set(starts) == {"a/bulk", "b/gang", "new", "half"}
    assert [pool.name for pool in given.nodes] == ["n1"]
    with pytest.raises(InvalidInputError) as raised:
        workload_of(cluster(), arrivals=arrivals(Job("x", "aa", 0, 1)))
    assert str(raised.value) == ("job x: queue: the cluster has no queue 'aa'; did you mean 'a'?")


def test_a_file_of_arrivals_uses_the_nodes_and_queues_of_the_cluster(written: Any) -> None:
    now = workload_of(cluster(), remaining=Remaining.parse("10m"))
    file = written("later.yaml", "jobs: {new: {queue: b, arrival: 20m, duration: 1m, gpu: 4}}\n")
    later = read_arrivals(file, now)
    assert (later.nodes, later.queues) == (now.nodes, now.queues)
    given = with_arrivals(now, later)
    assert times(simulate(given), "first_start_s")["new"] == 1200
    at_once = workload_of(cluster(), remaining=Remaining.parse("10m"), arrivals=later)
    assert given.name == at_once.name == "a cluster, then arrivals"
    assert times(simulate(given), "end_s") == times(simulate(at_once), "end_s")


def test_jobs_of_a_trace_have_pods_that_fit_the_nodes_of_the_cluster(written: Any) -> None:
    file = written(
        "philly.csv", "timestamp,num_gpus,duration,cluster\n2017-10-03 05:29:20,8,60,a\n"
    )
    small = kai.Cluster(now=NOW).queue("a").nodes("n", 4, gpus=4)
    later = read_arrivals(file, workload_of(small))
    assert (later.jobs.pods.tolist(), later.jobs.gpus.tolist()) == ([2], [4])


def test_pods_of_a_group_may_differ() -> None:
    mixed = cluster().node("n2", gpus=4).running("a/mixed", gpus=1, node="n2")
    pod = {**mixed.objects["pods"][-1]}
    metadata = {**pod["metadata"], "name": "mixed-big", "uid": "big"}
    spec = {**pod["spec"], "nodeName": "n2"}
    spec["containers"] = [
        {**spec["containers"][0], "resources": {"limits": {"nvidia.com/gpu": "0"}}}
    ]
    mixed.upsert({**pod, "kind": "Pod", "metadata": metadata, "spec": spec})
    given = workload_of(mixed, remaining=Remaining.parse("1h"))
    row = given.jobs.name.index("a/mixed")
    assert given.jobs.gpus[row] == 0.5
    timeline = simulate(given)
    gpus = timeline.stays["gpus"][timeline.stays["job"] == row]
    assert sorted(set(gpus.tolist())) == [0, 1]


def test_maintenance_and_new_nodes_of_a_cluster() -> None:
    given = workload_of(cluster(), remaining=Remaining.parse("1h"))
    window = Maintenance("m", 60, 600, nodes=("n1",), drain=True)
    timeline = simulate(replace(given, maintenance=(window,)))
    assert "drained" in [STAY_ENDS[end] for end in timeline.stays["end"]]
    larger = simulate(replace(given, nodes=(*given.nodes, NodePool("new", 2, gpus=4))))
    assert times(larger, "first_start_s")["b/gang"] == 0
    assert larger.jobs["evictions"].sum() == 0


def test_the_configuration_is_that_of_the_snapshot() -> None:
    lazy = cluster().configure({"actions": "allocate"})
    timeline = simulate(workload_of(lazy, remaining=Remaining.parse("1h")))
    assert timeline.jobs["evictions"].tolist() == [0, 0]
    config = {"actions": "allocate, reclaim"}
    again = simulate(workload_of(lazy, remaining=Remaining.parse("1h")), config=config)
    assert again.jobs["evictions"].sum() == 2


def test_the_order_of_objects_does_not_matter(tmp_path: Path) -> None:
    snapshot = cluster().to_snapshot()
    turned = {name: listed[::-1] for name, listed in snapshot["rawObjects"].items()}
    again = {**snapshot, "rawObjects": turned}
    remaining = Remaining.parse("exponential:1h")
    for name, content in (("one", snapshot), ("other", again)):
        given = kai.Cluster.from_snapshot(content, now=NOW)
        simulate(workload_of(given, remaining=remaining, seed=3)).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_workload_can_be_pickled() -> None:
    given = workload_of(cluster(), remaining=Remaining.parse("1h"))
    there = pickle.loads(pickle.dumps(given))
    assert simulate(there).metrics() == simulate(given).metrics()


def test_claims_are_held_while_the_pod_exists() -> None:
    """Two pods need the one device of a claim template's class, so one waits for the other."""
    from kai.verify import default_cases, read_cases

    cases = [each for each in read_cases([default_cases()]) if each.area == "cases/allocate-dra"]
    assert cases
    for case in cases:
        given = kai.Cluster.from_snapshot(case.data["snapshot"], now=NOW)
        timeline = simulate(workload_of(given, remaining=Remaining.parse("1m")), until_s=600)
        for node in range(len(timeline.node_names)):
            rows = timeline.stays["node"] == node
            assert (timeline.stays["to_s"][rows] >= timeline.stays["from_s"][rows]).all()


# ---- how long groups still run -------------------------------------------------------------------


def test_models_of_the_remaining_time() -> None:
    assert Remaining.parse("90m").of("a/x", 1, {}) == 5400
    assert Remaining.parse("forever").of("a/x", 1, {}) == float("inf")
    drawn = [Remaining.parse("exponential:2h").of(f"a/{i}", 1, {}) for i in range(2000)]
    assert sum(drawn) / len(drawn) == pytest.approx(7200, rel=0.1)
    spread = Remaining.parse("log-normal:30m,1.5")
    values = sorted(spread.of(f"a/{i}", 1, {}) for i in range(2000))
    assert values[1000] == pytest.approx(1800, rel=0.1)
    assert spread.of("a/x", 1, {}) == spread.of("a/x", 1, {}) != spread.of("a/x", 2, {})
    annotated = Remaining.parse("annotation:left,1h")
    assert annotated.of("a/x", 1, {"left": "5m"}) == 300
    assert annotated.of("a/x", 1, {"left": "20"}) == 20
    assert annotated.of("a/x", 1, {}) == 3600
    with pytest.raises(InvalidInputError) as raised:
        annotated.of("a/x", 1, {"left": "soon"})
    assert str(raised.value) == (
        "pod group a/x: annotation left: 'soon' is not a duration such as 90m"
    )


@pytest.mark.parametrize(
    "text",
    ["", "soon", "exponential", "exponential:", "exponential:1h,2", "log-normal:1h", "forever:1h",
     "log-normal:1h,x", "annotation:", "annotation:key,soon", "log-normal:1h,-1", "exponential:0"],
)  # fmt: skip
def test_invalid_models_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="is not one of 8h, forever, exponential:8h"):
        Remaining.parse(text)


def test_the_remaining_time_from_an_annotation() -> None:
    snapshot = cluster().to_snapshot()
    for group in snapshot["rawObjects"]["podGroups"]:
        if group["metadata"]["name"] == "bulk":
            group["metadata"].setdefault("annotations", {})["left"] = "7m"
    given = kai.Cluster.from_snapshot(snapshot, now=NOW)
    jobs = workload_of(given, remaining=Remaining.parse("annotation:left,1h")).jobs
    assert dict(zip(jobs.name, jobs.duration_s.tolist(), strict=True)) == {
        "a/bulk": 420,
        "b/gang": 3600,
    }
