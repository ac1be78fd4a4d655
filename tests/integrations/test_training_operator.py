"""With kubeflow-training: its classes accept what is built, and return it unchanged."""

from __future__ import annotations

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


def test_a_job_comes_out_as_the_library_makes_it(expected: Any) -> None:
    built = training_operator.build(
        HALF, name="j", image="img", replicas={"Master": 1, "Worker": 1}, as_native=True
    )
    assert isinstance(built.native, KubeflowOrgV1PyTorchJob)
    assert serialised(built.native) == expected("kubeflow-training-1.9.4")
    assert without_nulls(dict(built)) == expected("kubeflow-training-1.9.4")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_native_and_says_the_same_as_the_plain_values(kind: str) -> None:
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


def test_elastic_jobs_have_both_bounds_and_the_number_that_wins() -> None:
    built = training_operator.build(
        HALF, name="j", image="img", replicas={"Worker": 4}, elastic=(2, 4), as_native=True
    )
    assert built.native.spec.elastic_policy.min_replicas == 2
    assert built.native.spec.run_policy.scheduling_policy.min_available == 2


def test_a_job_without_an_image_is_no_reason_to_fail_for_plain_values() -> None:
    assert training_operator.build(HALF, replicas={"Master": 2}, as_native=False)["spec"]


def test_the_gpu_of_a_native_job_that_exists_is_taken_away() -> None:
    from kai.integrations import kubernetes

    job = training_operator.build(
        PodRequest(queue="team-a", gpus=1), name="j", image="img", as_native=True
    ).native
    built = kubernetes.patch(job, HALF.with_changes(gang_min=None))
    template = built["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    assert "nvidia.com/gpu" not in template["spec"]["containers"][0]["resources"]["limits"]
    assert template["metadata"]["annotations"]["gpu-fraction"] == "0.5"


def test_more_than_the_job_has_cannot_start_together() -> None:
    with pytest.raises(InvalidRequestError, match="gang_min is 2"):
        training_operator.build(HALF, name="j", image="img", replicas={"Master": 1})
