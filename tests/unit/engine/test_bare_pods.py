"""Pods that no controller creates again are not evicted in order to be moved."""

import json
from typing import Any

import pytest

import kai

FIXED = {"kai.scheduler/movable": "false"}


def two_halves(**options: Any) -> kai.Cluster:
    """Two nodes, each half free; a pod that needs a whole one waits."""
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=2).pending("a/big", gpus=2)
    cluster.running("a/one", gpus=1, node="n1", **options)
    return cluster.running("a/two", gpus=1, node="n2", **options)


def owned(cluster: kai.Cluster, owners: Any) -> kai.Cluster:
    """The cluster with other owners of its pods."""
    snapshot = cluster.to_snapshot()
    for pod in snapshot["rawObjects"]["pods"]:
        pod["metadata"]["ownerReferences"] = owners
    return kai.Cluster.from_snapshot(snapshot)


def evicted(cluster: kai.Cluster, **compat: str) -> list[str]:
    plan = kai.Scheduler({"compat": compat}).plan(cluster, now="2026-01-01T00:00:00Z")
    return [each.pod for each in plan.decisions if each.kind == "evict"]


def test_pods_of_a_cluster_from_python_have_a_controller() -> None:
    assert evicted(two_halves()) == ["a/two-0"]


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1"}


@pytest.mark.parametrize("owners", [[], None, [OWNER], [{**OWNER, "controller": False}]])
def test_a_pod_without_a_controller_is_not_moved(owners: Any) -> None:
    cluster = owned(two_halves(), owners)
    assert evicted(cluster) == []
    assert evicted(cluster, bare_pods="kai") == ["a/two-0"]


def test_one_controller_among_the_owners_is_enough() -> None:
    assert evicted(owned(two_halves(), [OWNER, {**OWNER, "controller": True}])) == ["a/two-0"]


def test_the_annotation_decides() -> None:
    assert evicted(two_halves(annotations=FIXED)) == []
    movable = two_halves(annotations={"kai.scheduler/movable": "true"})
    assert evicted(owned(movable, [])) == ["a/two-0"]
    unknown = two_halves(annotations={"kai.scheduler/movable": "maybe"})
    assert evicted(unknown) == ["a/two-0"]
    assert evicted(owned(unknown, [])) == []


def test_reclaim_and_preemption_still_evict_bare_pods() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=1).pending("a/high", gpus=1, priority=60)
    cluster.running("a/low", gpus=1, priority=10, node="n", annotations=FIXED)
    assert evicted(cluster) == ["a/low-0"]


def test_the_explanation_names_what_is_not_moved() -> None:
    plan = kai.Scheduler().plan(two_halves(annotations=FIXED), now="2026-01-01T00:00:00Z")
    why = plan.why("a/big")
    assert "Consolidation does not move a/one, a/two: no controller would create" in why
    roomy = kai.Scheduler().plan(two_halves().node("n3", gpus=2))
    assert "Consolidation" not in roomy.why("a/big")


def test_an_invalid_value_of_controller_is_reported() -> None:
    [rejected] = owned(two_halves(), [{**OWNER, "controller": "yes"}]).rejected[:1]
    assert (rejected.kind, rejected.field) == ("Pod", "metadata.ownerReferences[0].controller")


QUEUE = {"kai.scheduler/queue": "default-queue"}


def pod(name: str, gpus: int, *, labels: Any = QUEUE, **spec: Any) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": str(gpus)}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "m", "resources": {"limits": limits}}], **spec},
        "status": {"phase": "Running" if spec else "Pending"},
    }


def node(name: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "nvidia.com/gpu": "2"}},
    }


def of_manifests(*workloads: dict[str, Any], labels: Any = QUEUE) -> kai.Cluster:
    """Two nodes, each half free, and a pod that needs a whole one."""
    places = {"one": "n1", "two": "n2"}
    running = [pod(name, 1, nodeName=on, labels=labels) for name, on in places.items()]
    objects = [node("n1"), node("n2"), *running, pod("big", 2), *workloads]
    return kai.load(json.dumps(objects).encode())


def test_a_bare_pod_of_a_manifest_is_not_moved_for_another_one() -> None:
    cluster = of_manifests()
    assert evicted(cluster) == []
    assert evicted(cluster, bare_pods="kai") != []


def workload(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "web", "labels": {**QUEUE, "priorityClassName": "train"}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x", 1)["spec"]}
    spec = {"template": template, **spec}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, "spec": spec}


def test_a_pod_whose_owner_kai_finds_is_moved() -> None:
    selector = {"matchLabels": {"app": "web"}}
    deployment = workload("Deployment", "apps/v1", replicas=2, selector=selector)
    of_job = {"batch.kubernetes.io/job-name": "web"}
    job = workload("Job", "batch/v1", parallelism=2)
    once = workload("Job", "batch/v1", parallelism=2, backoffLimit=0)
    assert evicted(of_manifests(deployment, labels={"app": "web"})) != []
    assert evicted(of_manifests(deployment, labels={"app": "other"})) == []
    assert evicted(of_manifests(job, labels=of_job)) != []
    assert evicted(of_manifests(once, labels=of_job)) == []


def test_the_explanation_tells_a_job_without_retries_from_bare_pods() -> None:
    once = workload("Job", "batch/v1", parallelism=2, backoffLimit=0)
    of_job = {"batch.kubernetes.io/job-name": "web"}
    why = kai.Scheduler().plan(of_manifests(once, labels=of_job)).why("big")
    assert "Consolidation does not move default/pg-web: its owner creates no evicted pod" in why
    assert "again (a Job with backoffLimit 0, or kai.scheduler/movable: false)." in why
    assert "bare" not in why
    both = kai.Scheduler().plan(of_manifests(pod("third", 1, nodeName="n3"), node("n3"))).why("big")
    assert "no controller would create their bare pods again" in both
    assert "backoffLimit" not in both
