"""With kubeflow-training: its classes accept what is built, and return it unchanged."""

from typing import Any

import pytest
from conftest import HALF_A_T4, without_nulls
from kubeflow.training import KubeflowOrgV1MPIJob, KubeflowOrgV1PyTorchJob
from kubernetes.client import ApiClient, V1PodSpec

from kai.errors import InvalidRequestError
from kai.integrations import training_operator
from kai.settings import PodRequest
from kai.settings.native import to_plain

HALF = HALF_A_T4.with_changes(gang_min=2)
KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "MPIJob")


def serialised(native: Any) -> Any:
    return without_nulls(ApiClient().sanitize_for_serialization(native))


def test_a_job_equals_one_made_by_the_library(expected: Any) -> None:
    built = training_operator.build(
        HALF, name="j", image="img", replicas={"Master": 1, "Worker": 1}, as_native=True
    )
    assert isinstance(built.native, KubeflowOrgV1PyTorchJob)
    assert serialised(built.native) == expected("kubeflow-training-1.9.4")
    assert without_nulls(dict(built)) == expected("kubeflow-training-1.9.4")


@pytest.mark.parametrize("kind", KINDS)
def test_native_objects_of_every_kind_equal_the_plain_values(kind: str) -> None:
    roles = {"Worker": 2} if kind in ("TFJob", "JAXJob", "PaddleJob") else None
    request = HALF.with_changes(gang_min=1, topology="racks", required_level="rack")
    built = training_operator.build(
        request, kind=kind, name="j", image="img", replicas=roles, as_native=True
    )
    assert serialised(built.native) == without_nulls(dict(built))
    assert to_plain(built.native) == without_nulls(dict(built))


def test_the_launcher_of_an_mpi_job_has_the_scheduler_and_no_gpu() -> None:
    built = training_operator.build(
        HALF, kind="MPIJob", name="j", image="img", replicas={"Launcher": 1, "Worker": 2}
    )
    assert isinstance(built.native, KubeflowOrgV1MPIJob)
    launcher = built.native.spec.mpi_replica_specs["Launcher"].template
    assert isinstance(launcher.spec, V1PodSpec)
    assert launcher.spec.scheduler_name == "kai-scheduler"
    assert launcher.metadata.annotations is None


def test_elastic_jobs_have_both_bounds_and_the_effective_number() -> None:
    built = training_operator.build(
        HALF, name="j", image="img", replicas={"Worker": 4}, elastic=(2, 4), as_native=True
    )
    assert built.native.spec.elastic_policy.min_replicas == 2
    assert built.native.spec.run_policy.scheduling_policy.min_available == 2


def test_plain_values_need_no_image() -> None:
    assert training_operator.build(HALF, replicas={"Master": 2}, as_native=False)["spec"]


def test_the_gpu_of_an_existing_native_job_is_removed() -> None:
    from kai.integrations import kubernetes

    job = training_operator.build(
        PodRequest(queue="team-a", gpus=1), name="j", image="img", as_native=True
    ).native
    built = kubernetes.patch(job, HALF.with_changes(gang_min=None))
    template = built["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    assert "nvidia.com/gpu" not in template["spec"]["containers"][0]["resources"]["limits"]
    assert template["metadata"]["annotations"]["gpu-fraction"] == "0.5"


def test_a_gang_larger_than_the_job_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="gang_min is 2"):
        training_operator.build(HALF, name="j", image="img", replicas={"Master": 1})
