"""Requests of pods to KAI, independent of the orchestrator: their rules and the pod settings.

>>> from kai.settings import PodRequest, pod_part
>>> pod_part(PodRequest(queue="test", gpus=1)).metadata(owns_itself=True)
{'labels': {'kai.scheduler/queue': 'test'}}

`PodRequest` is the request. `pod_part` converts it into settings of a pod and of its owner. `merge`
and `merge_into_pod` add these settings to existing objects. `Built` is the result of a builder of
`kai.integrations`. This package needs only the standard library, so it works without the rest of
kai.
"""

from kai.settings.built import Built, Unsupported, native_or, unsupported_in
from kai.settings.merging import merge, merge_into_pod
from kai.settings.pod import PodPart, filled, pod_part, without_mounts
from kai.settings.request import PodRequest

__all__ = [
    "Built",
    "PodPart",
    "PodRequest",
    "Unsupported",
    "filled",
    "merge",
    "merge_into_pod",
    "native_or",
    "pod_part",
    "unsupported_in",
    "without_mounts",
]
