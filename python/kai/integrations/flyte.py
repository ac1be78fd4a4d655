"""Flyte, both SDKs: the PodTemplate of a task.

    template = flyte.build(kai.PodRequest(queue="test", gpu_fraction=0.5)).native

    @task(pod_template=template)                        # flytekit
    def train() -> None: ...

    env = flyte.TaskEnvironment(name="train", pod_template=template)    # Flyte 2, with sdk="flyte"

KAI's grouper has no right to read the object that owns the pods of Flyte's tasks, so each pod
counts as its own owner and also has the owner's keys (spec 7 Y5).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kai.api import rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, Unsupported, filled, merge_into_pod, native_or, pod_part
from kai.settings.native import to_native, to_plain

PRIMARY = "primary"
SDKS = ("flytekit", "flyte")  # Flyte 1 and 2


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    sdk: str = "flytekit",
    existing: Any = None,
) -> Built:
    """``pod_spec``, ``primary_container_name``, ``labels`` and ``annotations`` of a PodTemplate.

    sdk: the SDK whose PodTemplate is `native`: ``flytekit``, or ``flyte`` (Flyte 2). existing:
    existing values, or a PodTemplate, to which the settings are added.

    Raises InvalidRequestError for an unknown sdk, for malformed `existing` values, with `as_native`
    if the sdk is not installed, and with `strict` for settings that Flyte cannot express.
    """
    rules.one_of("sdk", sdk, SDKS)
    no_gang = Unsupported(
        "gang_min",
        "for KAI each pod of a task is its own pod group",
        "run the step as a PyTorchJob or RayCluster with the plugins of Flyte",
    )
    unsupported = [no_gang] if request.is_gang else []
    request = request.with_changes(gang_min=None)
    before = check_fields("existing", _values(existing))
    part = pod_part(request, container=before.get("primary_container_name") or PRIMARY)
    primary = part.container or PRIMARY
    spec = before.get("pod_spec") or {}
    containers = [dict(each) for each in spec.get("containers") or []]
    if not any(each.get("name") == primary for each in containers):
        containers.append({"name": primary})  # like Flyte, after the existing containers
    pod, warnings = merge_into_pod(
        {
            "metadata": filled({key: before.get(key) for key in ("labels", "annotations")}),
            "spec": {**spec, "containers": containers},
        },
        part,
        container=primary,
        owns_itself=True,
    )
    settings = {
        "pod_spec": pod["spec"],
        "primary_container_name": primary,
        "labels": pod["metadata"].get("labels", {}),
        "annotations": pod["metadata"].get("annotations", {}),
    }

    def native() -> Any:
        return import_module(sdk).PodTemplate(
            **{**settings, "pod_spec": to_native("V1PodSpec", settings["pod_spec"])}
        )

    return Built(
        orchestrator="flyte",
        settings=settings,
        native=native_or(
            settings, native, as_native=as_native, library=f"{sdk} with the package kubernetes"
        ),
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod template", container=primary),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, bool(part.resources))),
    ).strict_if(strict)


def _values(existing: Any) -> dict[str, Any]:
    """The values of a PodTemplate of either SDK, or of a mapping."""
    if existing is None or isinstance(existing, Mapping):
        values = dict(existing or {})
    else:
        names = ("pod_spec", "primary_container_name", "labels", "annotations")
        if not all(hasattr(existing, name) for name in names):
            raise rules.refuse(f"existing is {existing!r}: write a PodTemplate, or a mapping")
        values = {name: getattr(existing, name) for name in names}
    return {**values, "pod_spec": to_plain(values.get("pod_spec"))}


def _warnings(request: PodRequest, has_resources: bool) -> list[str]:
    warnings = [
        "the backend limits how long a pod may wait: leave plugins.k8s.pod-pending-timeout at 0"
        " (no limit), or set it to 1h or more"
    ]
    if request.gpu_kind != "none":
        warnings.append(
            "omit accelerator= and GPUs in the task's resources: they would request whole GPUs in"
            " addition to these"
        )
    if has_resources:
        warnings.append(
            "requests= and limits= of the task would replace the resources of the template: omit"
            " them"
        )
    return warnings
