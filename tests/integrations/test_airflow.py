"""Airflow: the pods that its operators and its executor make of our arguments."""

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.pod_generator import PodGenerator
from conftest import HALF_A_T4, without_nulls
from kubernetes import client

from kai.integrations import airflow
from kai.integrations.cluster_objects import scheduler_name_policy
from kai.settings import PodRequest

REQUESTS = {
    "none": PodRequest(queue="q", cpu=1, memory="1Gi"),
    "whole": PodRequest(queue="q", gpus=2),
    "fraction": PodRequest(queue="q", gpu_fraction="0.25", priority="train"),
    "memory": PodRequest(queue="q", gpu_memory="5Gi"),
    "two devices": PodRequest(queue="q", gpu_fraction=0.5, devices=2),
    "mps": PodRequest(
        queue="q", gpu_fraction=0.5, isolation="mps", mps=True, mps_pipe_directory="/run/mps"
    ),
    "mig": PodRequest(queue="q", mig="1g.5gb"),
    "claim": PodRequest(queue="q", claim="one-gpu", runtime_class="nvidia"),
    "all": PodRequest(
        queue="q",
        gpus=1,
        privileged=True,
        env={"A": "1"},
        topology="cluster",
        required_level="rack",
        container="train",
        tolerations=[
            {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        ],
    ),
}


@pytest.fixture(autouse=True)
def without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    # An operator checks with its hook whether it runs in a cluster; the hook needs a kubeconfig.
    for operator in (KubernetesPodOperator, KubernetesJobOperator):
        monkeypatch.setattr(operator, "hook", SimpleNamespace(is_in_cluster=False))


def as_json(value: Any) -> Any:
    return without_nulls(client.ApiClient().sanitize_for_serialization(value))


def pod_of(**arguments: Any) -> Any:
    operator = KubernetesPodOperator(
        task_id="train",
        name="train",
        namespace="ml",
        image="img",
        random_name_suffix=False,
        **arguments,
    )
    return as_json(operator.build_pod_request_obj())


def worker_pod_of(override: Any) -> Any:
    worker = client.V1Container(name="base", image="worker")
    return as_json(
        PodGenerator.construct_pod(
            dag_id="d",
            task_id="t",
            pod_id="pid",
            try_number=1,
            kube_image="img",
            date=None,
            args=["airflow"],
            pod_override_object=override,
            base_worker_pod=client.V1Pod(spec=client.V1PodSpec(containers=[worker])),
            namespace="ns",
            scheduler_job_id="1",
        )
    )


@pytest.mark.parametrize("native", [True, False])
def test_an_operator_pod_equals_one_written_by_hand(expected: Any, native: bool) -> None:
    built = airflow.build(HALF_A_T4)

    assert (
        pod_of(**(built.native if native else built))
        == expected("airflow-kpo-10.25.0")["KubernetesPodOperator"]
    )


def test_an_executor_pod_equals_one_written_by_hand(expected: Any) -> None:
    request = HALF_A_T4.with_changes(cpu=None, memory=None, memory_limit=None)

    assert (
        worker_pod_of(airflow.pod_override(request))
        == expected("airflow-kpo-10.25.0")["KubernetesExecutor"]
    )


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", REQUESTS)
def test_the_pod_equals_the_predicted_pod(name: str, native: bool) -> None:
    built = airflow.build(REQUESTS[name])
    pod = pod_of(**(built.native if native else built))

    expected = without_nulls(built.pod)
    labels, annotations = (
        expected["metadata"]["labels"],
        expected["metadata"].get("annotations", {}),
    )
    assert labels.items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"].get("annotations", {}) == annotations
    (container,), (found,) = pod["spec"].pop("containers"), expected["spec"].pop("containers")
    assert found.items() <= container.items()
    assert expected["spec"].items() <= pod["spec"].items()


@pytest.mark.parametrize("name", sorted(set(REQUESTS) - {"all"}))
def test_the_executor_pod_has_the_requested_settings(name: str) -> None:
    pod = worker_pod_of(airflow.pod_override(REQUESTS[name], as_native=True))

    expected = without_nulls(airflow.pod_override(REQUESTS[name], as_native=False))
    assert expected["metadata"]["labels"].items() <= pod["metadata"]["labels"].items()
    (container,), (found,) = pod["spec"].pop("containers"), expected["spec"].pop("containers")
    found.pop("env", None)
    assert found.items() <= container.items()
    assert expected["spec"].items() <= pod["spec"].items()


def test_waiting_has_its_own_timeout() -> None:
    operator = KubernetesPodOperator(task_id="t", image="i", **airflow.build(HALF_A_T4))

    assert operator.startup_timeout_seconds == 3600
    assert operator.schedule_timeout_seconds == 86400


@pytest.mark.parametrize("provider_version", ["10.0.1", "10.12.0", "10.25.0"])
def test_a_runtime_class_is_set_in_every_version(provider_version: str) -> None:
    built = airflow.build(
        HALF_A_T4.with_changes(runtime_class="nvidia"), provider_version=provider_version
    )

    assert pod_of(**built)["spec"]["runtimeClassName"] == "nvidia"


def test_a_template_keeps_its_fields_except_whole_gpus() -> None:
    template = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"team": "vision"}},
        "spec": {
            "serviceAccountName": "trainer",
            "containers": [
                {
                    "name": "trainer",
                    "env": [{"name": "A", "value": "1"}],
                    "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "4Gi"}},
                },
                {"name": "logs", "image": "logs"},
            ],
        },
    }

    built = airflow.build(HALF_A_T4, pod_template=template)
    pod = pod_of(**built)

    assert [each["name"] for each in pod["spec"]["containers"]] == ["base", "logs"]
    base = pod["spec"]["containers"][0]
    assert base["resources"]["limits"] == {"memory": "2Gi"}
    assert [each["name"] for each in base["env"]] == ["A", "NVIDIA_DRIVER_CAPABILITIES"]
    assert pod["spec"]["serviceAccountName"] == "trainer"
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    assert pod["metadata"]["labels"]["team"] == "vision"
    assert any("nvidia.com/gpu: 1" in each for each in built.warnings)


@pytest.mark.parametrize("template", [None, {"spec": {"containers": [{"name": "base"}]}}])
def test_a_job_has_the_settings_of_the_owner(template: Any) -> None:
    built = airflow.build(
        HALF_A_T4.with_changes(gang_min=2, topology="cluster", required_level="rack"),
        operator="job",
        pod_template=template,
    )
    operator = KubernetesJobOperator(
        task_id="train", name="train", namespace="ml", image="img", parallelism=2, **built
    )

    job = as_json(operator.build_job_request_obj())

    assert job["metadata"]["labels"]["kai.scheduler/queue"] == "team-a"
    assert job["metadata"]["annotations"]["kai.scheduler/batch-min-member"] == "2"
    assert job["metadata"]["annotations"]["kai.scheduler/topology"] == "cluster"
    pod = job["spec"]["template"]
    assert pod["metadata"]["annotations"]["gpu-fraction"] == "0.5"
    assert pod["spec"]["schedulerName"] == "kai-scheduler"


@pytest.mark.parametrize("api_version", ["v1", "v1beta1"])
def test_the_policies_have_only_fields_of_kubernetes(api_version: str) -> None:
    # Checked here, because this environment's client is new enough to know the kinds of policies.
    for manifest in scheduler_name_policy(HALF_A_T4, pin_queue=True, api_version=api_version):
        version = manifest["apiVersion"].rpartition("/")[2]
        kind = getattr(client, version[0].upper() + version[1:] + manifest["kind"])

        read = client.ApiClient()._ApiClient__deserialize_model(manifest, kind)

        assert as_json(read) == without_nulls(manifest)
