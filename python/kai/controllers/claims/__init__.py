"""Resource claims of pods that are about to be bound (spec 3 D9, D10).

preparing = Preparing([ClaimGiver()])
"""

from __future__ import annotations

from kai.controllers.claims.giving import ClaimGiver

__all__ = ["ClaimGiver"]
