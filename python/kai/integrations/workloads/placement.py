"""Which object each key of a workload was written on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.settings import PodPart


class Placement:
    """Which object each key was written on (spec 7 B4)."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, key: str, place: str) -> None:
        self._objects.setdefault(key, {})[place] = None

    def of_pod(self, part: PodPart, place: str, owns_itself: bool = False) -> None:
        self.of_owner(part.metadata(owns_itself=owns_itself), place)
        for key in (*part.spec(), *part.container_fields()):
            self.add(key, place)

    def of_owner(self, metadata: Mapping[str, Any], place: str) -> None:
        for fields in metadata.values():
            for key in fields:
                self.add(key, place)

    def written(self) -> dict[str, str]:
        return {key: " and ".join(places) for key, places in self._objects.items()}
