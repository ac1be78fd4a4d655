"""The settings for Flyte, without Flyte."""

import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import flyte


def plain(**arguments: Any) -> dict[str, Any]:
    return dict(flyte.build(kai.PodRequest(queue="team-a", **arguments), as_native=False))


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    annotations = in_container("primary", annotations)
    template = plain(**gpus)
    container = {"name": "primary", **({"resources": {"limits": limits}} if limits else {})}
    spec = {"schedulerName": "kai-scheduler", "containers": [container]}
    assert json.loads(json.dumps(template)) == {
        "pod_spec": {**spec, "tolerations": [GPU_TOLERATION]} if gpus else spec,
        "primary_container_name": "primary",
        "labels": {"kai.scheduler/queue": "team-a"},
        "annotations": annotations,
    }


def test_settings_of_the_owner_are_on_the_pod() -> None:
    template = plain(priority="train", topology="t", required_level="rack")
    assert template["labels"]["priorityClassName"] == "train"
    assert template["annotations"] == {
        "kai.scheduler/topology": "t",
        "kai.scheduler/topology-required-placement": "rack",
    }


def test_a_template_keeps_its_fields_except_whole_gpus() -> None:
    existing = {
        "pod_spec": {
            "serviceAccountName": "runner",
            "containers": [
                {"name": "side", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
                {"name": "main", "env": [{"name": "A", "value": "1"}]},
            ],
        },
        "primary_container_name": "main",
        "labels": {"team": "vision"},
    }
    built = flyte.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5), existing=existing,
                        as_native=False)  # fmt: skip
    assert built["annotations"]["gpu-fraction-container-name"] == "main"
    assert built["labels"] == {"team": "vision", "kai.scheduler/queue": "team-a"}
    assert built["pod_spec"]["serviceAccountName"] == "runner"
    assert [each["name"] for each in built["pod_spec"]["containers"]] == ["side", "main"]
    assert "nvidia.com/gpu" not in json.dumps(built["pod_spec"]["containers"])
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)


def test_a_missing_primary_container_is_added_last() -> None:
    existing = {"pod_spec": {"containers": [{"name": "side"}]}}
    built = flyte.build(kai.PodRequest(queue="a", gpu_fraction=0.5), existing=existing)
    names = [each["name"] for each in built.pod["spec"]["containers"]]
    assert names == ["side", "primary"]
    assert built["annotations"]["gpu-fraction-container-name"] == "primary"


def test_a_gang_is_unsupported() -> None:
    built = flyte.build(kai.PodRequest(queue="a", gang_min=2))
    assert [each.setting for each in built.unsupported] == ["gang_min"]
    assert built["annotations"] == {}
    with pytest.raises(kai.InvalidRequestError, match="flyte cannot express gang_min"):
        flyte.build(kai.PodRequest(queue="a", gang_min=2), strict=True)


def test_conflicting_task_arguments_cause_warnings() -> None:
    text = " ".join(flyte.build(kai.PodRequest(queue="a", gpu_fraction=0.5, cpu=1)).warnings)
    assert "accelerator=" in text
    assert "requests= and limits=" in text
    assert "pod-pending-timeout" in text
    none = " ".join(flyte.build(kai.PodRequest(queue="a")).warnings)
    assert "accelerator=" not in none
    assert "requests= and limits=" not in none


def test_an_unknown_sdk_is_refused() -> None:
    with pytest.raises(kai.InvalidRequestError, match="write one of flytekit, flyte"):
        flyte.build(kai.PodRequest(queue="a"), sdk="flyte2")
