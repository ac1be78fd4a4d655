"""Requests for GPUs of a device plugin, beside nodes that have GPUs for claims only."""

import json
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main
from kai.linting import lint

CODE = "gpus-in-claims-only"


def node(**allocatable: str) -> dict[str, Any]:
    held = {"cpu": "16", "memory": "64Gi", "pods": "110", **allocatable}
    return {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": held}}


def device_slice(driver: str = "gpu.nvidia.com") -> dict[str, Any]:
    spec = {"driver": driver, "nodeName": "n", "devices": [{"name": "gpu-0"}]}
    return {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def device_class(resource: str | None = None) -> dict[str, Any]:
    spec = {} if resource is None else {"extendedResourceName": resource}
    return {"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": spec}


def pod(resource: str = "nvidia.com/gpu", part: str = "limits", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": {resource: "1"}, part: {resource: "1"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"kai.scheduler/queue": "q"}},
        "spec": {"schedulerName": "kai-scheduler", "containers": [container], **spec},
    }


def codes(*objects: dict[str, Any]) -> list[str]:
    return [each.code for each in lint(list(objects))]


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "amd.com/gpu"])
@pytest.mark.parametrize("part", ["limits", "requests"])
def test_no_given_node_takes_the_pod(resource: str, part: str) -> None:
    assert codes(node(), device_slice(), device_class(), pod(resource, part)) == [CODE]


@pytest.mark.parametrize("key", ["gpu-fraction", "gpu-memory"])
@pytest.mark.parametrize("provided", [None, "nvidia.com/gpu"])
def test_no_given_node_takes_a_part_of_a_gpu(key: str, provided: str | None) -> None:
    half = pod("cpu")
    half["metadata"]["labels"]["kai.scheduler/queue"] = "default-queue"
    half["metadata"]["annotations"] = {key: "0.5" if key == "gpu-fraction" else "4000"}
    given = [node(), device_slice(), device_class(provided), half]
    [finding] = lint(given)
    assert (finding.code, finding.path) == (CODE, f"metadata.annotations[{key}]")
    plan = kai.Scheduler().plan(kai.load(json.dumps(given).encode()))
    assert plan.decisions == ()
    sentence = "node n with GPUs for claims only, so the pod needs a ResourceClaim"
    assert sentence in plan.why("default/pg-p")


def test_a_device_class_that_provides_the_resource_is_enough() -> None:
    assert codes(node(), device_slice(), device_class("nvidia.com/gpu"), pod()) == []
    other = device_class("amd.com/gpu")
    assert codes(node(), device_slice(), other, pod()) == [CODE]


def test_one_node_with_a_device_plugin_is_enough() -> None:
    other = {**node(**{"nvidia.com/gpu": "8"}), "metadata": {"name": "other"}}
    assert codes(node(), other, device_slice(), pod()) == []


def test_without_slices_of_gpus_nothing_is_known() -> None:
    assert codes(node(), pod()) == []
    assert codes(node(), device_slice("network.example.com"), pod()) == []


def test_pods_without_gpus_and_pods_of_other_schedulers_are_not_checked() -> None:
    assert codes(node(), device_slice(), pod("cpu")) == []
    other = pod(schedulerName="default-scheduler")
    del other["metadata"]["labels"]
    assert codes(node(), device_slice(), other) == []


def test_the_template_of_a_workload_is_checked_and_files_are_read_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "node.yaml").write_text(
        "kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, devices: []}\n"
    )
    (tmp_path / "job.yaml").write_text(
        """
kind: Job
metadata: {name: j, labels: {kai.scheduler/queue: q}}
spec:
  template:
    spec:
      schedulerName: kai-scheduler
      containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]
"""
    )
    main(["lint", str(tmp_path)])
    out = capsys.readouterr().out
    assert CODE in out
    assert "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]" in out
