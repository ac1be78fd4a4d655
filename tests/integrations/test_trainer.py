"""With the models of kubeflow-trainer-api, and the options of kubeflow if it is installed."""

from typing import Any

import pytest
from conftest import without_nulls
from kubeflow_trainer_api import models

from kai.errors import InvalidRequestError
from kai.integrations import trainer
from kai.settings import Built, PodRequest

HALF = PodRequest(
    queue="team-a",
    gpu_fraction=0.5,
    platform="gke",
    gpu_type="nvidia-tesla-t4",
    env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
)
OF_ENVIRONMENT = {
    "kubeflow-0.5.0": ("2.3", "kubeflow-0.5.0-trainer-api-2.3.0"),
    "kubeflow-trainer-api-2.1.0": ("2.1", "kubeflow-trainer-api-2.1.0"),
    "kubeflow-trainer-api-2.0.1": ("2.0", "kubeflow-trainer-api-2.0.1"),
}
REQUESTS = {
    "none": PodRequest(queue="a", cpu="2"),
    "whole": PodRequest(queue="a", gpus=2),
    "fraction": HALF,
    "memory": PodRequest(queue="a", gpu_memory="4Gi", gang_min=2),
    "devices": PodRequest(queue="a", gpu_fraction=0.5, devices=2),
    "mig": PodRequest(queue="a", mig="1g.5gb", runtime_class="nvidia", privileged=True),
    "claim": PodRequest(queue="a", claim="a-gpu"),
    "mps": PodRequest(queue="a", gpu_memory="4Gi", isolation="mps"),
}


@pytest.fixture
def version(environment: str) -> str:
    return OF_ENVIRONMENT[environment][0]


def known_by_the_models(built: Built) -> None:
    """The models drop unknown fields: the output must equal the input."""
    job = dict(built)
    assert models.TrainerV1alpha1TrainJob.from_dict(job).to_dict() == job
    (runtime,) = built.cluster_objects
    parsed = models.TrainerV1alpha1ClusterTrainingRuntime.from_dict(dict(runtime))
    assert parsed.to_dict() == runtime


def test_this_version_accepts_the_job(environment: str, version: str, expected: Any) -> None:
    built = trainer.build(HALF, trainer_version=version, name="j", as_native=False)
    wanted = expected(OF_ENVIRONMENT[environment][1])
    if version == "2.3":
        assert without_nulls(built.cluster_objects[0]) == wanted["ClusterTrainingRuntime"]
        wanted = wanted["TrainJob"]
        # The recorded patch is the SDK's, which has its own entry.
        wanted["spec"]["runtimePatches"][0]["manager"] = trainer.MANAGER
    assert without_nulls(dict(built)) == wanted
    known_by_the_models(built)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_job_has_only_fields_of_the_models(kind: str, version: str) -> None:
    built = trainer.build(
        REQUESTS[kind].with_changes(topology="racks", required_level="rack"),
        trainer_version=version,
        name="j",
        num_nodes=4,
        num_proc_per_node="auto" if version in ("2.0", "2.1") else 1,
        as_native=False,
    )
    known_by_the_models(built)


def test_the_options_of_the_sdk_make_the_same_job(environment: str, expected: Any) -> None:
    if environment != "kubeflow-0.5.0":
        with pytest.raises(InvalidRequestError, match="no options"):
            trainer.build(HALF, trainer_version="2.1", as_native=True)
        return
    job = applied(trainer.build(HALF, as_native=True).native)
    wanted = expected(OF_ENVIRONMENT[environment][1])["TrainJob"]
    assert job["metadata"]["labels"] == wanted["metadata"]["labels"]
    assert job["spec"]["runtimePatches"] == wanted["spec"]["runtimePatches"]


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_options_equal_the_job(kind: str, environment: str) -> None:
    if environment != "kubeflow-0.5.0":
        assert trainer.build(REQUESTS[kind], trainer_version="2.0").native["kind"] == "TrainJob"
        return
    request = REQUESTS[kind].with_changes(topology="racks", required_level="rack")
    built = trainer.build(request, as_native=True)
    job = applied(built.native)
    assert job["metadata"] == built["metadata"]
    found = [each["trainingRuntimeSpec"] for each in job["spec"].get("runtimePatches", [])]
    meant = [each["trainingRuntimeSpec"] for each in built["spec"].get("runtimePatches", [])]
    assert without_nulls(found) == without_nulls(meant)


def applied(options: Any) -> dict[str, Any]:
    from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend

    backend = KubernetesBackend.__new__(KubernetesBackend)  # options check only its class
    job: dict[str, Any] = {"metadata": {}, "spec": {}}
    for option in options:
        option(job, None, backend)
    return job
