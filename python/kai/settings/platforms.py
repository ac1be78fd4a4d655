"""The labels of GPU nodes on cloud platforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kai.api import keys

GPU_TOLERATION: Mapping[str, str] = MappingProxyType(
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
)
"""Every pod that requests a GPU gets this toleration; it matches any value of the taint."""


@dataclass(frozen=True, slots=True)
class Platform:
    """Node labels of one platform, for the GPU model and for the node pool, if there is one."""

    gpu_type_label: str
    pool_label: str | None


PLATFORMS: Mapping[str, Platform] = {
    "gke": Platform("cloud.google.com/gke-accelerator", "cloud.google.com/gke-nodepool"),
    "eks": Platform(keys.GPU_PRODUCT_LABEL, "eks.amazonaws.com/nodegroup"),
    "aks": Platform(keys.GPU_PRODUCT_LABEL, "kubernetes.azure.com/agentpool"),
    "generic": Platform(keys.GPU_PRODUCT_LABEL, None),
}
"""``generic`` is any cluster with NVIDIA's GPU feature discovery."""
