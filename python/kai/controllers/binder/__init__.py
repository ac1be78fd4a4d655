"""The role `binder`: carries out BindRequests (spec 6 C49-C53).

    binder = RequestBinder(wall=client.server_time)
    binder.put(now, request)                          # a watch has shown it
    for request in binder.take(): ...                 # the planning thread looks up pod and node
    steps = binder.checked(now, request, target)      # writes to send, pods to read
    steps = binder.answered(now, write, outcome)

No I/O. Its messages are true: a failed binding never gets the condition Bound, every failure
counts, and `backoffLimit` ends the tries.
"""

from __future__ import annotations

from kai.controllers.binder.carrying import RequestBinder

__all__ = ["RequestBinder"]
