"""What the running pods of a case need, and whether an engine has it.

A plan says what its *waiting* pods would need (`kai.verify.outcome.not_built`). Actions that search
for victims meet the running ones, too: whoever takes or moves a pod on half a GPU has to know what
becomes of the other half. What such a case needs is read from its input, and what an engine has is
asked of the engine itself, with one waiting pod for each feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kai.verify.objects import (
    ACTIVE_USED,
    MIG_NAME,
    Json,
    annotations_of,
    group_tree,
    read_world,
    spec_of,
)
from kai.verify.outcome import not_built

__all__ = ["FEATURES", "example", "lacks", "needed_by_running"]

NODE, NOW = "node", "2026-01-01T12:00:00Z"


def needed_by_running(snapshot: Mapping[str, Any]) -> set[str]:
    """The features that pods on nodes and their groups use, by the engine's names for them."""
    world = read_world(snapshot, now=NOW)
    needed, groups = set[str](), set[str]()
    for pod in world.pods.values():
        if pod.status in ACTIVE_USED and pod.group in world.groups:
            needed.update(_of_pod(pod.raw))
            groups.add(pod.group)
    for name in groups:
        needed.update(_of_group(world.groups[name]))
    return needed


def lacks(feature: str, planner: Callable[..., Any]) -> bool:
    """Whether a waiting pod that needs this feature is told that it is not built."""
    return feature in not_built(planner(example(feature), now=NOW))


def _of_pod(pod: Mapping[str, Any]) -> Iterator[str]:
    notes = annotations_of(pod)
    yield from (feature for feature in ("gpu-fraction", "gpu-memory") if notes.get(feature))
    if spec_of(pod).get("resourceClaims"):
        yield "dra"
    requests = [
        name
        for container in spec_of(pod).get("containers") or []
        for name in (container.get("resources") or {}).get("requests") or {}
    ]
    if any(MIG_NAME.match(name) for name in [*requests, *notes]):
        yield "mig"


def _of_group(group: Mapping[str, Any]) -> Iterator[str]:
    if spec_of(group).get("subGroups"):
        yield "sub-groups"
    if any(subset.topology for subset in group_tree(group).sets()):
        yield "topology"


# --- one waiting pod -----------------------------------------------------------------------------

_ANNOTATIONS = {"gpu-fraction": {"gpu-fraction": "0.5"}, "gpu-memory": {"gpu-memory": "1000"}}
_REQUESTS = {"mig": {"nvidia.com/mig-1g.5gb": "1"}}
_GROUPS: dict[str, Json] = {
    "sub-groups": {"subGroups": [{"name": "part", "minMember": 1}]},
    "topology": {"topologyConstraint": {"topology": "site", "requiredTopologyLevel": "rack"}},
}

FEATURES = (*_ANNOTATIONS, *_REQUESTS, *_GROUPS, "dra")


def example(feature: str) -> Json:
    """A snapshot in which one pod waits that needs nothing but this feature."""
    metadata = {"namespace": "ns", "uid": "pod", "labels": {"kai.scheduler/subgroup-name": "part"}}
    if feature != "sub-groups":
        del metadata["labels"]
    requests = _REQUESTS.get(feature, {"cpu": "1"})
    pod: Json = {
        "metadata": {
            **metadata,
            "name": "pod",
            "annotations": {"pod-group-name": "group", **_ANNOTATIONS.get(feature, {})},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "c", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Pending"},
    }
    if feature == "dra":
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "claim"}]
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    queue: Json = {
        "metadata": {"name": "queue", "uid": "queue"},
        "spec": {"resources": dict.fromkeys(("gpu", "cpu", "memory"), unlimited)},
    }
    room = {"cpu": "8", "memory": "64Gi", "pods": "10", "nvidia.com/gpu": "1"}
    node: Json = {
        "metadata": {"name": NODE, "uid": NODE, "labels": {"rack": "r"}},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    group: Json = {
        "metadata": {"name": "group", "namespace": "ns", "uid": "group"},
        "spec": {"queue": "queue", **_GROUPS.get(feature, {})},
    }
    site: Json = {
        "metadata": {"name": "site", "uid": "site"},
        "spec": {"levels": [{"nodeLabel": "rack"}]},
    }
    objects = {
        "nodes": [node],
        "queues": [queue],
        "podGroups": [group],
        "pods": [pod],
        "topologies": [site],
    }
    return {"config": {"actions": "allocate"}, "rawObjects": objects}
