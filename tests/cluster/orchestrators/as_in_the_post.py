"""Runs the example's pipeline with the settings of ZenML's post about KAI.

ZenML itself ignores three of them: node_selector, container_environment and security_context.
"""

import pipeline
from kubernetes.client.models import V1Toleration
from zenml.integrations.kubernetes.flavors.kubernetes_orchestrator_flavor import (
    KubernetesOrchestratorSettings,
)

TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
CUDA = {"NVIDIA_DRIVER_CAPABILITIES": "all", "NVIDIA_REQUIRE_CUDA": "cuda>=12.2"}
GKE = "cloud.google.com/gke"
SETTINGS = KubernetesOrchestratorSettings(
    pod_settings={
        "scheduler_name": "kai-scheduler",
        "labels": {"runai/queue": "test"},
        "annotations": {"gpu-fraction": "0.5", "gpu-type": "nvidia-tesla-t4"},
        "tolerations": [V1Toleration(**TAINT)],
        "node_selector": {f"{GKE}-accelerator": "nvidia-tesla-t4", f"{GKE}-nodepool": "gpu-pool"},
        "container_environment": CUDA,
        "resources": {
            "requests": {"cpu": "500m", "memory": "1Gi"},
            "limits": {"memory": "2Gi"},
        },
        "security_context": {"privileged": True},
    }
)

pipeline.train_iris_model.configure(settings={"orchestrator": SETTINGS}, merge=False)
pipeline.gpu_pipeline()
