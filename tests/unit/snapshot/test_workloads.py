"""Workloads get the pods that a cluster would create for them."""

from typing import Any

import pytest

from fakes.objects import load


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
def test_a_job_gets_its_parallel_pods_that_are_still_needed(
    spec: dict[str, Any], status: dict[str, Any], number: int
) -> None:
    assert len(pods({**workload("Job", **spec), "status": status})) == number


TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "m"}]}}


def pytorch_job(**spec: Any) -> dict[str, Any]:
    roles = {
        "Worker": {"replicas": 2, "template": TEMPLATE},
        "Master": {"template": TEMPLATE},
    }
    return {
        "kind": "PyTorchJob",
        "metadata": {"name": "w"},
        "spec": {"pytorchReplicaSpecs": roles, **spec},
    }


def leader_worker_set(**template: Any) -> dict[str, Any]:
    made = {"size": 2, "workerTemplate": TEMPLATE, **template}
    return {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "w"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": made},
    }


def test_a_pytorch_job_gets_the_pods_of_its_roles() -> None:
    found = load(pytorch_job()).objects["pods"]
    assert [each["metadata"]["name"] for each in found] == [
        "w-master-0",
        "w-worker-0",
        "w-worker-1",
    ]
    training = "training.kubeflow.org"
    assert (
        found[0]["metadata"]["labels"].items()
        >= {
            "app": "x",
            f"{training}/job-name": "w",
            f"{training}/job-role": "master",
            f"{training}/replica-type": "master",
            f"{training}/replica-index": "0",
        }.items()
    )
    assert found[2]["metadata"]["labels"][f"{training}/replica-index"] == "1"
    assert f"{training}/job-role" not in found[2]["metadata"]["labels"]


def test_a_finished_or_suspended_pytorch_job_gets_no_pods() -> None:
    for kind in ("Succeeded", "Failed"):
        status = {"conditions": [{"type": kind, "status": "True"}]}
        assert pods({**pytorch_job(), "status": status}) == []
    assert pods(pytorch_job(runPolicy={"suspend": True})) == []
    # A kind of another API group
    assert pods({**pytorch_job(), "apiVersion": "example.com/v1"}) == []


def test_a_leader_worker_set_gets_leaders_and_workers() -> None:
    leader = {"metadata": {"labels": {"app": "leader"}}, "spec": {"containers": []}}
    found = load(leader_worker_set(leaderTemplate=leader)).objects["pods"]
    assert [each["metadata"]["name"] for each in found] == ["w-0", "w-0-1", "w-1", "w-1-1"]
    assert [each["metadata"]["labels"]["app"] for each in found] == ["leader", "x"] * 2
    own = "leaderworkerset.sigs.k8s.io"
    indices = [
        (labels[f"{own}/group-index"], labels[f"{own}/worker-index"])
        for labels in (each["metadata"]["labels"] for each in found)
    ]
    assert indices == [("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")]
    assert found[0]["metadata"]["annotations"] == {
        f"{own}/size": "2",
        "pod-group-name": "pg-w-group-0",
    }


@pytest.mark.parametrize(
    ("broken", "rejected"),
    [
        (
            pytorch_job(pytorchReplicaSpecs={"Worker": {"replicas": -1}}),
            "PyTorchJob default/w: spec.pytorchReplicaSpecs.Worker.replicas: is -1, not a number",
        ),
        (
            pytorch_job(pytorchReplicaSpecs={"Worker": None}),
            "spec.pytorchReplicaSpecs.Worker.template.spec: is missing, so kai cannot create",
        ),
        (pytorch_job(pytorchReplicaSpecs=[]), "spec.pytorchReplicaSpecs: is missing"),
        (
            leader_worker_set(size=0),
            "LeaderWorkerSet default/w: spec.leaderWorkerTemplate.size: is 0, but a replica has at "
            "least a leader",
        ),
        (leader_worker_set(size=60_000), "spec.replicas: and size make 120000 pods"),
        (leader_worker_set(workerTemplate=7), "spec.leaderWorkerTemplate.workerTemplate.spec: is"),
        (leader_worker_set(leaderTemplate=7), "spec.leaderWorkerTemplate.leaderTemplate.spec: is"),
        ({**leader_worker_set(), "spec": {}}, "workerTemplate.spec: is missing"),
    ],
)
def test_an_invalid_gang_is_named(broken: dict[str, Any], rejected: str) -> None:
    [found] = load(broken).rejected
    assert rejected in str(found)


def test_a_cron_job_gets_no_pods() -> None:
    assert (
        pods({"kind": "CronJob", "metadata": {"name": "c"}, "spec": {"schedule": "@daily"}}) == []
    )


def test_pods_have_the_fields_that_controllers_set() -> None:
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
        ({"replicas": True}, "spec.replicas: is true"),
        ({"replicas": 10**9}, "kai creates at most 100000 pods per workload"),
        ({"template": None}, "spec.template.spec: is missing"),
        ({"template": {"spec": []}}, "spec.template.spec: is missing"),
    ],
)
def test_an_invalid_workload_is_named(spec: dict[str, Any], rejected: str) -> None:
    [found] = load(workload("Deployment", **spec)).rejected
    assert rejected in str(found)


def test_an_existing_pod_is_not_overwritten() -> None:
    own = {"kind": "Pod", "metadata": {"name": "w-0"}, "spec": {"containers": []}}
    cluster = load(workload("Deployment", replicas=2), own)
    assert [str(each) for each in cluster.rejected] == [
        "Pod default/w-0: metadata.name: has the name of a pod that kai creates for Deployment w"
    ]
    assert len(cluster.objects["pods"]) == 2


def test_pods_of_a_job_without_retries_are_not_movable() -> None:
    def annotations(job: dict[str, Any], *given: dict[str, Any]) -> list[Any]:
        found = load(job, *given).objects["pods"]
        return [each["metadata"]["annotations"].get("kai.scheduler/movable") for each in found]

    assert annotations(workload("Job", backoffLimit=0)) == ["false"]
    assert annotations(workload("Job", backoffLimit=1)) == [None]
    assert annotations(workload("Job")) == [None]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "w", "controller": True}
    metadata: dict[str, Any] = {"name": "p", "ownerReferences": [owner]}
    pod = {"kind": "Pod", "metadata": metadata, "spec": {"containers": []}}
    assert annotations(workload("Job", backoffLimit=0), pod) == ["false"]
    metadata["annotations"] = {"kai.scheduler/movable": "true"}
    assert annotations(workload("Job", backoffLimit=0), pod) == ["true"]
    metadata["annotations"] = {"kai.scheduler/movable": "yes"}  # counts as absent
    assert annotations(workload("Job", backoffLimit=0), pod) == ["false"]
