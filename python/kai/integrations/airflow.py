"""Airflow: KubernetesPodOperator, KubernetesJobOperator, KubernetesExecutor (spec 7 F2, F4).

    KubernetesPodOperator(task_id="train", image=..., **airflow.build(request))
    PythonOperator(..., executor_config={"pod_override": airflow.pod_override(request)})

The operator's pod has no owner, so KAI reads the settings of owners from the pod (spec 7 F4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from kai.api import rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.integrations.libraries import installed_version
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge_into_pod,
    native_or,
    pod_part,
)

CONTAINER = "base"
PROVIDER = "apache-airflow-providers-cncf-kubernetes"
STARTUP_TIMEOUT_S = 3600
SCHEDULE_TIMEOUT_S = 86400

# The first provider versions with these arguments.
_HAS_SCHEDULE_TIMEOUT = (10, 5)
_HAS_RUNTIME_CLASS = (10, 15)


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    operator: str = "pod",
    provider_version: str | None = None,
    startup_timeout_seconds: int = STARTUP_TIMEOUT_S,
    schedule_timeout_seconds: int = SCHEDULE_TIMEOUT_S,
    pod_template: Mapping[str, Any] | None = None,
) -> Built:
    """Keyword arguments for an operator.

    operator: ``pod`` for KubernetesPodOperator, ``job`` for KubernetesJobOperator. ``job`` also
      sets labels and annotations on its Job, so gang_min= works there.
    provider_version: version of apache-airflow-providers-cncf-kubernetes, such as ``"10.4.0"``;
      None: the installed one, or else the newest.
    startup_timeout_seconds, schedule_timeout_seconds: how long a pod may take to start, and may
      wait before.
    pod_template: your own pod, with Kubernetes' JSON names. The settings are merged into it, and it
      is returned as ``pod_template_dict``; a separate template could add whole GPUs.

    Raises InvalidRequestError for an unknown operator or version, for invalid timeouts, for an
    invalid pod template, with `as_native` if the provider is not installed, and with `strict` for
    settings that Airflow cannot express.
    """
    rules.one_of("operator", operator, ("pod", "job"))
    rules.count("startup_timeout_seconds", startup_timeout_seconds)
    rules.count("schedule_timeout_seconds", schedule_timeout_seconds)
    known = _version(provider_version)
    part = _part(request, keeps_gang=operator == "job")
    base = part.container or CONTAINER
    timeouts = {"startup_timeout_seconds": startup_timeout_seconds}
    if known is None or known >= _HAS_SCHEDULE_TIMEOUT:
        timeouts["schedule_timeout_seconds"] = schedule_timeout_seconds
    named = {} if base == CONTAINER else {"base_container_name": base}
    template_warnings: tuple[str, ...] = ()
    if pod_template is None:
        has_runtime_class = known is None or known >= _HAS_RUNTIME_CLASS
        settings = {**_arguments(part, base, has_runtime_class), **named, **timeouts}
    else:
        check_fields("pod_template", pod_template)
        template, template_warnings = _in_template(pod_template, part, base)
        # The operator copies its own labels and annotations to the Job, not those of the template.
        metadata = part.owner_metadata() if operator == "job" else {}
        settings = {"pod_template_dict": template, **metadata, **named, **timeouts}
    return Built(
        orchestrator="airflow",
        settings=settings,
        native=native_or(
            settings, lambda: _native(settings, part, base), as_native=as_native, library=PROVIDER
        ),
        pod=part.manifest(container=base, owns_itself=True),
        placement=_placement(part, base, operator),
        unsupported=tuple(_unsupported(request, operator)),
        warnings=(*part.warnings, *template_warnings, _timeouts(timeouts)),
    ).strict_if(strict)


def pod_override(request: PodRequest, *, as_native: bool | None = None) -> Any:
    """For KubernetesExecutor: the pod of ``executor_config={"pod_override": ...}``.

    The container of the task is its first. The result is a V1Pod if Airflow's provider is
    installed. Airflow limits how long such a pod may wait: ``[scheduler] task_queued_timeout``.

    Raises InvalidRequestError for a request with another container than the task's, and with
    `as_native` if the provider is not installed.
    """
    part = _part(request, keeps_gang=False)
    if part.container != CONTAINER:
        raise rules.refuse(
            f"container is {part.container!r}: KubernetesExecutor runs a task in the container"
            f" {CONTAINER}, so omit it"
        )
    whole = part.manifest(container=CONTAINER, owns_itself=True)
    pod = {name: whole[name] for name in ("metadata", "spec")}
    return native_or(pod, lambda: _model(pod), as_native=as_native, library=PROVIDER)


def _part(request: PodRequest, *, keeps_gang: bool) -> PodPart:
    # KAI does not read the key on a single pod.
    kept = request if keeps_gang else request.with_changes(gang_min=None)
    return pod_part(kept, container=CONTAINER)


def _version(given: str | None) -> tuple[int, ...] | None:
    """The version; None: the newest."""
    if given is None:
        given = installed_version("airflow", PROVIDER)
        if given is None:
            return None
    match = re.match(r"(\d+)\.(\d+)", given)
    if match is None:
        raise rules.refuse(f"provider_version is {given!r}: write a version such as 10.4.0")
    return int(match[1]), int(match[2])


# ---- arguments ---------------------------------------------------------------------------------


def _arguments(part: PodPart, base: str, has_runtime_class: bool) -> dict[str, Any]:
    spec, container = part.spec(), part.container_fields()
    # Settings without an argument go into a pod template, as a dictionary.
    template_spec: dict[str, Any] = filled(
        {name: spec.get(name) for name in ("resourceClaims", "volumes")}
    )
    if not has_runtime_class and part.runtime_class is not None:
        template_spec["runtimeClassName"] = part.runtime_class
    mounts = container.get("volumeMounts")
    if template_spec or mounts:
        template_spec["containers"] = [filled({"name": base, "volumeMounts": mounts})]
    return filled(
        {
            "schedulername": part.scheduler_name,
            **part.metadata(owns_itself=True),
            "tolerations": spec.get("tolerations"),
            "node_selector": spec.get("nodeSelector"),
            "env_vars": dict(part.env),
            "container_resources": container.get("resources"),
            "container_security_context": container.get("securityContext"),
            "runtime_class_name": part.runtime_class if has_runtime_class else None,
            "pod_template_dict": {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": template_spec,
            }
            if template_spec
            else None,
        }
    )


def _in_template(
    template: Mapping[str, Any], part: PodPart, base: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    # The operator uses the first container of a template, whatever its name is.
    spec = dict(template.get("spec") or {})
    containers = [dict(each) for each in spec.get("containers") or [{}]]
    if any(each.get("name") == base for each in containers[1:]):
        raise rules.refuse(
            f"container {base} of the template is not the first, but Airflow renames the first one"
            f" to {base}: put it first"
        )
    containers[0]["name"] = base
    pod = {**template, "spec": {**spec, "containers": containers}}
    return merge_into_pod(pod, part, container=base, owns_itself=True)


def _native(settings: Mapping[str, Any], part: PodPart, base: str) -> dict[str, Any]:
    pod = _model(part.manifest(container=base, owns_itself=True))
    made = {
        "tolerations": pod.spec.tolerations,
        "container_resources": pod.spec.containers[0].resources,
        "container_security_context": pod.spec.containers[0].security_context,
    }
    return {**settings, **{name: made[name] for name in made if name in settings}}


def _model(pod: Mapping[str, Any]) -> Any:
    generator = import_module("airflow.providers.cncf.kubernetes.pod_generator").PodGenerator
    return generator.deserialize_model_dict(pod)


# ---- placement, unsupported ---------------------------------------------------------------------


def _placement(part: PodPart, base: str, operator: str) -> dict[str, str]:
    where = "pod" if operator == "pod" else "Job and pod template"
    placement: dict[str, str] = {}
    for keyed in part.metadata(owns_itself=True).values():
        placement.update(dict.fromkeys(keyed, where))
    placement.update(dict.fromkeys(part.spec(), "pod" if operator == "pod" else "pod template"))
    placement.update(dict.fromkeys(part.container_fields(), f"container {base}"))
    return placement


def _unsupported(request: PodRequest, operator: str) -> Iterable[Unsupported]:
    if request.gang_min is not None and operator == "pod":
        yield Unsupported(
            "gang_min",
            "KubernetesPodOperator starts one pod, which is its own pod group",
            "use KubernetesJobOperator, with operator='job' here",
        )


def _timeouts(timeouts: Mapping[str, int]) -> str:
    written = ", ".join(f"{name}={value}" for name, value in timeouts.items())
    return (
        "a task fails if its pod waits too long in the queue, so the timeouts are raised:"
        f" {written};"
        " with deferrable=True and a triggerer, a waiting task does not occupy a worker"
    )
