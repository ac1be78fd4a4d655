"""The settings for Prefect, without Prefect."""

import copy
import json
import re
from typing import Any

import pytest

import kai
from kai.integrations import prefect

GPU_KINDS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {}),
    ({"gpus": 2}, {"gpus": "2"}),
    ({"mig": "1g.5gb"}, {}),
    ({"gpu_fraction": 0.5}, {"gpu_fraction": "0.5"}),
    ({"gpu_memory": "5Gi"}, {"gpu_memory": "5120"}),
    ({"gpu_fraction": 0.5, "devices": 2}, {"gpu_fraction": "0.5", "gpu_devices": "2"}),
]
ANNOTATIONS = {
    "gpu-fraction": "{{ gpu_fraction }}",
    "gpu-memory": "{{ gpu_memory }}",
    "gpu-fraction-num-devices": "{{ gpu_devices }}",
    "gpu-fraction-container-name": "prefect-job",
}


def job_of(template: dict[str, Any]) -> dict[str, Any]:
    job: dict[str, Any] = template["job_configuration"]["job_manifest"]
    return job


def defaults_of(template: dict[str, Any]) -> dict[str, Any]:
    properties = template["variables"]["properties"]
    return {name: each["default"] for name, each in properties.items() if "default" in each}


@pytest.mark.parametrize(("gpus", "variables"), GPU_KINDS)
def test_amounts_are_variables_with_defaults_from_the_request(
    gpus: dict[str, Any], variables: dict[str, str]
) -> None:
    request = kai.PodRequest(queue="team-a", **gpus)
    template = prefect.base_job_template(request)
    assert prefect.job_variables(request) == {
        "kai_queue": "team-a",
        "pod_watch_timeout_seconds": 3600,
        **variables,
    }
    assert prefect.job_variables(request).items() <= defaults_of(template).items()
    pod = job_of(template)["spec"]["template"]
    assert pod["metadata"]["annotations"] == ANNOTATIONS
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == "{{ gpus }}"
    assert limits.get("nvidia.com/mig-1g.5gb") == ("1" if "mig" in gpus else None)
    assert ("tolerations" in pod["spec"]) == bool(gpus)


@pytest.mark.parametrize(("gpus", "_variables"), GPU_KINDS)
def test_the_predicted_pod_has_no_variables(
    gpus: dict[str, Any], _variables: dict[str, str]
) -> None:
    pod = prefect.build(kai.PodRequest(queue="team-a", **gpus)).to_pod_spec()
    assert "{{" not in json.dumps(pod)
    assert pod["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}
    assert pod["spec"]["containers"][0]["name"] == "prefect-job"


def test_the_queue_is_a_variable_on_the_job_and_on_the_pod() -> None:
    job = job_of(prefect.base_job_template(kai.PodRequest(queue="team-a", both=True)))
    labels = {
        "kai.scheduler/queue": "{{ kai_queue }}",
        "runai/queue": "{{ kai_queue }}",
        "priorityClassName": "{{ kai_priority }}",
    }
    assert job["metadata"]["labels"] == labels
    assert job["spec"]["template"]["metadata"]["labels"] == labels


def test_other_settings_are_fixed_for_the_pool() -> None:
    request = kai.PodRequest(
        queue="team-a",
        gpu_fraction=0.5,
        preemptible=True,
        topology="t",
        required_level="rack",
        gpu_type="Tesla-T4",
        runtime_class="nvidia",
        privileged=True,
    )
    built = prefect.build(request)
    job = job_of(built["base_job_template"])
    assert job["metadata"]["annotations"] == {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
    }
    pod = job["spec"]["template"]
    assert pod["metadata"]["labels"]["kai.scheduler/preemptibility"] == "preemptible"
    assert pod["spec"]["schedulerName"] == "kai-scheduler"
    assert pod["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "Tesla-T4"}
    assert pod["spec"]["runtimeClassName"] == "nvidia"
    assert pod["spec"]["containers"][0]["securityContext"] == {"privileged": True}
    assert built.placement["kai.scheduler/topology"] == "Job"
    # The worker copies it from the Job; before 0.7.6 it did not.
    assert "kai.scheduler/topology" not in pod["metadata"]["annotations"]
    assert built.pod["metadata"]["annotations"]["kai.scheduler/topology"] == "t"
    old = prefect.build(request, version="0.7.5")
    assert "kai.scheduler/topology" not in old.pod["metadata"]["annotations"]


def test_before_0_7_7_the_priority_is_in_the_spec() -> None:
    # There the label would arrive as priorityclassname, which KAI does not read.
    request = kai.PodRequest(queue="team-a", priority="train")
    built = prefect.build(request, version="0.7.6")
    job = job_of(built["base_job_template"])
    assert "priorityClassName" not in job["metadata"]["labels"]
    assert job["spec"]["template"]["spec"]["priorityClassName"] == "{{ kai_priority }}"
    assert built["job_variables"]["kai_priority"] == "train"
    assert built.pod["spec"]["priorityClassName"] == "train"
    assert "priorityClassName" not in built.pod["metadata"]["labels"]
    assert built.placement["priorityClassName"] == "pod template"

    newer = prefect.build(request, version="0.7.12")
    assert newer.pod["metadata"]["labels"]["priorityClassName"] == "train"
    assert newer.placement["priorityClassName"] == "Job and pod template"


def test_before_0_7_6_there_is_no_variable_for_annotations() -> None:
    request = kai.PodRequest(queue="team-a")
    old = prefect.base_job_template(request, version="0.7.5")
    assert "annotations" not in old["variables"]["properties"]
    assert "annotations" not in old["job_configuration"]
    assert "annotations" in prefect.base_job_template(request)["job_configuration"]


def test_existing_labels_that_change_cause_warnings() -> None:
    request = kai.PodRequest(queue="team-a", labels={"costCenter": "7"})
    warnings = prefect.build(request, version="0.7.5").warnings
    assert any("costCenter" in warning for warning in warnings)
    assert not any("costCenter" in warning for warning in prefect.build(request).warnings)


def test_the_schema_refuses_empty_values() -> None:
    properties = prefect.base_job_template(kai.PodRequest(queue="a"))["variables"]["properties"]
    kais = ("kai_queue", "kai_priority", "gpu_fraction", "gpu_memory", "gpu_devices", "gpus")
    for name in (*kais, "cpu_request", "memory_request", "cpu_limit", "memory_limit"):
        assert properties[name]["minLength"] == 1
    fraction = properties["gpu_fraction"]["pattern"]
    assert all(re.search(fraction, good) for good in ("0.5", ".25", "0.125"))
    assert not any(re.search(fraction, bad) for bad in ("", "0", "1", "0.0", "1.5", "half"))
    assert not re.search(properties["gpu_memory"]["pattern"], "5Gi")
    assert not re.search(properties["kai_queue"]["pattern"], "team a/b")


def test_a_template_keeps_its_fields_except_whole_gpus() -> None:
    template = prefect.base_job_template(kai.PodRequest())
    pod = job_of(template)["spec"]["template"]
    pod["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1", "memory": "2Gi"}
    pod["spec"]["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    job_of(template)["metadata"]["labels"] = "{{ labels }}"
    template["job_configuration"]["env"] = {"OF_THE_POOL": "1"}  # not a list, unlike a pod's
    template["variables"]["properties"]["env"]["default"] = {"OWN": "1"}
    before = copy.deepcopy(template)

    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5, env={"A": "1"})
    built = prefect.build(request, template=template)
    assert template == before
    made = job_of(built["base_job_template"])["spec"]["template"]["spec"]
    assert made["tolerations"][0] == {"key": "spot", "operator": "Exists"}
    assert made["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "{{ gpus }}"
    assert defaults_of(built["base_job_template"])["env"] == {"OWN": "1", "A": "1"}
    assert built["base_job_template"]["job_configuration"]["labels"] == "{{ labels }}"
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)


def test_variables_of_a_run_may_have_any_name() -> None:
    template = prefect.base_job_template(kai.PodRequest())
    own = {"replicas": "2", "labels": "a", "env": "b"}
    template["variables"]["properties"]["env"]["default"] = own
    built = prefect.build(kai.PodRequest(queue="team-a"), template=template)
    assert defaults_of(built["base_job_template"])["env"] == own


def test_a_longer_timeout_is_kept() -> None:
    template = prefect.base_job_template(kai.PodRequest())
    template["variables"]["properties"]["pod_watch_timeout_seconds"]["default"] = 86400
    made = prefect.base_job_template(kai.PodRequest(), template=template)
    assert defaults_of(made)["pod_watch_timeout_seconds"] == 86400


def test_another_container_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="prefect-job: remove container="):
        prefect.build(kai.PodRequest(queue="a", container="main"))
    template = prefect.base_job_template(kai.PodRequest())
    job_of(template)["spec"]["template"]["spec"]["containers"].insert(0, {"name": "side"})
    with pytest.raises(kai.InvalidRequestError, match="first container of the template is 'side'"):
        prefect.build(kai.PodRequest(queue="a"), template=template)


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match=r"such as 0\.8\.0"):
        prefect.build(kai.PodRequest(queue="a"), version="newest")


def test_a_gang_of_a_run_with_one_pod_causes_a_warning() -> None:
    built = prefect.build(kai.PodRequest(queue="a", gang_min=2))
    annotations = job_of(built["base_job_template"])["metadata"]["annotations"]
    assert annotations == {"kai.scheduler/batch-min-member": "2"}
    assert any("gang_min=2" in warning for warning in built.warnings)
