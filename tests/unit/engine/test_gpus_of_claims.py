"""Pods that request GPUs of a device plugin, and nodes that have GPUs as devices of claims."""

from typing import Any

import pytest

import kai

REASON = (
    "the node's GPUs are devices of claims; the pod needs a ResourceClaim, or a DeviceClass with "
    "extendedResourceName"
)


def cluster(*, plugin: int = 0, provided: str = "", **pod: Any) -> kai.Cluster:
    """A node with two GPUs in a ResourceSlice, and a pod."""
    made = kai.Cluster().queue("a").node("n", gpus=plugin, gpu_memory_mib=None)
    spec = {"extendedResourceName": provided} if provided else {}
    made.add("DeviceClass", {"metadata": {"name": "gpu.nvidia.com"}, "spec": spec})
    gpus = {
        "driver": "gpu.nvidia.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
    }
    made.add("ResourceSlice", {"metadata": {"name": "n-gpus"}, "spec": gpus})
    return made.pending("a/x", **pod)


def decided(given: kai.Cluster, **compat: str) -> list[str]:
    plan = kai.Scheduler({"compat": compat}).plan(given, now="2026-01-01T00:00:00Z")
    return [f"{each.kind} {each.pod}" for each in plan.decisions]


def test_the_node_refuses_the_pod_and_the_reason_has_what_it_needs() -> None:
    plan = kai.Scheduler().plan(cluster(gpus=1), now="2026-01-01T00:00:00Z")
    assert list(plan.decisions) == []
    assert REASON in plan.pods["a/x-0"].message
    assert "ResourceClaim" in plan.why("a/x")
    assert decided(cluster(gpus=1), claims_only_nodes="kai") == ["bind a/x-0"]


def test_a_device_class_that_provides_the_resource_makes_the_claim() -> None:
    assert decided(cluster(gpus=1, provided="nvidia.com/gpu")) == ["bind a/x-0"]
    assert decided(cluster(gpus=1, provided="amd.com/gpu")) == []


@pytest.mark.parametrize(
    "options",
    [{"cpus": 1}, {"resources": {"example.com/gpu": 0}}, {"resources": {"nvidia.com/gpu": 0}}],
)
def test_pods_without_gpus_are_not_concerned(options: Any) -> None:
    assert decided(cluster(**options)) == ["bind a/x-0"]


def test_a_node_with_a_device_plugin_takes_the_pod() -> None:
    assert decided(cluster(gpus=1, plugin=1)) == ["bind a/x-0"]
    assert decided(cluster(gpus=1).node("m", gpus=1)) == ["bind a/x-0"]


def test_no_pod_is_evicted_for_such_a_pod() -> None:
    given = cluster(gpus=2, priority=60)
    given.running("a/low", cpus=60, priority=10, node="n")
    assert decided(given) == []


def test_the_device_class_may_come_later() -> None:
    given = cluster(gpus=1)
    assert decided(given) == []
    spec = {"extendedResourceName": "nvidia.com/gpu"}
    given.upsert({"kind": "DeviceClass", "metadata": {"name": "gpu.nvidia.com"}, "spec": spec})
    assert decided(given) == ["bind a/x-0"]
