"""The settings for Dagster, without Dagster."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import dagster

TAG = "dagster-k8s/config"


def config(**arguments: Any) -> dict[str, Any]:
    return dict(dagster.build(kai.PodRequest(queue="team-a", **arguments), as_native=False)[TAG])


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    tag = config(**gpus)
    annotations = in_container("dagster", annotations)
    assert tag["pod_template_spec_metadata"].get("annotations", {}) == annotations
    assert tag.get("container_config", {}).get("resources", {}).get("limits", {}) == limits
    assert tag["pod_spec_config"].get("tolerations", []) == ([GPU_TOLERATION] if gpus else [])
    assert tag["pod_spec_config"]["scheduler_name"] == "kai-scheduler"
    pod = dagster.build(kai.PodRequest(queue="team-a", **gpus)).to_pod_spec()
    assert pod["metadata"].get("annotations", {}) == annotations
    assert pod["spec"]["containers"][0]["name"] == "dagster"


def test_settings_of_the_job_are_on_the_job() -> None:
    built = dagster.build(
        kai.PodRequest(queue="team-a", priority="train", topology="t", required_level="rack")
    )
    labels = {"kai.scheduler/queue": "team-a", "priorityClassName": "train"}
    topology = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}
    assert built[TAG]["job_metadata"] == {"labels": labels, "annotations": topology}
    assert built[TAG]["pod_template_spec_metadata"] == {"labels": labels}
    assert built.placement["kai.scheduler/topology"] == "Job of the step"
    assert built.placement["kai.scheduler/queue"] == "Job of the step and pod of the step"
    assert built.pod["metadata"] == {"labels": labels}


def test_the_settings_are_json_in_snake_case() -> None:
    tag = config(
        gpus=1,
        runtime_class="nvidia",
        privileged=True,
        env={"A": 1},
        tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
        node_selector={"example.com/nodeType": "big"},
    )
    assert json.loads(json.dumps(tag)) == tag
    assert tag["pod_spec_config"] == {
        "scheduler_name": "kai-scheduler",
        "node_selector": {"example.com/nodeType": "big"},
        "tolerations": [
            {"key": "a", "operator": "Exists", "toleration_seconds": 5},
            GPU_TOLERATION,
        ],
        "runtime_class_name": "nvidia",
    }
    assert tag["container_config"] == {
        "env": [{"name": "A", "value": "1"}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
        "security_context": {"privileged": True},
    }


def test_an_existing_tag_keeps_its_fields_except_whole_gpus() -> None:
    existing = {
        "container_config": {
            "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "2Gi"}},
            "env_from": [{"config_map_ref": {"name": "c"}}],
        },
        "pod_spec_config": {"serviceAccountName": "runner", "tolerations": [GPU_TOLERATION]},
        "job_spec_config": {"ttl_seconds_after_finished": 60},
    }
    built = dagster.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5), existing=existing)
    assert built[TAG]["container_config"] == {
        "resources": {"limits": {"memory": "2Gi"}},
        "env_from": [{"config_map_ref": {"name": "c"}}],
    }
    assert built[TAG]["pod_spec_config"] == {
        "service_account_name": "runner",
        "scheduler_name": "kai-scheduler",
        "tolerations": [GPU_TOLERATION],
    }
    assert built[TAG]["job_spec_config"] == {"ttl_seconds_after_finished": 60}
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)


def test_a_container_with_another_name_gets_the_settings() -> None:
    given = config(gpu_fraction=0.5, container="trainer")
    assert given["container_config"]["name"] == "trainer"
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    built = dagster.build(request, existing={"container_config": {"name": "mine"}})
    annotations = built[TAG]["pod_template_spec_metadata"]["annotations"]
    assert annotations["gpu-fraction-container-name"] == "mine"


def test_steps_owned_by_the_run_have_no_topology() -> None:
    request = kai.PodRequest(queue="team-a", topology="t", required_level="rack")
    built = dagster.build(request, owner_references=True)
    assert [each.setting for each in built.unsupported] == ["topology"]
    assert "annotations" not in built[TAG]["job_metadata"]
    with pytest.raises(kai.InvalidRequestError, match="enable_owner_references"):
        dagster.build(request, owner_references=True, strict=True)


def test_a_gang_larger_than_the_job_causes_a_warning() -> None:
    request = kai.PodRequest(queue="team-a", gang_min=2)
    built = dagster.build(request)
    assert built[TAG]["job_metadata"]["annotations"] == {"kai.scheduler/batch-min-member": "2"}
    assert any("gang_min=2" in warning for warning in built.warnings)
    enough = dagster.build(request, existing={"job_spec_config": {"parallelism": 2}})
    assert not any("gang_min=2" in warning for warning in enough.warnings)


def test_the_start_timeout_causes_a_warning() -> None:
    built = dagster.build(kai.PodRequest(queue="team-a"))
    assert any("start_timeout_seconds to 3600" in warning for warning in built.warnings)


def test_an_unknown_merge_behavior_is_refused() -> None:
    request = kai.PodRequest(queue="team-a")
    assert dagster.build(request, merge_behavior="SHALLOW")[TAG]["merge_behavior"] == "SHALLOW"
    with pytest.raises(kai.InvalidRequestError, match="write one of DEEP, SHALLOW"):
        dagster.build(request, merge_behavior="shallow")


def test_a_pod_of_pipes_is_its_own_owner() -> None:
    request = kai.PodRequest(
        queue="team-a", gpu_fraction=0.5, env={"A": "1"}, topology="t", required_level="rack"
    )
    built = dagster.build(request, pipes=True)
    assert built["base_pod_meta"] == {
        "labels": {"kai.scheduler/queue": "team-a"},
        "annotations": {
            "kai.scheduler/topology": "t",
            "kai.scheduler/topology-required-placement": "rack",
            "gpu-fraction": "0.5",
            "gpu-fraction-container-name": "dagster-pipes-execution",
        },
    }
    assert built["base_pod_spec"] == {
        "scheduler_name": "kai-scheduler",
        "tolerations": [GPU_TOLERATION],
        "containers": [
            {"name": "dagster-pipes-execution", "env": [{"name": "A", "value": "1"}]},
        ],
    }
    assert dagster.build(request, pipes=True, existing=built) == built
    given = {**built, "env": {"OWN": "1"}}  # an argument of run(), where it is not a list
    assert dagster.build(request, pipes=True, existing=given) == given
    assert any("pod_wait_timeout" in warning for warning in built.warnings)


def test_pipes_has_no_gang() -> None:
    built = dagster.build(kai.PodRequest(queue="team-a", gang_min=2), pipes=True)
    assert [each.setting for each in built.unsupported] == ["gang_min"]
    assert "annotations" not in built["base_pod_meta"]
