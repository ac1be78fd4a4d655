"""Pods that start before the others are not stale while the others start (decision 22)."""

import json
from typing import Any

import pytest

import kai

STALE = "kai.scheduler/stale-podgroup-timestamp"
NODE = {
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"capacity": {"nvidia.com/gpu": 1}},
}


def job_set(order: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    jobs = [{"name": "a"}, {"name": "b", "template": {"spec": {"parallelism": 2}}}]
    spec = {"startupPolicy": {"startupPolicyOrder": order}, "replicatedJobs": jobs}
    label = "jobset.sigs.k8s.io"
    labels = [{f"{label}/replicatedjob-name": name, f"{label}/job-index": "0"} for name in "abb"]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": spec,
    }, labels


def leader_worker_set(policy: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    spec = {"startupPolicy": policy, "leaderWorkerTemplate": {"size": 3}}
    label = "leaderworkerset.sigs.k8s.io"
    labels = [{f"{label}/group-index": "0", f"{label}/worker-index": str(i)} for i in range(3)]
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": spec,
    }, labels


def cluster_of(owner: dict[str, Any], labels: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The first pod runs, the others have no room."""
    owner = {**owner, "metadata": {"name": "w"}}
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "w"}
    container = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    pods: list[dict[str, Any]] = [
        {
            "kind": "Pod",
            "metadata": {"name": f"p-{index}", "labels": text, "ownerReferences": [reference]},
            "spec": {"containers": [container]},
        }
        for index, text in enumerate(labels)
    ]
    pods[0]["spec"]["nodeName"], pods[0]["status"] = "n", {"phase": "Running"}
    return [NODE, owner, *pods]


def evicted(manifests: list[dict[str, Any]]) -> list[str]:
    """The pods that are evicted when the group has lacked pods for an hour."""
    loaded = kai.load(json.dumps(manifests).encode())
    [group] = loaded.objects["podGroups"]
    group = {**group, "kind": "PodGroup", "metadata": dict(group["metadata"])}
    group["metadata"]["annotations"] |= {STALE: "2026-01-01T00:00:00Z"}
    pods = [{**each, "kind": "Pod"} for each in loaded.objects["pods"]]
    plan = kai.Scheduler().plan(
        kai.load(json.dumps([NODE, group, *pods]).encode()), now="2026-01-01T01:00:00Z"
    )
    return [each.pod for each in plan.decisions if isinstance(each, kai.Evict)]


@pytest.mark.parametrize(
    "manifests",
    [cluster_of(*job_set("InOrder")), cluster_of(*leader_worker_set("LeaderReady"))],
    ids=["JobSet InOrder", "LeaderWorkerSet LeaderReady"],
)
def test_a_first_part_that_runs_alone_is_not_stale(manifests: list[dict[str, Any]]) -> None:
    """KAI evicts both after a minute (spec 6 S14 and S15)."""
    assert evicted(manifests) == []


@pytest.mark.parametrize(
    "manifests",
    [cluster_of(*job_set("AnyOrder")), cluster_of(*leader_worker_set("LeaderCreated"))],
    ids=["JobSet AnyOrder", "LeaderWorkerSet LeaderCreated"],
)
def test_parts_that_start_together_are_stale_without_the_rest(
    manifests: list[dict[str, Any]],
) -> None:
    assert evicted(manifests) == ["default/p-0"]


def test_a_replica_that_lost_a_worker_is_stale() -> None:
    manifests = cluster_of(*leader_worker_set("LeaderReady"))
    worker = manifests[3]
    worker["spec"]["nodeName"], worker["status"] = "n", {"phase": "Running"}
    assert evicted(manifests) == ["default/p-0", "default/p-1"]
