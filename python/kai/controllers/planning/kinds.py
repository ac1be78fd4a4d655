"""The kinds that a process reads, by its roles.

watched_by(("pod-grouper",))        # ("Pod", "PodGroup", "PriorityClass")
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

DEVICES = ("ResourceClaim", "ResourceSlice", "DeviceClass")
_VOLUMES = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
STORAGE = (*_VOLUMES, "CSIDriver", "CSINode", "CSIStorageCapacity")
_ZONES = "NodeResourceTopology"
WATCHED = (
    *("Node", "Pod", "PodGroup", "Queue", "PriorityClass", "Topology", "BindRequest"),
    *(*DEVICES, *STORAGE, _ZONES, "ConfigMap", "Namespace"),
)
"""All kinds that decisions depend on."""
OPTIONAL = frozenset(("Topology", "BindRequest", *DEVICES, *STORAGE, _ZONES))
"""A cluster that does not serve these kinds counts as one without such objects."""

NECESSARY = frozenset(("Node", "Pod", "PodGroup", "Queue", "PriorityClass"))
"""Kinds without which a program that only reads cannot plan. A user who may not list one of the
others gets plans as if the cluster had no such objects, with a note."""

METADATA_ONLY = frozenset(("ConfigMap", "Namespace"))
"""Kinds for which only names and labels are needed: their data is not read."""

OF_PLUGINS: Mapping[str, str] = {"NodeResourceTopology": "numa"}
"""Kinds that a scheduler reads only with a plugin, because reading them has a cost."""

_GROUPED = ("Pod", "PodGroup", "PriorityClass")
_BY_ROLE = {
    "scheduler": WATCHED,
    "binder": ("Node", "Pod", "BindRequest", "PersistentVolumeClaim", "PersistentVolume"),
    "pod-grouper": _GROUPED,
    "pod-group-controller": (*_GROUPED, "ResourceClaim"),
    "queue-controller": ("PodGroup", "Queue"),
}


def watched_by(roles: Iterable[str], without: Container[str] = ()) -> tuple[str, ...]:
    """The kinds that these roles read; their rights (kai.install.access) cover no others."""
    kinds = {kind for role in roles for kind in _BY_ROLE[role]}
    return tuple(kind for kind in WATCHED if kind in kinds and kind not in without)


def needed_by(roles: Iterable[str], without: Container[str] = ()) -> frozenset[str]:
    """The kinds that must be listed before the first decision; a kind that the cluster lacks counts
    as listed."""
    return frozenset(watched_by(roles, without))
