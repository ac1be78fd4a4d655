"""The pods that KAI's webhook rejects, with its own messages (spec 6 C18, C20, spec 3 A2, A3, A5).

`kai.admission` reports the same for manifests, with the place and a correction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kai.api import keys, quantities
from kai.api.reading import annotations_of, at, mapping, objects, text
from kai.controllers.admission.rules import Rules, fraction_container_ref, without_device
from kai.controllers.sharing import shares_gpus
from kai.errors import NotFoundError

_MOST = 2**64 - 1
_WHOLE = re.compile(r"[0-9]{1,40}")
# Numbers as KAI parses them: underscores may group digits, and hexadecimals have an exponent.
_DECIMAL = re.compile(r"[+-]?([0-9_]+\.?[0-9_]*|\.[0-9_]+)(e[+-]?[0-9_]+)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(
    r"[+-]?0x_?([0-9a-f_]+\.?[0-9a-f_]*|\.[0-9a-f_]+)p[+-]?[0-9]+", re.IGNORECASE
)

DISABLED = (
    "attempting to create a pod {pod} with gpu sharing request, while GPU sharing is disabled"
)
MPS = "MPS is only supported with GPU fraction request"
BESIDE_WHOLE = "cannot have both GPU fraction request and whole GPU resource request/limit"
BOTH = "cannot request both GPU and GPU memory"
DEVICES_ALONE = (
    "cannot request multiple fractional devices without specifying fraction portion or gpu-memory"
)
MEMORY = "gpu-memory annotation value must be a positive integer greater than 0"
FRACTION = "gpu-fraction annotation value must be a positive number smaller than 1.0"
WRITTEN_OTHERWISE = (
    "gpu-fraction annotation value must be a float written with a decimal point or a scientific"
    " notation .given value: {value}"
)
DEVICES = "fraction count annotation value must be a positive integer greater than 0"
VISIBLE_VALUE = (
    "container {container} has an environment variable NVIDIA_VISIBLE_DEVICES defined with a value"
    " of {value}. This is forbidden due to conflicts with Nvidia's device plugin. The only values"
    " that are allowed are 'void' or 'none'"
)
VISIBLE_REFERENCE = (
    "container {container} has an environment variable NVIDIA_VISIBLE_DEVICES defined with a"
    " valueFrom reference. This is forbidden due to possible conflicts with Nvidia's device plugin"
)


def refusals(pod: Mapping[str, Any], rules: Rules) -> list[str]:
    """Why KAI's webhook rejects the pod, its answer first; empty: it accepts the pod. The pod is
    checked as `mutate` returned it."""
    found = list(_of_sharing(pod, rules))
    if shares_gpus(pod) and objects(at(pod, "spec", "containers")):
        try:
            fraction_container_ref(pod)
        except NotFoundError as error:
            return [*found, str(error)]
    if rules.blocks_devices:
        found += _of_devices(pod)
    return found


def _of_sharing(pod: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    annotations = annotations_of(pod)
    fraction = annotations.get(keys.GPU_FRACTION_ANNOTATION)
    memory = annotations.get(keys.GPU_MEMORY_ANNOTATION)
    devices = annotations.get(keys.GPU_DEVICES_ANNOTATION)
    shares, whole = shares_gpus(pod), _has_whole_limit(pod)
    if shares and not rules.sharing:
        name = "/".join(text(at(pod, "metadata", each)) for each in ("namespace", "name"))
        yield DISABLED.format(pod=name)
    if annotations.get(keys.MPS_ANNOTATION) == "true" and not shares:
        yield MPS
    if fraction is not None and whole:
        yield BESIDE_WHOLE
    if memory is not None and (fraction is not None or whole):
        yield BOTH
    if devices is not None and not shares:
        yield DEVICES_ALONE
    if memory is not None and not _is_count(memory):
        yield MEMORY
    if fraction is not None:
        yield from _of_fraction(fraction)
    if devices is not None and not _is_count(devices):
        yield DEVICES


def _of_fraction(value: str) -> Iterator[str]:
    number = _float(value)
    if number is None or number <= 0 or number >= 1:  # NaN is neither
        yield FRACTION
        return
    try:
        quantities.parse(value)
    except ValueError:
        yield WRITTEN_OTHERWISE.format(value=value)


def _float(value: str) -> float | None:
    if value.lower() == "nan":
        return math.nan
    try:
        if _DECIMAL.fullmatch(value):
            return float(value)
        if _HEXADECIMAL.fullmatch(value):
            return float.fromhex(value.replace("_", ""))
    except (ValueError, OverflowError):
        return None
    return None


def _is_count(value: str) -> bool:
    return bool(_WHOLE.fullmatch(value)) and 0 < int(value) <= _MOST


def _has_whole_limit(pod: Mapping[str, Any]) -> bool:
    """Whether a limit on whole GPUs exists, of any amount; requests alone do not count."""
    return any(
        keys.NVIDIA_GPU in mapping(at(each, "resources", "limits"))
        for part in ("containers", "initContainers")
        for each in objects(at(pod, "spec", part))
    )


def _of_devices(pod: Mapping[str, Any]) -> Iterator[str]:
    for _, _, container in without_device(pod):
        for each in objects(container.get("env")):
            if each.get("name") != keys.VISIBLE_DEVICES_ENV:
                continue
            name, value = text(container.get("name")), text(each.get("value"))
            if each.get("valueFrom") is not None:
                yield VISIBLE_REFERENCE.format(container=name)
            elif value not in ("", "void", "none"):
                yield VISIBLE_VALUE.format(container=name, value=value)
