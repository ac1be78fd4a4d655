"""Pods that a kubelet rejected: their groups do not use that node for a while.

    rejections = Rejections()
    rejections.failed(now, "team/a", "n1", "OutOfcpu")
    rejections.changed(now)          # {"team/a": ["n1"]}: what to tell the store
    rejections.changed(until)        # {"team/a": []}

A kubelet admits a pod by what it knows itself, which may be more than the API server does: devices
that are broken, pods that are still ending, static pods. Such a pod has failed and holds nothing,
so the node looks free, and the pod that is made in its place would be sent there again, for ever.
"""

from __future__ import annotations

from kai.controllers.waits import Waits

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
    """Whether `status.reason` of a failed pod says that the kubelet never started it.

    >>> is_rejection("OutOfnvidia.com/gpu"), is_rejection("Evicted")
    (True, False)
    """
    return reason.startswith("OutOf") or reason in _REASONS


class Rejections:
    """Which pod groups ("namespace/name") avoid which nodes."""

    def __init__(self) -> None:
        self._waits: Waits[tuple[str, str]] = Waits()
        self._changed: set[str] = set()

    def failed(self, now: float, group: str, node: str, reason: str) -> float | None:
        """A pod failed on a node; returns until when its group avoids that, None: it does not."""
        if not group or not is_rejection(reason):
            return None
        if (group, node) not in self._waits:
            self._changed.add(group)
        return self._waits.begin(now, (group, node))

    def changed(self, now: float) -> dict[str, list[str]]:
        """The nodes, by name, of the groups for which they are others than the last time."""
        self._changed.update(group for group, _ in self._waits.ended(now))
        nodes: dict[str, list[str]] = {group: [] for group in sorted(self._changed)}
        self._changed.clear()
        if nodes:
            for group, node in sorted(self._waits.keys()):
                if group in nodes:
                    nodes[group].append(node)
        return nodes

    def next(self) -> float | None:
        """When `changed` says something by itself."""
        return self._waits.next()
