"""Workloads get the pods that a cluster would make of them."""

import json
from typing import Any

import pytest

import kai


def load(*manifests: Any) -> kai.Cluster:
    return kai.load(json.dumps(list(manifests)).encode())


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "m"}]}}
    return {"kind": kind, "metadata": {"name": "w"}, "spec": {"template": template, **spec}}


def pods(*manifests: Any) -> list[str]:
    return [each["metadata"]["name"] for each in load(*manifests).objects["pods"]]


@pytest.mark.parametrize(
    "kind", ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"]
)
def test_replicas_become_pods(kind: str) -> None:
    assert pods(workload(kind, replicas=2)) == ["w-0", "w-1"]
    assert pods(workload(kind)) == ["w-0"]
    assert pods(workload(kind, replicas=0)) == []


@pytest.mark.parametrize(
    ("spec", "status", "number"),
    [
        ({}, {}, 1),
        ({"parallelism": 3}, {}, 3),
        ({"parallelism": 3, "completions": 10}, {}, 3),
        ({"parallelism": 3, "completions": 2}, {}, 2),
        ({"parallelism": 3, "completions": 10}, {"succeeded": 9}, 1),
        ({"parallelism": 3, "suspend": True}, {}, 0),
        ({"parallelism": 3}, {"conditions": [{"type": "Complete", "status": "True"}]}, 0),
        ({"completions": 5}, {}, 1),
    ],
)
def test_a_job_gets_the_pods_that_run_at_once_and_are_to_be_done(
    spec: dict[str, Any], status: dict[str, Any], number: int
) -> None:
    assert len(pods({**workload("Job", **spec), "status": status})) == number


def test_a_cron_job_makes_none() -> None:
    assert (
        pods({"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"schedule": "@daily"}}) == []
    )


def test_pods_look_as_the_controller_would_make_them() -> None:
    [found] = load(workload("StatefulSet", ordinals={"start": 3})).objects["pods"]
    assert found["metadata"]["name"] == "w-3"
    assert found["metadata"]["labels"] == {
        "apps.kubernetes.io/pod-index": "3",
        "statefulset.kubernetes.io/pod-name": "w-3",
        "app": "x",
    }
    [reference] = found["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"]) == ("StatefulSet", "w")
    [indexed] = load(workload("Job", completionMode="Indexed")).objects["pods"]
    assert indexed["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] == "0"


def test_a_saved_cluster_keeps_the_pods_it_has() -> None:
    owned = {
        "kind": "Pod",
        "metadata": {"name": "w-abc", "ownerReferences": [{"kind": "Deployment", "name": "w"}]},
        "spec": {"containers": []},
    }
    assert pods(workload("Deployment", replicas=5), owned) == ["w-abc"]


@pytest.mark.parametrize(
    ("spec", "rejected"),
    [
        ({"replicas": -1}, "Deployment default/w: spec.replicas: is -1, not a number of pods"),
        ({"replicas": "2"}, "spec.replicas: is '2'"),
        ({"replicas": True}, "spec.replicas: is True"),
        ({"replicas": 10**9}, "kai makes at most 100000 pods of a workload"),
        ({"template": None}, "spec.template.spec: is missing"),
        ({"template": {"spec": []}}, "spec.template.spec: is missing"),
    ],
)
def test_a_workload_that_makes_no_sense_is_named(spec: dict[str, Any], rejected: str) -> None:
    [found] = load(workload("Deployment", **spec)).rejected
    assert rejected in str(found)


def test_a_pod_of_its_own_is_not_overwritten() -> None:
    own = {"kind": "Pod", "metadata": {"name": "w-0"}, "spec": {"containers": []}}
    cluster = load(workload("Deployment", replicas=2), own)
    assert [str(each) for each in cluster.rejected] == [
        "Pod default/w-0: metadata.name: is a pod of its own, and one of Deployment w"
    ]
    assert len(cluster.objects["pods"]) == 2
