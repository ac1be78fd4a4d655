"""Checks of ZenML settings: keys that ZenML stores and ignores (spec 7 Z2, Z3)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import gpus, shape
from kai.admission.finding import Finding, Path, error, warning
from kai.admission.pods import Container, Pod
from kai.api import keys
from kai.api.reading import at, mapping, text
from kai.linting import groups

POD_FIELDS = (
    "additional_pod_spec_args", "affinity", "annotations", "container_security_context", "env",
    "env_from", "host_ipc", "image_pull_secrets", "labels", "node_selectors", "resources",
    "scheduler_name", "tolerations", "volume_mounts", "volumes",
)  # fmt: skip
_COMPONENTS = ("orchestrator", "step_operator")
_PODS = ("pod_settings", "orchestrator_pod_settings")

# Wrong keys, and what to write instead.
_MEANT = {
    "node_selector": "node_selectors",
    "nodeSelector": "node_selectors",
    "container_environment": "env, a list of {'name': ..., 'value': ...}",
    "environment": "env, a list of {'name': ..., 'value': ...}",
    "security_context": "privileged=True, beside pod_settings",
    "privileged": "privileged=True, beside pod_settings",
    "runtime_class_name": "additional_pod_spec_args={'runtime_class_name': ...}",
    "priority_class_name": f"the label {keys.PRIORITY_CLASS_LABEL}",
    "schedulerName": "scheduler_name",
}
# Keys that only ZenML has; labels and the like also occur elsewhere.
_SIGNS = frozenset(
    (
        *_PODS,
        "additional_pod_spec_args",
        "container_environment",
        "node_selectors",
        "scheduler_name",
    )
)


def is_settings(value: Mapping[str, Any]) -> bool:
    """Whether these are ZenML settings, of any level; manifests have a kind."""
    return "kind" not in value and any(
        key in _SIGNS or _component(key) or key == "docker" for key in value
    )


def places(configuration: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Where a run configuration (zenml pipeline run -c) has settings."""
    if "kind" in configuration or is_settings(configuration):
        return
    steps = mapping(configuration.get("steps"))
    for path in (("settings",), *(("steps", str(name), "settings") for name in steps)):
        if is_settings(mapping(at(configuration, *path))):
            yield path


def _component(key: str) -> bool:
    return key.replace(":", ".").split(".")[0] in _COMPONENTS


def check(settings: Mapping[str, Any]) -> Iterator[Finding]:
    if any(_component(key) or key in ("docker", "kubernetes") for key in settings):
        for key, value in settings.items():
            if _component(key):
                yield from _of_component(mapping(value), (key,))
            elif key == "docker":
                yield from _of_docker(mapping(value), (key,))
            elif key == "kubernetes":
                yield error(
                    "zenml-unknown-setting",
                    (key,),
                    "ZenML refuses the settings key kubernetes",
                    "write orchestrator",
                )
        yield from _whole_gpus(settings)
    elif any(key in _PODS for key in settings):
        yield from _of_component(settings, ())
    else:
        yield from _of_pod(settings, ())


def _whole_gpus(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Whole GPUs in ResourceSettings, beside a part of a GPU in the settings of a component."""
    count = at(settings, "resources", "gpu_count")
    components = [mapping(value) for key, value in settings.items() if _component(key)]
    pods = [_as_pod(mapping(each.get(key)), ()) for each in components for key in _PODS]
    if count and any(map(gpus.shares, pods)):
        yield warning(
            "whole-gpu-beside-fraction",
            ("resources", "gpu_count"),
            f"ZenML may request gpu_count: {count} as whole GPUs in addition to a part of a GPU,"
            " and KAI refuses such a pod",
            "remove it",
        )


def _of_component(settings: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    for key, value in settings.items():
        if key in _PODS:
            yield from _of_pod(mapping(value), (*where, key))
        elif key in POD_FIELDS or (key in _MEANT and key != "privileged"):
            yield warning(
                "zenml-unknown-setting",
                (*where, key),
                f"{key} is not a setting of a component and has no effect",
                f"in pod_settings write {_MEANT.get(key, key)}",
            )
    if settings.get("privileged") is not None and not isinstance(settings["privileged"], bool):
        message = "privileged is not a boolean"
        yield error("zenml-value", (*where, "privileged"), message, "write True or False")


def _of_pod(settings: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    for key in settings:
        if key in POD_FIELDS:
            continue
        near = difflib.get_close_matches(key, POD_FIELDS, n=1)
        instead = _MEANT.get(key) or (near[0] if near else f"one of {', '.join(POD_FIELDS)}")
        yield warning(
            "zenml-unknown-setting",
            (*where, key),
            f"ZenML stores {key} and ignores it",
            f"write {instead}",
        )
    yield from shape.check_texts(settings, where)
    pod = _as_pod(settings, where)
    if pod.scheduler in ("", keys.SCHEDULER_NAME) or groups.wants_kai(pod, keys.SCHEDULER_NAME):
        yield from shape.check(pod)
        yield from gpus.check(pod)
        yield from groups.check_keys(
            settings, where, kind="", is_pod=True, is_owner=True, has_gpu=gpus.has_gpu(pod)
        )
    if gpus.shares(pod) and not pod.scheduler:
        yield error(
            "scheduler-missing",
            where,
            f"scheduler_name is not {keys.SCHEDULER_NAME}: another scheduler places this pod,"
            " without a GPU",
            f"write scheduler_name: {keys.SCHEDULER_NAME}",
        )
    elif pod.scheduler:
        yield from groups.check_scheduler(pod, "", keys.SCHEDULER_NAME, is_for_kai=False)
    if isinstance(settings.get("env"), Mapping):
        yield error(
            "zenml-value",
            (*where, "env"),
            "ZenML refuses a mapping of variables",
            "write a list of {'name': ..., 'value': ...}",
        )


def _as_pod(settings: Mapping[str, Any], where: Path) -> Pod:
    """The pod of a step."""
    fields = {"name": "main", "resources": settings.get("resources"), "env": settings.get("env")}
    return Pod(
        at=where,
        metadata_at=where,
        metadata=settings,
        scheduler=text(settings.get("scheduler_name")),
        scheduler_at=(*where, "scheduler_name"),
        containers=[Container(where, fields)],
    )


def _of_docker(settings: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    if "env" in settings:
        yield warning(
            "zenml-unknown-setting",
            (*where, "env"),
            "DockerSettings drops env: neither the image nor the pod gets the variables",
            "move them to env of pod_settings",
        )
