"""Pods that a kubelet rejected, or that the API server did not bind to a node: for a while their
groups avoid that node.

    rejections = Rejections()
    rejections.failed(now, "team/a", "n1", "OutOfcpu")
    rejections.refused(now, "team/a", "n2")
    rejections.changed(now)          # {"team/a": ["n1", "n2"]}: for the store
    rejections.changed(until)        # {"team/a": []}

A kubelet admits pods by its own data, which may differ from the API server's: broken devices, pods
that are still ending, static pods. A rejected pod has failed and uses nothing, so the node looks
free. An admission policy may refuse every binding to a node. Without this rule the pod, or its
replacement, would be sent to the same node again and again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import keys
from kai.controllers.waits import MOST_S, Waits

_REASONS = frozenset(
    (
        "AppArmor",
        "InvalidNodeInfo",
        "NodeAffinity",
        "NodeName",
        "NodePorts",
        "NodeShutdown",
        "PodOSNotSupported",
        "PodOSSelectorNodeLabelDoesNotMatch",
        "SysctlForbidden",
        "TaintToleration",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
        "UnexpectedPredicateFailureType",
    )
)


def is_rejection(reason: str) -> bool:
    """Whether `status.reason` of a failed pod means that the kubelet never started it.

    >>> is_rejection("OutOfnvidia.com/gpu"), is_rejection("Evicted")
    (True, False)
    """
    return reason.startswith("OutOf") or reason in _REASONS


class Families:
    """Pod groups that a workload creates one after the other, one for each pod (a Deployment): the
    group of a replacement avoids what the one before did."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}  # by group

    def created(self, group: str, manifest: Mapping[str, Any]) -> None:
        """A new group, "namespace/name"."""
        metadata = manifest["metadata"]
        top = (metadata.get("annotations") or {}).get(keys.TOP_OWNER_ANNOTATION, "")
        owners = metadata.get("ownerReferences") or ()
        if any(each["kind"] == "Pod" and f"uid: {each['uid']}\n" not in top for each in owners):
            self._of[group] = f"{metadata['namespace']}/{top}"

    def gone(self, group: str) -> None:
        self._of.pop(group, None)

    def of(self, group: str) -> str:
        """The name of its family; a group without one is its own."""
        return self._of.get(group, group)

    def groups(self, family: str) -> list[str]:
        """The groups of a family."""
        return [group for group, of in self._of.items() if of == family] or [family]


class Rejections:
    """The nodes that each pod group ("namespace/name"), or each family of groups, avoids."""

    def __init__(self) -> None:
        self._waits: Waits[tuple[str, str]] = Waits()
        self._changed: set[str] = set()

    def failed(self, now: float, group: str, node: str, reason: str) -> float | None:
        """A pod failed on a node. Returns the time until which its group avoids the node; None: not
        at all."""
        if not group or not is_rejection(reason):
            return None
        return self.refused(now, group, node)

    def refused(self, now: float, group: str, node: str, longest: float = MOST_S) -> float:
        """A pod of the group was not bound to the node. Returns the time until which the group
        avoids it: at most `longest` seconds from now."""
        if (group, node) not in self._waits:
            self._changed.add(group)
        return self._waits.begin(now, (group, node), longest)

    def changed(self, now: float) -> dict[str, list[str]]:
        """The avoided nodes, by name, of the groups for which they changed since the last call."""
        self._changed.update(group for group, _ in self._waits.ended(now))
        nodes: dict[str, list[str]] = {group: [] for group in sorted(self._changed)}
        self._changed.clear()
        if nodes:
            for group, node in sorted(self._waits.keys()):
                if group in nodes:
                    nodes[group].append(node)
        return nodes

    def avoided(self) -> dict[str, list[str]]:
        """The nodes that each group avoids now; groups that avoid none are left out."""
        nodes: dict[str, list[str]] = {}
        for group, node in sorted(self._waits.keys()):
            nodes.setdefault(group, []).append(node)
        return nodes

    def next(self) -> float | None:
        """The time of the next change."""
        return self._waits.next()
