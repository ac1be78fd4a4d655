"""Inside a pod: which GPU it has, and how to stay within its share.

>>> import kai.runtime
>>> found = kai.runtime.detect()  # found.available is proof, found.hinted is not
>>> isinstance(found.available, bool)
True

    kai.runtime.limit("torch")  # before the first tensor on the GPU

For containers that have little: the standard library only. Nothing here raises for what it finds,
and nothing starts CUDA in this process unless it is asked to: a process that did so can no longer
fork workers that use it.
"""

from kai.runtime.detect import Detected, Evidence, detect
from kai.runtime.limit import Limit, limit

__all__ = ["Detected", "Evidence", "Limit", "detect", "limit"]
