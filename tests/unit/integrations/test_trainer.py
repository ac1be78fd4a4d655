"""TrainJobs and their runtimes, without kubeflow."""

from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import trainer

GANG = "kai.scheduler/batch-min-member"
FIELDS = {
    "2.0": "podSpecOverrides",
    "2.1": "podTemplateOverrides",
    "2.2": "runtimePatches",
    "2.3": "runtimePatches",
}


def built(version: str = "2.3", gpus: dict[str, Any] | None = None, **options: Any) -> Any:
    request = kai.PodRequest(queue="team-a", **(gpus or {}))
    return trainer.build(request, trainer_version=version, as_native=False, **options)


def pod_metadata(version: str, job: Any) -> dict[str, Any]:
    """The metadata of the pods in this version."""
    if version == "2.0":
        return dict(runtime_job(job)["spec"]["template"]["metadata"])
    (entry,) = job["spec"][FIELDS[version]]
    if version == "2.1":
        return dict(entry["metadata"])
    return dict(patched(entry)["spec"]["template"]["metadata"])


def patched(entry: Any) -> Any:
    return entry["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0]["template"]


def runtime_job(job: Any, at: int = 0) -> Any:
    return job.cluster_objects[0]["spec"]["template"]["spec"]["replicatedJobs"][at]["template"]


@pytest.mark.parametrize("version", trainer.VERSIONS)
@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set_in_each_version(
    version: str, gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    job = built(version, gpus)
    annotations = in_container("node", annotations)
    assert pod_metadata(version, job).get("annotations", {}) == annotations
    trains = job["spec"].get("trainer", {})
    assert trains.get("resourcesPerNode", {}).get("limits", {}) == limits
    shown = job.to_pod_spec()
    assert shown["metadata"].get("annotations", {}) == annotations
    assert shown["spec"]["containers"][0]["name"] == "node"
    others = set(FIELDS.values()) - {FIELDS[version]}
    assert not others & set(job["spec"])


@pytest.mark.parametrize("version", trainer.VERSIONS)
def test_the_scheduler_is_in_the_runtime_and_never_in_the_job(version: str) -> None:
    job = built(version, {"gpu_fraction": 0.5, "runtime_class": "nvidia"})
    pod = runtime_job(job)["spec"]["template"]["spec"]
    assert pod["schedulerName"] == "kai-scheduler"
    assert pod["runtimeClassName"] == "nvidia"
    assert "schedulerName" not in str(dict(job))
    assert "runtimeClassName" not in str(dict(job))
    (runtime,) = job.cluster_objects
    assert job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"]
    assert "ClusterTrainingRuntime" in job.placement["schedulerName"]


@pytest.mark.parametrize("version", trainer.VERSIONS)
def test_queue_and_topology_are_on_the_job_and_the_gang_on_the_replicated_job(
    version: str,
) -> None:
    job = built(
        version, {"gang_min": 2, "topology": "racks", "required_level": "rack"}, num_nodes=4
    )
    assert job["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}
    assert job["metadata"]["annotations"] == {
        "kai.scheduler/topology": "racks",
        "kai.scheduler/topology-required-placement": "rack",
    }
    patches = job["spec"].get("runtimePatches")
    where = patched(patches[0]) if patches else runtime_job(job)
    assert where["metadata"]["annotations"] == {GANG: "2"}
    assert job.unsupported == ()


def test_variables_and_resources_are_fields_of_the_trainer() -> None:
    job = built(gpus={"env": {"A": "1"}, "cpu": "2", "gpus": 1}, num_proc_per_node=1)
    assert job["spec"]["trainer"] == {
        "numProcPerNode": 1,
        "env": [{"name": "A", "value": "1"}],
        "resourcesPerNode": {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "1"}},
    }


@pytest.mark.parametrize("version", trainer.VERSIONS)
def test_a_privileged_container_needs_a_newer_version(version: str) -> None:
    job = built(version, {"privileged": True})
    in_job = "privileged" in str(dict(job))
    assert in_job == (version in ("2.2", "2.3"))
    assert ("privileged" in str(job.cluster_objects)) != in_job


def test_a_given_runtime_is_copied_without_server_fields() -> None:
    def replicated(name: str) -> dict[str, Any]:
        pod = {"spec": {"containers": [{"name": name, "image": "mine"}]}}
        return {"name": name, "template": {"spec": {"template": pod}}}

    base = {
        "apiVersion": trainer.API,
        "kind": "TrainingRuntime",
        "metadata": {
            "name": "mine", "namespace": "a", "uid": "1", "resourceVersion": "2",
            "labels": {"team": "vision"},
        },
        "spec": {
            "template": {
                "spec": {"replicatedJobs": [replicated("dataset-initializer"), replicated("node")]}
            }
        },
    }  # fmt: skip
    job = built(gpus={"gpu_fraction": 0.5}, base=base)
    (runtime,) = job.cluster_objects
    assert runtime["metadata"] == {
        "name": "kai-mine",
        "namespace": "a",
        "labels": {"team": "vision"},
    }
    assert job["spec"]["runtimeRef"] == {"name": "kai-mine", "kind": "TrainingRuntime"}
    for at in (0, 1):
        assert runtime_job(job, at)["spec"]["template"]["spec"]["schedulerName"] == "kai-scheduler"
    # The training waits for the data, so KAI must not require both.
    assert job["metadata"]["annotations"] == {GANG: "1"}
    assert "schedulerName" not in str(base)


def test_a_runtime_of_2_0_fits_one_gpu_request() -> None:
    job = built("2.0", {"gpu_fraction": 0.5}, runtime_name="half-a-gpu")
    assert job["spec"]["runtimeRef"]["name"] == "half-a-gpu"
    assert job.cluster_objects[0]["metadata"]["name"] == "half-a-gpu"
    assert any("runtime_name=" in each for each in job.warnings)
    assert not any("runtime_name=" in each for each in built("2.1", {"gpu_fraction": 0.5}).warnings)


@pytest.mark.parametrize(
    ("gpus", "options", "message"),
    [
        ({}, {"version": "1.9"}, "trainer_version is '1.9'"),
        ({}, {"runtime": "deepspeed"}, "write base= with its manifest"),
        ({"gang_min": 3}, {"num_nodes": 2}, "gang_min is 3, but num_nodes is 2"),
        ({}, {"job": "trainer"}, "write job= with one of node"),
    ],
)
def test_invalid_arguments_are_refused(
    gpus: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        built(gpus=gpus, **options)


def test_a_part_of_a_gpu_needs_the_number_of_processes() -> None:
    message = "num_proc_per_node=1"
    assert any(message in each for each in built(gpus={"gpu_fraction": 0.5}).warnings)
    given = built(gpus={"gpu_fraction": 0.5}, num_proc_per_node=1)
    assert not any(message in each for each in given.warnings)
