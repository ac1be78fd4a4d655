"""Argo Workflows, as manifests and with Hera (spec 7 A2-A6).

    built = argo.build(PodRequest(queue="team-a", gpu_fraction=0.5))
    built["workflow"], built["template"]     # in Argo's JSON names
    argo.patch(manifest, request, templates=["train"])

    with Workflow(**built.native.workflow_kwargs, ...):     # Hera
        Container(name="train", **built.native.template_kwargs, ...)

KAI ignores the Workflow as an owner: each step's pod is its own pod group, and the keys that KAI
reads from owners are on the pod. Argo copies the Workflow's labels to its pods, so the queue is
written there. All other settings are written on the template, because a workflow also has steps
without a GPU (spec 7 A4, A5).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kai.api import kinds, rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    filled,
    merge,
    merge_into_pod,
    native_or,
    pod_part,
    unsupported_in,
)

CONTAINER = "main"  # behind Argo's own, which is called wait or supervisor (spec 7 A2)
_POD_FIELDS = ("schedulerName", "nodeSelector", "tolerations", "volumes")
_PATCHED_FIELDS = ("runtimeClassName", "resourceClaims")  # no template has fields for these


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    kind: str = "container",
    every_pod: bool = True,
) -> Built:
    """What to merge into a Workflow (``workflow``) and into each template that runs the request
    (``template``). If Hera is installed, `native` has the keyword arguments of its classes.

    kind: ``container`` or ``script``, the field of the template.
    every_pod: the queue label is also in ``spec.podMetadata``, so that it is on every pod even
      if KAI has no permission to read workflows.

    Raises InvalidRequestError for an unknown kind of template, for a request with another container
    than Argo's, with `as_native` if Hera is not installed, and with `strict` for settings that Argo
    cannot express.
    """
    rules.one_of("kind", kind, ("container", "script"))
    if request.container not in (None, CONTAINER):
        raise rules.refuse(
            f"container is {request.container!r}: Argo runs a template in the container"
            f" {CONTAINER}, so remove container=; patch() accepts the containers of a containerSet"
        )
    part = _part(request)
    settings = {
        "workflow": _workflow(request, every_pod),
        "template": _template(part, kind),
    }
    return Built(
        orchestrator="argo",
        settings=settings,
        native=native_or(
            settings, lambda: _hera(settings, kind), as_native=as_native, library="hera"
        ),
        pod=_pod(part),
        placement=_placement(part, settings, kind),
        unsupported=tuple(unsupported_in(request, _UNSUPPORTED)),
        warnings=part.warnings,
    ).strict_if(strict)


def patch(
    workflow: Mapping[str, Any],
    request: PodRequest,
    *,
    templates: Iterable[str],
    strict: bool = False,
    every_pod: bool = True,
) -> Built:
    """A Workflow, WorkflowTemplate, ClusterWorkflowTemplate or CronWorkflow with the settings.

    templates: the names of the templates that run the request. The fields of the manifest stay,
    except whole GPUs together with a part of a GPU, which KAI refuses (`warnings` lists them).
    The result is the manifest.

    Raises InvalidRequestError for another kind of manifest, for one whose fields are malformed, for
    a template that is not in it or runs no container, and with `strict` for what Argo cannot
    express.
    """
    part = _part(request)
    check_fields("the workflow", workflow)
    kind = str(workflow.get("kind", ""))
    rules.one_of("kind", kind, _KINDS)
    spec = workflow.get("spec") or {}
    inner = (spec.get("workflowSpec") or {}) if kind == "CronWorkflow" else spec
    known = {str(each.get("name")): each for each in inner.get("templates") or []}
    warnings: list[str] = []
    for name in templates:
        if name not in known:
            raise rules.refuse(
                f"there is no template {name!r}: write some of {', '.join(map(str, known))}"
            )
        known[name], found = _patched(known[name], request, part)
        warnings += found
    ours = _workflow(request, every_pod)
    # The other kinds create workflows with the labels in their spec.workflowMetadata.
    if kind == "Workflow":
        made = merge(workflow, {"metadata": ours["metadata"]} if "metadata" in ours else {})
    else:
        labels = {"workflowMetadata": ours["metadata"]} if "metadata" in ours else {}
        made = merge(workflow, {"spec": labels})
    changed = merge({**inner, "templates": []}, ours["spec"]) | {"templates": list(known.values())}
    if kind == "CronWorkflow":
        made["spec"]["workflowSpec"] = changed
    else:
        made["spec"] = {**made["spec"], **changed}
    return Built(
        orchestrator="argo",
        settings=made,
        native=made,
        pod=_pod(part),
        placement=_placement(part, {"workflow": ours, "template": {}}, "container"),
        unsupported=tuple(unsupported_in(request, _UNSUPPORTED)),
        warnings=(*part.warnings, *warnings),
    ).strict_if(strict)


_KINDS = [name for name, kind in kinds.WORKLOADS.items() if kind.pods[0].shape == "argo"]


@dataclass(frozen=True)
class HeraArguments:
    """Keyword arguments for Hera: of Workflow, and of Container, Script or @script."""

    workflow_kwargs: Mapping[str, Any]
    template_kwargs: Mapping[str, Any]


# ---- manifests ---------------------------------------------------------------------------------


def _part(request: PodRequest) -> PodPart:
    # A step is one pod, not a gang: KAI would not read the key.
    return pod_part(request.with_changes(gang_min=None), container=CONTAINER)


def _workflow(request: PodRequest, every_pod: bool) -> dict[str, Any]:
    labels = filled({"labels": request.queue_labels})
    spec = {"schedulerName": request.scheduler_name, "podMetadata": labels if every_pod else {}}
    return filled({"metadata": labels, "spec": filled(spec)})


def _template(part: PodPart, kind: str) -> dict[str, Any]:
    spec = part.spec()
    patch = {name: spec[name] for name in _PATCHED_FIELDS if name in spec}
    return filled(
        {
            "metadata": part.metadata(owns_itself=True),
            **{name: spec[name] for name in _POD_FIELDS if name in spec},
            "podSpecPatch": json.dumps(patch) if patch else None,
            kind: part.container_fields(),
        }
    )


def _patched(
    template: Mapping[str, Any], request: PodRequest, part: PodPart
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A template with the settings: as a pod for a moment, since the rules are a pod's."""
    template = {key: each for key, each in template.items() if each is not None}
    name = template.get("name")
    kind = next((each for each in ("container", "script", "containerSet") if each in template), "")
    if not kind:
        raise rules.refuse(
            f"template {name!r} runs no container: write templates= with those that have container,"
            " script or containerSet; the pods of a resource are set in its manifest"
        )
    if kind == "containerSet":
        if request.container is None:
            raise rules.refuse(
                f"template {name!r} runs several containers: write container= with the one that"
                " gets the GPU"
            )
        containers = list(template[kind].get("containers") or [])
        target = request.container
    else:
        containers = [{**template[kind], "name": CONTAINER}]
        target = request.container or CONTAINER
    sidecars = list(template.get("sidecars", []))
    pod = {
        "metadata": template.get("metadata", {}),
        "spec": {
            **{field: template[field] for field in _POD_FIELDS if field in template},
            "containers": [*containers, *sidecars],
            "initContainers": list(template.get("initContainers", [])),
        },
    }
    merged, warnings = merge_into_pod(pod, part, container=target, owns_itself=True)
    spec = merged["spec"]
    made = {**template, **filled({"metadata": merged["metadata"]})}
    made |= {field: spec[field] for field in _POD_FIELDS if spec.get(field)}
    main, beside = spec["containers"][: len(containers)], spec["containers"][len(containers) :]
    if kind == "containerSet":
        made[kind] = {**template[kind], "containers": main}
    else:
        made[kind] = {key: value for key, value in main[0].items() if key != "name"}
        if "name" in template[kind]:
            made[kind]["name"] = template[kind]["name"]
    made |= filled({"sidecars": beside, "initContainers": spec.get("initContainers")})
    patch = {field: spec[field] for field in _PATCHED_FIELDS if spec.get(field)}
    if patch:
        made["podSpecPatch"] = _pod_spec_patch(str(template.get("podSpecPatch", "")), patch)
    return made, tuple(f"template {name}: {each}" for each in warnings)


def _pod_spec_patch(before: str, added: Mapping[str, Any]) -> str:
    import yaml

    try:
        existing = yaml.safe_load(before) or {}
    except yaml.YAMLError:
        existing = None
    if not isinstance(existing, dict):
        raise rules.refuse(
            f"podSpecPatch is not a mapping: add {json.dumps(dict(added))} to it by hand, and"
            " remove runtime_class= and claim="
        )
    return json.dumps(merge(existing, added))


# ---- the parts of the result ---------------------------------------------------------------------


def _pod(part: PodPart) -> dict[str, Any]:
    return part.manifest(
        container=part.container or CONTAINER, owns_itself=True, sidecars_first=("wait",)
    )


def _placement(part: PodPart, settings: Mapping[str, Any], kind: str) -> dict[str, str]:
    placement: dict[str, str] = {}
    for keyed in part.metadata(owns_itself=True).values():
        placement.update(dict.fromkeys(keyed, "template"))
    labels = settings["workflow"].get("metadata", {}).get("labels", {})
    placement.update(dict.fromkeys(labels, "Workflow and template"))
    spec = part.spec()
    placement.update({field: "template" for field in _POD_FIELDS if field in spec})
    placement["schedulerName"] = "Workflow and template"
    placement.update({field: "podSpecPatch" for field in _PATCHED_FIELDS if field in spec})
    placement.update(dict.fromkeys(part.container_fields(), f"container {part.container}"))
    return placement


_UNSUPPORTED = {
    "gang_min": (
        "each step is one pod and its own pod group",
        "let a resource template create a PyTorchJob, TrainJob or JobSet, which starts as a whole",
    )
}


# ---- Hera --------------------------------------------------------------------------------------


def _hera(settings: Mapping[str, Any], kind: str) -> HeraArguments:
    hera = import_module("hera.workflows")
    models = import_module("hera.workflows.models")
    workflow, template = settings["workflow"], settings["template"]
    container = template.get(kind, {})
    pod_metadata = workflow["spec"].get("podMetadata")
    return HeraArguments(
        workflow_kwargs=filled(
            labels=workflow.get("metadata", {}).get("labels"),
            scheduler_name=workflow["spec"]["schedulerName"],
            pod_metadata=pod_metadata and models.Metadata(labels=pod_metadata["labels"]),
        ),
        template_kwargs=filled(
            scheduler_name=template["schedulerName"],
            labels=template.get("metadata", {}).get("labels"),
            annotations=template.get("metadata", {}).get("annotations"),
            node_selector=template.get("nodeSelector"),
            tolerations=_models(models.Toleration, template.get("tolerations")),
            pod_spec_patch=template.get("podSpecPatch"),
            env=[hera.Env(**each) for each in container.get("env", [])],
            resources=_hera_resources(hera, models, container.get("resources", {})),
            volumes=_models(models.Volume, template.get("volumes")),
            volume_mounts=_models(models.VolumeMount, container.get("volumeMounts")),
            security_context=container.get("securityContext")
            and models.SecurityContext.model_validate(container["securityContext"]),
        ),
    )


def _models(model: Any, values: Iterable[Mapping[str, Any]] | None) -> list[Any]:
    return [model.model_validate(dict(each)) for each in values or ()]


def _hera_resources(hera: Any, models: Any, resources: Mapping[str, Any]) -> Any:
    if not resources:
        return None
    if "claims" in resources:  # hera.Resources has none
        return models.ResourceRequirements.model_validate(dict(resources))
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    others = {key: value for key, value in limits.items() if key not in ("cpu", "memory")}
    try:
        return hera.Resources(
            cpu_request=requests.get("cpu"),
            cpu_limit=limits.get("cpu"),
            memory_request=requests.get("memory"),
            memory_limit=limits.get("memory"),
            # gpus= would write requests as well; without "limits" Hera writes nothing.
            custom_resources={"limits": others} if others else None,
        )
    except ValueError as error:
        raise rules.refuse(
            f"Hera does not read the cpu or memory ({error}): write them as in 500m or 2, and as"
            " in 512Mi or 16Gi"
        ) from None
