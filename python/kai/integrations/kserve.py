"""KServe: the settings of an InferenceService.

    built = kserve.build(kai.PodRequest(queue="test", gpu_fraction=0.5))
    patch = dict(built)     # for an InferenceService: labels, and settings of its predictor

KServe writes the labels and annotations of a component both on its Deployment and on the pods, so
KAI finds the settings of owners there. In mode Serverless there is a Knative Service instead. It
gets only the labels, and accepts pod fields only if Knative's features are enabled:
`cluster_objects` has the patch (spec 7 V2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.api import rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields
from kai.api.resources import new_object
from kai.integrations.placement import placement
from kai.settings import (
    Built,
    PodPart,
    PodRequest,
    Unsupported,
    filled,
    merge,
    merge_into_pod,
    native_or,
    pod_part,
    unsupported_in,
)
from kai.settings.native import to_native

CONTAINER = "kserve-container"
MODES = ("RawDeployment", "Serverless")
COMPONENTS = ("predictor", "transformer", "explainer")
PROGRESS_DEADLINE = "1h"
PROGRESS_DEADLINE_ANNOTATION = "serving.knative.dev/progress-deadline"

# Fields of V1beta1PredictorSpec that describe the container, instead of `containers`.
_MODELS = (
    "model", "huggingface", "lightgbm", "onnx", "paddle", "pmml", "pytorch", "sklearn",
    "tensorflow", "triton", "xgboost",
)  # fmt: skip
# Fields of a pod, and the Knative feature of each.
_FEATURES = {
    "schedulerName": "schedulername",
    "nodeSelector": "nodeselector",
    "tolerations": "tolerations",
    "runtimeClassName": "runtimeclassname",
}


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    existing: Mapping[str, Any] | None = None,
    mode: str = "RawDeployment",
    component: str = "predictor",
    name: str | None = None,
    model_format: str | None = None,
) -> Built:
    """An InferenceService with the settings of one component, to patch or to complete.

    existing: an InferenceService to which the settings are added. mode: its deployment mode,
    RawDeployment or Serverless. name: name of the service. model_format: format of the predictor's
    model, such as ``huggingface``. native: kserve's V1beta1InferenceService, if the service has a
    predictor and its model a format; otherwise the plain values.

    Raises InvalidRequestError for an unknown mode or component, for a request with another
    container than KServe's, for malformed `existing` fields, with `as_native` if kserve is not
    installed, and with `strict` for settings that KServe cannot express.
    """
    rules.one_of("mode", mode, MODES)
    rules.one_of("component", component, COMPONENTS)
    if request.container not in (None, CONTAINER):
        raise rules.refuse(
            f"container is {request.container!r}, but KServe names it {CONTAINER}: omit it"
        )
    service = dict(check_fields("existing", {} if existing is None else existing))
    described = dict((service.get("spec") or {}).get(component) or {})
    original = request
    unsupported = list(_unsupported(request, mode, described))
    request = request.with_changes(
        gang_min=None,
        **dict.fromkeys(each.setting for each in unsupported if each.setting in _DROPPED),
    )
    if any(each.setting == "topology" for each in unsupported):
        request = request.with_changes(topology=None, required_level=None, preferred_level=None)
    part = pod_part(request, container=CONTAINER)
    made, warnings = _component(part, described, component, model_format)
    if mode == "Serverless":
        added = {PROGRESS_DEADLINE_ANNOTATION: PROGRESS_DEADLINE}
        made["annotations"] = {**added, **made.get("annotations", {})}
        if original.gang_min is not None:
            made["minReplicas"] = max(original.gang_min, made.get("minReplicas") or 0)
    metadata = merge(
        service.get("metadata") or {},
        filled({"name": name, "labels": dict(part.owner_labels)}),
    )
    settings = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        **service,
        "metadata": metadata,
        "spec": {**(service.get("spec") or {}), component: made},
    }
    return Built(
        orchestrator="kserve",
        settings=settings,
        native=_native(settings, as_native),
        pod=_pod(made, component),
        placement=_placement(part, component),
        unsupported=tuple(unsupported),
        warnings=(*part.warnings, *warnings, *_warnings(original, mode)),
        cluster_objects=(_features(made),) if mode == "Serverless" else (),
    ).strict_if(strict)


_DROPPED = ("privileged", "claim")


def _component(
    part: PodPart, described: Mapping[str, Any], component: str, model_format: str | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The component with the settings; it contains the fields of a pod spec."""
    field = _field(described, component)
    containers = [dict(each) for each in described.get("containers") or []]
    if field != "containers":
        containers.insert(0, {**(described.get(field) or {}), "name": CONTAINER})
    elif not any(each.get("name") == CONTAINER for each in containers):
        containers.append({"name": CONTAINER})
    meta = ("labels", "annotations")
    pod, warnings = merge_into_pod(
        {
            "metadata": filled({key: described.get(key) for key in meta}),
            "spec": {
                **{key: each for key, each in described.items() if key not in (*meta, field)},
                "containers": containers,
            },
        },
        part,
        container=CONTAINER,
        owns_itself=True,
    )
    made = {**pod["metadata"], **pod["spec"]}
    if field != "containers":
        container, *others = made.pop("containers")
        if "name" in (described.get(field) or {}):
            container["name"] = described[field]["name"]
        else:
            del container["name"]  # the KServe runtime sets it
        if model_format is not None:
            container["modelFormat"] = {**container.get("modelFormat", {}), "name": model_format}
        made |= filled({field: container, "containers": others})
    return made, warnings


def _field(described: Mapping[str, Any], component: str) -> str:
    """The field in which the component describes its container."""
    if component != "predictor":
        return "containers"
    custom = "containers" if described.get("containers") else _MODELS[0]
    return next((each for each in _MODELS if each in described), custom)


def _unsupported(
    request: PodRequest, mode: str, described: Mapping[str, Any]
) -> Iterator[Unsupported]:
    if request.shares_gpus and "workerSpec" in described:
        kind = "gpu_fraction" if request.gpu_kind == "fraction" else "gpu_memory"
        yield Unsupported(
            kind,
            "KServe adds whole GPUs to the pods of a predictor with a workerSpec, and KAI refuses"
            " these together with a part of a GPU",
            "omit workerSpec, or request gpus=",
        )
    if mode == "RawDeployment":
        if request.is_gang:
            yield Unsupported(
                "gang_min",
                "for KAI each pod of a Deployment is its own pod group",
                "use mode='Serverless', or a LeaderWorkerSet",
            )
        return
    yield from unsupported_in(request, _NOT_WITH_KNATIVE)


_NOT_WITH_KNATIVE = {
    "topology": (
        "KAI reads it from the Knative Service, on which KServe does not write annotations",
        "use mode='RawDeployment'",
    ),
    "claim": (
        "Knative does not accept resource claims in a pod",
        "use mode='RawDeployment', or request gpus= or gpu_fraction=",
    ),
    "privileged": ("Knative does not accept privileged containers", "use mode='RawDeployment'"),
}


def _native(settings: Mapping[str, Any], as_native: bool | None) -> Any:
    missing = None
    if "predictor" not in settings["spec"]:
        missing = "the service has no predictor: write existing=, with one in its spec"
    elif "modelFormat" not in settings["spec"]["predictor"].get("model", {"modelFormat": ""}):
        missing = "the model has no format: write model_format=, such as 'huggingface'"
    if missing is not None:
        if as_native:
            raise rules.refuse(f"as_native=True: {missing}, or as_native=False for plain values")
        return settings

    def native() -> Any:
        return to_native("V1beta1InferenceService", settings, library="kserve")

    return native_or(settings, native, as_native=as_native, library="kserve")


def _pod(made: Mapping[str, Any], component: str) -> dict[str, Any]:
    """The pod that KServe will create, without the image and other fields of the runtime."""
    part_of_pod = ("containers", "volumes", "resourceClaims", *_FEATURES)
    spec = {key: made[key] for key in part_of_pod if key in made}
    field = _field(made, component)
    if field != "containers":
        known = ("env", "resources", "volumeMounts", "securityContext")
        model = made.get(field) or {}
        container = {key: model[key] for key in known if key in model}
        spec["containers"] = [{"name": CONTAINER, **container}, *made.get("containers", [])]
    metadata = {key: made[key] for key in ("labels", "annotations") if key in made}
    return new_object("Pod", metadata, spec=spec)


def _placement(part: PodPart, component: str) -> dict[str, str]:
    placed = placement(part, pod=component, container=CONTAINER)
    return placed | dict.fromkeys(part.owner_labels, f"InferenceService and {component}")


def _features(made: Mapping[str, Any]) -> dict[str, Any]:
    """A patch of Knative's ConfigMap that enables the features of the used fields."""
    used = [switch for field, switch in _FEATURES.items() if field in made]
    if any("hostPath" in volume for volume in made.get("volumes", [])):
        used.append("volumes-hostpath")
    enabled = {f"kubernetes.podspec-{each}": "enabled" for each in used}
    metadata = {"name": "config-features", "namespace": "knative-serving"}
    return new_object("ConfigMap", metadata, data=enabled)


def _warnings(request: PodRequest, mode: str) -> list[str]:
    if mode == "RawDeployment":
        warnings = [
            "a Deployment whose pods wait for 10 minutes is reported as not progressing; the pods"
            " keep waiting, and no timeout needs to be raised"
        ]
    else:
        warnings = [
            f"{PROGRESS_DEADLINE_ANNOTATION} is {PROGRESS_DEADLINE}: a revision fails if its pods"
            " wait longer in their queue",
            "Knative accepts these fields once an administrator has applied the patch in"
            " cluster_objects",
        ]
        if request.priority is not None:
            warnings.append(
                "if KAI starts the pods of a revision one by one, it does not read the priority:"
                " they have the priority inference"
            )
        if request.gang_min is not None:
            warnings.append(
                f"minReplicas is {request.gang_min} or more: KAI starts that many pods of a"
                " revision together, and the service does not scale to fewer pods"
            )
    if request.preemptible is not True and request.priority is None:
        warnings.append(
            "for KAI services have the priority inference, which is not preemptible and stays"
            " within the queue's quota: at the quota, a rollout cannot place its new pods;"
            " preemptible=True lets it borrow"
        )
    return warnings
