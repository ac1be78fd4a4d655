"""Prefect on Kubernetes: the base job template of a work pool, and the variables of a run.

    template = prefect.base_job_template(kai.PodRequest(queue="test", gpu_fraction=0.5))
    variables = prefect.job_variables(kai.PodRequest(queue="other", gpu_fraction=0.25))

The pool gets the template once; a deployment sets other values in its job_variables (spec 7 P6).
Queue, priority and the amount of GPU, CPU and memory are variables; scheduler, nodes, tolerations
and topology belong to the pool. If a variable is not set, its key is removed. An empty variable
would write an empty annotation, which KAI refuses, so the template's schema refuses it.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields, fields_at
from kai.api.resources import new_object
from kai.integrations.placement import placement
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    filled,
    merge,
    merge_into_pod,
    native_or,
    pod_part,
)

CONTAINER = "prefect-job"  # the worker requires this name, and that the container is the first
POD_WATCH_TIMEOUT_SECONDS = 3600
VERSION = "0.8.0"  # of prefect-kubernetes

# The variables for KAI's keys, with the schema of each.
_KAI_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "kai_queue": {
        "title": "KAI queue",
        "pattern": "^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$",
    },
    "kai_priority": {
        "title": "KAI priority",
        "description": "Name of a PriorityClass.",
        "pattern": "^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$",
    },
    "gpu_fraction": {
        "title": "Part of a GPU",
        "description": "Such as 0.5. Excludes gpu_memory and gpus.",
        "pattern": r"^0?\.[0-9]*[1-9][0-9]*$",
    },
    "gpu_memory": {
        "title": "GPU memory",
        "description": "Of one device, in MiB. Excludes gpu_fraction and gpus.",
        "pattern": "^[1-9][0-9]*$",
    },
    "gpu_devices": {
        "title": "GPU devices",
        "description": "The number of devices from which to request this part or memory.",
        "pattern": "^[1-9][0-9]*$",
    },
    "gpus": {
        "title": "Whole GPUs",
        "description": "Excludes gpu_fraction and gpu_memory.",
        "pattern": "^[1-9][0-9]*$",
    },
}
_GPU_VARIABLES = {
    keys.GPU_FRACTION_ANNOTATION: "gpu_fraction",
    keys.GPU_MEMORY_ANNOTATION: "gpu_memory",
    keys.GPU_DEVICES_ANNOTATION: "gpu_devices",
}
_AMOUNTS = {
    ("requests", keys.CPU): "cpu_request",
    ("requests", keys.MEMORY): "memory_request",
    ("limits", keys.CPU): "cpu_limit",
    ("limits", keys.MEMORY): "memory_limit",
    ("limits", keys.NVIDIA_GPU): "gpus",
}


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    template: Mapping[str, Any] | None = None,
    version: str = VERSION,
) -> Built:
    """``base_job_template`` and ``job_variables``.

    template: the pool's own, to which the settings are added; None: one like Prefect's default.
    version: of the worker's prefect-kubernetes. native: made from the default template of the
    installed Prefect if no template is given.

    Raises InvalidRequestError for a malformed version, for a template that is not one of Prefect's,
    for a request with another container than Prefect's, with `as_native` if prefect-kubernetes is
    not installed, and with `strict` for settings that Prefect cannot express.
    """
    made, warnings = _templated(request, template, version)
    variables = job_variables(request)
    settings = {"base_job_template": made, "job_variables": variables}

    def native() -> Any:
        worker = import_module("prefect_kubernetes.worker").KubernetesWorker
        given = worker.get_default_base_job_template() if template is None else template
        return {**settings, "base_job_template": _templated(request, given, version)[0]}

    part = _part(request)
    pod = part.manifest(container=CONTAINER)
    if part.owner_annotations and _numbers(version) >= (0, 7, 6):
        # The worker copies them all from the Job to the pod, where nothing reads them.
        pod["metadata"] = merge({"annotations": part.owner_annotations}, pod["metadata"])
    placed = placement(part, pod="pod template", owner="Job", container=CONTAINER)
    if request.priority is not None and not _keeps_case(version):
        del pod["metadata"]["labels"][keys.PRIORITY_CLASS_LABEL]
        del placed[keys.PRIORITY_CLASS_LABEL]
        pod["spec"]["priorityClassName"] = request.priority
        placed["priorityClassName"] = "pod template"
    return Built(
        orchestrator="prefect",
        settings=settings,
        native=native_or(settings, native, as_native=as_native, library="prefect-kubernetes"),
        pod=pod,
        placement=placed,
        warnings=(*part.warnings, *warnings, *_warnings(request, version)),
    ).strict_if(strict)


def base_job_template(
    request: PodRequest, *, template: Mapping[str, Any] | None = None, version: str = VERSION
) -> dict[str, Any]:
    """A work pool's template with the settings of the request as defaults.

    template: such as ``prefect work-pool get-default-base-job-template --type kubernetes`` prints.

    Raises InvalidRequestError for a malformed version, for a template that is not one of Prefect's,
    and for a request with another container than Prefect's.
    """
    return _templated(request, template, version)[0]


def job_variables(request: PodRequest) -> dict[str, Any]:
    """The job_variables of a deployment in a pool with such a template.

    Raises InvalidRequestError for a request with another container than Prefect's.
    """
    part = _part(request)
    values: dict[str, Any] = {
        "kai_queue": request.queue,
        "kai_priority": request.priority,
        "env": dict(part.env),
        "pod_watch_timeout_seconds": POD_WATCH_TIMEOUT_SECONDS,
    }
    values |= {name: part.annotations.get(key) for key, name in _GPU_VARIABLES.items()}
    values |= {
        name: part.resources.get(kind, {}).get(key) for (kind, key), name in _AMOUNTS.items()
    }
    return filled(values)


def _part(request: PodRequest) -> PodPart:
    if request.container not in (None, CONTAINER):
        raise rules.refuse(
            f"container is {request.container!r}, and Prefect accepts only {CONTAINER}: remove"
            " container="
        )
    return pod_part(request, container=CONTAINER)


def _templated(
    request: PodRequest, template: Mapping[str, Any] | None, version: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    given = _plain_template(version) if template is None else rules.mapping("template", template)
    # Only this part of the configuration: its env is a mapping, not a list as in a pod.
    manifest = fields_at("template", given, "job_configuration", "job_manifest")
    check_fields("the job_manifest of template", manifest, placeholders=True)
    fields_at("the job_manifest of template", manifest, "spec", "template", "spec")
    check_fields("the rest of template", {"variables": given.get("variables")})
    made = copy.deepcopy(dict(given))
    configuration = made["job_configuration"]
    job = configuration["job_manifest"]
    pod = job["spec"]["template"]
    containers = pod["spec"].get("containers") or [{}]
    if containers[0].get("name") != CONTAINER:
        raise rules.refuse(
            f"the first container of the template is {containers[0].get('name')!r}: write"
            f" {CONTAINER}, the only name that Prefect accepts"
        )
    limits = (containers[0].get("resources") or {}).get("limits") or {}
    if limits.get(keys.NVIDIA_GPU) == _filled_in("gpus"):
        del limits[keys.NVIDIA_GPU]  # from an earlier call of this function

    part = _with_variables(request, _part(request), version)
    job["spec"]["template"], warnings = merge_into_pod(pod, part, container=CONTAINER)
    if not _keeps_case(version):
        job["spec"]["template"]["spec"]["priorityClassName"] = _filled_in("kai_priority")
    metadata = job["metadata"] = job.get("metadata") or {}
    for name, added in part.owner_metadata().items():
        before = metadata.get(name) or {}
        if isinstance(before, str):
            # One variable for all: the worker adds those of the configuration by itself.
            configuration.setdefault(name, before)
            before = {}
        metadata[name] = merge(before, added)
    made["variables"] = _variables(made.get("variables") or {}, job_variables(request))
    return made, warnings


def _filled_in(name: str) -> str:
    return "{{ " + name + " }}"


def _with_variables(request: PodRequest, part: PodPart, version: str) -> PodPart:
    """The part with placeholders for the values that a run may change."""
    named = request.with_changes(queue=request.queue or "any", priority=request.priority or "any")
    labels = dict.fromkeys(named.queue_labels, _filled_in("kai_queue"))
    if _keeps_case(version):
        labels[keys.PRIORITY_CLASS_LABEL] = _filled_in("kai_priority")
    annotations = dict(part.annotations)
    if request.style == "legacy":
        annotations |= {key: _filled_in(name) for key, name in _GPU_VARIABLES.items()}
        annotations[keys.GPU_CONTAINER_ANNOTATION] = CONTAINER
    resources = copy.deepcopy(dict(part.resources))
    for (kind, key), name in _AMOUNTS.items():
        resources.setdefault(kind, {})[key] = _filled_in(name)
    return dataclasses.replace(
        part,
        labels=_replaced(part.labels, labels),
        owner_labels=_replaced(part.owner_labels, labels),
        annotations=annotations,
        resources=resources,
        env={},  # a variable of Prefect's own
    )


def _replaced(labels: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    kept = {key: value for key, value in labels.items() if key != keys.PRIORITY_CLASS_LABEL}
    return {**kept, **variables}


def _variables(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: each or {} for name, each in (schema.get("properties") or {}).items()}
    for name in [*_KAI_VARIABLES, *_AMOUNTS.values()]:
        title = name.replace("_", " ").capitalize()
        added = {"title": title, "type": "string", "minLength": 1, **_KAI_VARIABLES.get(name, {})}
        known.setdefault(name, added)
    for name, value in values.items():
        before = known.get(name, {}).get("default")
        if name == "env":
            value = {**rules.mapping("the default of env", before or {}), **value}
        elif name == "pod_watch_timeout_seconds":
            value = max(rules.count(f"the default of {name}", before or 0, least=0), value)
        known[name] = {**known.get(name, {}), "default": value}
    return {"type": "object", **schema, "properties": known}


def _keeps_case(version: str) -> bool:
    return _numbers(version) >= (0, 7, 7)


def _numbers(version: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)*", version):
        raise rules.refuse(
            f"version is {version!r}: write that of prefect-kubernetes, such as {VERSION}"
        )
    return tuple(int(each) for each in version.split("."))


def _warnings(request: PodRequest, version: str) -> list[str]:
    warnings = [
        f"pod_watch_timeout_seconds is {POD_WATCH_TIMEOUT_SECONDS}: a pod that waits in its queue"
        " for longer lets its run crash"
    ]
    if request.is_gang:
        warnings.append(
            f"gang_min={request.gang_min}: KAI waits for that many pods of the Job, and a run has"
            " one pod unless the template's job_manifest has parallelism"
        )
    changed = [key for key in request.labels if key != key.lower()]
    if changed and not _keeps_case(version):
        warnings.append(
            "prefect-kubernetes before 0.7.7 writes labels in lower-case letters:"
            f" {', '.join(changed)}"
        )
    return warnings


def _plain_template(version: str) -> dict[str, Any]:
    """A template with the variables of Prefect's own default template."""
    text = {"type": "string"}
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    seconds = {"type": "integer"}
    variables: dict[str, dict[str, Any]] = {
        "name": {**text, "title": "Name"},
        "command": {**text, "title": "Command"},
        "namespace": {**text, "title": "Namespace", "default": "default"},
        "image": {**text, "title": "Image"},
        "image_pull_policy": {
            **text,
            "title": "Image pull policy",
            "enum": ["IfNotPresent", "Always", "Never"],
            "default": "IfNotPresent",
        },
        "service_account_name": {**text, "title": "Service account"},
        "env": {**texts, "title": "Environment variables"},
        "labels": {**texts, "title": "Labels"},
        "annotations": {**texts, "title": "Annotations"},
        "backoff_limit": {**seconds, "title": "Backoff limit", "default": 0},
        "finished_job_ttl": {**seconds, "title": "Seconds that finished Jobs are kept"},
        "job_watch_timeout_seconds": {**seconds, "title": "Job watch timeout"},
        "pod_watch_timeout_seconds": {**seconds, "title": "Pod watch timeout", "default": 60},
        "stream_output": {"type": "boolean", "title": "Stream output", "default": True},
    }
    if _numbers(version) < (0, 7, 6):
        del variables["annotations"]
    of_configuration = [
        name
        for name in variables
        if name not in ("image", "image_pull_policy", "service_account_name")
        and name not in ("backoff_limit", "finished_job_ttl")
    ]
    container = {
        "name": CONTAINER,
        "image": "{{ image }}",
        "imagePullPolicy": "{{ image_pull_policy }}",
        "args": "{{ command }}",
        "env": "{{ env }}",
    }
    pod = {
        # The worker requires these two here, although Kubernetes does not read them.
        "completions": 1,
        "parallelism": 1,
        "restartPolicy": "Never",
        "serviceAccountName": "{{ service_account_name }}",
        "containers": [container],
    }
    spec = {
        "backoffLimit": "{{ backoff_limit }}",
        "ttlSecondsAfterFinished": "{{ finished_job_ttl }}",
        "template": {"spec": pod},
    }
    metadata = {"generateName": "{{ name }}-", "namespace": "{{ namespace }}"}
    job = new_object("Job", metadata, spec=spec)
    configuration = {name: _filled_in(name) for name in of_configuration}
    return {
        "job_configuration": {**configuration, "job_manifest": job},
        "variables": {"type": "object", "properties": variables},
    }
