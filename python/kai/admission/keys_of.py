"""The keys of KAI: which are labels and which are annotations, and unknown keys."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from kai.admission import misspelt
from kai.admission.finding import Edit, Finding, Path, warning
from kai.api import keys
from kai.api.reading import mapping
from kai.api.rules import decimal_text

QUEUES = (keys.QUEUE_LABEL, keys.LEGACY_QUEUE_LABEL)
LABELS = (*QUEUES, keys.PRIORITY_CLASS_LABEL, keys.PREEMPTIBILITY_LABEL)
"""Labels that are part of a pod's request."""
ANNOTATIONS = frozenset(
    value
    for name, value in vars(keys).items()
    if name.endswith("_ANNOTATION") and isinstance(value, str)
)
_OF_NODES = frozenset(
    (
        keys.GPU_COUNT_LABEL,
        keys.GPU_MEMORY_LABEL,
        keys.GPU_PRODUCT_LABEL,
        keys.GPU_SHARING_LABEL,
    )
)
_TEMPLATES = frozenset((keys.NVFRACTIONS_REQUEST_ANNOTATION, keys.NVFRACTIONS_LIMIT_ANNOTATION))
KNOWN = (
    ANNOTATIONS
    | {value for name, value in vars(keys).items() if name.endswith("_LABEL")}
    | {keys.GPU_GROUP_LABEL_PREFIX, "kai.scheduler/topology-name"}
) - (_OF_NODES | _TEMPLATES)
"""The keys of KAI, and of the orchestrators that it supports, on pods and their owners."""

_TRUE_OR_FALSE: Mapping[str, tuple[str, ...]] = {
    keys.GUARD_ANNOTATION: ("pod", "queue"),
    keys.MOVABLE_ANNOTATION: ("pod",),
    keys.MPS_ANNOTATION: ("pod",),
    keys.SKIP_GROUPER_ANNOTATION: ("pod", "workload", "other"),
}
"""Annotations that count as absent if they are neither "true" nor "false", and what has them."""
_PREEMPTIBILITY = ("preemptible", "non-preemptible")

Owner = Literal["pod", "workload", "queue", "other"]
"""What has the keys: a pod or its template, an object with pods, a Queue, or another object."""


def misplaced(key: str, part: str) -> str:
    """What is wrong with a key of KAI in this part of the metadata; "" if nothing is.

    >>> misplaced("gpu-fraction", "labels"), misplaced("gpu-fraction", "annotations")
    ('KAI reads gpu-fraction from annotations, not from labels', '')
    """
    if part == "labels" and key in ANNOTATIONS:
        return f"KAI reads {key} from annotations, not from labels"
    if part == "annotations" and key in LABELS:
        return f"KAI reads {key} from labels, not from annotations"
    return ""


def check(
    metadata: Mapping[str, Any],
    where: Path,
    owner: Owner = "other",
    *,
    has_gpu: bool = True,
    template: str = "",
) -> Iterator[Finding]:
    """Warns about keys of labels and annotations that resemble a key of KAI, and about values that
    are not among those that a key has.

    has_gpu: the pods request a GPU, so other keys about GPUs may be meant for other programs.
    template: the path of the annotations of a workload's pods.
    """
    for part in ("labels", "annotations"):
        for key, value in mapping(metadata.get(part)).items():
            here = (*where, part, str(key))
            yield from unknown(str(key), value, here, owner, has_gpu=has_gpu, template=template)
            yield from _ignored_value(str(key), value, here, owner)


def _ignored_value(key: str, value: object, where: Path, owner: Owner) -> Iterator[Finding]:
    """Warns about a value that counts as absent; other checks report values that are no texts."""
    if not isinstance(value, str):
        return
    part = where[-2]
    is_read = part == "annotations" and owner in _TRUE_OR_FALSE.get(key, ())
    if is_read and value not in ("true", "false"):
        meant = value.strip().lower()
        yield warning(
            "annotation-value",
            where,
            f'{key} is "{value}", neither "true" nor "false": it counts as absent',
            'write "true" or "false"',
            Edit("set", where, meant) if meant in ("true", "false") else None,
        )
    is_read = part == "labels" and key == keys.PREEMPTIBILITY_LABEL and owner != "other"
    if is_read and value.lower() not in _PREEMPTIBILITY:
        message = f"KAI does not know the value {value!r}: it counts as absent"
        fix = "write preemptible or non-preemptible"
        yield warning("preemptibility-unknown", where, message, fix)


def unknown(
    key: str,
    value: object,
    where: Path,
    owner: Owner = "other",
    *,
    has_gpu: bool = True,
    template: str = "",
) -> Iterator[Finding]:
    """Warns about a key if it resembles a key of KAI; `where` ends in labels or annotations, and
    the key."""
    meant = _meant(key, str(value), owner, has_gpu=has_gpu)
    if not meant:
        return
    is_gpu = meant in misspelt.OF_GPUS or meant.startswith("nvidia.com/container.")
    message = f"KAI does not know {key}"
    if is_gpu and not has_gpu:
        message += ": the pod gets no GPU" if owner == "pod" else ": its pods get no GPU"
    other_value = _value_for(meant, str(value))
    part = "annotations" if is_gpu or meant in ANNOTATIONS else "labels"
    fix = f"did you mean {meant}?"
    if other_value:
        fix += f' write it with the value "{other_value}"'
    if is_gpu and owner == "workload":
        fix += " KAI reads it from pods" + (f": move it to {template}" if template else "")
    elif where[-2] != part:
        fix += f" it belongs in {part}"
    is_certain = (
        misspelt.squeezed(misspelt.split(key)[1]) == misspelt.squeezed(meant.rpartition("/")[2])
        and where[-2] == part
        and not other_value
        and not (is_gpu and owner == "workload")
    )
    edit = Edit("rename", where, meant) if is_certain else None
    yield warning("key-unknown", where, message, fix, edit)


def is_for_kai(key: str) -> bool:
    """Whether an unknown key shows that the object is meant for KAI."""
    if key in KNOWN or not (meant := misspelt.meant(key)):
        return False
    prefix, _ = misspelt.split(key)
    if prefix:
        return misspelt.is_kais(prefix)
    return meant in misspelt.OF_GPUS


def _meant(key: str, value: str, owner: Owner, *, has_gpu: bool) -> str:
    """The key of KAI that this one stands for; "" if it is known, or of another project."""
    if key in KNOWN:
        return ""
    prefix, _ = misspelt.split(key)
    is_kais = misspelt.is_kais(prefix) if prefix else False
    meant = misspelt.meant(key)
    if owner in ("queue", "other") and not is_kais:
        return ""
    if meant == key or (prefix and not is_kais and prefix != "ray.io" and has_gpu):
        return ""
    if not meant and not has_gpu and misspelt.is_share(key, value):
        return keys.GPU_FRACTION_ANNOTATION
    if not meant and prefix == keys.KAI_GROUP:
        return next(iter(difflib.get_close_matches(key, sorted(KNOWN), n=1, cutoff=0.85)), "")
    return meant


_PLAIN_PART = re.compile(r"[0-9]*\.?[0-9]+")


def _value_for(key: str, value: str) -> str:
    """The value in the format of this key, if it differs from the given one."""
    if key == keys.GPU_FRACTION_ANNOTATION:
        part = misspelt.part_of(value)
        text = None if part is None else decimal_text(Fraction(round(part, 2)))
        return text if text and not _PLAIN_PART.fullmatch(value) else ""
    if key == keys.GPU_MEMORY_ANNOTATION and not value.isdecimal():
        mib = misspelt.mib_of(value)
        return "" if mib is None else str(math.ceil(mib))
    return ""
