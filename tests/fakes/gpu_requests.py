"""Each kind of GPU request, and what it adds to a pod.

@EACH_GPU_REQUEST
def test_...(gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]) -> None: ...
"""

from typing import Any

import pytest

# The request; annotations of the pod; limits of its container.
ROWS: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, str]]] = {
    "no GPU": ({}, {}, {}),
    "two GPUs": ({"gpus": 2}, {}, {"nvidia.com/gpu": "2"}),
    "a MIG slice": ({"mig": "1g.5gb"}, {}, {"nvidia.com/mig-1g.5gb": "1"}),
    "half a GPU": ({"gpu_fraction": 0.5}, {"gpu-fraction": "0.5"}, {}),
    "memory of a GPU": ({"gpu_memory": "5Gi"}, {"gpu-memory": "5120"}, {}),
    "half of each of two GPUs": (
        {"gpu_fraction": 0.5, "devices": 2},
        {"gpu-fraction": "0.5", "gpu-fraction-num-devices": "2"},
        {},
    ),
}
EACH_GPU_REQUEST = pytest.mark.parametrize(
    ("gpus", "annotations", "limits"), ROWS.values(), ids=ROWS
)
GPU_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def in_container(name: str, annotations: dict[str, str]) -> dict[str, str]:
    """Annotations of a part of a GPU, which name the container that gets it."""
    return {**annotations, "gpu-fraction-container-name": name} if annotations else {}
