"""The settings for SkyPilot, without SkyPilot."""

import copy
import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import skypilot


def pod_config(**arguments: Any) -> dict[str, Any]:
    built = skypilot.build(kai.PodRequest(queue="team-a", **arguments))
    return dict(built["kubernetes"]["pod_config"])


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    annotations = in_container("ray-node", annotations)
    config = json.loads(json.dumps(pod_config(**gpus)))
    assert config["metadata"].get("annotations", {}) == annotations
    containers = [{"name": "ray-node", "resources": {"limits": limits}}] if limits else []
    assert config["spec"].get("containers", []) == containers
    assert config["spec"]["schedulerName"] == "kai-scheduler"
    assert config["spec"].get("tolerations", []) == ([GPU_TOLERATION] if gpus else [])
    pod = skypilot.build(kai.PodRequest(queue="team-a", **gpus)).to_pod_spec()
    assert pod["spec"]["containers"][0]["name"] == "ray-node"


def test_pods_have_the_settings_of_the_owner() -> None:
    config = pod_config(priority="train", topology="t", required_level="rack")
    assert config["metadata"] == {
        "labels": {"kai.scheduler/queue": "team-a", "priorityClassName": "train"},
        "annotations": {
            "kai.scheduler/topology": "t",
            "kai.scheduler/topology-required-placement": "rack",
        },
    }


def test_the_provision_timeout_is_raised() -> None:
    request = kai.PodRequest(queue="team-a")
    assert skypilot.build(request)["kubernetes"]["provision_timeout"] == 3600
    for_ever = skypilot.build(request, provision_timeout=-1)
    assert for_ever["kubernetes"]["provision_timeout"] == -1
    assert any("waits forever" in warning for warning in for_ever.warnings)
    with pytest.raises(kai.InvalidRequestError, match="write seconds, or -1"):
        skypilot.build(request, provision_timeout="1h")  # type: ignore[arg-type]


def test_a_part_of_a_gpu_causes_warnings_about_accelerators() -> None:
    text = " ".join(skypilot.build(kai.PodRequest(queue="a", gpu_fraction=0.5)).warnings)
    assert "omit accelerators:" in text
    # Ray hides all GPUs from tasks without a GPU of their own.
    assert "unset CUDA_VISIBLE_DEVICES" in text
    whole = " ".join(skypilot.build(kai.PodRequest(queue="a", gpus=2)).warnings)
    assert "write accelerators: with 2 of your model" in whole
    none = " ".join(skypilot.build(kai.PodRequest(queue="a")).warnings)
    assert "accelerators" not in none


def test_a_gang_of_the_nodes_of_a_task_is_unsupported() -> None:
    built = skypilot.build(kai.PodRequest(queue="a", gang_min=2))
    assert [each.setting for each in built.unsupported] == ["gang_min"]
    assert "pod-group-name" in built.unsupported[0].workaround
    assert "annotations" not in built["kubernetes"]["pod_config"]["metadata"]
    with pytest.raises(kai.InvalidRequestError, match="skypilot cannot express gang_min"):
        skypilot.build(kai.PodRequest(queue="a", gang_min=2), strict=True)


def test_a_configuration_keeps_its_fields_except_whole_gpus() -> None:
    existing = {
        "jobs": {"controller": {}},
        "kubernetes": {
            "networking": "portforward",
            "provision_timeout": 60,
            "pod_config": {
                "spec": {
                    "serviceAccountName": "runner",
                    # Without a name: SkyPilot's own.
                    "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}],
                }
            },
        },
    }
    before = copy.deepcopy(existing)
    built = skypilot.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5), existing=existing)
    assert existing == before
    assert built["jobs"] == {"controller": {}}
    kubernetes = built["kubernetes"]
    assert kubernetes["networking"] == "portforward"
    assert kubernetes["provision_timeout"] == 3600
    assert kubernetes["pod_config"]["spec"]["serviceAccountName"] == "runner"
    assert '"nvidia.com/gpu":' not in json.dumps(kubernetes["pod_config"]["spec"])
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)


def test_a_context_has_its_own_settings() -> None:
    existing = {"kubernetes": {"pod_config": {"spec": {"hostNetwork": True}}}}
    built = skypilot.build(kai.PodRequest(queue="a"), existing=existing, context="gke")
    assert built["kubernetes"]["pod_config"] == {"spec": {"hostNetwork": True}}
    of_context = built["kubernetes"]["context_configs"]["gke"]
    assert of_context["pod_config"]["spec"] == {"schedulerName": "kai-scheduler"}
    assert of_context["provision_timeout"] == 3600


def test_another_container_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="ray-node: omit it"):
        skypilot.build(kai.PodRequest(queue="a", container="main"))
