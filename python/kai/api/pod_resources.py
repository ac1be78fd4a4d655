"""What a kubelet gave the containers of its pods, as its PodResources API has it.

PodResources("team/a-0", [Share("nvidia.com/gpu", 2, (0,))], cpus=[4, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """Devices of a resource, or bytes of memory, that a container has. `nodes`: the NUMA nodes."""

    resource: str
    amount: int
    nodes: tuple[int, ...]


class PodResources(NamedTuple):
    """What the kubelet gave the containers of a pod, "namespace/name". `cpus`: the exclusive ones,
    by number."""

    pod: str
    shares: Sequence[Share] = ()
    cpus: Sequence[int] = ()
