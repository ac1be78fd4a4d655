"""Fixes of groups that have too few pods that may be scheduled."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from proven import fixes, plan_of

import kai
from kai.api import keys

PARTS = ("limits", "requests")


def group_of_bare_pods(pods: int, **fields: Any) -> kai.Cluster:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.add(
        "PodGroup",
        {"metadata": {"name": "new", "namespace": "a"}, "spec": {"queue": "a", "minMember": 3}},
    )
    for number in range(pods):
        metadata = {
            "name": f"new-{number}",
            "namespace": "a",
            "uid": f"uid-{number}",
            "annotations": {"pod-group-name": "new"},
        }
        container = {"name": "m", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        spec = {"schedulerName": "kai-scheduler", "containers": [container], **fields}
        pod = {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        cluster.add("Pod", pod)
    return cluster


def test_as_many_gates_are_removed_as_the_gang_needs() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", pods=4, gpus=1, min_member=3, gated=True)
    fix = fixes(cluster, "a/new")["pods"]
    assert fix.changes == ("remove the scheduling gate kai.scheduler/example of 3 pods",)
    assert fix.how[0] == (
        "kubectl patch pods new-0 new-1 new-2 -n a --type=json -p "
        '\'[{"op":"remove","path":"/spec/schedulingGates"}]\''
    )
    assert [(right.verb, right.kind) for right in fix.rights] == [("patch", "Pod")] * 3


def test_gates_are_removed_from_new_pods_too() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", pods=1, gpus=1, min_member=2, gated=True)
    fix = fixes(cluster, "a/new")["pods"]
    assert fix.changes == (
        "create 1 more pod of Job a/new, and remove the scheduling gate kai.scheduler/example of "
        "1 pod and of the new ones",
    )


def test_a_job_gets_its_pods_by_its_parallelism() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=4)
    cluster.pending("a/new", pods=1, gpus=1, min_member=3)
    assert fixes(cluster, "a/new")["pods"].how[0] == (
        'kubectl patch job new -n a --type=merge -p \'{"spec":{"parallelism":3}}\''
    )


def test_bare_pods_are_created_from_yaml() -> None:
    fix = fixes(group_of_bare_pods(1), "a/new")["pods"]
    assert fix.changes == ("create 2 more pods of PodGroup a/new",)
    assert fix.how[0] == "# to create 2 times: kubectl create -f FILE"
    body = yaml.safe_load("\n".join(fix.how))
    assert body["metadata"] == {
        "generateName": "new-",
        "namespace": "a",
        "annotations": {"pod-group-name": "new"},
    }
    assert body["spec"]["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert [(right.verb, right.kind) for right in fix.rights] == [("create", "Pod")]


def test_a_group_without_pods_has_the_pods_that_it_needs_as_a_sentence() -> None:
    """What they would request is not known, so that no plan can try it."""
    found = plan_of(group_of_bare_pods(0)).fix("a/new")
    assert not found
    assert found.why_none.endswith(
        "Create 3 pods in namespace a with the annotation pod-group-name: new."
    )


def test_a_misspelt_sub_group_is_named() -> None:
    cluster = group_of_bare_pods(1)
    parts = [{"name": name, "minMember": 1} for name in ("leader", "workers")]
    group = {"metadata": {"name": "new", "namespace": "a"}}
    cluster.upsert({**group, "kind": "PodGroup", "spec": {"queue": "a", "subGroups": parts}})
    [pod] = cluster.objects["pods"]
    for name, part in (("first", "leader"), ("new-0", "worker")):
        metadata = {**pod["metadata"], "name": name, "labels": {keys.SUBGROUP_LABEL: part}}
        cluster.upsert({**pod, "kind": "Pod", "metadata": metadata})
    fix = plan_of(cluster).fix("a/new")[0]
    assert fix.changes == ("put 1 pod into sub-group workers instead of worker",)
    assert fix.how == (
        "kubectl label pods new-0 -n a kai.scheduler/subgroup-name=workers --overwrite",
    )


def test_pods_of_no_sub_group_get_a_label() -> None:
    """Another pod would not help, because a pod without the label belongs to no sub-group."""
    cluster = group_of_bare_pods(1)
    parts = [{"name": "workers", "minMember": 1}]
    group = {"metadata": {"name": "new", "namespace": "a"}, "kind": "PodGroup"}
    cluster.upsert({**group, "spec": {"queue": "a", "subGroups": parts}})
    answer = str(plan_of(cluster).fix("a/new"))
    label = "Label its pods with kai.scheduler/subgroup-name"
    assert f"{label} and one of its sub-groups: workers." in answer
    assert "Create" not in answer


def job_of_one_pod_that_needs_three(resource: str, amount: str) -> kai.Cluster:
    node = {"cpu": 16, "memory": "48Gi", "nvidia.com/gpu": 4}
    limits = {"limits": {resource: amount}}
    spec = {"restartPolicy": "Never", "containers": [{"name": "main", "resources": limits}]}
    metadata = {
        "name": "w",
        "namespace": "a",
        "annotations": {keys.BATCH_MIN_MEMBER_ANNOTATION: "3"},
    }
    objects = [
        {"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": node}},
        {
            "kind": "Job",
            "metadata": metadata,
            "spec": {"parallelism": 1, "template": {"spec": spec}},
        },
    ]
    return kai.load(yaml.safe_dump_all(objects).encode())


@pytest.mark.parametrize(
    ("resource", "amount", "wanted"),
    [
        ("nvidia.com/gpu", "8", "request 1 GPU for each pod instead of 8"),
        ("cpu", "40", "request 5 CPUs for each pod instead of 40"),
        ("memory", "80Gi", "request 16 GiB of memory for each pod instead of 80 GiB"),
    ],
)
def test_new_pods_request_what_the_others_do_by_then(
    resource: str, amount: str, wanted: str
) -> None:
    """The workload creates them from the same template. A set is answered once, with one number."""
    found = plan_of(job_of_one_pod_that_needs_three(resource, amount)).fix("a/pg-w")
    more = [fix.changes for fix in found if "pods" in fix.kinds]
    assert more == [(wanted, "create 2 more pods of Job a/w")]


def test_new_bare_pods_are_printed_with_the_smaller_request() -> None:
    limits = {"name": "m", "resources": {part: {"nvidia.com/gpu": "8"} for part in PARTS}}
    cluster = group_of_bare_pods(1, containers=[limits])
    [fix] = [fix for fix in plan_of(cluster).fix("a/new") if "pods" in fix.kinds]
    assert fix.changes[0] == "request 1 GPU for each pod instead of 8"
    created = yaml.safe_load(
        "\n".join(fix.how).partition("# to create 2 times")[2].partition("\n")[2]
    )
    assert created["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "1"}
