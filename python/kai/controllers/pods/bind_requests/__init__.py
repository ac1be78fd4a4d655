"""BindRequests: "bind this pod there", from a scheduler to a binder (spec 5 A23-A26).

    write = creation(binding, pool_key, pool)
    request = Request.of(manifest)

They may come from others: an earlier run of the process, or KAI.
"""

from __future__ import annotations

from kai.controllers.pods.bind_requests.specs import creation, spec_of
from kai.controllers.pods.bind_requests.values import Request, Target, deletion, pod_annotations

__all__ = ["Request", "Target", "creation", "deletion", "pod_annotations", "spec_of"]
