"""A morning of three teams on three nodes, small enough to compute by hand."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

sys.path.insert(0, str(Path(__file__).parent))

from kai.sim.simulate import Life, Outage, simulate
from kai.sim.timeline import Timeline
from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload

HOUR = 3600.0


def teams() -> Workload:
    jobs = [
        Job("long", "vision", arrival_s=0, duration_s=6 * HOUR, pods=2, gpus=4),
        Job("borrows", "vision", arrival_s=600, duration_s=4 * HOUR, gpus=4),
        Job("borrows-too", "vision", arrival_s=900, duration_s=3 * HOUR, gpus=4),
        Job("whole-node", "speech", arrival_s=HOUR, duration_s=2 * HOUR, gpus=8),
        Job("half", "speech", arrival_s=1.2 * HOUR, duration_s=3 * HOUR, gpus=0.5),
        Job("quarter", "speech", arrival_s=1.3 * HOUR, duration_s=2 * HOUR, gpus=0.25),
        Job("gang", "research", arrival_s=2 * HOUR, duration_s=HOUR, pods=3, gpus=2),
        Job("never", "research", arrival_s=2 * HOUR, duration_s=HOUR, pods=9, gpus=8),
    ]
    leaves = (
        Queue(name, parent="all", deserved_gpus=8) for name in ("vision", "speech", "research")
    )
    return Workload(
        jobs=Jobs.of(jobs),
        queues=(Queue("all", deserved_gpus=24), *leaves),
        nodes=(NodePool("n", 3, gpus=8),),
        name="teams",
        start="2026-03-02T08:00:00",
    )


@pytest.fixture(scope="session")
def morning() -> Timeline:
    """Borrowed GPUs are reclaimed, two jobs share a GPU, and a node is absent from 5 to 6 hours."""
    return simulate(teams(), life=Life(outages=[Outage("n-2", 5 * HOUR, 6 * HOUR)]))


@pytest.fixture(scope="session")
def quiet() -> Timeline:
    """The same without the outage."""
    return simulate(teams())


@pytest.fixture(scope="session")
def empty() -> Timeline:
    """No jobs at all."""
    return simulate(Workload(jobs=Jobs.of([]), queues=(), nodes=(NodePool("n", 2),)))
