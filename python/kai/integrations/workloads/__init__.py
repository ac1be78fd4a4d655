"""Adds settings to the pod templates of each kind of workload, and to the fields that KAI reads.

`patch` adds the settings of a request to a manifest of a kind in `kai.api.kinds.WORKLOADS` (spec 7
J1): to each pod template what belongs on pods, and to the object that KAI uses as their owner the
keys that it reads only there (spec 7 C13). Nothing else in the manifest changes; patching twice
has the same result as patching once (spec 7 B5).
"""

from kai.integrations.workloads.patching import (
    head,
    kind_of,
    patch,
    placed,
    segment_annotations,
    with_warnings,
)
from kai.integrations.workloads.pods import without_gpus

__all__ = [
    "head",
    "kind_of",
    "patch",
    "placed",
    "segment_annotations",
    "with_warnings",
    "without_gpus",
]
