"""The object of each setting: `Built.placement` (spec 7 B4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.settings import PodPart


class Placement:
    """Collects the objects, for a builder that writes to several ones."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, None]] = {}

    def add(self, key: str, place: str) -> None:
        self._objects.setdefault(key, {})[place] = None

    def of_metadata(self, metadata: Mapping[str, Any], place: str) -> None:
        for fields in metadata.values():
            for key in fields:
                self.add(key, place)

    def of_pod(
        self, part: PodPart, place: str, owns_itself: bool = False, container: str | None = None
    ) -> None:
        """Adds all of a part except its owner's keys. container: its name here; None: the pod."""
        self.of_metadata(part.metadata(owns_itself=owns_itself), place)
        for key in part.spec():
            self.add(key, place)
        for key in part.container_fields():
            self.add(key, container or place)

    def written(self) -> dict[str, str]:
        return {key: " and ".join(places) for key, places in self._objects.items()}


def placement(
    part: PodPart, *, pod: str, owner: str | None = None, container: str | None = None
) -> dict[str, str]:
    """The placement for a builder that writes all of a part, with its names of the objects.

    owner: the workload that owns the pod; None: no owner, so the pod also has the owner's keys.
    """
    placed = Placement()
    if owner is not None:
        placed.of_metadata(part.owner_metadata(), owner)
    where = f"container {container}" if container is not None else f"main container of the {pod}"
    placed.of_pod(part, pod, owns_itself=owner is None, container=where)
    return placed.written()
