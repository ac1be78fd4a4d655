"""The guard in a new pod that shares a GPU: its files, and the variables that it reads
(docs/internals/guard.md).

    if is_guarded(pod, rules): add_guard(pod, container, rules.guard_image)

An init container of kai's own image puts the library and an empty file into an emptyDir: such a
volume is allowed everywhere, also where pods may use nothing of their node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kai.api import keys
from kai.api.reading import at, mapping, objects, text

FOLDER = "/run/kai-guard"
LIBRARY = f"{FOLDER}/libkaiguard.so"
VOLUME = "kai-guard"
CONTAINER = "kai-guard"
LIMIT_ENV = "KAI_GUARD_LIMIT"
PRELOAD_ENV = "LD_PRELOAD"

_DIGITS = re.compile(r"[0-9]{1,15}")
_RESOURCES = {
    # Equal, so that a pod whose containers are Guaranteed stays so.
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "limits": {"cpu": "100m", "memory": "128Mi"},
}
_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 10000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def limit_of(pod: Mapping[str, Any]) -> str:
    """The share of each device, as the guard reads it: "0.5", "4096Mi"; "": the pod has none.

    >>> limit_of({"metadata": {"annotations": {"gpu-fraction": "0.25"}}})
    '0.25'
    """
    annotations = mapping(at(pod, "metadata", "annotations"))
    memory = text(annotations.get(keys.GPU_MEMORY_ANNOTATION))
    if _DIGITS.fullmatch(memory) and int(memory) > 0:
        return f"{int(memory)}Mi"
    try:
        # As the scheduler reads it: "5e-1" and "+0.5", too.
        part = float(text(annotations.get(keys.GPU_FRACTION_ANNOTATION)))
    except ValueError:
        return ""
    if not 0 < part <= 1:
        return ""
    decimals = f"{part:.9f}".rstrip("0")
    return decimals + "0" if decimals.endswith(".") else decimals  # "1" would be a byte


def is_guarded(pod: Mapping[str, Any], image: str) -> bool:
    """Whether this pod gets the guard: it may say no for itself."""
    own = text(at(pod, "metadata", "annotations", keys.GUARD_ANNOTATION)).lower()
    return bool(image) and own != "false" and bool(limit_of(pod))


def add_guard(pod: dict[str, Any], container: dict[str, Any], image: str) -> None:
    """Changes the pod; `container` is its container with the share. Done again, it changes
    nothing."""
    spec = pod["spec"]
    volumes = objects(spec.get("volumes"))
    if all(each.get("name") != VOLUME for each in volumes):
        spec["volumes"] = [*volumes, {"name": VOLUME, "emptyDir": {"medium": "Memory"}}]
    before = objects(spec.get("initContainers"))
    if all(each.get("name") != CONTAINER for each in before):
        spec["initContainers"] = [_files(image), *before]
    mounts = objects(container.get("volumeMounts"))
    if all(each.get("name") != VOLUME for each in mounts):
        container["volumeMounts"] = [*mounts, {"name": VOLUME, "mountPath": FOLDER}]
    variables = objects(container.get("env"))
    preloaded = next((each for each in variables if each.get("name") == PRELOAD_ENV), {})
    earlier = [each for each in re.split(r"[ :]+", text(preloaded.get("value"))) if each]
    written = {
        PRELOAD_ENV: ":".join([LIBRARY, *(each for each in earlier if each != LIBRARY)]),
        keys.GUARD_REGION_ENV: f"{FOLDER}/region",
        LIMIT_ENV: limit_of(pod),
    }
    others = [each for each in variables if each.get("name") not in written]
    own = [{"name": name, "value": value} for name, value in written.items()]
    container["env"] = others + own


def _files(image: str) -> dict[str, Any]:
    return {
        "name": CONTAINER,
        "image": image,
        "args": ["run", "guard-files", FOLDER],
        "resources": _RESOURCES,
        "securityContext": _SECURITY,
        "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER}],
    }
