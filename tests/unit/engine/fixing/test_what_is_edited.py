"""Each fix is printed for the object that a user has: the workload, the bare pod, or a PodGroup
that was written by hand."""

from __future__ import annotations

import json
from typing import Any

import yaml
from proven import NOW, fixes

import kai

NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": 16, "memory": "64Gi", "nvidia.com/gpu": 4}},
}
UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
RESOURCES = dict.fromkeys(("gpu", "cpu", "memory"), UNLIMITED)
QUEUES: list[dict[str, Any]] = [
    {"kind": "Queue", "metadata": {"name": "top"}, "spec": {"resources": RESOURCES}},
    {
        "kind": "Queue",
        "metadata": {"name": "a"},
        "spec": {"resources": RESOURCES, "parentQueue": "top"},
    },
]


def pod(name: str, gpus: int, **metadata: Any) -> dict[str, Any]:
    own = {"name": name, "namespace": "a", "labels": {"kai.scheduler/queue": "a"}, **metadata}
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    spec = {"schedulerName": "kai-scheduler", "containers": [container]}
    return {"kind": "Pod", "metadata": own, "spec": spec}


def running(name: str, gpus: int) -> dict[str, Any]:
    made = pod(name, gpus)
    return {**made, "spec": {**made["spec"], "nodeName": "n1"}, "status": {"phase": "Running"}}


def loaded(*objects: dict[str, Any]) -> kai.Cluster:
    return kai.load(json.dumps({"kind": "List", "items": [NODE, *QUEUES, *objects]}).encode())


def test_a_bare_pod_gets_the_label_because_its_pod_group_is_written_from_it() -> None:
    fix = fixes(loaded(running("old", 4), pod("new", 4)), "a/pg-new")["priority"]
    assert fix.changes == (
        "give Pod a/new the priority class build-preemptible (75 instead of 50)",
    )
    assert fix.how[0] == "# Pod a/new"
    labels = yaml.safe_load("\n".join(fix.how))["metadata"]["labels"]
    assert labels == {"priorityClassName": "build-preemptible"}


def test_a_request_of_a_bare_pod_is_changed_in_the_pod() -> None:
    fix = fixes(loaded(pod("new", 8)), "a/pg-new")["gpus"]
    assert fix.how[0] == "# Pod a/new"


def test_the_pod_of_a_deployment_is_changed_in_the_deployment() -> None:
    """KAI makes a pod group for each of its pods, and the pod is the owner of the group."""
    deployment = {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": "web",
            "namespace": "a",
            "uid": "1",
            "labels": {"kai.scheduler/queue": "a", "priorityClassName": "train"},
        },
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {}},
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5", "uid": "2"}
    waits = pod(
        "web-5-x",
        8,
        uid="3",
        ownerReferences=[{**owner, "controller": True}],
        labels={"app": "web"},
    )
    cluster = loaded(deployment, waits)
    fix = fixes(cluster, "a/pg-web-5-x-3")["gpus"]
    assert fix.how[0] == "# the pods of Deployment a/web"


def test_the_queue_of_a_pod_group_written_by_hand_is_a_field_of_its_spec() -> None:
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "pg", "namespace": "a"},
        "spec": {"queue": "aa", "minMember": 1},
    }
    waits = pod("new", 1, annotations={"pod-group-name": "pg"})
    found = kai.Scheduler().plan(loaded(group, waits), now=NOW).fix("a/pg")
    assert found[0].how == (
        "kubectl patch podgroups.scheduling.run.ai pg -n a --type=merge -p "
        '\'{"spec":{"queue":"a"}}\'',
    )


def test_only_the_pods_that_request_too_much_are_named() -> None:
    """Written to all pods, a smaller request would make a small pod larger."""
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "pg", "namespace": "a"},
        "spec": {"queue": "a", "minMember": 2},
    }
    names = {"pod-group-name": "pg"}
    cluster = loaded(group, pod("one", 1, annotations=names), pod("two", 4, annotations=names))
    fix = fixes(cluster, "a/pg")["gpus"]
    assert fix.changes == ("request 3 GPUs for each pod instead of up to 4",)
    assert [line for line in fix.how if line.startswith("#")] == [
        "# pods of PodGroup a/pg like a/two"
    ]


def test_pods_that_move_for_it_are_named() -> None:
    """A bare pod does not move for consolidation, but a higher priority moves it."""
    other = {**NODE, "metadata": {"name": "n2"}}
    far = running("far", 2)
    far = {**far, "spec": {**far["spec"], "nodeName": "n2"}}
    fix = fixes(loaded(other, running("near", 2), far, pod("new", 4)), "a/pg-new")["priority"]
    assert fix.evicted == {}
    [(group, pods)] = fix.moved.items()
    assert (group in ("a/pg-near", "a/pg-far"), pods) == (True, 1)
    assert f"  Moved for it: 1 pod of {group}." in fix.lines()


def test_bare_pods_are_deleted_by_one_command() -> None:
    fix = fixes(loaded(running("one", 2), running("two", 2), pod("new", 4)), "a/pg-new")["end"]
    assert fix.how == ("kubectl delete pods -n a one two",)


def test_a_part_of_a_gpu_is_not_made_smaller_before_it_is_requested() -> None:
    """The pods request whole GPUs: a smaller part alone would be added to them, and KAI refuses
    such pods. So each answer is read again."""
    labels = {"kai.scheduler/queue": "a", "runai-gpu-group": "g"}
    shared = running("shared", 1)
    shared["metadata"] |= {"labels": labels, "annotations": {"gpu-fraction": "0.6"}}
    shared["spec"]["containers"] = [{"name": "main"}]
    node = {**NODE, "status": {"capacity": {**NODE["status"]["capacity"], "nvidia.com/gpu": 1}}}
    waits = pod("new", 1, labels={"priorityClassName": "inference"})
    objects = {"kind": "List", "items": [node, *QUEUES, shared, waits]}
    cluster = kai.load(json.dumps(objects).encode())
    found = kai.Scheduler().plan(cluster, now=NOW).fix("a/pg-new")
    assert found
    for fix in found:
        assert not any(change.endswith("instead of 0.5") for change in fix.changes)


def deployment(gpus: int, replicas: int, **labels: str) -> dict[str, Any]:
    """In a file: its pods are those of its template."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("", gpus)["spec"]}
    metadata = {"name": "web", "namespace": "a", "labels": {"kai.scheduler/queue": "a", **labels}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata, "spec": spec}


def test_a_label_of_a_deployment_concerns_all_its_pods() -> None:
    """Each has a pod group. With the higher priority for both, the first one still comes first."""
    cluster = loaded(deployment(3, 2, priorityClassName="train"))
    assert "priority" not in fixes(cluster, "a/pg-web-1")


def test_a_request_of_a_deployment_concerns_all_its_pods() -> None:
    """Two pods with 2 GPUs fill the node. With only one of them smaller, its 1 GPU would fit."""
    fix = fixes(loaded(deployment(3, 3), pod("x", 1)), "a/pg-web-1")["gpus"]
    assert fix.changes == ("request 2 GPUs for each pod instead of 3",)
    assert fix.then_wait == ("a/pg-x",)
    assert fix.how[0] == "# the pods of Deployment a/web"


def test_a_label_of_a_set_of_leaders_and_workers_concerns_all_its_replicas() -> None:
    workers = {"spec": pod("", 1)["spec"]}
    replicas = {
        "kind": "LeaderWorkerSet",
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "metadata": {"name": "l", "namespace": "a", "labels": {"kai.scheduler/queue": "a"}},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": workers}},
    }
    assert "priority" not in fixes(loaded(replicas), "a/pg-l-group-1")


def test_a_gate_of_a_template_is_removed_there() -> None:
    """The pods of a Deployment in a file do not exist, so none could be patched."""
    gated = deployment(1, 2)
    gated["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    fix = fixes(loaded(gated), "a/pg-web-1")["pods"]
    assert fix.changes == (
        "remove the scheduling gate example.com/quota of the pods of Deployment a/web",
    )
    assert fix.how == ("# the pods of Deployment a/web", "spec:", "  schedulingGates: null")
    assert fix.also_start == ("a/pg-web-0",)
