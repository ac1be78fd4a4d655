"""The keys of KAI: which are labels and which are annotations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission.finding import Finding, Path, warning
from kai.api import keys
from kai.api.reading import mapping

QUEUES = (keys.QUEUE_LABEL, keys.LEGACY_QUEUE_LABEL)
LABELS = (*QUEUES, keys.PRIORITY_CLASS_LABEL, keys.PREEMPTIBILITY_LABEL)
"""Labels that are part of a pod's request."""
ANNOTATIONS = frozenset(
    value
    for name, value in vars(keys).items()
    if name.endswith("_ANNOTATION") and isinstance(value, str)
)
KNOWN = frozenset(
    (
        *ANNOTATIONS,
        *(value for name, value in vars(keys).items() if name.endswith("_LABEL")),
        "kai.scheduler/topology-name",
    )
)


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


def check(metadata: Mapping[str, Any], where: Path) -> Iterator[Finding]:
    """Warns about keys of labels and annotations that resemble a key of KAI."""
    for part in ("labels", "annotations"):
        for key in mapping(metadata.get(part)):
            yield from unknown(str(key), (*where, part, str(key)))


def unknown(key: str, where: Path) -> Iterator[Finding]:
    """Warns about a key if it resembles a key of KAI."""
    if not key.startswith(f"{keys.KAI_GROUP}/") or key in KNOWN:
        return
    near = difflib.get_close_matches(key, sorted(KNOWN), n=1, cutoff=0.85)
    if near:
        yield warning("key-unknown", where, f"KAI does not know {key}", f"did you mean {near[0]}?")
