"""The memory of a cluster that is updated in place: the output of ``kai bench --memory``.

Bytes are counted from the capacities of the containers, in the compiled part alone; Python's
objects and the bytes of the snapshot are not included.
"""

from __future__ import annotations

from dataclasses import dataclass

from kai.engine.cluster import Cluster
from kai.engine.scheduler import Scheduler
from kai.sim.workloads import NOW, Workload


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a part: its number of entries (0: not counted), and their bytes."""

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
    """Loads a workload, switches to updates in place, and plans it once."""
    cluster = Cluster.from_snapshot(workload.snapshot(), name=workload.name)
    cluster.delete("Pod", "none/none")  # from here on the cluster is updated in place
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
