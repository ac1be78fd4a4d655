"""The name of a pod or workload that is in no pod group of a plan is answered with the cause."""

import copy
import pickle
from pathlib import Path

import pytest
import yaml

import kai

TEMPLATE = {"spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "c", "image": "x"}]}}


def workload(kind: str, spec: dict[str, object], **members: object) -> dict[str, object]:
    version = "apps/v1" if kind == "Deployment" else "batch/v1"
    template = copy.deepcopy(TEMPLATE)
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
    labels = {"app": "x"}
    template["metadata"] = {"labels": labels}
    spec = {**spec, "template": template}
    if kind == "Deployment":
        spec["selector"] = {"matchLabels": labels}
    metadata = {"name": "train", "namespace": "a"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, **members}


def pod(phase: str, *, scheduler: str = "kai-scheduler", owner: str = "") -> dict[str, object]:
    spec = {**TEMPLATE["spec"], "nodeName": "n1", "schedulerName": scheduler}
    metadata = {"name": "train-abc", "namespace": "a"}
    if owner:
        kind, name = owner.split()
        made = {"apiVersion": "batch/v1", "kind": kind, "name": name, "controller": True}
        metadata["ownerReferences"] = [{**made, "uid": "u"}]
    status = {"phase": phase}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


@pytest.fixture
def plan_of(tmp_path: Path):
    def plan(*manifests: dict[str, object]) -> kai.Plan:
        file = tmp_path / "cluster.yaml"
        file.write_text(yaml.safe_dump_all(manifests))
        return kai.Scheduler().plan(kai.load(file))

    return plan


@pytest.mark.parametrize(
    ("kind", "spec", "why"),
    [
        ("Job", {"suspend": True}, "spec.suspend is true"),
        ("Job", {"parallelism": 0}, "spec.parallelism is 0"),
        ("Deployment", {"replicas": 0}, "spec.replicas is 0"),
    ],
)
def test_a_workload_without_pods_has_the_cause(
    plan_of, kind: str, spec: dict[str, object], why: str
) -> None:
    plan = plan_of(workload(kind, spec))
    for name in ("train", "a/train"):
        assert plan.why(name) == f"{kind} a/train has no pods to plan: {why}."
    assert plan.fix("train").why_none == plan.why("train")


def test_a_job_that_is_complete_has_no_pods(plan_of) -> None:
    condition = {"type": "Complete", "status": "True"}
    plan = plan_of(workload("Job", {}, status={"conditions": [condition]}))
    why = "its condition Complete is True"
    assert plan.why("train") == f"Job a/train has no pods to plan: {why}."


def test_a_cron_job_has_no_pods_now(plan_of) -> None:
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    metadata = {"name": "train", "namespace": "a"}
    plan = plan_of(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec}
    )
    why = "it creates Jobs later, at the times of its schedule"
    assert plan.why("train") == f"CronJob a/train has no pods to plan: {why}."


def test_a_suspended_job_is_suspended_though_a_pod_of_it_has_ended(plan_of) -> None:
    plan = plan_of(workload("Job", {"suspend": True}), pod("Failed", owner="Job train"))
    assert plan.why("train") == "Job a/train has no pods to plan: spec.suspend is true."
    assert plan.why("train-abc") == "a/train-abc has ended: Failed."


@pytest.mark.parametrize("name", ["train-abc", "a/train-abc", "train", "a/train"])
def test_a_pod_that_has_ended(plan_of, name: str) -> None:
    assert plan_of(pod("Succeeded", owner="Job train")).why(name) == (
        "a/train-abc has ended: Succeeded."
    )


def test_a_pod_of_a_deployment_is_known_by_the_name_of_the_deployment(plan_of) -> None:
    plan = plan_of(pod("Failed", owner="ReplicaSet train-5d4f"))
    assert plan.why("train") == "a/train-abc has ended: Failed."


def test_a_running_pod_of_another_scheduler() -> None:
    cluster = kai.Cluster().node("n1", gpus=1)
    cluster.upsert(pod("Running", scheduler="default-scheduler"))
    assert kai.Scheduler().plan(cluster).why("train-abc") == (
        "a/train-abc is not planned: schedulerName is default-scheduler, and this plan is for "
        "kai-scheduler."
    )


def test_other_names_are_unknown(plan_of) -> None:
    plan = plan_of(workload("Job", {"suspend": True}), pod("Succeeded", owner="Job other"))
    for name in ("trai", "b/train", "train-"):
        with pytest.raises(kai.NotFoundError, match="there is no pod group"):
            plan.why(name)


def test_copies_of_a_cluster_know_its_workloads(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(workload("Job", {"suspend": True})))
    cluster = kai.load(file)
    for each in (cluster.copy(), pickle.loads(pickle.dumps(cluster))):
        why = kai.Scheduler().plan(each).why("train")
        assert why == "Job a/train has no pods to plan: spec.suspend is true."
