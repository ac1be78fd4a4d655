"""The role `binder`: carries out BindRequests (spec 6 C49-C53).

    binder = RequestBinder(wall=client.server_time)
    binder.put(now, request)                          # a watch has shown it
    for request in binder.take(): ...                 # what the planning thread is asked about
    steps = binder.checked(now, request, target)      # writes to send, pods to read
    steps = binder.answered(now, write, outcome)

No I/O. What it says is so: a binding that failed never says Bound, every failure counts, and
`backoffLimit` ends the tries.
"""

from __future__ import annotations

from kai.controllers.binder.carrying import RequestBinder

__all__ = ["RequestBinder"]
