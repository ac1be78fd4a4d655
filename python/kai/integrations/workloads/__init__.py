"""Where the pods of each kind of workload are described, and what KAI reads from its other parts.

`patch` adds the settings of a request to a manifest of a kind in `kai.api.kinds.WORKLOADS` (spec 7
J1): to each pod template what belongs on pods, and to the object that KAI takes for their owner
what it reads only there (spec 7 C13). Nothing else in the manifest changes; patching twice is as
patching once (spec 7 B5).
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
