"""Dagster on Kubernetes: the tag of an op or asset, or the arguments of Pipes.

    settings = dagster.build(kai.PodRequest(queue="test", gpu_fraction=0.5))

    @op(tags=dict(settings))
    def train(): ...

A tag of an op or asset is for the pod of its step. A tag of a job is only for the pod of the run;
steps of k8s_job_executor do not inherit it (spec 7 D3). Each of these pods has a Job, from which
KAI reads queue, priority and topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kai.api import keys, rules, spelling
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.integrations.placement import placement
from kai.settings import (
    Built,
    PodRequest,
    Unsupported,
    filled,
    merge,
    merge_into_pod,
    native_or,
    pod_part,
)

TAG = "dagster-k8s/config"
CONTAINER = "dagster"
PIPES_CONTAINER = "dagster-pipes-execution"
START_TIMEOUT_SECONDS = 3600


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    existing: Mapping[str, Any] | None = None,
    merge_behavior: str | None = None,
    owner_references: bool = False,
    pipes: bool = False,
) -> Built:
    """The tag ``dagster-k8s/config``; with pipes=True base_pod_meta and base_pod_spec.

    existing: existing settings, to which these are added. merge_behavior: how Dagster merges the
    tag with the settings of the instance and the executor: DEEP (its default) or SHALLOW.
    owner_references: the executor has enable_owner_references. native: dagster_k8s'
    UserDefinedDagsterK8sConfig, or the settings for Pipes.

    Raises InvalidRequestError for malformed `existing` settings, for an unknown `merge_behavior`,
    with `as_native` if dagster_k8s is not installed, and with `strict` for settings that Dagster
    cannot express.
    """
    built = (
        _for_pipes(request, existing)
        if pipes
        else _for_steps(request, existing, merge_behavior, owner_references, as_native)
    )
    return built.strict() if strict else built


def _for_steps(
    request: PodRequest,
    existing: Mapping[str, Any] | None,
    merge_behavior: str | None,
    owner_references: bool,
    as_native: bool | None,
) -> Built:
    if merge_behavior is not None:
        rules.one_of("merge_behavior", merge_behavior, ("DEEP", "SHALLOW"))
    given = {} if existing is None else rules.mapping("existing", existing)
    before = spelling.camel(check_fields("existing", given.get(TAG, given)))
    unsupported = []
    if owner_references and request.topology is not None:
        unsupported.append(
            Unsupported(
                "topology",
                "with enable_owner_references KAI reads it from the Job of the run",
                "omit enable_owner_references, or write the tag on the job, for the run",
            )
        )
        request = request.with_changes(topology=None, required_level=None, preferred_level=None)
    container = before.get("containerConfig") or {}
    part = pod_part(request, container=container.get("name", CONTAINER))
    name = part.container or CONTAINER
    if name != CONTAINER or "name" in container:
        container = {**container, "name": name}
    pod, warnings = merge_into_pod(
        {
            "metadata": before.get("podTemplateSpecMetadata") or {},
            "spec": {
                **(before.get("podSpecConfig") or {}),
                "containers": [{"name": name, **container}],
            },
        },
        part,
    )
    spec = dict(pod["spec"])
    main = dict(spec.pop("containers")[0])
    if "name" not in container:
        del main["name"]
    config = {
        **spelling.snake(before),
        "container_config": spelling.snake(main),
        "pod_template_spec_metadata": pod["metadata"],
        "pod_spec_config": spelling.snake(spec),
        "job_metadata": merge(before.get("jobMetadata") or {}, part.owner_metadata()),
    }
    if merge_behavior is not None:
        config["merge_behavior"] = merge_behavior
    config = filled(config)

    def native() -> Any:
        library = import_module("dagster_k8s.job")
        values: dict[str, Any] = dict(config)
        if "merge_behavior" in values:
            values["merge_behavior"] = library.K8sConfigMergeBehavior(values["merge_behavior"])
        return library.UserDefinedDagsterK8sConfig(**values)

    return Built(
        orchestrator="dagster",
        settings={TAG: config},
        native=native_or({TAG: config}, native, as_native=as_native, library="dagster-k8s"),
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod of the step", owner="Job of the step", container=name),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(request, before)),
    )


def _warnings(request: PodRequest, existing: Mapping[str, Any]) -> list[str]:
    warnings = [
        "if run_monitoring is enabled, Dagster gives up on a waiting pod after 180 s: set"
        f" run_monitoring.start_timeout_seconds to {START_TIMEOUT_SECONDS} or more in dagster.yaml"
    ]
    if request.shares_gpus:
        warnings.append(
            f"a limit of {keys.NVIDIA_GPU} from the instance or the executor stays, and KAI refuses"
            " it together with a part of a GPU: remove it from run_k8s_config and step_k8s_config"
        )
    pods = existing.get("jobSpecConfig", {}).get("parallelism", 1)
    if request.gang_min is not None and request.gang_min > pods:
        warnings.append(
            f"gang_min={request.gang_min}: KAI waits for that many pods of the Job, but it has"
            f" {pods}, unless its job_spec_config has parallelism {request.gang_min}"
        )
    return warnings


def _for_pipes(request: PodRequest, existing: Mapping[str, Any] | None) -> Built:
    no_gang = Unsupported(
        "gang_min",
        "Pipes starts one pod without an owner",
        "start the pods as one Job or JobSet instead",
    )
    unsupported = [no_gang] if request.is_gang else []
    request = request.with_changes(gang_min=None)
    before = {} if existing is None else rules.mapping("existing", existing)
    # Only these fields: in the others env is a mapping, not the list of a pod.
    fields = ("base_pod_spec", "base_pod_meta")
    check_fields("existing", {name: before.get(name) for name in fields})
    spec = spelling.camel(before.get("base_pod_spec") or {})
    containers = [dict(each) for each in spec.get("containers") or [{}]]
    part = pod_part(request, container=containers[0].get("name", PIPES_CONTAINER))
    name = part.container or PIPES_CONTAINER
    # Dagster sets the image and the command of the first container.
    containers[0].setdefault("name", name)
    pod, warnings = merge_into_pod(
        {
            "metadata": spelling.camel(before.get("base_pod_meta") or {}),
            "spec": {**spec, "containers": containers},
        },
        part,
        owns_itself=True,
    )
    settings = {
        **before,
        "base_pod_meta": pod["metadata"],
        "base_pod_spec": spelling.snake(pod["spec"]),
    }
    return Built(
        orchestrator="dagster",
        settings=settings,
        native=settings,
        pod={"apiVersion": "v1", "kind": "Pod", **pod},
        placement=placement(part, pod="pod", container=name),
        unsupported=tuple(unsupported),
        warnings=(
            *part.warnings,
            *warnings,
            "run() gives up after 24 hours, including the time in the queue: pass pod_wait_timeout="
            " to wait longer",
        ),
    )
