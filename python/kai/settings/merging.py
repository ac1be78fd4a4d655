"""Adds settings to an existing object; keeps others; idempotent (spec 7 B5)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from kai.api import keys, rules
from kai.api.arguments import in_a_sentence
from kai.settings.pod import PodPart

# Lists whose entries are identified by a name.
_BY_NAME = ("env", "volumes", "containers", "initContainers", "resourceClaims", "claims")
_GPU_KEYS = (
    keys.GPU_FRACTION_ANNOTATION,
    keys.GPU_MEMORY_ANNOTATION,
    keys.GPU_DEVICES_ANNOTATION,
    keys.GPU_CONTAINER_ANNOTATION,
    keys.MPS_ANNOTATION,
    keys.COMPUTE_SHARING_ANNOTATION,
)
_NVFRACTIONS = keys.NVFRACTIONS_REQUEST_ANNOTATION.partition("{")[0]


@in_a_sentence
def merge(existing: Mapping[str, Any], added: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `existing` with `added` merged in.

    Mappings merge key by key; variables, volumes and containers merge by name, and mounts by path;
    tolerations are added once; other values of `added` replace those of `existing`.
    """
    merged = copy.deepcopy(dict(existing))
    for key, value in added.items():
        before = merged.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            merged[key] = merge(before, value)
        elif isinstance(value, (list, tuple)) and isinstance(before, list):
            merged[key] = _merged_list(key, before, list(value))
        else:
            merged[key] = copy.deepcopy(value) if not isinstance(value, tuple) else list(value)
    return merged


def _merged_list(key: str, before: list[Any], added: list[Any]) -> list[Any]:
    if key == "tolerations":
        return [dict(each) for each in rules.unique([*before, *added])]
    name = "name" if key in _BY_NAME else "mountPath" if key == "volumeMounts" else None
    if name is None or not all(isinstance(each, Mapping) for each in (*before, *added)):
        return [*before, *(each for each in added if each not in before)]
    merged = [dict(each) for each in before]
    for each in added:
        at = next((i for i, one in enumerate(merged) if one.get(name) == each.get(name)), None)
        if at is None:
            merged.append(copy.deepcopy(dict(each)))
        elif key == "env":
            merged[at] = dict(each)  # `value` and `valueFrom` exclude each other
        else:
            merged[at] = merge(merged[at], each)
    return merged


@in_a_sentence
def merge_into_pod(
    pod: Mapping[str, Any],
    part: PodPart,
    *,
    container: str | None = None,
    owns_itself: bool = False,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A pod or pod template with the settings, and warnings about what was removed for them.

    `container`: the one that gets resources, variables and the part of a GPU; None: the part's own
    name, or else the first. Raises InvalidRequestError if the container does not exist (spec 7 C7).
    """
    # A null value counts as missing.
    merged = {key: value for key, value in copy.deepcopy(dict(pod)).items() if value is not None}
    spec = merged.setdefault("spec", {})
    containers = spec.get("containers") or []
    named = container or part.container
    target = next((each for each in containers if each.get("name") == named), None)
    if named is not None and containers and target is None:
        names = ", ".join(str(each.get("name")) for each in containers)
        raise rules.refuse(f"there is no container {named!r}: write one of {names}")
    if target is None and containers:
        target = containers[0]
    warnings = _without_other_gpus(merged, part)
    merged = merge(merged, {"metadata": part.metadata(owns_itself=owns_itself)})
    merged["spec"] = merge(spec, part.spec())
    if target is not None:
        at = containers.index(target)
        merged["spec"]["containers"][at] = merge(containers[at], part.container_fields())
    return merged, tuple(warnings)


def is_gpu_annotation(key: str) -> bool:
    """Whether the annotation is about a part of a GPU."""
    return key in _GPU_KEYS or key.startswith(_NVFRACTIONS)


def _without_other_gpus(pod: dict[str, Any], part: PodPart) -> list[str]:
    """Removes other GPU requests than those of `part`, and returns warnings.

    KAI would refuse both together, or count them as parts of one request (spec 7 C1, C2, B7).
    """
    kept_amounts = part.resources.get("limits", {})
    shares = any(is_gpu_annotation(key) for key in part.annotations)
    if not (
        shares or part.resource_claims or any(rules.is_gpu_resource(key) for key in kept_amounts)
    ):
        return []
    warnings = _take_annotations(pod.get("metadata") or {}, part)
    for kind in ("containers", "initContainers"):
        for each in pod["spec"].get(kind) or []:
            warnings += _take_resources(each, {} if shares else kept_amounts, shares)
    return warnings


def _take_annotations(metadata: dict[str, Any], part: PodPart) -> list[str]:
    annotations = metadata.get("annotations") or {}
    others = [key for key in annotations if is_gpu_annotation(key) and key not in part.annotations]
    warnings = [
        f"the annotation {key}: {annotations.pop(key)} was removed: the request replaces it"
        for key in others
    ]
    if "annotations" in metadata and not annotations:
        del metadata["annotations"]
    return warnings


def _take_resources(
    container: dict[str, Any], kept_amounts: Mapping[str, Any], shares: bool
) -> list[str]:
    """kept_amounts: amounts to keep. A limit of these is overwritten later; a request must be
    equal."""
    warnings = []
    why = "KAI refuses it together with a part of a GPU" if shares else "the request replaces it"
    resources = container.get("resources") or {}
    for half in ("limits", "requests"):
        amounts = resources.get(half) or {}
        for key in [key for key in amounts if rules.is_gpu_resource(key)]:
            if key in kept_amounts and (half == "limits" or amounts[key] == kept_amounts[key]):
                continue
            warnings.append(
                f"{key}: {amounts.pop(key)} in the {half} of container {container.get('name')}"
                f" was removed: {why}"
            )
        if half in resources and not amounts:
            del resources[half]
    if "resources" in container and not resources:
        del container["resources"]  # some orchestrators fail on an empty one
    return warnings
