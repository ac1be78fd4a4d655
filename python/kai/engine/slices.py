"""MIG slices of nodes, by profile: how many there are, and how many are free after a plan.

slices_of(cluster, plan)["n1"]["1g.5gb"]      # Slices(total=7, free=3)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kai.api import keys, kinds
from kai.api.reading import at, mapping, node_of, text
from kai.engine import requests
from kai.engine.values import Bind

if TYPE_CHECKING:
    from kai.engine.cluster import Cluster
    from kai.engine.plan import Plan

__all__ = ["Slices", "slices_of", "totals_of"]


class Slices(NamedTuple):
    """The slices of one profile on a node. `free` is None if the pods are not known."""

    total: int
    free: int | None


def slices_of(cluster: Cluster, plan: Plan) -> dict[str, dict[str, Slices]]:
    """By node and profile; nodes without slices are missing. A live cluster keeps no pods."""
    there = totals_of(cluster)
    if not there:
        return {}
    lists = cluster.objects
    pods = {kinds.full_name(pod): pod for pod in lists.get("pods", ())}
    knows_pods = "pods" in lists
    used: dict[str, Counter[str]] = {node: Counter() for node in there}
    for name, node in _places(pods, lists.get("bindRequests", ()), plan):
        if node in used:
            used[node].update(_request(pods.get(name, {})))
    return {
        node: {
            profile: Slices(number, max(0, number - used[node][profile]) if knows_pods else None)
            for profile, number in sorted(found.items())
        }
        for node, found in there.items()
    }


def totals_of(cluster: Cluster) -> dict[str, dict[str, int]]:
    """How many slices of each profile each node has; nodes without slices are missing."""
    return {
        text(at(node, "metadata", "name")): found
        for node in cluster.objects.get("nodes", ())
        if (found := _slices(mapping(at(node, "status", "allocatable"))))
    }


def _places(
    pods: Mapping[str, Mapping[str, Any]], bind_requests: Any, plan: Plan
) -> Iterator[tuple[str, str]]:
    """Each pod that holds or gets something on a node, and its node."""
    node_of_pod = {
        f"{text(at(each, 'metadata', 'namespace'))}/{text(at(each, 'spec', 'podName'))}": text(
            at(each, "spec", "selectedNode")
        )
        for each in bind_requests
        if at(each, "status", "phase") != "Failed"
    }
    node_of_pod |= {each.pod: each.node for each in plan.decisions if isinstance(each, Bind)}
    for name, pod in pods.items():
        if at(pod, "status", "phase") not in ("Succeeded", "Failed") and (node := node_of(pod)):
            node_of_pod[name] = node
    yield from node_of_pod.items()


def _request(pod: Mapping[str, Any]) -> Counter[str]:
    """The slices that a node needs for the pod, by profile."""
    return Counter(
        {
            resource.removeprefix(keys.MIG_PREFIX): int(requests.total(pod, resource))
            for resource in requests.names(pod)
            if resource.startswith(keys.MIG_PREFIX)
        }
    )


def _slices(amounts: Mapping[str, Any]) -> dict[str, int]:
    return {
        resource.removeprefix(keys.MIG_PREFIX): int(str(amount))
        for resource, amount in amounts.items()
        if resource.startswith(keys.MIG_PREFIX) and str(amount).isdecimal() and int(str(amount))
    }
