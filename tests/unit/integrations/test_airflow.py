"""Arguments of Airflow's operators, plain; tests/integrations/test_airflow.py runs them."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, ROWS, in_container
from kai.integrations import airflow
from kai.settings import Built, merge

TIMEOUTS = {"startup_timeout_seconds": 3600, "schedule_timeout_seconds": 86400}


def request(**arguments: Any) -> kai.PodRequest:
    return kai.PodRequest(**{"queue": "team-a", **arguments})


def plain(options: dict[str, Any] | None = None, **arguments: Any) -> Built:
    return airflow.build(request(**arguments), as_native=False, **(options or {}))


def test_half_a_t4() -> None:
    built = plain(
        gpu_fraction=0.5,
        platform="gke",
        gpu_type="nvidia-tesla-t4",
        cpu="500m",
        memory="1Gi",
        memory_limit="2Gi",
        env={"NVIDIA_DRIVER_CAPABILITIES": "all"},
        privileged=True,
        runtime_class="nvidia",
    )

    assert built == {
        "schedulername": "kai-scheduler",
        "labels": {"kai.scheduler/queue": "team-a"},
        "annotations": {"gpu-fraction": "0.5", "gpu-fraction-container-name": "base"},
        "tolerations": [GPU_TOLERATION],
        "node_selector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
        "env_vars": {"NVIDIA_DRIVER_CAPABILITIES": "all"},
        "container_resources": {
            "requests": {"cpu": "500m", "memory": "1Gi"},
            "limits": {"memory": "2Gi"},
        },
        "container_security_context": {"privileged": True},
        "runtime_class_name": "nvidia",
        **TIMEOUTS,
    }
    assert json.loads(json.dumps(dict(built))) == built
    assert built.unsupported == ()
    assert built.cluster_objects == ()


@EACH_GPU_REQUEST
def test_every_kind_of_gpu_request(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    annotations = in_container("base", annotations)
    built = plain(**gpus)

    assert built.get("annotations", {}) == annotations
    assert built.get("container_resources", {}) == ({"limits": limits} if limits else {})
    assert built.pod["metadata"].get("annotations", {}) == annotations
    (base,) = built.pod["spec"]["containers"]
    assert base == {"name": "base", **({"resources": {"limits": limits}} if limits else {})}
    assert built.pod["spec"]["schedulerName"] == "kai-scheduler"


@EACH_GPU_REQUEST
def test_an_executor_pod_runs_the_task_in_its_first_container(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    override = airflow.pod_override(request(**gpus), as_native=False)

    assert set(override) == {"metadata", "spec"}
    assert override["metadata"].get("annotations", {}).items() >= annotations.items()
    (base,) = override["spec"]["containers"]
    assert base["name"] == "base"
    assert base.get("resources", {}).get("limits", {}) == limits
    assert override["spec"]["schedulerName"] == "kai-scheduler"


def test_settings_of_the_owner_are_on_the_pod() -> None:
    built = plain(gpus=8, topology="cluster", preferred_level="rack", priority="train")

    assert built["annotations"] == {
        "kai.scheduler/topology": "cluster",
        "kai.scheduler/topology-preferred-placement": "rack",
    }
    assert built["labels"]["priorityClassName"] == "train"
    assert built.placement["kai.scheduler/topology"] == "pod"


def test_only_a_job_is_a_gang() -> None:
    pod = plain(gpus=1, gang_min=2)
    job = plain({"operator": "job"}, gpus=1, gang_min=2)

    assert "annotations" not in pod
    (unsupported,) = pod.unsupported
    assert (unsupported.setting, "KubernetesJobOperator" in unsupported.workaround) == (
        "gang_min",
        True,
    )
    assert job["annotations"] == {"kai.scheduler/batch-min-member": "2"}
    assert job.unsupported == ()
    assert job.placement["kai.scheduler/batch-min-member"] == "Job and pod template"


# ---- versions and timeouts ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "has_schedule_timeout", "has_runtime_class"),
    [("10.0.1", False, False), ("10.5.0", True, False), ("10.25.0", True, True),
     ("11.0.0", True, True), (None, True, True)],
)  # fmt: skip
def test_only_arguments_of_the_provider_are_set(
    version: str | None, has_schedule_timeout: bool, has_runtime_class: bool
) -> None:
    built = plain({"provider_version": version}, gpus=1, runtime_class="nvidia")

    assert ("schedule_timeout_seconds" in built) == has_schedule_timeout
    assert ("runtime_class_name" in built) == has_runtime_class
    assert ("pod_template_dict" in built) != has_runtime_class
    if not has_runtime_class:
        assert built["pod_template_dict"]["spec"]["runtimeClassName"] == "nvidia"


def test_timeouts_are_raised_with_a_warning() -> None:
    raised = plain(gpus=1)
    own = plain({"startup_timeout_seconds": 600, "schedule_timeout_seconds": 7200}, gpus=1)

    assert "schedule_timeout_seconds=86400" in raised.warnings[-1]
    assert "deferrable=True" in raised.warnings[-1]
    assert (own["startup_timeout_seconds"], own["schedule_timeout_seconds"]) == (600, 7200)


def test_a_container_with_another_name() -> None:
    built = plain(gpu_fraction=0.5, container="train")

    assert built["base_container_name"] == "train"
    assert built["annotations"]["gpu-fraction-container-name"] == "train"
    with pytest.raises(kai.InvalidRequestError, match="in the container base"):
        airflow.pod_override(request(gpus=1, container="train"))


def test_claims_are_set_in_a_template() -> None:
    built = plain(claim="one-gpu")

    assert built["container_resources"] == {"claims": [{"name": "gpu"}]}
    assert built["pod_template_dict"]["spec"] == {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        "containers": [{"name": "base"}],
    }


# ---- a template of one's own ---------------------------------------------------------------------


def template(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": {"team": "vision"}}, "spec": {"containers": list(containers)}}


def test_a_template_has_the_settings_under_airflows_name() -> None:
    own = template(
        {"name": "train", "resources": {"limits": {"nvidia.com/gpu": "1"}}}, {"name": "logs"}
    )
    before = json.dumps(own)
    built = plain({"pod_template": own}, gpu_fraction=0.5, cpu=1)

    assert json.dumps(own) == before
    assert set(built) == {"pod_template_dict", *TIMEOUTS}
    base, logs = built["pod_template_dict"]["spec"]["containers"]
    assert base == {"name": "base", "resources": {"requests": {"cpu": "1"}}}
    assert logs == {"name": "logs"}
    assert built["pod_template_dict"]["metadata"]["labels"] == {
        "team": "vision",
        "kai.scheduler/queue": "team-a",
    }
    assert any("nvidia.com/gpu: 1" in each for each in built.warnings)


def test_a_template_without_containers_gets_one() -> None:
    built = plain({"pod_template": {"spec": {"serviceAccountName": "a"}}}, gpus=1)
    (base,) = built["pod_template_dict"]["spec"]["containers"]
    assert base == {"name": "base", "resources": {"limits": {"nvidia.com/gpu": "1"}}}


@pytest.mark.parametrize("kind", ROWS)
def test_a_template_with_the_settings_is_unchanged(kind: str) -> None:
    gpus = ROWS[kind][0]
    once = plain({"pod_template": template({"name": "base"})}, **gpus)
    twice = plain({"pod_template": once["pod_template_dict"]}, **gpus)
    assert twice == once
    assert merge(merge({}, plain(**gpus)), plain(**gpus)) == plain(**gpus)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operator": "task"}, "write one of pod, job"),
        ({"provider_version": "newest"}, "write a version such as"),
        ({"startup_timeout_seconds": 0}, "write a whole number of at least 1"),
        ({"pod_template": template({"name": "logs"}, {"name": "base"})}, "put it first"),
    ],
)
def test_invalid_arguments_raise_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(kai.InvalidRequestError, match=message):
        plain(options, gpus=1)


def test_native_objects_need_the_library() -> None:
    with pytest.raises(kai.InvalidRequestError, match="cncf-kubernetes"):
        airflow.build(request(), as_native=True)
