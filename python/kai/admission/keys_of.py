"""Which keys of KAI's are labels, and which annotations."""

from __future__ import annotations

from kai.api import keys

QUEUES = (keys.QUEUE_LABEL, keys.LEGACY_QUEUE_LABEL)
LABELS = (*QUEUES, keys.PRIORITY_CLASS_LABEL, keys.PREEMPTIBILITY_LABEL)
"""Labels that say what a pod asks for."""
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
    """What is wrong with a key of KAI's in this part of the metadata; "": nothing.

    >>> misplaced("gpu-fraction", "labels"), misplaced("gpu-fraction", "annotations")
    ('KAI reads gpu-fraction from annotations, not from labels', '')
    """
    if part == "labels" and key in ANNOTATIONS:
        return f"KAI reads {key} from annotations, not from labels"
    if part == "annotations" and key in LABELS:
        return f"KAI reads {key} from labels, not from annotations"
    return ""
