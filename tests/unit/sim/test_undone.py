"""A timeline says how many jobs did not finish, which, and why."""

from pathlib import Path

import pytest

import kai
from kai.sim import Job, NodePool, Queue, Timeline, Workload
from kai.sim.metrics import NO_REASON

NODES = [NodePool("n", 2, gpus=4)]
JOBS = [
    Job("fits", "a", arrival_s=0, duration_s=600),
    Job("wide", "a", arrival_s=10, duration_s=600, gpus=8),
    Job("wider", "a", arrival_s=10, duration_s=600, gpus=8),
    Job("many", "a", arrival_s=20, duration_s=600, pods=3, gpus=4),
    Job("long", "a", arrival_s=30, duration_s=7200),
    Job("late", "a", arrival_s=5000, duration_s=60),
]


def workload(*jobs: Job, queue: Queue | None = None) -> Workload:
    return Workload.of(jobs or JOBS, queues=[queue or Queue("a")], nodes=NODES)


def why(timeline: Timeline) -> dict[str, str]:
    """The sentence of each unfinished job."""
    return {name: sentence for sentence, names in timeline.undone for name in names}


def test_each_unfinished_job_has_its_reason() -> None:
    timeline = kai.simulate(workload(), until_s=3600)
    found = why(timeline)
    assert sorted(found) == ["long", "many", "wide", "wider"]  # late has not arrived
    assert found["wide"].endswith("one pod requests 8 GPUs, but the largest node has 4.")
    assert found["wide"] == found["wider"]
    assert timeline.undone[0][1] == ("wide", "wider"), "the reason of the most jobs comes first"
    assert "3 pods that must start together need 12 GPUs" in found["many"]
    assert found["long"] == "It still runs at the end."


def test_a_limit_of_the_queue_is_the_reason() -> None:
    limited = workload(Job("two", "a", 0, 60, gpus=2), queue=Queue("a", limit_gpus=1))
    [(sentence, names)] = kai.simulate(limited).undone
    assert names == ("two",)
    assert "limit" in sentence


def test_a_policy_that_refuses_all_nodes_is_the_reason() -> None:
    @kai.policy.filter
    def none(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> object:
        return nodes.gpus < 0

    timeline = kai.simulate(workload(JOBS[0]), policies=[none])
    assert "fits" in why(timeline)
    assert why(timeline)["fits"] != NO_REASON


def test_a_job_that_would_start_next_is_named_as_such() -> None:
    timeline = kai.simulate(workload(Job("one", "a", 10.5, 60)), until_s=10.7)
    assert why(timeline) == {"one": "It starts in the cycle after the end."}


def test_print_and_notebooks_show_unfinished_jobs_first() -> None:
    timeline = kai.simulate(workload(), until_s=3600)
    text = str(timeline)
    assert text.splitlines()[0].endswith("; 4 jobs unfinished")
    assert "4 of 5 jobs did not finish" in text
    assert text.index("did not finish") < text.index("Finished jobs")
    assert "wide, wider" in text
    assert "4 jobs unfinished" in repr(timeline)
    html = timeline._repr_html_()
    assert "4 of 5 jobs did not finish" in html
    assert "one pod requests 8 GPUs" in html
    assert "did not finish" in str(timeline.metrics())


def test_a_complete_simulation_shows_nothing_about_it() -> None:
    timeline = kai.simulate(workload(JOBS[0], JOBS[5]))
    assert timeline.undone == ()
    assert "finish" not in str(timeline).replace("Finished jobs", "").replace("finish-time", "")


def test_jobs_outside_the_window_are_not_listed() -> None:
    metrics = kai.simulate(workload(), until_s=5500).metrics(warm_up_s=15)
    assert sorted(name for names in metrics.why_unfinished.values() for name in names) == [
        "long",
        "many",
    ]


def test_reasons_are_saved_with_the_timeline(tmp_path: Path) -> None:
    timeline = kai.simulate(workload(), until_s=3600)
    timeline.save(tmp_path / "run.npz")
    assert Timeline.load(tmp_path / "run.npz").undone == timeline.undone


def test_without_reasons_the_jobs_are_still_listed() -> None:
    timeline = kai.simulate(workload(), until_s=3600, reasons=False)
    assert timeline.undone == ()
    [(sentence, names)] = timeline.metrics().why_unfinished.items()
    assert (sentence, len(names)) == (NO_REASON, 4)


@pytest.mark.parametrize("as_kai", [False, True])
def test_reasons_do_not_change_the_timeline(as_kai: bool, tmp_path: Path) -> None:
    for reasons in (True, False):
        timeline = kai.simulate(workload(), until_s=3600, as_kai=as_kai, reasons=reasons)
        timeline = Timeline(**{**vars(timeline), "undone": ()})
        timeline.save(tmp_path / f"{reasons}.npz")
    assert (tmp_path / "True.npz").read_bytes() == (tmp_path / "False.npz").read_bytes()
