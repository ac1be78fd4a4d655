"""For code inside a pod: detects its GPU and limits the pod to its share.

>>> import kai.runtime
>>> found = kai.runtime.detect()  # found.available is proof, found.hinted is not
>>> isinstance(found.available, bool)
True

    kai.runtime.limit("torch")  # before the first tensor on the GPU

It needs only the standard library. Nothing here raises for what it finds, and nothing starts CUDA
in this process unless you request it: such a process can no longer fork workers that use CUDA.
"""

from kai.runtime.detect import Detected, Evidence, detect
from kai.runtime.guarded import GuardedDevice, GuardedProcess, NotGuarded, guarded
from kai.runtime.limit import Limit, limit
from kai.runtime.state import GuardState, guard

__all__ = [
    "Detected",
    "Evidence",
    "GuardState",
    "GuardedDevice",
    "GuardedProcess",
    "Limit",
    "NotGuarded",
    "detect",
    "guard",
    "guarded",
    "limit",
]
