"""Files with workloads and their pods, without the objects between them (report 29).

The pods used to count twice: once as they are, and once as pods that kai creates for the workload.
"""

import itertools
import json
from typing import Any

import pytest

import kai

QUEUE = "kai.scheduler/queue"
NODE = {
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": 64, "memory": "64Gi", "nvidia.com/gpu": 8}},
}
SPEC = {
    "schedulerName": "kai-scheduler",
    "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
}


def pod(
    name: str, owner: tuple[str, str] | None = None, *, namespace: str = "", **labels: str
) -> dict[str, Any]:
    """A running pod; `owner` is the kind and name in its owner reference."""
    metadata: dict[str, Any] = {"name": name, "labels": {_key(k): v for k, v in labels.items()}}
    if namespace:
        metadata["namespace"] = namespace
    if owner:
        reference = {"kind": owner[0], "name": owner[1], "uid": "gone", "controller": True}
        metadata["ownerReferences"] = [{"apiVersion": _VERSIONS[owner[0]], **reference}]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {**SPEC, "nodeName": "n1"},
        "status": {"phase": "Running"},
    }


_VERSIONS = {
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "Job": "batch/v1",
    "RayCluster": "ray.io/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "Pod": "v1",
}
_SHORT = {
    "hash": "pod-template-hash",
    "jobset": "jobset.sigs.k8s.io/jobset-name",
    "replicated": "jobset.sigs.k8s.io/replicatedjob-name",
    "index": "jobset.sigs.k8s.io/job-index",
    "lws": "leaderworkerset.sigs.k8s.io/name",
    "group": "leaderworkerset.sigs.k8s.io/group-index",
    "worker": "leaderworkerset.sigs.k8s.io/worker-index",
    "job": "batch.kubernetes.io/job-name",
    "ray": "ray.io/cluster",
    "part": "ray.io/group",
    "notebook": "notebook-name",
    "kubeflow": "training.kubeflow.org/job-name",
    "spark": "sparkoperator.k8s.io/app-name",
}


def _key(short: str) -> str:
    return _SHORT.get(short, short)


def workload(
    kind: str, version: str, spec: Any, name: str = "web", **labels: str
) -> dict[str, Any]:
    metadata = {"name": name, "labels": {QUEUE: "vision", **labels}}
    return {"kind": kind, "apiVersion": version, "metadata": metadata, "spec": spec}


def template(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels}, "spec": SPEC}


def deployment(name: str = "web", **selector: Any) -> dict[str, Any]:
    selector = selector or {"matchLabels": {"app": "web"}}
    spec = {"replicas": 2, "selector": selector, "template": template(app="web")}
    return workload("Deployment", "apps/v1", spec, name)


RAY = {
    "headGroupSpec": {"template": template()},
    "workerGroupSpecs": [{"groupName": "w", "minReplicas": 1, "template": template()}],
}
LWS = {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}}
JOB = {"parallelism": 1, "template": template()}
JOB_SET = {"replicatedJobs": [{"name": "r", "replicas": 2, "template": {"spec": JOB}}]}

# A workload, its pods, and the pod groups that they form.
Row = tuple[dict[str, Any], list[dict[str, Any]], set[str]]
CASES: dict[str, Row] = {
    "a Deployment, by the name of its ReplicaSet": (
        deployment(),
        [pod(f"web-6c5-{x}", ("ReplicaSet", "web-6c5"), app="web", hash="6c5") for x in "ab"],
        {"pg-web-6c5-a", "pg-web-6c5-b"},
    ),
    "a Deployment, by its selector": (
        deployment(),
        [pod(f"odd-{x}", ("ReplicaSet", "odd"), app="web") for x in "ab"],
        {"pg-odd-a", "pg-odd-b"},
    ),
    "a Deployment, by an expression": (
        deployment(matchExpressions=[{"key": "app", "operator": "In", "values": ["web", "w"]}]),
        [pod(f"odd-{x}", ("ReplicaSet", "odd"), app="w") for x in "ab"],
        {"pg-odd-a", "pg-odd-b"},
    ),
    "a Deployment whose old and new ReplicaSets both have pods": (
        deployment(),
        [pod(f"web-{x}-1", ("ReplicaSet", f"web-{x}"), app="web", hash=x) for x in ("6c5", "7d6")],
        {"pg-web-6c5-1", "pg-web-7d6-1"},
    ),
    "a JobSet": (
        workload("JobSet", "jobset.x-k8s.io/v1alpha2", JOB_SET),
        [
            pod(f"web-r-{i}-0", ("Job", f"web-r-{i}"), jobset="web", replicated="r", index=str(i))
            for i in range(2)
        ],
        {"pg-web"},
    ),
    "a TrainJob, without its JobSet": (
        workload("TrainJob", "trainer.kubeflow.org/v1alpha1", {}),
        [
            pod(f"web-r-{i}-0", ("Job", f"web-r-{i}"), jobset="web", replicated="r", index=str(i))
            for i in range(2)
        ],
        {"pg-web-r-0-gone", "pg-web-r-1-gone"},
    ),
    "a LeaderWorkerSet": (
        workload("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", LWS),
        [
            pod("web-0", ("StatefulSet", "web"), lws="web", group="0", worker="0"),
            pod("web-0-1", ("StatefulSet", "web-0"), lws="web", group="0", worker="1"),
        ],
        {"pg-web-group-0"},
    ),
    "a RayJob": (
        workload("RayJob", "ray.io/v1", {"rayClusterSpec": RAY}),
        [
            pod("web-x1y2z-head", ("RayCluster", "web-x1y2z"), ray="web-x1y2z", part="headgroup"),
            pod("web-x1y2z-w", ("RayCluster", "web-x1y2z"), ray="web-x1y2z", part="w"),
        ],
        {"pg-web"},
    ),
    "a RayService": (
        {
            **workload("RayService", "ray.io/v1", {"rayClusterConfig": RAY}),
            "status": {"activeServiceStatus": {"rayClusterName": "named-otherwise"}},
        },
        [
            pod("a", ("RayCluster", "named-otherwise"), ray="named-otherwise", part="headgroup"),
            pod("b", ("RayCluster", "named-otherwise"), ray="named-otherwise", part="w"),
        ],
        {"pg-web"},
    ),
    "a Notebook": (
        workload("Notebook", "kubeflow.org/v1", {"template": template()}),
        [pod("web-0", ("StatefulSet", "web"), notebook="web")],
        {"pg-web"},
    ),
    "an MPIJob whose launcher is a Job": (
        workload(
            "MPIJob",
            "kubeflow.org/v2beta1",
            {"mpiReplicaSpecs": {"Launcher": {"template": template()}}},
        ),
        [pod("web-launcher-x", ("Job", "web-launcher"), kubeflow="web")],
        {"pg-web"},
    ),
    "a SparkApplication whose driver is gone": (
        workload("SparkApplication", "sparkoperator.k8s.io/v1beta2", {"driver": {}}),
        [pod("web-exec-1", ("Pod", "web-driver"), spark="web")],
        {"pg-web"},
    ),
    "a Job, by a label of pods without owners": (
        workload("Job", "batch/v1", JOB),
        [pod("web-abcde", job="web")],
        {"pg-web"},
    ),
}


def load(*manifests: dict[str, Any]) -> kai.Cluster:
    return kai.load(json.dumps([NODE, *manifests]).encode())


def groups(cluster: kai.Cluster) -> dict[str, str]:
    return {g["metadata"]["name"]: g["spec"]["queue"] for g in cluster.objects["podGroups"]}


@pytest.mark.parametrize(("owner", "pods", "expected"), CASES.values(), ids=CASES)
def test_pods_count_once_and_have_the_queue_of_their_workload(
    owner: dict[str, Any], pods: list[dict[str, Any]], expected: set[str]
) -> None:
    cluster = load(owner, *pods)
    assert [each["metadata"]["name"] for each in cluster.objects["pods"]] == sorted(
        each["metadata"]["name"] for each in pods
    )
    assert groups(cluster) == dict.fromkeys(expected, "vision")
    assert [each for each in cluster.rejected if "add the pods" in each.message] == []
    assert kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings == ()


@pytest.mark.parametrize(("owner", "pods", "expected"), CASES.values(), ids=CASES)
def test_the_order_of_the_objects_does_not_matter(
    owner: dict[str, Any], pods: list[dict[str, Any]], expected: set[str]
) -> None:
    snapshots = [load(*each).to_snapshot() for each in itertools.permutations([owner, *pods])]
    assert all(each == snapshots[0] for each in snapshots)


def test_a_run_of_a_cron_job_has_the_labels_of_its_job_template() -> None:
    cron = workload("CronJob", "batch/v1", {"jobTemplate": {"spec": JOB}})
    cron["spec"]["jobTemplate"]["metadata"] = {"labels": {QUEUE: "speech"}}
    run = pod("web-29000000-x", ("Job", "web-29000000"), job="web-29000000")
    assert groups(load(cron, run)) == {"pg-web-29000000-gone": "speech"}
    assert groups(load(cron, pod("web-a-x", ("Job", "web-a")))) == {
        "pg-web-a-gone": "default-queue"
    }


def test_the_pods_of_a_deployment_have_its_priority() -> None:
    web = deployment()
    web["metadata"]["labels"]["priorityClassName"] = "train"
    running = pod("web-6c5-a", ("ReplicaSet", "web-6c5"), app="web", hash="6c5")
    [group] = load(web, running).objects["podGroups"]
    assert group["spec"]["priorityClassName"] == "train"


@pytest.mark.parametrize(
    "other",
    [
        pod("web-6c5-a", ("ReplicaSet", "web-6c5"), namespace="other", app="web", hash="6c5"),
        pod("x", ("StatefulSet", "x"), app="web"),  # of another controller
        pod("x", ("ReplicaSet", "x"), app="webb"),
        pod("web2-6c5-a", ("ReplicaSet", "web2-6c5"), app="web2", hash="6c5"),
        pod("x"),
    ],
)
def test_pods_of_other_workloads_do_not_count(other: dict[str, Any]) -> None:
    assert len(load(deployment(), other).objects["pods"]) == 3


def test_a_replica_set_of_another_name_with_the_same_selector_is_not_the_deployments() -> None:
    """Two Deployments with one selector: the name of the ReplicaSet decides."""
    running = pod("b-6c5-x", ("ReplicaSet", "b-6c5"), app="web", hash="6c5")
    cluster = load(deployment("a"), deployment("b"), running)
    assert [each["metadata"]["name"] for each in cluster.objects["pods"]] == [
        "a-0",
        "a-1",
        "b-6c5-x",
    ]
    assert kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings == ()


def test_a_pod_without_an_owner_counts_with_a_warning() -> None:
    cluster = load(deployment(), pod("stray", app="web"))
    assert [each["metadata"]["name"] for each in cluster.objects["pods"]] == ["stray"]
    [warning] = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings
    assert warning == (
        "Deployment default/web: its selector matches default/stray, whose owner is not in the"
        " input; kai counts each as a pod of it and creates no others"
    )


def test_a_pod_that_several_deployments_select_counts_with_a_warning() -> None:
    pods = [pod(f"x-{each}", ("ReplicaSet", "x"), app="web") for each in "ab"]
    cluster = load(deployment("a"), deployment("b"), *pods)
    [warning] = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z").warnings
    assert warning.startswith(
        "Deployment default/a: its selector and that of b match default/x-a and 1 more"
    )


def test_a_deployment_beside_its_replica_sets_is_as_before() -> None:
    replica_set = workload("ReplicaSet", "apps/v1", deployment()["spec"], "web-6c5")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    replica_set["metadata"]["ownerReferences"] = [owner]
    running = pod("web-6c5-a", ("ReplicaSet", "web-6c5"), app="web", hash="6c5")
    cluster = load(deployment(), replica_set, running)
    assert groups(cluster) == {"pg-web-6c5-a": "vision"}
