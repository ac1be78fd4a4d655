"""The kinds that a process reads, by its roles.

watched_by(("pod-grouper",))        # ("Pod", "PodGroup", "PriorityClass")
"""

from __future__ import annotations

from collections.abc import Iterable

_DEVICES = ("ResourceClaim", "ResourceSlice", "DeviceClass")
_VOLUMES = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
_STORAGE = (*_VOLUMES, "CSIDriver", "CSINode", "CSIStorageCapacity")
WATCHED = (
    *("Node", "Pod", "PodGroup", "Queue", "PriorityClass", "Topology", "BindRequest"),
    *(*_DEVICES, *_STORAGE),
)
"""All that decisions depend on."""
OPTIONAL = frozenset(("Topology", "BindRequest", *_DEVICES, *_STORAGE))
"""A cluster without these kinds has none of their objects."""

_GROUPED = ("Pod", "PodGroup", "PriorityClass")
_BY_ROLE = {
    "scheduler": WATCHED,
    "binder": ("Node", "Pod", "BindRequest", "PersistentVolumeClaim", "PersistentVolume"),
    "pod-grouper": _GROUPED,
    "pod-group-controller": (*_GROUPED, "ResourceClaim"),
    "queue-controller": (*_GROUPED, "Queue", "ResourceClaim"),
}


def watched_by(roles: Iterable[str]) -> tuple[str, ...]:
    """What these roles read together; their rights (kai.install.access) are for no more."""
    kinds = {kind for role in roles for kind in _BY_ROLE[role]}
    return tuple(kind for kind in WATCHED if kind in kinds)


def needed_by(roles: Iterable[str]) -> frozenset[str]:
    """What has to be listed before the first decision; a kind that the cluster lacks counts too."""
    return frozenset(watched_by(roles))
