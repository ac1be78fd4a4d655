"""PyTorchJobs and their relatives, without kubeflow-training."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import kubernetes, training_operator

RACKS = {"topology": "racks", "required_level": "example.com/block"}


def built(gpus: dict[str, Any] | None = None, **options: Any) -> Any:
    request = kai.PodRequest(queue="team-a", **(gpus or {}))
    return training_operator.build(request, **{"name": "train", "image": "i", **options})


@EACH_GPU_REQUEST
def test_each_role_requests_the_gpu_in_the_operators_container(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    job = built(gpus, replicas={"Master": 1, "Worker": 3})
    annotations = in_container("pytorch", annotations)
    for role in job["spec"]["pytorchReplicaSpecs"].values():
        template = role["template"]
        assert template["metadata"].get("annotations", {}) == annotations
        (container,) = template["spec"]["containers"]
        assert container["name"] == "pytorch"
        assert container.get("resources", {}).get("limits", {}) == limits
        assert template["spec"]["schedulerName"] == "kai-scheduler"


@pytest.mark.parametrize(
    ("kind", "container", "roles", "without"),
    [
        ("PyTorchJob", "pytorch", ("Master", "Worker"), ()),
        ("TFJob", "tensorflow", ("Chief", "Worker", "PS"), ("PS",)),
        ("XGBoostJob", "xgboost", ("Master", "Worker"), ()),
        ("JAXJob", "jax", ("Worker",), ()),
        ("PaddleJob", "paddle", ("Master", "Worker"), ()),
        ("MPIJob", "mpi", ("Launcher", "Worker"), ("Launcher",)),
    ],
)
def test_each_kind_has_its_roles(
    kind: str, container: str, roles: tuple[str, ...], without: tuple[str, ...]
) -> None:
    job = built({"gpu_fraction": 0.5}, kind=kind, replicas=dict.fromkeys(roles, 1))
    (specs,) = [each for key, each in job["spec"].items() if key.endswith("ReplicaSpecs")]
    assert list(specs) == list(roles)
    for role, spec in specs.items():
        template = spec["template"]
        assert template["spec"]["containers"][0]["name"] == container
        assert template["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}
        assert ("annotations" in template["metadata"]) == (role not in without)
    # Volcano's field, which KAI ignores.
    assert "schedulingPolicy" not in job["spec"]["runPolicy"]


def test_the_grouper_uses_the_gang_settings_of_the_job() -> None:
    job = built(
        {"gpus": 1, "gang_min": 3, "priority": "train", **RACKS},
        replicas={"Master": 1, "Worker": 4},
        segment_size=2,
        segment_required_level="example.com/rack",
    )
    assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3}
    assert job.placement["minAvailable"] == "PyTorchJob"
    assert job.placement["kai.scheduler/segment-size"] == "pod template of the workers"
    cluster = kai.load(json.dumps([dict(job)]).encode())
    (group,) = [each["spec"] for each in cluster.objects["podGroups"]]
    assert group["minMember"] == 3
    assert group["queue"] == "team-a"
    assert group["topologyConstraint"]["requiredTopologyLevel"] == "example.com/block"
    assert "example.com/rack" in json.dumps(group["subGroups"])


def test_the_gang_minimum_of_a_role_is_unsupported() -> None:
    own = kai.PodRequest(queue="team-a", gang_min=1)
    (lost,) = built(replicas={"Master": 1, "Worker": 2}, requests={"Worker": own}).unsupported
    assert lost.setting == "gang_min"


def test_an_empty_role_of_an_existing_job_causes_a_warning() -> None:
    job = dict(built(replicas={"Master": 1, "Worker": 2}))
    message = "role Worker of the PyTorchJob has no replicas"
    request = kai.PodRequest(queue="team-a")
    assert not any(message in each for each in kubernetes.patch(job, request).warnings)
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 0
    assert any(message in each for each in kubernetes.patch(job, request).warnings)


def test_an_elastic_job_has_its_bounds() -> None:
    job = built(replicas={"Worker": 4}, elastic=(2, 8))
    assert job["spec"]["elasticPolicy"] == {"minReplicas": 2, "maxReplicas": 8}


def test_mpi_jobs_of_the_newer_api_have_slots() -> None:
    options = {"kind": "MPIJob", "api_version": "kubeflow.org/v2beta1"}
    assert built({"gpus": 4}, **options)["spec"]["slotsPerWorker"] == 4
    assert "slotsPerWorker" not in built({"gpus": 4}, kind="MPIJob")["spec"]


@pytest.mark.parametrize(
    ("gpus", "options", "message"),
    [
        ({}, {"kind": "Job"}, "kind is 'Job': write one of PyTorchJob"),
        ({}, {"replicas": {"Master": 0}}, r"replicas\['Master'\] is 0"),
        ({"gang_min": 2}, {}, "gang_min is 2, and PyTorchJob has 1 pods"),
        ({}, {"kind": "TFJob", "elastic": (1, 2)}, "a TFJob is not elastic"),
        ({}, {"elastic": (3, 2)}, "write the smaller number first"),
        ({}, {"segment_size": 2}, "only a PyTorchJob's workers"),
        (
            {"container": "main", "gpu_fraction": 0.5},
            {},
            "there is no container 'main': write one of pytorch",
        ),
    ],
)
def test_invalid_arguments_are_refused(
    gpus: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        built(gpus, **options)
