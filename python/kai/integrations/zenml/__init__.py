"""ZenML: settings of a step, of a stack component, of images, and of the Terraform provider.

    from kai.integrations import zenml

    half = kai.PodRequest(queue="test", gpu_fraction=0.5)

    @step(settings=zenml.step_settings(half))
    def train_iris_model(...): ...

The Kubernetes orchestrator and the Kubernetes step operator, from ZenML 0.82.0 on (spec 7
Z1-Z12). Steps, not components, get GPUs: settings of a component apply to every step (spec 7 TF1).
`kai.linting.lint` finds what ZenML ignores in settings written by hand (spec 7 Z2).
"""

from kai.integrations.zenml.builder import build
from kai.integrations.zenml.helpers import (
    component_settings,
    docker_settings,
    step_settings,
    terraform_pod_settings,
)

__all__ = [
    "build",
    "component_settings",
    "docker_settings",
    "step_settings",
    "terraform_pod_settings",
]
