"""What a planner asks about objects that were read.

`kai._core.Feed` is the implementation; a test may have another one. Names are "namespace/name", and
an answer has one entry for each name: None if there is no such object.
"""

from __future__ import annotations

from typing import Protocol

Amounts = dict[str, str]
"""Quantities by resource."""

PodRow = tuple[str, str, str, str, str, str, str, bool]
"""UID, node, current status of our waiting pods (4 texts), the name of the pod group, and whether
the group's spec.markUnschedulable is set."""

GroupRow = tuple[str, bytes, str, str, str, bytes, str]
"""UID, schedulingConditions, last start, stale since, last eviction, resourcesStatus, attained
service."""

GroupSums = tuple[Amounts, Amounts, Amounts, bool]
"""Requested, allocated, allocated non-preemptible; whether it is preemptible."""

QueueRow = tuple[list[str], Amounts, Amounts, Amounts, bytes]
"""Children; the three sums, including theirs; the current status as JSON."""


class Facts(Protocol):
    """Each call costs as much as its answer: ask once for many names."""

    def pod_facts(self, names: list[str], /) -> list[PodRow | None]: ...

    def group_facts(self, names: list[str], /) -> list[GroupRow | None]: ...

    def group_status(self, names: list[str], /) -> list[GroupSums | None]: ...

    def queue_status(self) -> dict[str, QueueRow]:
        """By queue."""

    def wait_for_volumes(self, pods: list[str], /) -> list[bool]:
        """Whether each pod has a PersistentVolumeClaim that is not bound, or unknown."""

    def stranded(self) -> list[tuple[str, str]]:
        """Waiting pods whose pod group does not exist or was rejected, with its name. Visits all
        waiting pods."""
