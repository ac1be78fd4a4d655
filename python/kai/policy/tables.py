"""The tables for policies."""

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
    """The request of the pods of a class. Pods with equal requests are scored once for all."""

    cpu_milli: int
    """Millicores."""
    memory_bytes: int
    gpus: int
    """Whole GPUs, or the number of shared GPUs with a fraction each."""
    gpu_milli: int
    """Thousandths of each of its GPUs; for requests in GPU memory, as its queue counts them
    (`pod_gpu_milli`)."""

    @property
    def shares(self) -> bool:
        """Whether it requests fractions of GPUs."""
        return self.gpus > 0 and self.gpu_milli < 1000


@dataclass(frozen=True, eq=False)
class TypicalPods:
    """The most frequent pods of a cluster, waiting and placed, up to 95 % of all.

    One row per kind of pod, the most frequent first. While the mix stays the same, the object is
    the same, so it can serve as the key of derived values.
    """

    cpu_milli: Ints
    gpus: Ints
    gpu_milli: Ints
    """Thousandths of each of its GPUs; 0 for pods without GPUs."""
    weight: Ints
    """The number of pods of this kind."""
    allowed: Bools
    """Pods by kinds of nodes (``nodes.kind``): whether selectors and required affinity match."""


@dataclass(frozen=True, eq=False, slots=True)
class Nodes:
    """Nodes, one row each, sorted by name. Arrays of int64; all are read-only.

    Idle is what no pod uses or is promised; resources of pods that are being deleted count as idle.
    """

    kind: Ints
    """A number per class of nodes: nodes of one kind accept the same pods."""
    cpu_milli: Ints
    """Total millicores."""
    cpu_idle_milli: Ints
    memory_bytes: Ints
    memory_idle_bytes: Ints
    gpus: Ints
    gpu_memory_mib: Ints
    """MiB of one GPU; 0: unknown."""
    gpu_idle_milli: Ints
    """Nodes by GPUs: idle thousandths of each GPU. Shared GPUs come first, then idle ones, then
    those in use; zeros follow a node's last GPU."""
    pod_gpu_milli: Ints
    """Thousandths of each of its GPUs that the pod uses there: a request in GPU memory uses more of
    a smaller GPU."""
    _names: Callable[[int], Sequence[str]] = field(repr=False)
    _typical: Callable[[], TypicalPods] = field(repr=False)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def name(self) -> Sequence[str]:
        """Looked up when read, which costs about 100 ns a row."""
        return self._names(len(self))

    @property
    def typical_pods(self) -> TypicalPods:
        """The typical pods of the cluster at the start of the cycle."""
        return self._typical()


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
    """Pod groups with a waiting pod, one row each, the oldest first; all arrays are read-only."""

    queue: Ints
    """A number per queue; `queue_names` has the names. -1: the queue does not exist."""
    priority: Ints
    waited_s: Floats
    """Seconds since the group was created; NaN: unknown."""
    pods: Ints
    """Waiting pods."""
    running: Ints
    """Pods of the group on a node."""
    gpus: Floats
    """GPUs that the waiting pods request, as their queue counts them."""
    cpu: Floats
    """Cores that the waiting pods request."""
    evicted_s: Floats
    """Seconds since its last eviction; NaN: unknown."""
    started_s: Floats
    """Seconds since its last start; NaN: unknown."""
    attained_s: Floats
    """Seconds during which pods of the group occupied nodes, up to now."""
    attained_gpu_s: Floats
    """These times multiplied by the GPUs that they occupied: GPU-seconds."""
    evictions: Ints
    """Number of times that the group has lost pods."""
    estimate_s: Floats
    """Its expected run time, as its user gave it; NaN: unknown."""
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
        """Indexed by the numbers in `queue`."""
        return self._queue_names()
