"""Minimum run times count from the start of the pods, if no pod group has a recorded start."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kai

STARTED = "2026-01-01T00:00:05Z"
WITHIN, AFTER = "2026-01-01T00:09:00Z", "2026-01-01T00:11:00Z"


def queue(name: str, **spec: Any) -> dict[str, Any]:
    free = {each: {"quota": -1, "limit": -1} for each in ("cpu", "memory")}
    gpus = {"gpu": {"quota": 1, "limit": -1, "overQuotaWeight": 1}}
    return {
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parentQueue": "default-parent-queue", "resources": {**gpus, **free}, **spec},
    }


def pod(name: str, of_queue: str, gpus: int, **status: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": gpus}
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"limits": limits}}]}
    if status:
        spec["nodeName"] = "n1"
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"kai.scheduler/queue": of_queue}},
        "spec": spec,
        "status": {"phase": "Running", **status} if status else {"phase": "Pending"},
    }


def evicted(now: str, *more: Any, **status: Any) -> int:
    """How many pods a young group that uses two GPUs, one too many, loses.

    `more`: other objects, such as its pod group pg-low.
    """
    low = pod("low", "a", 2, **status)
    in_group = {
        **low,
        "metadata": {**low["metadata"], "annotations": {"pod-group-name": "pg-low"}},
    }
    capacity = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "2"}
    manifests = [
        {"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": capacity}},
        queue("a", reclaimMinRuntime="10m"),
        queue("b"),
        in_group if more else low,
        pod("own", "b", 1),
        *more,
    ]
    cluster = kai.load("\n---\n".join(map(json.dumps, manifests)).encode(), now=now)
    return sum(each.kind == "evict" for each in kai.Scheduler().plan(cluster).decisions)


def scheduled(at: str, status: str = "True") -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": status, "lastTransitionTime": at}
    return {"phase": "Running", "conditions": [condition]}


@pytest.mark.parametrize("status", [{"startTime": STARTED}, scheduled(STARTED)])
def test_a_pod_without_a_pod_group_is_protected_from_its_start(status: Any) -> None:
    assert evicted(WITHIN, **status) == 0
    assert evicted(AFTER, **status) == 1


def test_a_pod_group_without_a_recorded_start_is_protected_too() -> None:
    spec = {"queue": "a", "minMember": 1, "priorityClassName": "train"}
    group = {"kind": "PodGroup", "metadata": {"name": "pg-low"}, "spec": spec}
    assert evicted(WITHIN, group, startTime=STARTED) == 0
    key = "kai.scheduler/last-start-timestamp"
    recorded = {**group, "metadata": {"name": "pg-low", "annotations": {key: AFTER}}}
    # A recorded start counts, not that of the pods.
    assert evicted("2026-01-01T00:20:00Z", recorded, startTime=STARTED) == 0
    assert evicted("2026-01-01T00:22:00Z", recorded, startTime=STARTED) == 1


@pytest.mark.parametrize("status", [{"startTime": "soon"}, scheduled(STARTED, "False")])
def test_a_pod_without_a_time_is_not_protected(status: Any) -> None:
    assert evicted(WITHIN, **status) == 1


def cluster(**started: str) -> kai.Cluster:
    return (
        kai.Cluster()
        .queue("root")
        .queue("a", parent="root", deserved_gpus=2)
        .queue("b", parent="root", deserved_gpus=2, spec={"reclaimMinRuntime": "10m"})
        .node("n1", gpus=4)
        .running("b/x", pods=4, gpus=1, node="n1", min_member=4, **started)
        .pending("a/y", pods=2, gpus=1, min_member=2)
    )


def test_running_pods_of_a_cluster_can_have_a_start() -> None:
    def kinds(now: str, **started: str) -> set[str]:
        return {each.kind for each in kai.Scheduler().plan(cluster(**started), now=now).decisions}

    assert kinds(WITHIN, started=STARTED) == set()
    assert kinds(AFTER, started=STARTED) == {"evict", "pipeline"}
    assert kinds(WITHIN) == {"evict", "pipeline"}


def test_a_group_started_with_its_first_pods() -> None:
    made = cluster(started=STARTED).running("b/x", gpus=0, node="n1", started=AFTER)
    group = made.objects["podGroups"][0]
    assert group["metadata"]["annotations"]["kai.scheduler/last-start-timestamp"] == STARTED
    assert made.objects["pods"][-1]["status"]["startTime"] == AFTER


def test_a_drained_pod_has_no_start() -> None:
    made = cluster(started=STARTED).drain("n1")
    assert all("startTime" not in each["status"] for each in made.objects["pods"])


def test_an_invalid_start_is_refused() -> None:
    with pytest.raises(kai.InvalidClusterError, match="started is for running pods"):
        kai.Cluster().pending("a/x", gpus=1, started=STARTED)
    with pytest.raises(kai.InvalidClusterError, match="started: 'soon' is not an RFC 3339 time"):
        kai.Cluster().running("a/x", gpus=1, node="n", started="soon")
