"""Job orders in virtual time, compared with an oracle that goes second by second and has one node.

The oracle counts GPUs, like the placement "count" of Tiresias' simulator. The simulator must take
each decision in the same second as the oracle, although it wakes only sometimes.
"""

import math
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kai.sim import traces
from kai.sim.simulate import simulate
from kai.sim.timeline import Timeline
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

TIRESIAS = Path(os.environ["KAI_DATA"]) / "tiresias" / "60_job.csv"
POLICIES = ("fifo", "sjf", "srtf", "las", "2d-las", "finish-time", "multifactor")
PREEMPTING = ("srtf", "las", "2d-las", "finish-time")
SEEDS = range(*map(int, os.environ.get("KAI_SEEDS", "0:12").split(":")))

# ---- the oracle ----------------------------------------------------------------------------------


@dataclass
class Row:
    """A job, and its result. Times are whole seconds."""

    name: str
    arrival: int
    work: int
    gpus: int  # of all its pods
    estimate: int | None
    start: int | None = None  # of the current run
    ran: int = 0  # before
    intervals: list[tuple[int, int]] = field(default_factory=list)

    def run(self, now: int) -> int:
        return self.ran + (0 if self.start is None else now - self.start)

    def stop(self, now: int) -> None:
        assert self.start is not None
        self.intervals.append((self.start, now))
        self.ran, self.start = self.run(now), None


Key = Callable[[Row, int, list[Row]], Any]
LAST = Fraction(10**18)


def remaining(row: Row, now: int) -> int:
    assert row.estimate is not None
    return max(row.estimate - row.run(now), 0)


def keys_of(arguments: Mapping[str, str], gpus: int) -> Key:
    """The key of a job: the lowest is first."""
    policy = arguments["policy"]
    levels = [float(each) for each in arguments.get("thresholds", "325,720,1800").split(",")]

    def finish_time(row: Row, now: int, alive: list[Row]) -> Any:
        if row.estimate is None:
            return LAST
        slower = max(Fraction(1), Fraction(row.gpus * len(alive), gpus))
        alone = max(row.estimate * slower, Fraction(1, 10**9))
        return -(now - row.arrival + remaining(row, now)) / alone

    def multifactor(row: Row, now: int, alive: list[Row]) -> Any:
        longest = int(arguments["maxAge"].removesuffix("s"))
        age = min((now if row.start is None else row.start) - row.arrival, longest)
        size = int(arguments["weightSize"]) * row.gpus / gpus + 10_000  # all of one priority
        return -(Fraction(math.floor(size * 1e6 + 0.5), 10**6) + Fraction(1000 * age, longest))

    return {
        "fifo": lambda row, now, alive: row.arrival,
        "sjf": lambda row, now, alive: LAST if row.estimate is None else row.estimate,
        "srtf": lambda row, now, alive: LAST if row.estimate is None else remaining(row, now),
        "las": lambda row, now, alive: sum(row.run(now) >= each for each in levels),
        "2d-las": lambda row, now, alive: sum(row.run(now) * row.gpus >= each for each in levels),
        "finish-time": finish_time,
        "multifactor": multifactor,
    }[policy]


def oracle(rows: list[Row], gpus: int, arguments: Mapping[str, str]) -> None:
    """Runs all jobs: recomputes each second from the current state."""
    key = keys_of(arguments, gpus)
    preempts = arguments.get("preempts", str(arguments["policy"] in PREEMPTING).lower()) == "true"
    usual_lease = "600s" if arguments["policy"] == "finish-time" else "0s"
    lease = int(arguments.get("lease", usual_lease).removesuffix("s"))
    promised: list[Row] = []
    now = 0
    while any(row.start is not None or row.ran < row.work for row in rows):
        alive = []
        for row in rows:
            if row.start is not None and row.run(now) == row.work:
                row.stop(now)
            if row.arrival <= now and row.run(now) < row.work:
                alive.append(row)
        place = {row.name: (key(row, now, alive), row.arrival, row.name) for row in alive}
        ordered = sorted(alive, key=lambda row: place[row.name])
        running = [row for row in ordered if row.start is not None]
        idle = gpus - sum(row.gpus for row in running)
        waiting = []
        for row in promised:
            row.start = now
            idle -= row.gpus
        for row in ordered:
            if row.start is not None:
                continue
            if row.gpus <= idle:
                row.start = now
                idle -= row.gpus
            else:
                waiting.append(row)
        promised = []
        for row in waiting if preempts else []:
            worse = [
                each
                for each in reversed(running)
                if place[each.name][0] > place[row.name][0]
                and each.start is not None
                and now >= each.start + lease
            ]
            taken: list[Row] = []
            while worse and (not taken or idle + sum(each.gpus for each in taken) < row.gpus):
                taken.append(worse.pop(0))
            if not taken or idle + sum(each.gpus for each in taken) < row.gpus:
                continue
            idle += sum(each.gpus for each in taken) - row.gpus
            promised.append(row)
            for each in reversed(taken):  # jobs that fit beside it stay
                if each.gpus <= idle:
                    idle -= each.gpus
                else:
                    each.stop(now)
        now += 1


# ---- the simulator -------------------------------------------------------------------------------


def simulated(workload: Workload, arguments: Mapping[str, str]) -> Timeline:
    config = {"actions": "allocate, preempt", "plugins": {"joborder": dict(arguments)}}
    return simulate(workload, config=config, period_s=1)


def intervals(timeline: Timeline) -> list[list[tuple[int, int]]]:
    """When each job ran: all its pods start and stop together."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(len(timeline.workload.jobs))]
    stays = timeline.stays
    for row in np.flatnonzero(stays["pod"] == 0):
        found[stays["job"][row]].append((int(stays["from_s"][row]), int(stays["to_s"][row])))
    return [sorted(each) for each in found]


def rows_of(workload: Workload) -> list[Row]:
    jobs = workload.jobs
    return [
        Row(
            jobs.name[i],
            int(jobs.arrival_s[i]),
            int(jobs.duration_s[i]),
            int(jobs.gpus[i] * jobs.pods[i]),
            None if math.isnan(jobs.estimate_s[i]) else int(jobs.estimate_s[i]),
        )
        for i in range(len(jobs))
    ]


def one_node(jobs: Jobs, gpus: int) -> Workload:
    return Workload(jobs, (Queue("q"),), (NodePool("n", 1, gpus=gpus, cpu=1024.0),))


def check(workload: Workload, gpus: int, arguments: Mapping[str, str]) -> list[Row]:
    rows = rows_of(workload)
    oracle(rows, gpus, arguments)
    assert intervals(simulated(workload, arguments)) == [row.intervals for row in rows]
    return rows


# ---- Tiresias' example ---------------------------------------------------------------------------


@pytest.mark.skipif(not TIRESIAS.exists(), reason=f"no trace {TIRESIAS}; KAI_DATA names the folder")
@pytest.mark.parametrize("policy", POLICIES)
def test_tiresias_jobs_start_and_stop_as_in_the_oracle(policy: str) -> None:
    """60 jobs on 16 GPUs; levels end at 325, 720 and 1,800 (GPU-)seconds."""
    jobs = traces.read(TIRESIAS, nodes=[NodePool("n", 1, gpus=16)]).jobs
    assert len(jobs.queue_names) == 1
    workload = replace(
        one_node(jobs.with_columns(estimate_s=jobs.duration_s), 16),
        queues=(Queue(jobs.queue_names[0]),),
    )
    arguments = {"policy": policy}
    if policy == "multifactor":
        arguments |= {"maxAge": "600s", "weightSize": "1000"}
    rows = check(workload, 16, arguments)
    assert len(rows) == 60
    stops = sum(len(row.intervals) - 1 for row in rows)
    if policy != "finish-time":  # few jobs outlast its lease
        assert (stops > 0) == (policy in PREEMPTING)


# ---- random workloads ----------------------------------------------------------------------------


def random_case(policy: str, seed: int) -> tuple[Workload, int, dict[str, str]]:
    dice = random.Random(f"{policy} {seed}")
    gpus = dice.choice([4, 8, 16])
    jobs = []
    arrival = 0
    for number in range(dice.randint(5, 25)):
        arrival += dice.choice([0, 1, 5, 20, 60])
        pods = dice.choice([1, 1, 1, 2, 4])
        duration = dice.choice([1, 10, 45, 120, 400, dice.randint(1, 900)])
        wrong = dice.choice([None, 1, 1, 1, 0.5, 3])
        jobs.append(
            Job(
                f"j{number:02}",
                "q",
                arrival,
                duration,
                pods=pods,
                gpus=dice.randint(1, max(1, gpus // pods)) if dice.random() < 0.5 else 1,
                estimate_s=None if wrong is None else math.ceil(duration * wrong),
            )
        )
    arguments = {"policy": policy}
    if dice.random() < 0.5:
        arguments["thresholds"] = dice.choice(["60", "30,90,270", "400,4000"])
    if dice.random() < 0.3:
        arguments["preempts"] = dice.choice(["true", "false"])
    if dice.random() < 0.3 or policy in ("finish-time", "multifactor"):
        arguments["lease"] = dice.choice(["20s", "100s"])
    if policy == "multifactor":
        arguments |= {"maxAge": "300s", "weightSize": dice.choice(["0", "700"])}
        arguments["preempts"] = "true"
    return one_node(Jobs.of(jobs), gpus), gpus, arguments


@pytest.mark.parametrize("policy", POLICIES)
def test_random_jobs_start_and_stop_as_in_the_oracle(policy: str) -> None:
    stops = 0
    for seed in SEEDS:
        workload, gpus, arguments = random_case(policy, seed)
        try:
            rows = check(workload, gpus, arguments)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, {arguments}") from error
        stops += sum(len(row.intervals) - 1 for row in rows)
    if policy in (*PREEMPTING, "multifactor") and len(SEEDS) > 10:
        assert stops > 10
