"""Resources that a kubelet assigned to the containers of its pods (PodResources API).

PodResources("team/a-0", [Share("nvidia.com/gpu", 2, (0,))], cpus=[4, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Share(NamedTuple):
    """Devices of a resource, or bytes of memory, of a container. `nodes`: the NUMA nodes.
    `devices`: the names that the device plugin has given them."""

    resource: str
    amount: int
    nodes: tuple[int, ...]
    devices: tuple[str, ...] = ()


class PodResources(NamedTuple):
    """Resources that the kubelet assigned to the pod "namespace/name". `cpus`: the numbers of its
    exclusive CPUs."""

    pod: str
    shares: Sequence[Share] = ()
    cpus: Sequence[int] = ()
