"""Checks of what the guard of a pod's share cannot be added to, does not do, or changes
(docs/howto/share-a-gpu.md).

Whether a pod without the annotation gets the guard depends on its queue and its cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from kai.admission import gpus
from kai.admission.finding import Finding, Path, warning
from kai.admission.pods import Pod, environment
from kai.api import keys, rules
from kai.api.reading import text

_WITHOUT = f'the annotation {keys.GUARD_ANNOTATION}: "false"'
_PLAIN = re.compile(r"0?\.[0-9]{0,8}[1-9][0-9]{0,8}")
_PART = rf"(?P<part>{_PLAIN.pattern})"
_OF_JAX = re.compile(_PART)
_OF_TORCH = re.compile(rf"(.*,)?\s*per_process_memory_fraction:{_PART}\s*(,.*)?")
_PARTS: Mapping[str, re.Pattern[str]] = {
    "XLA_CLIENT_MEM_FRACTION": _OF_JAX,
    "XLA_PYTHON_CLIENT_MEM_FRACTION": _OF_JAX,
    "PYTORCH_ALLOC_CONF": _OF_TORCH,
    "PYTORCH_CUDA_ALLOC_CONF": _OF_TORCH,
}
"""Variables with a part of the memory that CUDA reports."""
_SMALL = Fraction(1, 2)
"""A part up to this one may be of the GPU, if a pod requests an amount of memory."""


def check(pod: Pod) -> Iterator[Finding]:
    """The findings about a pod, as far as its own fields show them."""
    chosen = pod.annotations.get(keys.GUARD_ANNOTATION)
    if not gpus.shares(pod):
        if chosen == "true":
            yield warning(
                "guard-without-share",
                pod.place_of("annotations", keys.GUARD_ANNOTATION),
                f"{keys.GUARD_ANNOTATION} has no effect: the pod has neither gpu-fraction nor"
                " gpu-memory, so it has no share that the guard could limit",
                "remove it, or request a part of a GPU",
            )
        return
    if chosen == "false" or pod.annotations.get(keys.MPS_ANNOTATION) == "true":
        return
    for where, variable in _variables(pod):
        if variable.get("name") == keys.PRELOAD_ENV and "valueFrom" in variable:
            yield warning(
                "preload-by-reference",
                where,
                f"the pod has {keys.PRELOAD_ENV} by reference (valueFrom), so it cannot have the"
                " guard",
                f"write its value, or {_WITHOUT}",
            )
    yield from replaced(pod)
    if chosen == "true":
        yield from parts_of_share(pod)


def replaced(pod: Pod) -> Iterator[Finding]:
    """The limits that a container with the share sets itself: it has no say in its share."""
    variables = list(_variables(pod))
    is_ours = any(each.get("name") == keys.GUARD_REGION_ENV for _, each in variables)
    for where, variable in variables:
        name = text(variable.get("name"))
        is_set = bool(variable.get("value") or variable.get("valueFrom"))
        if (name == keys.GUARD_LIMITS_ENV and is_set) or (
            name == keys.GUARD_LIMIT_ENV and not is_ours
        ):
            yield warning(
                "guard-limit-replaced",
                where,
                f"the pod sets {name}, which the guard replaces by the pod's share",
                "remove it",
            )


def parts_of_share(pod: Pod) -> Iterator[Finding]:
    """The settings of frameworks that look like parts of the whole GPU, of a pod that gets the
    guard. CUDA reports its share as the size of the GPU, so they become parts of the share."""
    share = _part(pod.annotations.get(keys.GPU_FRACTION_ANNOTATION))
    for where, variable in _variables(pod):
        name, value = text(variable.get("name")), text(variable.get("value"))
        found = _PARTS[name].fullmatch(value) if name in _PARTS else None
        part = None if found is None else Fraction(found["part"])
        if part is None or part > (share or _SMALL):
            continue
        example = ""
        if share is not None:
            example = f", such as {rules.decimal_text(Fraction(round(part / share, 3)))}"
        yield warning(
            "part-of-share",
            where,
            f"{name} has {float(part):g}: with the guard, this is a part of the pod's share, and"
            " not of the GPU",
            f"write a part of the share{example}, or {_WITHOUT}",
        )


def _variables(pod: Pod) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Those of the container with the share, with their paths."""
    container = gpus.container_with_share(pod)
    return iter(()) if container is None else environment(container)


def _part(value: object) -> Fraction | None:
    """A plain gpu-fraction; None: the pod has none."""
    return Fraction(text(value)) if _PLAIN.fullmatch(text(value)) else None
