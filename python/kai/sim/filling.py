"""Fills an empty cluster pod by pod, to measure how many GPUs a placement policy can allocate.

    cluster = openb_cluster("default")
    filled = fill(cluster, "fgd", seed=42)
    filled.allocated_percent()[100]   # of all GPUs, when pods have requested 100 % of them

The experiment of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with
Fragmentation Gradient Descent", USENIX ATC 2023, as in their public simulator: pods arrive in a
random order until they have requested 130 % of all GPUs. No pod ends, and each is tried once.
There are no queues, no limits and no gangs. The policies are those of the plugin
``placementpolicy``, scored by the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kai import _core
from kai.errors import InvalidInputError
from kai.sim import openb

__all__ = ["POLICIES", "FillCluster", "Filling", "Policy", "fill", "openb_cluster"]

Policy = Literal[
    "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "fgd", "random", "least-waste"
]
POLICIES: tuple[Policy, ...] = get_args(Policy)
MOST_DEMAND = 130  # the last figure is for requests of so many percent of all GPUs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FillCluster:
    """Nodes and pods, each sorted by name."""

    node_names: tuple[str, ...]
    nodes: Ints  # a row per node: CPU in thousandths, memory in MiB, GPUs, kind
    pod_names: tuple[str, ...]
    pods: Ints  # a row per pod: CPU, memory, GPUs, thousandths of each, constraint
    constraints: tuple[tuple[int, ...], ...]  # for each kind of node: 1 if allowed; empty: all are

    @property
    def gpus(self) -> int:
        return int(self.nodes[:, 2].sum())


@dataclass(frozen=True)
class Filling:
    """The results: a row per pod that arrived, in the order of arrival."""

    cluster: FillCluster
    pod: NDArray[np.int32]  # its row in `cluster.pods`
    node: NDArray[np.int32]  # row of the node of the pod; -1: no node had room
    arrived_milli: Ints  # thousandths of a GPU that pods have requested
    used_milli: Ints  # thousandths of a GPU that pods have received
    fragment_milli: Floats  # idle GPU that the typical pod cannot use (F)
    node_order: NDArray[np.int32]  # the nodes; the first of equally good ones is used

    def allocated_percent(self) -> Floats:
        """By demand from 0 to 130 %: the allocated part of all GPUs, in percent.

        The value for k % is the mean over the arrivals at which demand rounds to k %, rounded as in
        the published figures. If there is none, it is the mean over arrivals within one percent.
        """
        return self._by_demand(np.round(self.used_milli / self.cluster.gpus / 10, 2))

    def fragment_percent(self) -> Floats:
        """By demand from 0 to 130 %: the fragmented part of all GPUs (F), in percent."""
        return self._by_demand(self.fragment_milli / self.cluster.gpus / 10)

    def placed_percent(self, pods: NDArray[np.bool_]) -> float:
        """The percentage of placed pods among the arrived pods for which `pods` is true."""
        chosen = pods[self.pod]
        return float(100 * np.mean(self.node[chosen] >= 0)) if chosen.any() else 100.0

    def _by_demand(self, values: Floats) -> Floats:
        arrived = np.round(self.arrived_milli / self.cluster.gpus / 10)
        figures = np.full(MOST_DEMAND + 1, np.nan)
        for percent in range(MOST_DEMAND + 1):
            at = arrived == percent
            if not at.any():
                at = (arrived >= percent - 1) & (arrived <= percent + 1)
            if at.any():
                figures[percent] = np.round(values[at].mean(), 2)
        return figures


def fill(
    cluster: FillCluster,
    policy: Policy = "fgd",
    *,
    seed: int = 42,
    scores: Literal["whole", "exact"] = "whole",
    ties: Literal["name", "random"] = "name",
    demand: float = MOST_DEMAND / 100,
    typical_percent: int = 95,
    learn_every: float = 0,
    migrate: bool = False,
) -> Filling:
    """Fills the cluster; pods and nodes come in the order of Go's random generator for `seed`.

    `scores`: "whole" rounds scores down to whole numbers, as in the published figures. `ties`:
    "name" chooses the first of equally good nodes, "random" any of them. `demand`: pods are copied
    or left out until their requests reach this fraction of all GPUs; 0: the list is unchanged.
    `typical_percent`: F is measured with the most frequent pods, up to this percentage of all.
    `learn_every`: if above 0, the policy uses only the pods that have arrived, and counts them
    again each time requests have grown by this fraction of all GPUs (0.05: 5 %); F is still
    measured with the whole list. `migrate`: if no node has room for a pod, one pod is moved to make
    room: the smallest one that fits on another node. The GIL is released, so several threads can
    fill at the same time.

    Raises InvalidInputError for an unknown policy, or an amount out of range.
    """
    if policy not in POLICIES:
        raise InvalidInputError(f"placement policy {policy!r} is not one of {', '.join(POLICIES)}")
    try:
        columns = _core.fill_cluster(
            nodes=np.ascontiguousarray(cluster.nodes, dtype=np.int64).data,
            pods=np.ascontiguousarray(cluster.pods, dtype=np.int64).data,
            constraints=[list(each) for each in cluster.constraints],
            policy=policy,
            seed=seed,
            exact=scores == "exact",
            random_ties=ties == "random",
            demand=demand,
            typical_percent=typical_percent,
            learn_every=learn_every,
            migrate=migrate,
        )
    except ValueError as error:
        raise InvalidInputError(str(error)) from None
    return Filling(
        cluster,
        pod=np.frombuffer(columns["pod"], dtype=np.int32),
        node=np.frombuffer(columns["node"], dtype=np.int32),
        arrived_milli=np.frombuffer(columns["arrived_milli"], dtype=np.int64),
        used_milli=np.frombuffer(columns["used_milli"], dtype=np.int64),
        fragment_milli=np.frombuffer(columns["fragment_milli"], dtype=np.float64),
        node_order=np.frombuffer(columns["node_order"], dtype=np.int32),
    )


def openb_cluster(workload: str = "default", data: Path | None = None) -> FillCluster:
    """The 1,213 nodes of openb that have GPUs, and the pods of one list.

    `data` is the folder that contains ``openb/``; default: the folder in `KAI_DATA`. Raises OSError
    if the lists do not exist.
    """
    nodes = sorted(openb.gpu_nodes(data), key=lambda row: row["sn"])
    pods = sorted(openb.read(workload, data)[1], key=lambda row: row["name"])
    kinds = sorted({row["model"] for row in nodes})
    models = [_models(row) for row in pods]
    specs = sorted({*models})
    number = {spec: i for i, spec in enumerate(specs)}
    return FillCluster(
        node_names=tuple(row["sn"] for row in nodes),
        nodes=_rows(
            [
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["gpu"]),
                kinds.index(row["model"]),
            ]
            for row in nodes
        ),
        pod_names=tuple(row["name"] for row in pods),
        pods=_rows(
            [
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]),
                min(int(row["gpu_milli"]), openb.WHOLE_GPU) if int(row["num_gpu"]) else 0,
                number[spec],
            ]
            for row, spec in zip(pods, models, strict=True)
        ),
        constraints=tuple(
            tuple(int(kind in spec.split("|")) for kind in kinds) if spec else () for spec in specs
        ),
    )


def _models(row: openb.Row) -> str:
    """The GPU models that the pod may use, as in the list; pods without GPUs are not restricted."""
    if not int(row["num_gpu"]):
        return ""
    return "|".join(model for model in (row.get("gpu_spec") or "").split("|") if model)


def _rows(rows: Iterable[Sequence[int]]) -> Ints:
    return np.array(list(rows), dtype=np.int64)
