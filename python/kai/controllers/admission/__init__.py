"""The webhooks: how a new pod is changed, and which objects are rejected (spec 6 C16-C21).

    rules = Rules(runtime_class="nvidia")
    try:
        patched = mutate(pod, rules, draw=draw)    # the pod to create; `pod` is not changed
        operations = json_patch(pod, patched)      # for the answer to the API server
    except NotFoundError as error:                 # rejected: str(error)
        ...
    refused = refusals(patched, rules)             # KAI's messages; the first is the answer

`Reviews` does this with a review of the API server, for pods, queues, pod groups and topologies,
and builds the answer.

No I/O. A second call changes nothing, because the API server may call a webhook twice.
"""

from kai.controllers.admission.known import Known, KnownQueue
from kai.controllers.admission.mutating import mutate
from kai.controllers.admission.patches import json_patch
from kai.controllers.admission.refusing import refusals
from kai.controllers.admission.reviewing import Reviews
from kai.controllers.admission.rules import REFUSED_BEYOND_KAI, Guard, Rules

__all__ = [
    "REFUSED_BEYOND_KAI",
    "Guard",
    "Known",
    "KnownQueue",
    "Reviews",
    "Rules",
    "json_patch",
    "mutate",
    "refusals",
]
