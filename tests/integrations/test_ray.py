"""With Ray: how its autoscaler reads the manifests."""

from collections.abc import Mapping
from typing import Any

import pytest
from conftest import HALF_A_T4, without_nulls
from ray.autoscaler._private.kuberay.autoscaling_config import (
    _derive_autoscaling_config_from_ray_cr,
)

from kai.integrations import kubernetes
from kai.integrations import ray as kai_ray
from kai.integrations.ray import WorkerGroup
from kai.settings import PodRequest

HALF = HALF_A_T4.with_changes(cpu_limit="1")
# A head on a node with GPUs that uses none of them.
HEAD = HALF.with_changes(gpu_fraction=None, tolerations=HALF.tolerations)


def resources_of(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """The resources that Ray reads for the pods of each group."""
    types = _derive_autoscaling_config_from_ray_cr(dict(cluster))["available_node_types"]
    return {name: each["resources"] for name, each in types.items()}


def a_cluster(request: PodRequest, **options: Any) -> Mapping[str, Any]:
    groups = {"gpu": WorkerGroup(max_replicas=2)}
    options = {"groups": groups, "autoscaling": True, **options}
    return kai_ray.build(request, name="rc", namespace="ns", image="rayproject/ray", **options)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
def test_kuberay_accepts_the_manifests(kind: str, expected: Any) -> None:
    options: dict[str, Any] = {
        "RayCluster": {"name": "rc", "namespace": "ns"},
        "RayJob": {"name": "rj", "entrypoint": "python x.py"},
        "RayService": {"name": "rs", "serve_config": "applications: []"},
    }[kind]
    built = kai_ray.build(
        HALF,
        kind=kind,
        image="rayproject/ray",
        groups={"gpu": WorkerGroup(max_replicas=2)},
        head=HEAD,
        head_start_params={"num-cpus": "0"},
        autoscaling=True,
        **options,
    )
    assert without_nulls(dict(built)) == expected("ray-kuberay-2.60.0")[kind]


def test_ray_counts_half_a_gpu_as_one(expected: Any) -> None:
    cluster = a_cluster(HALF, head=HEAD, head_start_params={"num-cpus": "0"})
    seen = expected("ray-kuberay-2.60.0")["autoscaler_resources"]
    assert resources_of(cluster) == seen


@pytest.mark.parametrize(
    ("request_", "gpus"),
    [
        (PodRequest(queue="a", cpu_limit="1"), None),
        (PodRequest(queue="a", cpu_limit="1", gpus=2), 2),
        (PodRequest(queue="a", cpu_limit="1", gpu_fraction=0.25), 1),
        (PodRequest(queue="a", cpu_limit="1", gpu_memory="4Gi"), 1),
        (PodRequest(queue="a", cpu_limit="1", gpu_fraction=0.5, devices=2), 2),
        (PodRequest(queue="a", cpu_limit="1", mig="1g.5gb"), 1),
        (PodRequest(queue="a", cpu_limit="1", claim="a-gpu"), 1),
    ],
)
def test_ray_counts_whole_gpus_of_every_resource_name(
    request_: PodRequest, gpus: int | None
) -> None:
    seen = resources_of(a_cluster(request_, head_start_params={"num-cpus": "0"}))
    assert seen["gpu"].get("GPU") == gpus
    assert "GPU" not in seen["headgroup"]


def test_patching_corrects_a_cluster_that_ray_would_refuse() -> None:
    cluster = dict(a_cluster(HALF, head_start_params={"num-cpus": "0"}))
    group = cluster["spec"]["workerGroupSpecs"][0]
    group["rayStartParams"]["num-gpus"] = "0.5"
    with pytest.raises(ValueError, match=r"0\.5"):
        resources_of(cluster)
    mended = kubernetes.patch(cluster, HALF)
    assert resources_of(mended)["gpu"]["GPU"] == 1
    assert any("num-gpus" in warning for warning in mended.warnings)


def test_resources_of_a_group_override_its_parameters() -> None:
    cluster = dict(a_cluster(HALF, head_start_params={"num-cpus": "0"}))
    cluster["spec"]["workerGroupSpecs"][0]["resources"] = {"GPU": "4"}
    assert resources_of(cluster)["gpu"]["GPU"] == 4
    assert resources_of(kai_ray.patch(cluster, HALF))["gpu"]["GPU"] == 1
