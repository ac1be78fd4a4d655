"""How clouds label their GPU nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kai.api import keys

GPU_TOLERATION: Mapping[str, str] = MappingProxyType(
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
)
"""Given to every pod that asks for a GPU; it fits the taint whatever its value."""


@dataclass(frozen=True, slots=True)
class Platform:
    """Node labels of one platform: of the GPU model, and of the pool of nodes, if it has any."""

    gpu_type_label: str
    pool_label: str | None


PLATFORMS: Mapping[str, Platform] = MappingProxyType(
    {
        "gke": Platform("cloud.google.com/gke-accelerator", "cloud.google.com/gke-nodepool"),
        "eks": Platform(keys.GPU_PRODUCT_LABEL, "eks.amazonaws.com/nodegroup"),
        "aks": Platform(keys.GPU_PRODUCT_LABEL, "kubernetes.azure.com/agentpool"),
        "generic": Platform(keys.GPU_PRODUCT_LABEL, None),
    }
)
"""``generic`` is any cluster with NVIDIA's GPU feature discovery."""
