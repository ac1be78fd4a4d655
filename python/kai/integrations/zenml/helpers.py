"""What goes around the settings of a step: the step's own mapping, the component, the image, and
Terraform's provider, which takes texts."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from kai.api import keys, rules
from kai.integrations.zenml import builder
from kai.settings import PodRequest, native_or

_FOR_EVERY_STEP = (
    "queue", "priority", "preemptible", "preemption_delay", "staleness_grace_period", "labels",
    "scheduler_name", "queue_label_key", "legacy", "both", "kai_version",
)  # fmt: skip


def step_settings(request: PodRequest, *, target: str = "orchestrator", **options: Any) -> Any:
    """For ``@step(settings=...)``, or of a pipeline: {"orchestrator": ...} (spec 7 Z7), or
    {"step_operator": ...}. The options are those of `build`.

    Raises InvalidRequestError as `build` does.
    """
    return {target: builder.build(request, target=target, **options).native}


def for_every_step(request: PodRequest) -> PodRequest:
    """The request without what only its own step should have: GPUs, and what comes with them."""
    if request.gpu_kind == "none":
        return request
    kept = {name: getattr(request, name) for name in _FOR_EVERY_STEP}
    without_type = {
        key: value for key, value in request.annotations.items() if key != keys.GPU_TYPE_ANNOTATION
    }
    return PodRequest(**kept, annotations=without_type)


def component_settings(request: PodRequest, **options: Any) -> dict[str, Any]:
    """For the orchestrator component: what every step of every pipeline gets (spec 7 TF1).

    Scheduler, queue and priority. Of a request with a GPU neither that nor its nodes, variables or
    amounts: a step cannot take back what its component says, so a GPU there is a GPU for all.

    Raises InvalidRequestError as `build` does.
    """
    built = builder.build(for_every_step(request), as_native=False, **options)
    return dict(built.settings)


def terraform_pod_settings(request: PodRequest, **options: Any) -> str:
    """`pod_settings` of the orchestrator's configuration: JSON, without GPU keys (spec 7 TF1).

    Raises InvalidRequestError as `build` does.
    """
    settings = component_settings(request, **options)
    return json.dumps(settings["pod_settings"], indent=2, sort_keys=True)


def docker_settings(*, as_native: bool | None = None, **values: Any) -> Any:
    """ZenML's DockerSettings, with what would be lost or do harm refused (spec 7 Z3, C15).

    Raises InvalidRequestError for an `env`, for NVIDIA_VISIBLE_DEVICES in the environment, for an
    environment of an image that is not built, and with `as_native` where zenml is not installed.
    """
    if "env" in values:
        raise rules.refuse(
            "DockerSettings has no env and ignores it silently: write the variables as env= of"
            " kai.PodRequest, without NVIDIA_VISIBLE_DEVICES"
        )
    for name in ("environment", "runtime_environment"):
        if "NVIDIA_VISIBLE_DEVICES" in (values.get(name) or {}):
            raise rules.refuse(
                f"{name} has NVIDIA_VISIBLE_DEVICES, which KAI sets itself for a part of a GPU:"
                " remove it"
            )
    if values.get("skip_build") and values.get("environment"):
        raise rules.refuse(
            "environment is written into an image while it is built, and skip_build=True builds"
            " no image: write the variables as env= of kai.PodRequest"
        )
    return native_or(values, lambda: _docker(values), as_native=as_native, library="zenml")


def _docker(values: dict[str, Any]) -> Any:
    settings = import_module("zenml.config").DockerSettings
    unknown = sorted(set(values) - set(settings.model_fields))
    if unknown:  # ZenML would ignore them silently
        raise rules.refuse(f"DockerSettings of this ZenML has no {unknown[0]}: remove it")
    return settings(**values)
