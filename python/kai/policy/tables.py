"""The tables that policies get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


class Pod(NamedTuple):
    """What a pod of the class asks for. Pods that ask for the same are scored once for all."""

    cpu_milli: int
    """Millicores."""
    memory_bytes: int
    gpus: int
    """Whole GPUs, or GPUs of which it takes a part each."""
    gpu_milli: int
    """Thousandths of each of its GPUs; of GPU memory as its queue counts it (`pod_gpu_milli`)."""

    @property
    def shares(self) -> bool:
        """It takes parts of GPUs."""
        return self.gpus > 0 and self.gpu_milli < 1000


@dataclass(frozen=True, eq=False)
class TypicalPods:
    """The most frequent pods of a cluster, waiting and placed, which are 95 % of all.

    A row per kind of pod, the most frequent first. While the mix stays the same, so does the
    object: what is derived from it can be kept by it.
    """

    cpu_milli: Ints
    gpus: Ints
    gpu_milli: Ints
    """Thousandths of each of its GPUs; 0 for pods without GPUs."""
    weight: Ints
    """How many there are."""
    allowed: Bools
    """Pods by kinds of nodes (``nodes.kind``): its selectors and required affinity match."""


@dataclass(frozen=True, eq=False, slots=True)
class Nodes:
    """Nodes, a row each, sorted by name. Arrays of int64; all are read-only.

    Idle is what no pod uses or is promised; what leaving pods give back counts as idle.
    """

    kind: Ints
    """A number per class of nodes: nodes of one kind are open to the same pods."""
    cpu_milli: Ints
    """Millicores in all."""
    cpu_idle_milli: Ints
    memory_bytes: Ints
    memory_idle_bytes: Ints
    gpus: Ints
    gpu_memory_mib: Ints
    """Of one GPU; 0: unknown."""
    gpu_idle_milli: Ints
    """Nodes by cards: thousandths that are idle of each GPU. GPUs that pods share come first, then
    idle ones, then those in use; behind a node's last GPU stand zeros."""
    pod_gpu_milli: Ints
    """Thousandths that the pod takes of each of its GPUs there: pods that ask for GPU memory take
    more of a smaller one."""
    _names: Callable[[int], Sequence[str]] = field(repr=False)
    _typical: Callable[[], TypicalPods] = field(repr=False)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def name(self) -> Sequence[str]:
        """Looked up when asked for, which costs about 100 ns a row."""
        return self._names(len(self))

    @property
    def typical_pods(self) -> TypicalPods:
        """The cluster's, as at the start of the cycle."""
        return self._typical()


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """Pod groups with a pod that waits, a row each, the oldest first; all arrays are read-only."""

    queue: Ints
    """A number per queue; `queue_names` has their names. -1: the queue does not exist."""
    priority: Ints
    waited_s: Floats
    """Seconds since the group was created; NaN: unknown."""
    pods: Ints
    """That wait."""
    running: Ints
    """Pods of the group that hold a node."""
    gpus: Floats
    """That the waiting pods ask for, as their queue counts them."""
    cpu: Floats
    """Cores, likewise."""
    evicted_s: Floats
    """Seconds since its last eviction; NaN: none is known."""
    started_s: Floats
    """Seconds since its last start; NaN: none is known."""
    attained_s: Floats
    """Seconds during which some of its pods held nodes, up to now."""
    attained_gpu_s: Floats
    """The same times the GPUs that they held: GPU-seconds."""
    evictions: Ints
    """How often it lost pods."""
    estimate_s: Floats
    """Its expected run time, as its user gave it; NaN: none is known."""
    preemptible: Bools
    _names: Callable[[int], Sequence[str]] = field(repr=False)
    _queue_names: Callable[[], Sequence[str]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.queue)

    @property
    def name(self) -> Sequence[str]:
        """As "namespace/name"."""
        return self._names(len(self))

    @property
    def queue_names(self) -> Sequence[str]:
        """By the numbers in `queue`."""
        return self._queue_names()
