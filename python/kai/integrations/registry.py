"""The orchestrators with builders, by the name that users write."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Protocol

from kai.api import rules
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
    """The `build` of an orchestrator; raises InvalidRequestError for an unknown one."""
    rules.one_of("orchestrator", orchestrator, ORCHESTRATORS)
    build: Builder = import_module(f"kai.integrations.{ORCHESTRATORS[orchestrator]}").build
    return build
