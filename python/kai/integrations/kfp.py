"""Kubeflow Pipelines, SDK v2 (spec 7 K1-K8).

    built = kfp.build(PodRequest(queue="team-a", gpu_fraction=0.5))

    @dsl.pipeline
    def training():
        kfp.apply(built, train())

The settings are for the pod of the task itself; the driver pods before it run without settings, and
need none (spec 7 K6). KAI skips Argo's Workflow, so the pod is its own owner and has the settings
that KAI reads from owners (spec 7 K7). KFP has no field for a scheduler's name; a policy sets it
(spec 7 K8; `kai.integrations.cluster_objects`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.integrations.cluster_objects import (
    DEFAULT_SCHEDULER,
    named_by_policy,
    scheduler_name_policy,
    scheduler_name_unsupported,
)
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge,
    native_or,
    pod_part,
    unsupported_in,
    without_mounts,
)
from kai.settings.merging import is_gpu_annotation

CONTAINER = "main"  # Argo puts its own container, wait, before it (spec 7 K5)

# What task.set_cpu_request() and similar methods accept; they refuse other values.
_CPU = re.compile(r"([0-9]*[.])?[0-9]+m?")
_MEMORY = re.compile(r"[0-9]+([EPTGMK]i?)?")


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    form: str = "policy",
) -> Built:
    """The settings of a task: its ``platform_config["kubernetes"]``, and ``env``, ``cpu``,
    ``memory`` and ``accelerator`` for its methods.

    If kfp is installed, `native` is a function that applies them to a task and returns the task;
    applying them twice changes nothing. form: form of the policy in `cluster_objects` (``policy``
    or ``kyverno``).

    Raises InvalidRequestError for a request with another container than the task's, for amounts
    that Kubeflow Pipelines does not read, for an unknown form, with `as_native` if kfp is not
    installed, and with `strict` for settings that Kubeflow Pipelines cannot express.
    """
    if request.container not in (None, CONTAINER):
        raise rules.refuse(
            f"container is {request.container!r}: Kubeflow Pipelines runs a task in the container"
            f" {CONTAINER}, so omit it"
        )
    part, isolates = _part(request)
    settings = _settings(part)
    named = named_by_policy(request)
    return Built(
        orchestrator="kfp",
        settings=settings,
        native=native_or(settings, lambda: _native(settings), as_native=as_native, library="kfp"),
        pod=_pod(part, named),
        placement=_placement(part, settings, named),
        unsupported=tuple(_unsupported(request, isolates)),
        warnings=part.warnings,
        cluster_objects=scheduler_name_policy(request, form=form),
    ).strict_if(strict)


def apply(built: Mapping[str, Any], task: Any) -> Any:
    """Applies the result of `build` to a task, and returns the task.

    Labels, annotations, variables and selectors of the same name are replaced; the rest of the task
    stays. GPU requests of another kind are removed with a warning, as KAI refuses whole GPUs
    together with a part of a GPU (spec 7 C2).
    """
    settings = {name: built[name] for name in built}
    taken = _without_other_gpus(settings, task)
    before = task.platform_config.get("kubernetes", {})
    task.platform_config["kubernetes"] = _merged(before, settings.get("kubernetes", {}))
    for name, value in settings.get("env", {}).items():
        task.set_env_variable(name=name, value=value)
    for name in ("cpu", "memory"):
        for bound, amount in settings.get(name, {}).items():
            getattr(task, f"set_{name}_{bound}")(amount)
    if "accelerator" in settings:
        task.set_accelerator_type(settings["accelerator"]["type"])
        task.set_accelerator_limit(settings["accelerator"]["limit"])
    for each in taken:
        warnings.warn(each, stacklevel=2)
    return task


@dataclass(frozen=True)
class Apply:
    """`apply` with these settings, for ``built.native(task)``."""

    settings: Mapping[str, Any]

    def __call__(self, task: Any) -> Any:
        return apply(self.settings, task)


def _native(settings: Mapping[str, Any]) -> Apply:
    import_module("kfp")  # Apply is for its tasks
    return Apply(settings)


# ---- what to write -----------------------------------------------------------------------------


def _part(request: PodRequest) -> tuple[PodPart, bool]:
    """The part that KFP can express, and whether it includes the isolation."""
    # KAI does not read the key on a single pod.
    request = request.with_changes(gang_min=None)
    writable = without_mounts(request)
    return pod_part(writable, container=CONTAINER), writable is request


def _settings(part: PodPart) -> dict[str, Any]:
    kubernetes = filled(
        podMetadata=part.metadata(owns_itself=True),
        nodeSelector=filled({"labels": dict(part.node_selector)}),
        tolerations=[_toleration(each) for each in part.tolerations],
    )
    requests = part.resources.get("requests", {})
    limits = dict(part.resources.get("limits", {}))
    settings = {
        "kubernetes": kubernetes,
        "env": dict(part.env),
        "cpu": _bounds("cpu", requests, limits, _CPU, "500m or 2"),
        "memory": _bounds("memory", requests, limits, _MEMORY, "512Mi or 16Gi"),
    }
    gpus = {name: amount for name, amount in limits.items() if name not in (keys.CPU, keys.MEMORY)}
    for name, amount in gpus.items():  # at most one: spec 7 C1
        settings["accelerator"] = {"type": name, "limit": amount}
    return filled(settings)


def _toleration(toleration: Mapping[str, Any]) -> dict[str, Any]:
    # KFP stores these as a protobuf message, whose 64-bit numbers are strings in JSON.
    return {
        key: str(value) if key == "tolerationSeconds" else value
        for key, value in toleration.items()
    }


def _bounds(
    name: str,
    requests: Mapping[str, str],
    limits: Mapping[str, str],
    pattern: re.Pattern[str],
    example: str,
) -> dict[str, str]:
    bounds = filled({"request": requests.get(name), "limit": limits.get(name)})
    for bound, amount in bounds.items():
        if not pattern.fullmatch(amount):
            argument = name if bound == "request" else f"{name}_limit"
            raise rules.refuse(
                f"{argument} is {amount!r}, which Kubeflow Pipelines does not read: write it as"
                f" {example}"
            )
    return bounds


def _merged(before: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    # The task's own entries without a key, such as tolerationJson, are all kept.
    tolerations = list(before.get("tolerations", []))
    known = [_identity(each) for each in tolerations]
    tolerations += [
        dict(each) for each in added.get("tolerations", []) if _identity(each) not in known
    ]
    rest = {name: value for name, value in added.items() if name != "tolerations"}
    return {**merge(before, rest), **filled({"tolerations": tolerations})}


def _identity(toleration: Mapping[str, Any]) -> tuple[Any, ...]:
    if "tolerationJson" in toleration:
        return (str(toleration),)
    return tuple(
        toleration.get(name) or default
        for name, default in (("key", ""), ("operator", "Equal"), ("value", ""), ("effect", ""))
    )


def _without_other_gpus(settings: Mapping[str, Any], task: Any) -> list[str]:
    annotations = settings.get("kubernetes", {}).get("podMetadata", {}).get("annotations", {})
    shares = any(is_gpu_annotation(key) for key in annotations)
    taken = []
    resources = getattr(getattr(task, "container_spec", None), "resources", None)
    if shares and resources is not None and resources.accelerator_count is not None:
        taken.append(
            f"{resources.accelerator_count} of {resources.accelerator_type or 'an accelerator'}"
            " was removed from the task: KAI refuses it together with a part of a GPU"
        )
        resources.accelerator_type = resources.accelerator_count = None
    if shares or "accelerator" in settings:
        metadata = task.platform_config.get("kubernetes", {}).get("podMetadata", {})
        before = metadata.get("annotations", {})
        for key in [key for key in before if is_gpu_annotation(key) and key not in annotations]:
            del before[key]
            taken.append(f"the annotation {key} was removed from the task: the request replaces it")
    return taken


# ---- pod, placement, unsupported------------------------------------------------------------------


def _pod(part: PodPart, named: bool) -> dict[str, Any]:
    pod = part.manifest(container=CONTAINER, owns_itself=True, sidecars_first=("wait",))
    for field in ("runtimeClassName", "resourceClaims"):
        pod["spec"].pop(field, None)
    if not named:
        pod["spec"].pop("schedulerName", None)
    main = pod["spec"]["containers"][-1]
    main.pop("securityContext", None)
    main.get("resources", {}).pop("claims", None)
    pod["spec"]["containers"][-1] = filled(main)
    return pod


def _placement(part: PodPart, settings: Mapping[str, Any], named: bool) -> dict[str, str]:
    placement = {}
    for keyed in part.metadata(owns_itself=True).values():
        placement.update(dict.fromkeys(keyed, "pod"))
    for field in ("nodeSelector", "tolerations"):
        if field in settings.get("kubernetes", {}):
            placement[field] = "pod"
    if "env" in settings:
        placement["env"] = f"container {CONTAINER}"
    if any(name in settings for name in ("cpu", "memory", "accelerator")):
        placement["resources"] = f"container {CONTAINER}"
    if named:
        placement["schedulerName"] = "pod, by the policy in cluster_objects"
    return placement


_NO_FIELD = {
    "runtime_class": (
        "Kubeflow Pipelines has no field for a runtime class",
        "omit it: KAI sets its own runtime class for pods with a part of a GPU",
    ),
    "privileged": (
        "Kubeflow Pipelines drops all capabilities of its containers",
        "omit it, or run the step with Argo Workflows",
    ),
    "gang_min": (
        "each task is one pod and its own pod group",
        "let the task create a PyTorchJob, TrainJob or JobSet, which starts as a whole",
    ),
    "claim": (
        "Kubeflow Pipelines has no field for resource claims",
        "write gpus= or gpu_fraction=, or run the step with Argo Workflows",
    ),
}


def _unsupported(request: PodRequest, isolates: bool) -> Iterable[Unsupported]:
    if request.scheduler_name != DEFAULT_SCHEDULER:
        yield scheduler_name_unsupported(
            request, "Kubeflow Pipelines has no field for the name of a scheduler"
        )
    yield from unsupported_in(request, _NO_FIELD)
    if not isolates:
        yield Unsupported(
            "isolation",
            "Kubeflow Pipelines cannot mount directories of the node",
            "write isolation='none' and name the framework=, or run the step with Argo Workflows",
        )
