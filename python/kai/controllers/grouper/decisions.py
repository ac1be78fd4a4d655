"""What the pod-grouper decides, as values; those that change a cluster make their writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.writes import Lane, Write
from kai.grouping import Reference

WARNING = "PodGrouperWarning"
"""The reason of the events for problems; their type is Warning."""


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A pod group to create, or to bring up to date.

    `manifest`: the whole group as it will be, also for a plan that is made before it exists.
    `patch`: None for a group to create, else the merge patch.
    """

    manifest: Mapping[str, Any]
    patch: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """ "namespace/name"."""
        metadata = self.manifest["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"

    def write(self, *, last_start: str = "") -> Write:
        """The request; `last_start`: a time for the annotation of that name, as RFC 3339."""
        metadata = self.manifest["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        stamp = {keys.LAST_START_ANNOTATION: last_start} if last_start else {}
        if self.patch is None:
            annotations = {**metadata.get("annotations", {}), **stamp}
            metadata = {k: v for k, v in metadata.items() if k != "creationTimestamp"}
            body = {**self.manifest, "metadata": {**metadata, "annotations": annotations}}
            return Write(Lane.BINDING, "create", "PodGroup", namespace, name, body, about=self)
        # No key: two patches of different fields must not replace one another.
        return Write(Lane.BINDING, "patch", "PodGroup", namespace, name, self.patch, about=self)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A pod belongs to a group, and to a sub-group of it ("": none).

    `patch`: what the pod lacks to say so, {} if nothing.
    """

    pod: str  # "namespace/name"
    uid: str
    group: str  # the name alone: it is in the pod's namespace
    sub_group: str
    patch: Mapping[str, Any]

    def write(self) -> Write | None:
        """The merge patch of the pod, None if it says so already; another pod is left alone."""
        if not self.patch:
            return None
        namespace, _, name = self.pod.partition("/")
        body = {"metadata": {"uid": self.uid, **self.patch}}
        return Write(
            Lane.BINDING, "patch", "Pod", namespace, name, body, key=f"group of {self.pod}",
            about=self,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hold:
    """A pod of an owner names a group, which another one is about to take the place of.

    `group`: "" while it is not known which: the pod belongs to none. Or the one that it names,
    which it keeps after all.
    """

    pod: str  # "namespace/name"
    uid: str
    group: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A pod that cannot be grouped, and why: once, until the reason changes."""

    pod: str  # "namespace/name"
    uid: str
    message: str


@dataclass(slots=True)
class Decided:
    """What `Grouper.decide` found: groups in the order of their oldest pods."""

    needs: list[Reference] = field(default_factory=list)
    not_needed: list[Reference] = field(default_factory=list)  # no longer
    joined: list[Reference] = field(default_factory=list)  # known, and have a new pod: look again
    groups: list[GroupChange] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)  # before assignments; the last of a pod counts
    assignments: list[Assignment] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def writes(self) -> list[Write]:
        """All of them at once, groups first."""
        patches = (each.write() for each in self.assignments)
        return [*(each.write() for each in self.groups), *filter(None, patches)]
