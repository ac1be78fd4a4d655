"""The labels of pods that share devices: they name the GPU groups (spec 6 C56).

gpu_labels({"selectedGPUGroups": ["g1"]})          # {"runai-gpu-group": "g1"}
gpu_labels({"selectedGPUGroups": ["g1", "g2"]})    # {"runai-gpu-group/g1": "g1", ...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import keys


def gpu_labels(spec: Mapping[str, Any]) -> dict[str, str]:
    """The labels for the pod of a BindRequest with this spec; none if it shares no device."""
    groups: Sequence[str] = spec.get("selectedGPUGroups") or ()
    if len(groups) == 1:
        return {keys.GPU_GROUP_LABEL: groups[0]}
    return {f"{keys.GPU_GROUP_LABEL_PREFIX}{group}": group for group in groups}


def group_selector(group: str) -> str:
    """Selects the reservation pods of a GPU group."""
    return f"{keys.GPU_GROUP_LABEL}={group}"
