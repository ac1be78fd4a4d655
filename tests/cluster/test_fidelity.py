"""200 jobs on the test cluster and in the simulator: both take the same decisions.

Both have the same nodes, queues, jobs and period between cycles. One queue borrows GPUs and the
other reclaims them, so about 50 pods are evicted. In the cluster, API requests and kubelets need
some milliseconds; these delays are measured, and the simulator uses them. In another simulation,
jobs arrive and end when they did in the cluster.
"""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from testcluster import Client, Cluster, Kai, install, path_of, pod
from testcluster.live_jobs import Play, furnish
from testcluster.stories import (
    FOLLOWS,
    LATER,
    SAME,
    TIMING,
    UNEXPLAINED,
    Difference,
    Stay,
    Story,
    compare,
    story_of,
    tally,
)

from kai.sim.simulate import Life, simulate
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

PERIOD_S = 0.02  # the default of `kai run`
BAR = 0.02
SIZES = [(1, 1)] * 8 + [(1, 2)] * 5 + [(1, 4)] * 3 + [(2, 2)]  # pods, GPUs of each


def lab(count: int, seconds: float) -> Workload:
    """Jobs of 5 to 60 s that arrive within `seconds`, for two teams that share 48 GPUs.

    200 jobs that arrive within 110 s keep the GPUs busy for 260 s. The mean waiting time depends
    little on chance: it changes by a thousandth if jobs come later or last longer by random times
    of 60 ms.
    """
    rng = random.Random(9)
    jobs = []
    for i in range(count):
        pods, gpus = rng.choice(SIZES)
        duration_s = round(min(max(rng.lognormvariate(3.3, 0.7), 5), 60), 3)
        # Most jobs of the first third are of one team, which borrows. Later ones are of both teams.
        queue = "vision" if rng.random() < (0.8 if i < count / 3 else 0.4) else "speech"
        at_s = round(i * seconds / count, 3)
        jobs.append(Job(f"job-{i:03}", queue, at_s, duration_s, pods=pods, gpus=float(gpus)))
    teams = [Queue(name, "lab", deserved_gpus=24) for name in ("vision", "speech")]
    nodes = NodePool("n", 6, gpus=8, gpu_memory_mib=81_920)
    queues = (Queue("lab", deserved_gpus=48), *teams)
    return Workload(Jobs.of(jobs), queues, (nodes,), name="lab")


def play(
    cluster: Cluster, namespace: str, log: Path, workload: Workload
) -> tuple[Story, list[float]]:
    """Runs the jobs in the cluster. Also returns how long start and end of each pod took."""

    async def scene() -> tuple[Story, list[float]]:
        async with cluster.client() as api:
            await furnish(api, workload)
            options = ("--schedule-period", str(PERIOD_S))
            with Kai(cluster, namespace, log, *options) as kai:
                await warm_up(api, namespace, workload.queues[-1].name)
                player = Play(api, namespace, workload)
                story = await player.run()
                assert kai.is_running(), kai.log
            return story, player.delays_s

    install(cluster)
    return asyncio.run(scene())


async def warm_up(api: Client, namespace: str, queue: str) -> None:
    """Runs a pod to its end and deletes it, because the first pod takes a second longer."""
    await api.create(pod("warm-up", namespace, 0, queue=queue, annotations={"sim/run-for": "1s"}))
    await api.until("it has run", api.has_phase(namespace, "warm-up", "Succeeded"), 60)
    path = path_of("Pod", namespace, "warm-up")
    await api.delete(path, gracePeriodSeconds=0)
    await api.until("it is gone", api.is_gone(path))


def delayed(workload: Workload, delays_s: list[float], seed: int) -> Story:
    """A simulation in which each job lasts longer by one of these delays, drawn at random."""
    drawn_s = np.random.default_rng(seed).choice(delays_s, len(workload.jobs))
    longer = workload.jobs.with_columns(duration_s=workload.jobs.duration_s + drawn_s)
    return story_of(simulate(replace(workload, jobs=longer), period_s=PERIOD_S))


def replayed(workload: Workload, live: Story) -> Story:
    """A simulation in which jobs arrive and end when they did in the cluster.

    The end of a job depends on its duration and on earlier decisions. So the simulation is
    repeated, and each time the durations of the first jobs that end at a wrong time are corrected,
    until all ends are right or 200 simulations are done.
    """
    jobs = workload.jobs
    arrival_s = np.round([live.arrivals[name] for name in jobs.name], 6)
    end_s = np.array([live.stays[name][-1].to_s for name in jobs.name])
    duration_s = np.array([sum(s.to_s - s.from_s for s in live.stays[name]) for name in jobs.name])
    for _ in range(200):
        timed = jobs.with_columns(arrival_s=arrival_s, duration_s=np.round(duration_s, 6))
        timeline = simulate(replace(workload, jobs=timed), period_s=PERIOD_S)
        gap_s = end_s - timeline.jobs["end_s"]
        if np.abs(gap_s).max() < 1e-3:
            break
        wrong = np.flatnonzero(np.abs(gap_s) >= 1e-3)
        earliest = wrong[np.argsort(np.minimum(end_s, timeline.jobs["end_s"])[wrong])][:8]
        duration_s[earliest] = np.maximum(duration_s[earliest] + gap_s[earliest], 1e-3)
    return story_of(timeline)


def report(what: str, live: Story, simulated: Story) -> list[Difference]:
    """Prints the number of jobs of each kind of difference; returns the differences."""
    found = compare(live, simulated)
    print(f"{what}: mean waiting {simulated.mean_waiting_s():.2f} s")
    for kind, number in tally(found).items():
        print(f"  {number:3} {kind}")
    others = [each for each in found if each.kind not in (SAME, LATER)]
    for each in others[:5]:
        print(f"  {each.job}, {each.by_s:+.2f} s: {each.cause}")
    return found


@pytest.mark.cluster_slow
@pytest.mark.timeout(900)
def test_200_jobs_run_as_in_the_simulator(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    workload = lab(200, 110.0)
    live, delays_s = play(cluster, namespace, tmp_path / "kai.log", workload)
    simulated = [delayed(workload, delays_s, seed) for seed in range(20)]
    again = replayed(workload, live)

    waiting_s = [each.mean_waiting_s() for each in simulated]
    mean_s = sum(waiting_s) / len(waiting_s)
    off = live.mean_waiting_s() / mean_s - 1
    print(f"\nstart and end of a pod take {np.median(delays_s) * 1000:.0f} ms in the cluster")
    print(f"evictions: {evictions(live)} in the cluster, {evictions(simulated[0])} simulated")
    print(
        f"mean waiting: {live.mean_waiting_s():.2f} s in the cluster, {mean_s:.2f} s simulated "
        f"({min(waiting_s):.2f} to {max(waiting_s):.2f} by the delays drawn): {off:+.2%}"
    )
    differences = report("with the arrivals and ends of the cluster", live, again)
    same = sum(each.kind in (SAME, LATER) for each in differences)
    differences += report("with delays drawn", live, simulated[0])

    assert [each for each in differences if each.kind == UNEXPLAINED] == []
    assert abs(off) < BAR
    assert again.mean_waiting_s() == pytest.approx(live.mean_waiting_s(), rel=BAR)
    assert same > 100  # 192 on a quiet machine
    assert evictions(live) > 20


def evictions(story: Story) -> int:
    return sum(stay.evicted for stays in story.stays.values() for stay in stays)


# ---- how stories are compared --------------------------------------------------------------------


def story(**jobs: tuple[float, str, float, float]) -> Story:
    """A story with the arrival, node, start and end of each job."""
    return Story(
        arrivals={name: row[0] for name, row in jobs.items()},
        stays={name: (Stay((row[1],), row[2], row[3], False),) for name, row in jobs.items()},
    )


def kinds(live: Story, simulated: Story) -> dict[str, str]:
    return {each.job: each.kind for each in compare(live, simulated)}


def test_equal_timelines_have_no_difference() -> None:
    a = story(x=(0, "n1", 0, 10), y=(1, "n2", 1, 10))
    b = story(x=(0, "n1", 0.1, 10.2), y=(1, "n2", 2.5, 12))
    assert kinds(a, a) == {"x": SAME, "y": SAME}
    assert kinds(b, a) == {"x": SAME, "y": LATER}


def test_another_decision_about_the_same_cluster_has_no_cause() -> None:
    a = story(x=(0, "n1", 0, 10), y=(1, "n2", 1, 10))
    b = story(x=(0, "n1", 0, 10), y=(1, "n3", 1, 10))
    assert kinds(a, b) == {"x": SAME, "y": UNEXPLAINED}


def test_a_job_that_ends_later_explains_later_differences() -> None:
    a = story(x=(0, "n1", 0, 9.9), y=(1, "n2", 1, 11), z=(2, "n1", 10, 20), w=(3, "n3", 12, 20))
    b = story(x=(0, "n1", 0, 11.2), y=(1, "n2", 1, 10), z=(2, "n2", 10, 20), w=(3, "n1", 12, 20))
    assert kinds(a, b) == {"x": SAME, "y": SAME, "z": TIMING, "w": FOLLOWS}
    assert compare(a, b)[2].cause == "x holds nodes at this moment in the simulation only"


def test_a_simulation_gives_such_a_timeline() -> None:
    simulated = story_of(simulate(lab(40, 10.0), period_s=PERIOD_S))
    assert len(simulated.stays) == 40
    assert kinds(simulated, simulated) == dict.fromkeys(simulated.stays, SAME)
    assert evictions(simulated) > 0
    assert simulated.mean_waiting_s() > 1


def test_replayed_times_give_the_same_timeline() -> None:
    """Also if pods start late: jobs are compared by the times of their ends."""
    workload = lab(60, 20.0)
    late = story_of(simulate(workload, period_s=PERIOD_S, life=Life(startup_s=0.3)))
    assert set(kinds(late, replayed(workload, late)).values()) == {SAME}
    usual = story_of(simulate(workload, period_s=PERIOD_S))
    assert set(kinds(late, usual).values()) != {SAME}
