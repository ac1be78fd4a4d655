"""The orchestrators with builders, by the name that users write."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol

from kai.api import rules
from kai.api.nearest import did_you_mean
from kai.settings import Built, PodRequest

# Name -> module of this package. One line each.
ORCHESTRATORS: Mapping[str, str] = MappingProxyType(
    {
        "airflow": "airflow",
        "argo": "argo",
        "dagster": "dagster",
        "dynamo": "dynamo",
        "flyte": "flyte",
        "jobset": "jobset",
        "kfp": "kfp",
        "kserve": "kserve",
        "kubernetes": "kubernetes",
        "leaderworkerset": "leaderworkerset",
        "metaflow": "metaflow",
        "mlflow": "mlflow",
        "prefect": "prefect",
        "ray": "ray",
        "skypilot": "skypilot",
        "spark": "spark",
        "trainer": "trainer",
        "training-operator": "training_operator",
        "zenml": "zenml",
    }
)

OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("k8s", "pod", "kube"), "kubernetes"),
        **dict.fromkeys(("hera", "argo-workflows", "workflow"), "argo"),
        **dict.fromkeys(("kubeflow-pipelines", "pipelines"), "kfp"),
        **dict.fromkeys(
            ("pytorchjob", "pytorch", "kubeflow-training-operator"), "training-operator"
        ),
        **dict.fromkeys(("trainjob", "kubeflow-trainer"), "trainer"),
        **dict.fromkeys(("kuberay", "raycluster", "rayjob", "rayservice"), "ray"),
        **dict.fromkeys(("sparkapplication", "spark-operator"), "spark"),
        **dict.fromkeys(("inferenceservice",), "kserve"),
        **dict.fromkeys(("sky",), "skypilot"),
        **dict.fromkeys(("lws", "leader-worker-set"), "leaderworkerset"),
    }
)
"""Other names that people use: of kinds, of programs and of Python libraries."""
_SEVERAL: Mapping[str, str] = MappingProxyType(
    {
        "kubeflow": (
            "kfp (Kubeflow Pipelines), trainer (TrainJob) or training-operator (PyTorchJob)"
        ),
    }
)


class Builder(Protocol):
    def __call__(
        self,
        request: PodRequest,
        *,
        as_native: bool | None = None,
        strict: bool = False,
        **options: Any,
    ) -> Built: ...


def builder_for(orchestrator: str) -> Builder:
    """The `build` of an orchestrator; raises InvalidRequestError for an unknown one.

    Other names of an orchestrator are accepted, such as k8s, hera or PyTorchJob.
    """
    name = orchestrator_of(orchestrator)
    build: Builder = import_module(f"kai.integrations.{ORCHESTRATORS[name]}").build
    return build


def orchestrator_of(name: str) -> str:
    """The orchestrator of this name; raises InvalidRequestError for an unknown one.

    >>> orchestrator_of("hera"), orchestrator_of("PyTorchJob"), orchestrator_of("kfp")
    ('argo', 'training-operator', 'kfp')
    """
    plain = str(name).lower()
    if plain in _SEVERAL:
        raise rules.refuse(f"orchestrator is {name!r}, which is several: write {_SEVERAL[plain]}")
    if plain in OTHER_NAMES or plain in ORCHESTRATORS:
        return OTHER_NAMES.get(plain, plain)
    if hint := did_you_mean(name, (*ORCHESTRATORS, *OTHER_NAMES)):
        known = ", ".join(ORCHESTRATORS)
        raise rules.refuse(f"orchestrator is {name!r}: write one of {known}{hint}")
    return rules.one_of("orchestrator", name, ORCHESTRATORS)
