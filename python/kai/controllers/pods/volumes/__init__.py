"""Volumes of pods that are about to be bound (spec 3 B25).

pods = Pods(courses, reservers=[Volumes(lambda: known.values())])
"""

from __future__ import annotations

from kai.controllers.pods.volumes.matching import Volume
from kai.controllers.pods.volumes.reserving import TIMEOUT_S, Volumes, volume_of

__all__ = ["TIMEOUT_S", "Volume", "Volumes", "volume_of"]
