"""The contents of a cluster, in one line and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import keys, kinds, quantities, rules
from kai.api.reading import at, mapping
from kai.engine import text

Lists = Mapping[str, Sequence[Mapping[str, Any]]]


def summary(lists: Lists) -> str:
    """ "2 nodes with 16 GPUs, 1 pod group with 3 pods (3 pending), 1 queue"."""
    pods, nodes = lists.get("pods", ()), lists.get("nodes", ())
    gpus = sum(
        quantities.parse_or_zero(at(node, "status", "allocatable", resource))
        for node in nodes
        for resource in keys.WHOLE_GPUS
    )
    pending = sum(
        at(pod, "status", "phase") == "Pending" and not at(pod, "spec", "nodeName") for pod in pods
    )
    parts = [
        text.count(len(nodes), "node") + (f" with {text.count(gpus, 'GPU')}" if gpus else ""),
        text.count(len(lists.get("podGroups", ())), "pod group")
        + f" with {text.count(len(pods), 'pod')}"
        + (f" ({text.number(pending)} pending)" if pending else ""),
        text.count(len(lists.get("queues", ())), "queue"),
    ]
    return ", ".join(parts)


def to_html(title: str, lists: Lists) -> str:
    """The shapes of nodes, and the pod groups, under a title and a summary."""
    nodes: dict[tuple[str, ...], int] = {}
    for node in lists.get("nodes", ()):
        held = mapping(at(node, "status", "allocatable"))
        shape = tuple(
            str(held.get(resource, "0")) for resource in (keys.NVIDIA_GPU, "cpu", "memory")
        )
        nodes[shape] = nodes.get(shape, 0) + 1
    shapes = text.Table(
        "Nodes",
        ("nodes", "GPUs each", "CPUs each", "memory each"),
        [(text.number(number), *shape) for shape, number in sorted(nodes.items())],
        right=frozenset((0, 1, 2, 3)),
    )
    waiting: dict[str, int] = {}
    for pod in lists.get("pods", ()):
        group = at(pod, "metadata", "annotations", keys.POD_GROUP_ANNOTATION)
        waiting[str(group)] = waiting.get(str(group), 0) + 1
    groups = text.Table(
        "Pod groups",
        ("pod group", "queue", "pods", "minimum"),
        [
            (
                kinds.full_name(group),
                str(at(group, "spec", "queue") or ""),
                text.number(waiting.get(str(at(group, "metadata", "name")), 0)),
                _minimum(group),
            )
            for group in lists.get("podGroups", ())
        ],
        right=frozenset((2, 3)),
    )
    return text.to_html(f"{title}: {summary(lists)}", [shapes, groups])


def _minimum(group: Mapping[str, Any]) -> str:
    """A rejected pod group is shown with the value that it has."""
    value = at(group, "spec", "minMember")
    if value is None:
        return "1"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return text.number(value or 1) if is_number else rules.written(value)
