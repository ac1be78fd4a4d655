"""What a pod asks KAI for, whatever runs it: requests, their rules, and what they come to.

>>> from kai.settings import PodRequest, pod_part
>>> pod_part(PodRequest(queue="test", gpus=1)).metadata(owns_itself=True)
{'labels': {'kai.scheduler/queue': 'test'}}

`PodRequest` is the request, `pod_part` what it comes to on a pod and on its owner, `merge` and
`merge_into_pod` add that to objects that exist, and `Built` is what a builder of
`kai.integrations` gives back. Standard library only: it also works where kai's other parts do not.
"""

from kai.settings.built import Built, Unsupported, native_or
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
    "without_mounts",
]
