"""Pods that a kubelet rejected: for a while their groups avoid that node.

    rejections = Rejections()
    rejections.failed(now, "team/a", "n1", "OutOfcpu")
    rejections.changed(now)          # {"team/a": ["n1"]}: for the store
    rejections.changed(until)        # {"team/a": []}

A kubelet admits pods by its own data, which may differ from the API server's: broken devices, pods
that are still ending, static pods. A rejected pod has failed and uses nothing, so the node looks
free. Without this rule its replacement would be sent to the same node again and again.
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
    """Whether `status.reason` of a failed pod means that the kubelet never started it.

    >>> is_rejection("OutOfnvidia.com/gpu"), is_rejection("Evicted")
    (True, False)
    """
    return reason.startswith("OutOf") or reason in _REASONS


class Rejections:
    """The nodes that each pod group ("namespace/name") avoids."""

    def __init__(self) -> None:
        self._waits: Waits[tuple[str, str]] = Waits()
        self._changed: set[str] = set()

    def failed(self, now: float, group: str, node: str, reason: str) -> float | None:
        """A pod failed on a node. Returns the time until which its group avoids the node; None: not
        at all."""
        if not group or not is_rejection(reason):
            return None
        if (group, node) not in self._waits:
            self._changed.add(group)
        return self._waits.begin(now, (group, node))

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

    def next(self) -> float | None:
        """The time of the next change."""
        return self._waits.next()
