"""What keeps a pod to its share of a GPU.

>>> slice = {"resources": {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}
>>> isolation_of({"spec": {"containers": [slice]}})
'mig'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text

NONE, GUARD, HAMI_CORE, MPS, MIG = "none", "guard", "hamicore", "mps", "mig"

SENTENCES = {
    NONE: "Nothing keeps it to its share of a GPU.",
    GUARD: "The guard keeps it to its share of a GPU's memory.",
    HAMI_CORE: "HAMi-core keeps it to its share of a GPU's memory, where its library is installed.",
    MPS: "MPS separates it from other pods on a GPU, and limits the memory of each process.",
    MIG: "MIG gives it a part of a GPU of its own.",
}
"""About a pod, or a group of equal pods."""
NO_MPS_LIMIT = "MPS separates it from other pods on a GPU; nothing limits its memory."


def isolation_of(pod: Mapping[str, Any], node: Mapping[str, Any] | None = None) -> str:
    """The isolation of a pod; "": it has no share of a GPU, or no webhook has reviewed it yet and
    may still add one. `node`: its node, whose device plugin may share GPUs by MPS or in turns."""
    resources = list(_resources(pod))
    if any(name.startswith(keys.MIG_PREFIX) for name in resources):
        return MIG
    annotations = annotations_of(pod)
    if {keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION}.isdisjoint(annotations):
        strategy = text(labels_of(node).get(keys.GPU_SHARING_LABEL))
        is_shared = any(name.startswith(keys.NVIDIA_GPU) for name in resources)
        return {"mps": MPS, "time-slicing": NONE}.get(strategy, "") if is_shared else ""
    variables = _variables(pod)
    preloaded = text(mapping(variables.get(keys.PRELOAD_ENV)).get("value"))
    if keys.GUARD_REGION_ENV in variables and guard_library(preloaded):
        return GUARD
    if keys.MPS_LIMIT_ENV in variables or annotations.get(keys.MPS_ANNOTATION) == "true":
        return MPS
    if keys.GPU_MEMORY_LIMIT_ENV in variables:
        return HAMI_CORE
    return NONE if keys.SHARED_GPU_CONFIG_MAP_ANNOTATION in annotations else ""


def sentence_of(pod: Mapping[str, Any], node: Mapping[str, Any] | None = None) -> str:
    """The isolation of a pod in words; "" as `isolation_of`."""
    found = isolation_of(pod, node)
    is_by_kai = (
        not annotations_of(pod)
        .keys()
        .isdisjoint((keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION))
    )
    if found == MPS and is_by_kai and keys.MPS_LIMIT_ENV not in _variables(pod):
        return NO_MPS_LIMIT
    return SENTENCES.get(found, "")


def guard_library(preloaded: str) -> str | None:
    """The guard's library among those that the loader preloads.

    >>> guard_library("/lib/a.so:/run/kai-guard/libkaiguard.so")
    '/run/kai-guard/libkaiguard.so'
    """
    named = re.split(r"[ :]+", preloaded)
    return next((each for each in named if each.endswith("libkaiguard.so")), None)


def _resources(pod: Mapping[str, Any]) -> Iterator[str]:
    """What its containers request, if the amount is not 0."""
    for container in objects(at(pod, "spec", "containers")):
        for half in ("requests", "limits"):
            for name, amount in mapping(at(container, "resources", half)).items():
                if quantities.parse_or_zero(amount):
                    yield str(name)


def _variables(pod: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Those of the container with the share, by name."""
    named = annotations_of(pod).get(keys.GPU_CONTAINER_ANNOTATION)
    containers = objects(at(pod, "spec", "containers"))
    if named is not None:
        every = [*objects(at(pod, "spec", "initContainers")), *containers]
        containers = [each for each in every if each.get("name") == named]
    listed = objects(containers[0].get("env")) if containers else []
    return {text(each.get("name")): each for each in listed}
