"""The requests of the steps to KAI."""

from __future__ import annotations

import kai

# Half of a T4, in the queue "test". NVIDIA_REQUIRE_CUDA is that of the image (see Dockerfile): with
# a higher number, the container would not start on some nodes that could run it.
HALF_A_T4 = kai.PodRequest(
    queue="test",
    gpu_fraction=0.5,
    platform="gke",
    gpu_type="nvidia-tesla-t4",
    node_pool="gpu-pool",
    cpu="500m",
    memory="1Gi",
    memory_limit="4Gi",
    env={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_REQUIRE_CUDA": "cuda>=12.1"},
    framework="torch",
    framework_versions={"torch": "2.2"},
    gpu_memory_total=15360,
)

STEPS: dict[str, kai.PodRequest | None] = {
    "load_iris_dataset": None,  # the defaults: no GPU, and the scheduler of Kubernetes
    "train_iris_model": HALF_A_T4,
}
