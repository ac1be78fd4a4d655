"""Resource claims of pods that are about to be bound (spec 3 D9, D10).

pods = Pods(courses, reservers=[Claims()])
"""

from __future__ import annotations

from kai.controllers.pods.claims.reserving import Claims

__all__ = ["Claims"]
