"""What a cluster that lives on holds in memory: what ``kai bench --memory`` prints.

Bytes are counted from the capacities of what holds them, in the compiled part alone: Python's
objects and the bytes of the snapshot are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kai.engine.cluster import Cluster
from kai.engine.scheduler import Scheduler
from kai.sim.workloads import NOW, Workload


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a part: how many are in it (0: not counted), and the bytes they take."""

    part: str
    column: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """One workload after its first plan."""

    name: str
    about: str
    nodes: int
    pods: int
    bytes: int
    columns: tuple[Column, ...]


def hold(workload: Workload) -> Held:
    """Loads a workload, lets it live on, and plans it once."""
    cluster = Cluster.from_snapshot(workload.snapshot(), name=workload.name)
    cluster.delete("Pod", "none/none")  # from here on the cluster lives
    plan = Scheduler().plan(cluster, now=NOW)
    columns = tuple(Column(*each) for each in cluster._core_cluster().memory())
    counts = cluster.counts
    del plan
    return Held(
        name=workload.name,
        about=workload.about,
        nodes=counts["nodes"],
        pods=counts["pods"],
        bytes=sum(each.bytes for each in columns),
        columns=columns,
    )
