"""How the GPUs of a job are cut into equal pods that fit the nodes.

Traces often say how many GPUs a job has, but not how many pods. Then kai chooses the pods, and
chooses again when the jobs are simulated on other nodes (`kai.sim.workload.Workload.on_nodes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIXED", "NODE_CORES", "NODE_GPUS", "cut", "equal_pods"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIXED = -1
"""In `Jobs.recorded_pods`: the pods of the job are given, and never cut."""
NODE_GPUS = 8
"""GPUs of a node if a trace does not define them."""
NODE_CORES = 128.0


class Pool(Protocol):
    """Nodes of one size."""

    @property
    def gpus(self) -> int: ...
    @property
    def cpu(self) -> float: ...


def equal_pods(gpus: Floats, node_gpus: int) -> tuple[Ints, Floats]:
    """Pods of each job, and GPUs of each of its pods.

    A job that fits a node is one pod. A larger one has pods of the largest equal size that fits a
    node. Worked, for nodes of 8: 16 GPUs are 2 pods of 8, 12 are 2 of 6, and 13 are 13 of 1.
    """
    pods = np.ones(len(gpus), dtype=np.int64)
    of_each = gpus.astype(np.float64)
    for total in np.unique(gpus[gpus > node_gpus]):
        size = next(each for each in range(node_gpus, 0, -1) if total % each == 0)
        rows = gpus == total
        pods[rows], of_each[rows] = int(total) // size, size
    return pods, of_each


def cut(
    gpus: Floats, cores: Floats, recorded_pods: Ints, nodes: Sequence[Pool]
) -> tuple[Ints, Floats]:
    """Pods of each job, and GPUs of each of its pods, for the largest of these nodes.

    ``gpus`` and ``cores`` are those of the whole job; the cores count only for jobs without GPUs.
    ``recorded_pods``: used if they are equal and fit; 0: none are recorded.
    """
    most = max((pool.gpus for pool in nodes), default=0) or NODE_GPUS
    pods, of_each = equal_pods(gpus, most)
    most_cores = int(max((pool.cpu for pool in nodes), default=0)) or int(NODE_CORES)
    bare = gpus == 0
    pods[bare] = equal_pods(np.ceil(cores[bare]), most_cores)[0]
    each = gpus / np.maximum(recorded_pods, 1)
    fits = (each <= most) & ((each % 1 == 0) | (recorded_pods == 1)) & (recorded_pods > 0)
    return np.where(fits, recorded_pods, pods), np.where(fits, each, of_each)
