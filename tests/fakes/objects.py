"""Objects as an API server has them, with what tests need."""

import json
from typing import Any

import kai
from kai.api import keys

Object = dict[str, Any]

READY = [{"type": "Ready", "status": "True"}]


def node(name: str, gpus: int = 2, labels: Object | None = None, **spec: Any) -> Object:
    room = {"cpu": "8", "memory": "64Gi", "pods": "110", keys.NVIDIA_GPU: str(gpus)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": room, "conditions": READY},
    }


def queue(name: str, parent: str = "", gpus: float = -1) -> Object:
    share = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": share, "memory": share, "gpu": {**share, "quota": gpus}}
    spec: Object = {"resources": resources}
    if parent:
        spec["parentQueue"] = parent
    return {"kind": "Queue", "metadata": {"name": name}, "spec": spec}


def priority_class(name: str, value: int) -> Object:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value}


def group(name: str, queue: str = "leaf", **metadata: Any) -> Object:
    metadata = {"namespace": "team", "name": name, "uid": f"uid-of-{name}", **metadata}
    return {"kind": "PodGroup", "metadata": metadata, "spec": {"queue": queue, "minMember": 1}}


def pod(
    name: str,
    group: str = "",
    *,
    queue: str = "a",
    gpus: int = 1,
    on: str = "",
    phase: str = "Pending",
    owner: Object | None = None,
    priority: str = "train",
    scheduler: str = "kai-scheduler",
    status: Object | None = None,
    **metadata: Any,
) -> Object:
    """A pod of a pod group, or one that is in none yet."""
    found: Object = {
        "name": name,
        "namespace": "team",
        "uid": f"uid-of-{name}",
        "labels": {keys.QUEUE_LABEL: queue},
        "annotations": {keys.POD_GROUP_ANNOTATION: group} if group else {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **metadata,
    }
    if owner is not None:
        about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        owns = {"apiVersion": "batch/v1", "kind": owner["kind"], "controller": True, **about}
        found["ownerReferences"] = [owns]
    requests = {keys.NVIDIA_GPU: str(gpus)}
    container = {"name": "main", "resources": {"limits": requests, "requests": {**requests}}}
    spec = {"schedulerName": scheduler, "priorityClassName": priority, "containers": [container]}
    if on:
        spec["nodeName"] = on
    return {
        "kind": "Pod",
        "metadata": found,
        "spec": spec,
        "status": {"phase": phase, **(status or {})},
    }


def job(name: str, queue: str = "a") -> Object:
    labels = {keys.QUEUE_LABEL: queue}
    metadata = {"name": name, "namespace": "team", "uid": f"uid-of-{name}", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {}}


def small() -> list[Object]:
    """Two queues, a node with two GPUs, and a pod."""
    classes = [priority_class("train", 50), priority_class("build", 100)]
    return [*classes, queue("top"), queue("a", "top"), node("n1", 2), pod("p1")]


def load(*manifests: Object) -> kai.Cluster:
    """The cluster of a file with these manifests."""
    return kai.load(json.dumps(list(manifests)).encode())
