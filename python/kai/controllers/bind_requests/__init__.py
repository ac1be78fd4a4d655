"""BindRequests: "bind this pod there", from a scheduler to a binder (spec 5 A23-A26).

    ways = Requesting(write_of)        # decisions become BindRequests
    requests = Requests(ways, pool="") # existing ones: which ended, and which must be deleted

No I/O. The BindRequests may come from others: an earlier run of the process, or KAI.
"""

from __future__ import annotations

from kai.controllers.bind_requests.requesting import Requesting
from kai.controllers.bind_requests.requests import Requests, Target
from kai.controllers.bind_requests.specs import creation, spec_of
from kai.controllers.bind_requests.values import Request, deletion, pod_annotations

__all__ = [
    "Request",
    "Requesting",
    "Requests",
    "Target",
    "creation",
    "deletion",
    "pod_annotations",
    "spec_of",
]
