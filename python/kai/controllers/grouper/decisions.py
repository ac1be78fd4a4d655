"""The decisions of the pod-grouper, as values; those that change a cluster create their writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.writes import Lane, Write
from kai.grouping import Reference

WARNING = "PodGrouperWarning"
"""The reason of events about problems; their type is Warning."""


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A pod group to create or to update.

    `manifest`: the whole new group, also for a plan before it exists. `patch`: the merge patch;
    None for a group to create.
    """

    manifest: Mapping[str, Any]
    patch: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """ "namespace/name"."""
        metadata = self.manifest["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    def write(self, *, last_start: str = "") -> Write:
        """The request. `last_start`: a time for the annotation of that name, in RFC 3339."""
        metadata = self.manifest["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        stamp = {keys.LAST_START_ANNOTATION: last_start} if last_start else {}
        if self.patch is None:
            annotations = {**metadata.get("annotations", {}), **stamp}
            metadata = {k: v for k, v in metadata.items() if k != "creationTimestamp"}
            body = {**self.manifest, "metadata": {**metadata, "annotations": annotations}}
            return Write(Lane.BINDING, "create", "PodGroup", namespace, name, body, about=self)
        # Without a key: two patches of different fields must not replace each other.
        return Write(Lane.BINDING, "patch", "PodGroup", namespace, name, self.patch, about=self)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A pod belongs to a group, and to a sub-group of it ("": none).

    `patch`: the labels and annotations that the pod lacks; {} if it lacks none.
    """

    pod: str  # "namespace/name"
    uid: str
    group: str  # only the name; the namespace is the pod's
    sub_group: str
    patch: Mapping[str, Any]

    def write(self) -> Write | None:
        """The merge patch of the pod; None if it needs none. A new pod with its name is not
        patched. A patch of the status may change labels and annotations too, and the right to it
        does not allow to change the images or the priority of a pod."""
        if not self.patch:
            return None
        namespace, _, name = self.pod.partition("/")
        body = {"metadata": {"uid": self.uid, **self.patch}}
        return Write(
            Lane.BINDING, "patch", "Pod", namespace, name, body, "status",
            key=f"group of {self.pod}", about=self,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hold:
    """A pod names a group, and another group is about to replace it.

    `group`: "" while the new group is unknown: the pod belongs to no group. Otherwise the named
    group: the pod stays in it.
    """

    pod: str  # "namespace/name"
    uid: str
    group: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A pod that cannot be grouped, and the cause; reported once for each cause."""

    pod: str  # "namespace/name"
    uid: str
    message: str


@dataclass(slots=True)
class Decided:
    """The result of `Grouper.decide`: groups in the order of their oldest pods."""

    needs: list[Reference] = field(default_factory=list)
    not_needed: list[Reference] = field(default_factory=list)  # not needed any more
    joined: list[Reference] = field(default_factory=list)  # known, with a new pod: read again
    # Before groups: these lost their last pod before the API server was known to have them
    withdrawn: list[str] = field(default_factory=list)
    groups: list[GroupChange] = field(default_factory=list)
    # Before assignments; the last one of a pod counts
    holds: list[Hold] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def writes(self) -> list[Write]:
        """All writes, groups first."""
        patches = (each.write() for each in self.assignments)
        return [*(each.write() for each in self.groups), *filter(None, patches)]
