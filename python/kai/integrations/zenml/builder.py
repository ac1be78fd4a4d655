"""The settings of one step (spec 7 Z1-Z12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from kai.api import rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.api.rules import is_gpu_resource
from kai.integrations.libraries import installed_version
from kai.integrations.zenml import versions
from kai.integrations.zenml.pods import CONTAINER, placement_of, pod_of
from kai.integrations.zenml.values import plain
from kai.settings import Built, PodPart, PodRequest, Unsupported, filled, merge, native_or, pod_part
from kai.settings.merging import is_gpu_annotation

TARGETS = ("orchestrator", "step_operator")
START_TIMEOUT = 3600  # seconds; spec 7 B9

# Labels by which ZenML finds its pods and Jobs: one of the two would overwrite the other's.
OWN_LABELS = ("pipeline", "project_id", "run", "run_id", "run_name", "step_name")

_VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"  # spec 7 C15


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    target: str = "orchestrator",
    zenml_version: str | None = None,
    dynamic: bool = False,
    skip_owner_references: bool = False,
    ignore_preemption: bool = False,
    resources: Mapping[str, Any] | None = None,
    resource_settings: Any = None,
    existing: Any = None,
    compat: str | None = None,
) -> Built:
    """Settings of the Kubernetes orchestrator, or of the step operator, for one step.

    target: "orchestrator" or "step_operator".
    zenml_version: such as "0.82.0"; None is that of today.
    dynamic: the pipeline is a dynamic one. skip_owner_references: the orchestrator component is
      registered so. Both only change metadata of the step's pod group (spec 7 Z8).
    ignore_preemption: with a pod failure policy by which a preempted step starts again and counts
      as no failure (spec 7 Z11).
    resources: of the container, in ZenML's words; GPUs belong in the request.
    resource_settings: the ResourceSettings of the step, if it has any, to be checked (spec 7 Z12).
    existing: settings that the step has already: they stay, and these are added (spec 7 B5).
    compat: "example" also writes the keys of the first KAI example that ZenML ignores (spec 7 Z2).

    Raises InvalidRequestError for an unknown target, version or `compat`, for malformed `existing`
    settings, for GPUs in `resources`, for a request that ZenML cannot run as written (labels of
    ZenML's own, another container), with `as_native` where zenml is not installed, and with
    `strict` for what ZenML cannot express.
    """
    rules.one_of("target", target, TARGETS)
    if compat is not None:
        rules.one_of("compat", compat, ("example",))
    version = versions.read(zenml_version)
    _check(request, version, skip_owner_references)
    has_job = version >= versions.STEP_JOBS
    part = pod_part(_expressible(request, has_job), container=CONTAINER)

    given = dict(check_fields("existing", plain(existing)))
    pod_given = merge(plain(given.pop("pod_settings", None)), {"resources": plain(resources)})
    taken = _take_gpus(pod_given, request, part)
    pod_settings = filled(merge(pod_given, _pod_settings(part, owns_itself=not has_job)))
    if compat:
        pod_settings |= _ignored(part)
    settings = merge(given, filled({"privileged": request.privileged}))
    settings["pod_settings"] = pod_settings
    ignores = ignore_preemption and has_job and target == "orchestrator"
    if ignores:
        settings["pod_failure_policy"] = _pod_failure_policy()
    if version < versions.NO_START_TIMEOUT:
        settings["pod_startup_timeout"] = max(START_TIMEOUT, given.get("pod_startup_timeout", 0))

    shares_group = has_job and target == "orchestrator" and not dynamic
    warnings = (
        *part.warnings,
        *taken,
        *_about_version(version, zenml_version),
        *_about_steps(request, shares_group and not skip_owner_references, ignores, has_job),
        *_about_resource_settings(resource_settings, request),
        *(_COMPAT_WARNING if compat else ()),
    )
    return Built(
        orchestrator="zenml",
        settings=settings,
        native=native_or(
            settings, lambda: _native(target, settings), as_native=as_native, library="zenml"
        ),
        pod=pod_of(settings),
        placement=placement_of(settings, has_job=has_job),
        unsupported=tuple(_unsupported(request, target, has_job, ignore_preemption)),
        warnings=warnings,
    ).strict_if(strict)


def _check(request: PodRequest, version: versions.Version, skip_owner_references: bool) -> None:
    for key in OWN_LABELS:
        if key in request.labels:
            raise rules.refuse(
                f"labels has {key}, which ZenML uses to find its own pods and Jobs: write another"
                f" key, such as team-{key.replace('_', '-')}"
            )
    if request.container not in (None, CONTAINER):
        raise rules.refuse(
            f"container is {request.container!r}, and ZenML runs steps in {CONTAINER}: remove"
            " container="
        )
    if skip_owner_references and version < versions.OWNERS_CAN_BE_SKIPPED:
        raise rules.refuse(
            f"ZenML {versions.text(version)} has no skip_owner_references: remove it, or use"
            f" {versions.text(versions.OWNERS_CAN_BE_SKIPPED)}"
        )


def _expressible(request: PodRequest, has_job: bool) -> PodRequest:
    """The request without settings that would have no effect; see _unsupported."""
    without: dict[str, Any] = {"claim": None, "gang_min": None}
    if has_job:  # a pod without an owner is its own top owner (spec 7 Z9)
        without |= {"topology": None, "required_level": None, "preferred_level": None}
    return request.with_changes(**without)


def _pod_settings(part: PodPart, *, owns_itself: bool) -> dict[str, Any]:
    metadata = part.metadata(owns_itself=owns_itself)
    return filled(
        scheduler_name=part.scheduler_name,
        labels=metadata.get("labels"),
        annotations=metadata.get("annotations"),
        tolerations=[dict(each) for each in part.tolerations],
        node_selectors=dict(part.node_selector),
        env=part.env_list(),
        resources=dict(part.resources),  # an empty one crashes 0.82 (spec 7 Z5)
        volumes=[dict(each) for each in part.volumes],
        volume_mounts=[dict(each) for each in part.volume_mounts],
        additional_pod_spec_args=filled({"runtime_class_name": part.runtime_class}),
    )


def _ignored(part: PodPart) -> dict[str, Any]:
    return filled(
        node_selector=dict(part.node_selector),
        container_environment=dict(part.env),
        security_context=dict(part.security_context),
    )


def _take_gpus(pod_given: dict[str, Any], request: PodRequest, part: PodPart) -> tuple[str, ...]:
    """Removes the settings that KAI refuses together with a part of a GPU (spec 7 C1, C2, B7)."""
    warnings = []
    for kind in ("limits", "requests"):
        amounts = pod_given["resources"].get(kind) or {}
        for key in [key for key in amounts if is_gpu_resource(key)]:
            if request.gpu_kind == "none":
                raise rules.refuse(
                    f"resources has {key} in its {kind}: request GPUs in the request, as in"
                    f" gpus={amounts[key]}"
                )
            amount = amounts.pop(key)
            if amount != part.resources.get(kind, {}).get(key):
                warnings.append(
                    f"{key}: {amount} in the {kind} was removed: the request has the GPUs"
                )
    pod_given["resources"] = filled(pod_given["resources"])
    annotations = pod_given.get("annotations") or {}
    if request.gpu_kind != "none":
        other_requests = annotations.keys() - part.annotations.keys()
        for key in sorted(key for key in other_requests if is_gpu_annotation(key)):
            del annotations[key]
            warnings.append(f"the annotation {key} was removed: the request has the GPUs")
    env = pod_given.get("env") or []
    if request.shares_gpus and any(each.get("name") == _VISIBLE_DEVICES for each in env):
        pod_given["env"] = [each for each in env if each.get("name") != _VISIBLE_DEVICES]
        warnings.append(f"{_VISIBLE_DEVICES} was removed from env: KAI sets it")
    return tuple(warnings)


def _pod_failure_policy() -> dict[str, Any]:
    """As ZenML's own, the other way round: that one counts how the process ended before it looks
    whether the pod was disrupted, so that a preempted step is a failed one."""
    disrupted = {"type": "DisruptionTarget", "status": "True"}
    failed = {"containerName": CONTAINER, "operator": "NotIn", "values": [0]}
    return {
        "rules": [
            {"action": "Ignore", "onPodConditions": [disrupted]},
            {"action": "Count", "onExitCodes": failed},
        ]
    }


def _native(target: str, settings: Mapping[str, Any]) -> Any:
    flavors = import_module("zenml.integrations.kubernetes.flavors")
    if target == "step_operator":
        return flavors.KubernetesStepOperatorSettings(**settings)
    return flavors.KubernetesOrchestratorSettings(**settings)


# ---- warnings and unsupported ------------------------------------------------------------------

_COMPAT_WARNING = (
    "node_selector, container_environment and security_context are ignored by ZenML: they are"
    " written for comparison with the example only",
)


def _about_version(version: versions.Version, given: str | None) -> Iterator[str]:
    if version < versions.NO_START_TIMEOUT:
        yield (
            f"ZenML {versions.text(version)} gives up on a pod that has not started after 600 s,"
            f" and waiting in a queue is normal: pod_startup_timeout is raised to {START_TIMEOUT} s"
        )
    there = installed_version("zenml", "zenml")
    if given is None and there is not None and versions.is_older(there):
        yield (
            f"the settings are for ZenML {versions.text(versions.NO_START_TIMEOUT)} or newer, and"
            f" {there} is installed: write zenml_version={there!r}"
        )


def _about_steps(
    request: PodRequest, shares_group: bool, ignores: bool, has_job: bool
) -> Iterator[str]:
    if shares_group and request.queue is not None:
        yield (
            "all steps of a run are one pod group, owned by the Job of the run: the queue of the"
            " first step is used for all steps; for a queue per step register the orchestrator with"
            " skip_owner_references=True, and write that here"
        )
    if ignores:
        yield (
            "KAI marks the pods it evicts as disrupted only if it runs with"
            " --update-pod-eviction-condition: without that a preempted step counts as failed, so"
            " give it retries"
        )
    elif has_job and request.preemptible:
        yield (
            "a preempted step counts as failed: ignore_preemption=True starts it again, and retries"
            " of the step help in any case"
        )


def _about_resource_settings(given: Any, request: PodRequest) -> Iterator[str]:
    has_fields = isinstance(given, Mapping)
    gpus = given.get("gpu_count") if has_fields else getattr(given, "gpu_count", None)
    if gpus and request.gpu_kind != "none":
        yield (
            f"ResourceSettings requests gpu_count={gpus}, which resource pools write as whole GPUs"
            " over the request's: remove gpu_count"
        )


def _unsupported(
    request: PodRequest, target: str, has_job: bool, ignore_preemption: bool
) -> Iterator[Unsupported]:
    own_job = (
        "train in a Job or TrainJob that the step creates (kai.integrations.kubernetes, trainer)"
    )
    if request.topology is not None and has_job:
        yield Unsupported(
            "topology",
            "KAI reads a topology from the Job above the pod, and ZenML annotates that with its own"
            " keys only",
            own_job,
        )
    if request.gang_min is not None:
        yield Unsupported(
            "gang_min",
            "KAI reads it from the Job above the pod, and ZenML annotates that with its own keys"
            " only; a step is one pod",
            own_job,
        )
    if request.claim is not None:
        yield Unsupported(
            "claim",
            "the resources of ZenML's pod settings hold amounts only, no claims",
            "write gpus=, gpu_fraction=, gpu_memory= or mig= instead",
        )
    if ignore_preemption and (target == "step_operator" or not has_job):
        yield Unsupported(
            "ignore_preemption",
            "the step operator has no pod_failure_policy"
            if target == "step_operator"
            else "there is no pod_failure_policy before ZenML 0.84.0",
            "give the step retries",
        )
