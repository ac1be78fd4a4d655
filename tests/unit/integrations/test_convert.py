"""Jobs of Volcano, and workloads that Kueue queued."""

from typing import Any

import pytest

from kai.errors import InvalidRequestError
from kai.integrations import convert

MIN = "kai.scheduler/batch-min-member"


def task(name: str, replicas: int, **fields: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": name, "image": "i"}], "schedulerName": "volcano"}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **fields}


def volcano_job(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "mpi", "namespace": "a", "uid": "1", "labels": {"team": "vision"},
            "annotations": {"scheduling.volcano.sh/queue": "x"},
        },
        "spec": {"schedulerName": "volcano", "tasks": list(tasks), **spec},
    }  # fmt: skip


def parts(job_set: Any) -> dict[str, Any]:
    return {each["name"]: each["template"] for each in job_set["spec"]["replicatedJobs"]}


def test_a_volcano_job_becomes_a_job_set_of_kai() -> None:
    job = volcano_job(
        task("master", 1), task("worker", 4),
        minAvailable=5, queue="research", priorityClassName="train", maxRetry=3,
    )  # fmt: skip
    built = convert.volcano(job)
    assert built["kind"] == "JobSet"
    assert built["metadata"] == {
        "name": "mpi",
        "namespace": "a",
        "labels": {
            "team": "vision",
            "kai.scheduler/queue": "research",
            "priorityClassName": "train",
        },
    }
    assert built["spec"]["failurePolicy"] == {"maxRestarts": 3}
    for name, count in (("master", 1), ("worker", 4)):
        part = parts(built)[name]
        assert part["spec"]["parallelism"] == part["spec"]["completions"] == count
        assert "metadata" not in part  # all of them start together, KAI's default
        pod = part["spec"]["template"]
        assert pod["spec"]["schedulerName"] == "kai-scheduler"
        assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert built.unsupported == ()
    assert job["spec"]["tasks"][0]["template"]["spec"]["schedulerName"] == "volcano"


def test_queues_may_be_renamed() -> None:
    built = convert.volcano(volcano_job(task("w", 1)), queues={"default": "team-a"})
    assert built["metadata"]["labels"]["kai.scheduler/queue"] == "team-a"


def test_the_minimum_may_be_less_than_all_pods() -> None:
    one = convert.volcano(volcano_job(task("w", 4), minAvailable=2))
    assert parts(one)["w"]["metadata"]["annotations"] == {MIN: "2"}
    several = convert.volcano(
        volcano_job(task("m", 1), task("w", 4, minAvailable=3), minAvailable=4)
    )
    assert parts(several)["w"]["metadata"]["annotations"] == {MIN: "3"}
    assert "metadata" not in parts(several)["m"]
    (lost,) = convert.volcano(volcano_job(task("m", 1), task("w", 4), minAvailable=3)).unsupported
    assert lost.setting == "minAvailable"
    (none,) = convert.volcano(volcano_job(task("m", 1, minAvailable=0), task("w", 1))).unsupported
    assert none.setting == "minAvailable"


def test_unsupported_fields_are_reported() -> None:
    job = volcano_job(task("w", 1), plugins={"ssh": []}, policies=[{"event": "PodEvicted"}], odd=1)
    built = convert.volcano(job)
    assert {each.setting for each in built.unsupported} == {"spec.plugins", "spec.policies"}
    assert any("spec.odd" in each for each in built.warnings)
    with pytest.raises(InvalidRequestError, match=r"spec\.plugins"):
        convert.volcano(job, strict=True)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"apiVersion": "batch/v1", "kind": "Job"}, "apiVersion is 'batch/v1'"),
        (volcano_job(), "the Job has no tasks"),
        (volcano_job({"name": "w"}), "task w has no containers"),
        (volcano_job(task("w", 2), minAvailable=3), "minAvailable is 3 of 2 pods"),
        (volcano_job(task("w", 2, minAvailable=3)), "minAvailable of w is 3 of 2 pods"),
        (volcano_job(task("w", 0)), "replicas of task w is 0"),
    ],
)
def test_invalid_jobs_are_refused(job: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        convert.volcano(job)


def kueue_job(**labels: str) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "labels": {"kueue.x-k8s.io/queue-name": "research", **labels}},
        "spec": {"suspend": True, "template": template},
    }


def test_a_kueue_queue_becomes_a_kai_queue_and_kueue_is_removed() -> None:
    job = kueue_job(**{"kueue.x-k8s.io/priority-class": "high"})
    built = convert.kueue(job)
    assert built["metadata"]["labels"] == {"kai.scheduler/queue": "research"}
    template = built["spec"]["template"]
    assert template["metadata"] == {"labels": {"kai.scheduler/queue": "research"}}
    assert template["spec"]["schedulerName"] == "kai-scheduler"
    assert "suspend" not in built["spec"]
    assert "kueue" not in str(dict(built))
    (topology,) = built.unsupported
    assert topology.setting == "kueue.x-k8s.io/podset-required-topology"
    assert any("priority class high" in each for each in built.warnings)
    assert "suspend" in job["spec"]


def test_the_suspension_of_a_training_job_by_kueue_is_removed() -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {
            "runPolicy": {"suspend": True, "cleanPodPolicy": "All"},
            "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}},
        },
    }
    built = convert.kueue(job, queues={"q": "team-a"})
    assert built["spec"]["runPolicy"] == {"cleanPodPolicy": "All"}
    assert built["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}


def test_a_workload_without_a_queue_of_kueue_is_not_converted() -> None:
    job = kueue_job()
    del job["metadata"]["labels"]
    with pytest.raises(InvalidRequestError, match=r"use kubernetes\.patch"):
        convert.kueue(job)
