"""Descriptions of pods that are not pod templates: read as pod templates, and written back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.rules import is_gpu_resource
from kai.settings import filled, merge

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a description of a pod is read and written if it is not a pod template."""

    read: Callable[[Manifest], dict[str, Any]]  # -> {"metadata", "spec"}
    write: Callable[[Manifest, Manifest], dict[str, Any]]  # with a changed one
    no_field_for: Mapping[str, str] = field(default_factory=dict)  # of a PodPart -> what to do
    is_pod: Callable[[Manifest], bool] = lambda _: True


def _fields(values: Manifest, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


_METADATA = ("labels", "annotations")


def _read_argo(template: Manifest) -> dict[str, Any]:
    key = next((each for each in ("container", "script") if template.get(each) is not None), None)
    spec = _fields(template, ("schedulerName", "nodeSelector", "tolerations", "volumes"))
    for name in ("initContainers", "sidecars"):
        if name in template:
            spec[name] = template[name]
    spec["containers"] = [{**template[key], "name": "main"}] if key else []
    return {"metadata": template.get("metadata") or {}, "spec": spec}


def _write_argo(template: Manifest, pod: Manifest) -> dict[str, Any]:
    written = dict(template)
    spec = {key: value for key, value in pod["spec"].items() if key != "containers"}
    for key in ("container", "script"):
        if template.get(key) is not None:
            container = dict(pod["spec"]["containers"][0])
            if "name" not in template[key]:
                del container["name"]
            written[key] = container
    if metadata := pod.get("metadata"):
        written["metadata"] = metadata
    return {**written, **spec}


def _read_predictor(predictor: Manifest) -> dict[str, Any]:
    spec = {k: v for k, v in predictor.items() if k not in (*_METADATA, "model")}
    if "model" in predictor:
        spec["containers"] = [
            {**predictor["model"], "name": "kserve-container"},
            *(predictor.get("containers") or []),
        ]
    return {"metadata": _fields(predictor, _METADATA), "spec": spec}


def _write_predictor(predictor: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = dict(pod["spec"])
    if "model" in predictor:
        model, *others = spec.pop("containers")
        spec["model"] = {**model, **_fields(predictor["model"], ("name",))}
        if "name" not in predictor["model"]:
            del spec["model"]["name"]
        if others:
            spec["containers"] = others
    return {**spec, **pod.get("metadata", {})}


# Spark has its own field names for the resources of its pods.
_SPARK_CONTAINER = ("env", "volumeMounts", "securityContext")
_SPARK_SPEC = ("schedulerName", "nodeSelector", "tolerations")


def _read_spark(role: str) -> Callable[[Manifest], dict[str, Any]]:
    def read(part: Manifest) -> dict[str, Any]:
        limits = {}
        if gpu := part.get("gpu"):
            limits[str(gpu.get("name"))] = str(gpu.get("quantity"))
        if "coreLimit" in part:
            limits["cpu"] = part["coreLimit"]
        requests = {"cpu": part["coreRequest"]} if "coreRequest" in part else {}
        container = {
            "name": f"spark-kubernetes-{role}",
            **_fields(part, _SPARK_CONTAINER),
            **filled({"resources": filled({"limits": limits, "requests": requests})}),
        }
        spec = {**_fields(part, _SPARK_SPEC), "containers": [container]}
        return {"metadata": _fields(part, _METADATA), "spec": spec}

    return read


def _write_spark(part: Manifest, pod: Manifest) -> dict[str, Any]:
    written = {k: v for k, v in part.items() if k not in ("gpu", "coreLimit", "coreRequest")}
    container = pod["spec"]["containers"][0]
    resources = container.get("resources", {})
    limits = dict(resources.get("limits", {}))
    written |= filled(
        coreLimit=limits.pop("cpu", None),
        coreRequest=resources.get("requests", {}).get("cpu"),
    )
    for name, amount in limits.items():
        if is_gpu_resource(name):
            written["gpu"] = {"name": name, "quantity": int(amount)}
    return {
        **written,
        **_fields(container, _SPARK_CONTAINER),
        **_fields(pod["spec"], _SPARK_SPEC),
        **pod.get("metadata", {}),
    }


def _read_dynamo(service: Manifest) -> dict[str, Any]:
    """Of a service of Dynamo's v1alpha1: GPUs have a short name there, other devices are custom."""
    spec = dict(service.get("extraPodSpec") or {})
    resources = {}
    for kind, amounts in (service.get("resources") or {}).items():
        if isinstance(amounts, Mapping):
            known = {k: v for k, v in amounts.items() if k not in ("gpu", "custom")}
            gpus = {keys.NVIDIA_GPU: amounts["gpu"]} if "gpu" in amounts else {}
            resources[kind] = {**known, **gpus, **(amounts.get("custom") or {})}
    main = {**(spec.pop("mainContainer", None) or {}), "name": "main"}
    own = merge(main.get("resources") or {}, resources)
    spec["containers"] = [{**main, **filled({"resources": own})}, *(spec.get("containers") or [])]
    return {"metadata": service.get("extraPodMetadata") or {}, "spec": spec}


_DYNAMO_RESOURCES = (keys.CPU, keys.MEMORY)


def _write_dynamo(service: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = dict(pod["spec"])
    main, *others = spec.pop("containers")
    resources = dict(main.get("resources") or {})
    short: dict[str, Any] = {}
    for kind, amounts in resources.items():
        if kind == "claims":
            short[kind] = amounts
            continue
        custom = {
            k: v for k, v in amounts.items() if k not in (*_DYNAMO_RESOURCES, keys.NVIDIA_GPU)
        }
        short[kind] = filled(
            {
                **_fields(amounts, _DYNAMO_RESOURCES),
                "gpu": amounts.get(keys.NVIDIA_GPU),
                "custom": custom,
            }
        )
    main = {k: v for k, v in main.items() if k not in ("name", "resources")}
    spec |= filled({"mainContainer": main, "containers": others})
    written = {k: v for k, v in service.items() if k != "resources"}
    return {
        **written,
        **filled(extraPodMetadata=pod.get("metadata"), extraPodSpec=spec, resources=short),
    }


def _read_clique(clique: Manifest) -> dict[str, Any]:
    return {"metadata": _fields(clique, _METADATA), "spec": dict(clique["spec"]["podSpec"])}


def _write_clique(clique: Manifest, pod: Manifest) -> dict[str, Any]:
    spec = {**clique["spec"], "podSpec": pod["spec"]}
    return {**clique, **pod.get("metadata", {}), "spec": spec}


_SERVICE = Shape(_read_dynamo, _write_dynamo)
_CLIQUE = Shape(
    _read_clique, _write_clique, is_pod=lambda clique: "podSpec" in (clique.get("spec") or {})
)
_ARGO = Shape(
    _read_argo,
    _write_argo,
    {
        "runtime_class": "write it in podSpecPatch",
        "resource_claims": "write them in podSpecPatch",
    },
    is_pod=lambda template: any(template.get(each) is not None for each in ("container", "script")),
)
_PREDICTOR = Shape(_read_predictor, _write_predictor)
_IN_TEMPLATE = "write it in the pod template of the driver or executor (template:)"


def _spark(role: str) -> Shape:
    return Shape(
        _read_spark(role),
        _write_spark,
        {"runtime_class": _IN_TEMPLATE, "resource_claims": _IN_TEMPLATE, "volumes": _IN_TEMPLATE},
    )


SHAPES: Mapping[str, Shape] = {
    "argo": _ARGO,
    "clique": _CLIQUE,
    "predictor": _PREDICTOR,
    "service": _SERVICE,
    "spark-driver": _spark("driver"),
    "spark-executor": _spark("executor"),
}
"""By the names that kai.api.kinds gives them."""
