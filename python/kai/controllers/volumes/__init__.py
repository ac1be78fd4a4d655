"""Volumes of pods that are about to be bound (spec 3 B25).

preparing = Preparing([VolumeGiver(lambda: known.values())])
"""

from __future__ import annotations

from kai.controllers.volumes.giving import TIMEOUT_S, VolumeGiver, volume_of
from kai.controllers.volumes.matching import Volume

__all__ = ["TIMEOUT_S", "Volume", "VolumeGiver", "volume_of"]
