"""What reviews look up of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class KnownQueue(NamedTuple):
    """`parent`: "" for none. `guard`: the value of its annotation kai.scheduler/gpu-guard."""

    parent: str = ""
    guard: str = ""


class Known:
    """Here nothing is known, so nothing is missing."""

    def parents(self) -> Mapping[str, str | None] | None:
        """The parent of each queue, by name; None: not known."""
        return None

    @property
    def knows_queues(self) -> bool:
        return False

    def queue(self, name: str) -> KnownQueue | None:
        """None: there is no such queue, or it is not known."""
        return None

    def groups_of(self, queue: str) -> Iterable[str]:
        """The names of the pod groups with pods in a queue."""
        return ()
