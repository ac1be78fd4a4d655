"""Checks of types that the API server requires: strings, lists, mappings and quantities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kai.admission import misspelt
from kai.admission.finding import Edit, Finding, Path, dotted, refusal
from kai.admission.pods import Container, Pod, place_of
from kai.api import keys, quantities
from kai.api.numerals import literal
from kai.api.reading import mapping
from kai.api.rules import decimal_text, is_gpu_resource, written


def check_texts(metadata: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """Checks that labels and annotations are strings; YAML reads unquoted ones as numbers."""
    for part in ("labels", "annotations"):
        entries = metadata.get(part)
        if entries is not None and not isinstance(entries, Mapping):
            message = f"{part} is {written(entries)}: the API server requires a mapping"
            yield refusal("not-a-mapping", (*where, part), message, "write them as KEY: VALUE")
        for key, value in mapping(entries).items():
            if not isinstance(value, str):
                yield no_text(value, (*where, part, key), f"{part[:-1]} {key}")


def no_text(value: object, where: Path, what: str) -> Finding:
    """The finding about a value that should be a string."""
    if isinstance(value, (bool, int, float)):
        quoted = str(value).lower() if isinstance(value, bool) else literal(value)
        fix, edit = f'write "{quoted}", in quotes', Edit("quote", where)
    else:
        fix, edit = "write a string", None
    message = f"{what} is {written(value)}: the API server requires a string"
    return refusal("not-text", where, message, fix, edit)


def check(pod: Pod) -> Iterator[Finding]:
    """Checks the containers of a pod and their resources."""
    for part in ("containers", "initContainers"):
        listed = pod.spec.get(part)
        here: Path = (*pod.spec_at, part)
        if listed is not None and not isinstance(listed, list):
            message = f"{part} is {written(listed)}: the API server requires a list"
            yield refusal("not-a-list", here, message, "write a list of containers")
            continue
        for index, each in enumerate(listed or ()):
            if not isinstance(each, Mapping):
                message = f"a container is {written(each)}: the API server requires a mapping"
                yield refusal(
                    "not-a-mapping",
                    (*here, index),
                    message,
                    "write a mapping with name, image, ...",
                )
    is_sharing = any(key in pod.annotations for key in SHARES)
    for container in (*pod.containers, *pod.init_containers):
        yield from _resources(container, (*pod.metadata_at, "annotations"), is_sharing=is_sharing)


SHARES = (keys.GPU_FRACTION_ANNOTATION, keys.GPU_MEMORY_ANNOTATION)
"""The annotations that request a part of a GPU."""


def _resources(
    container: Container, annotations_at: Path, *, is_sharing: bool
) -> Iterator[Finding]:
    here: Path = (*container.at, "resources")
    resources = container.fields.get("resources")
    if resources is not None and not isinstance(resources, Mapping):
        yield _no_mapping("resources", resources, here, "limits and requests")
    for part in ("limits", "requests"):
        amounts = mapping(resources).get(part)
        if amounts is not None and not isinstance(amounts, Mapping):
            yield _no_mapping(part, amounts, (*here, part), "amounts by resource")
        for name, amount in mapping(amounts).items():
            where = place_of(container, part, name)
            problem = _problem(amount)
            if problem:
                is_there = f"is {written(amount)}, which is {problem}"
                is_there = "has no value" if amount is None else is_there
                message = f"{part[:-1]} of {name} {is_there}"
                fix = "write a quantity, such as 2, 500m or 16Gi"
                if is_extended(name):
                    fix = "write a whole number, such as 1"
                share = misspelt.part_of(str(amount)) if name == keys.NVIDIA_GPU else None
                if share is not None and not is_sharing:
                    fix = f"{share_for(share)} instead, in {dotted(annotations_at)}"
                yield refusal("quantity-refused", where, message, fix)
            elif is_extended(name) and not (is_sharing and is_gpu_resource(name)):
                yield from _whole(name, amount, where, annotations_at)


def is_extended(name: str) -> bool:
    """Whether only whole numbers of a resource exist: devices, but not CPUs, memory or quotas."""
    prefix, slash, _ = name.partition("/")
    return bool(slash) and not prefix.startswith("requests.") and prefix != "kubernetes.io"


def _whole(name: str, amount: str | float, where: Path, annotations_at: Path) -> Iterator[Finding]:
    exact = quantities.parse(amount)
    if exact.denominator == 1:
        return
    given = amount if isinstance(amount, str) else literal(amount)
    message = f'quantity "{given}" is not a whole number of devices'
    fix = f"write a whole number, such as {math.ceil(exact)}"
    if name == keys.NVIDIA_GPU:
        message += f"; for a part of a GPU use the annotation {keys.GPU_FRACTION_ANNOTATION}"
        fix = f"{share_for(exact)} instead, in {dotted(annotations_at)}"
    yield refusal("quantity-refused", where, message, fix)


def share_for(exact: Fraction) -> str:
    """How to request an amount of GPUs that is not a whole number."""
    count = math.ceil(exact)
    each = decimal_text(Fraction(round(exact / count, 2))) or "0.5"
    share = f'{keys.GPU_FRACTION_ANNOTATION}: "{each}"'
    if count == 1:
        return f"write the annotation {share}"
    return f'write the annotations {keys.GPU_DEVICES_ANNOTATION}: "{count}" and {share}'


def _no_mapping(name: str, value: object, where: Path, wanted: str) -> Finding:
    message = f"{name} is {written(value)}: the API server requires {wanted}"
    return refusal("not-a-mapping", where, message, "write a mapping, such as memory: 16Gi")


def _problem(amount: object) -> str:
    if isinstance(amount, bool) or not isinstance(amount, (str, int, float)):
        return "not a quantity"
    return _problem_of(amount)


@lru_cache(maxsize=1024)  # many pods have the same requests
def _problem_of(amount: str | int | float) -> str:
    try:
        exact = quantities.parse(amount)
    except ValueError:
        return "not a quantity"
    if exact > quantities.LARGEST:
        return "more than the largest amount of Kubernetes, 2^63 - 1"
    return "less than 0" if exact < 0 else ""
