"""Flyte, both SDKs: the PodTemplate of a task.

    template = flyte.build(kai.PodRequest(queue="test", gpu_fraction=0.5)).native

    @task(pod_template=template)                        # flytekit
    def train() -> None: ...

    env = flyte.TaskEnvironment(name="train", pod_template=template)    # Flyte 2, with sdk="flyte"

Flyte owns the pods of tasks by an object that KAI's grouper is not allowed to read, so that each
pod counts as its own owner and carries the owner's keys as well (spec 7 Y5).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kai.api import rules
from kai.api.fields import check_fields
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, Unsupported, filled, merge_into_pod, native_or, pod_part
from kai.settings.native import to_native, to_plain

PRIMARY = "primary"
SDKS = ("flytekit", "flyte")  # Flyte 1 and 2


def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    sdk: str = "flytekit",
    existing: Any = None,
) -> Built:
    """``pod_spec``, ``primary_container_name``, ``labels`` and ``annotations`` of a PodTemplate.

    sdk: whose PodTemplate `native` is: of ``flytekit``, or of ``flyte``, which is Flyte 2.
    existing: such values, or a PodTemplate, to which the settings are added.

    Raises InvalidRequestError for an unknown sdk, for malformed `existing` values, with `as_native`
    where the sdk is not installed, and with `strict` for what Flyte cannot express.
    """
    rules.one_of("sdk", sdk, SDKS)
    no_gang = Unsupported(
        "gang_min",
        "each pod of a task is a group of its own for KAI",
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
        containers.append({"name": primary})  # as Flyte would: behind those that are there
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

    built = Built(
        orchestrator="flyte",
        settings=settings,
        native=native_or(
            settings, native, as_native=as_native, library=f"{sdk} with the package kubernetes"
        ),
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod template", container=primary),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, bool(part.resources))),
    )
    return built.strict() if strict else built


def _values(existing: Any) -> dict[str, Any]:
    """Of a PodTemplate of either SDK, or of a mapping."""
    if existing is None or isinstance(existing, Mapping):
        values = dict(existing or {})
    else:
        names = ("pod_spec", "primary_container_name", "labels", "annotations")
        if not all(hasattr(existing, name) for name in names):
            raise rules.refuse(f"existing is {existing!r}: write a PodTemplate, or a mapping")
        values = {name: getattr(existing, name) for name in names}
    return {**values, "pod_spec": to_plain(values.get("pod_spec"))}


def _warnings(request: PodRequest, has_resources: bool) -> list[str]:
    said = [
        "how long a pod may wait is the backend's: leave plugins.k8s.pod-pending-timeout at 0, for"
        " ever, or set it to 1h or more"
    ]
    if request.gpu_kind != "none":
        said.append(
            "leave accelerator= and GPUs in the task's resources out: they would ask for whole GPUs"
            " beside these"
        )
    if has_resources:
        said.append(
            "requests= and limits= of the task would replace the resources of the template: leave"
            " them out"
        )
    return said
