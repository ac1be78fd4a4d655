"""Manifests of Ray, without Ray."""

from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import kubernetes, ray
from kai.integrations.ray import WorkerGroup

HALF = {"gpu_fraction": 0.5}


def built(gpus: dict[str, Any] | None = None, **options: Any) -> Any:
    request = kai.PodRequest(queue="team-a", **(gpus or {}))
    return ray.build(request, **{"name": "r", "image": "rayproject/ray", **options})


def groups(cluster: Any) -> tuple[Any, Any]:
    """Templates of the head and of the first workers."""
    spec = cluster["spec"]
    spec = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    return spec["headGroupSpec"], spec["workerGroupSpecs"][0]


@EACH_GPU_REQUEST
@pytest.mark.parametrize("kind", ray.CLUSTERS)
def test_workers_request_gpus_and_ray_gets_their_number(
    kind: str,
    gpus: dict[str, Any],
    annotations: dict[str, str],
    limits: dict[str, str],
) -> None:
    manifest = built(gpus, kind=kind)
    head, workers = groups(manifest)
    counted = str(gpus.get("devices", 1)) if annotations or "mig" in gpus else None
    annotations = in_container("ray-worker", annotations)
    template = workers["template"]
    assert template["metadata"].get("annotations", {}) == annotations
    assert template["spec"]["containers"][0].get("resources", {}).get("limits", {}) == limits
    assert workers["rayStartParams"].get("num-gpus") == counted
    assert "annotations" not in head["template"]["metadata"]
    assert head["template"]["spec"]["schedulerName"] == "kai-scheduler"
    assert head["rayStartParams"] == {}
    assert manifest["metadata"]["labels"] == {"kai.scheduler/queue": "team-a"}
    assert manifest.to_pod_spec()["spec"] == template["spec"]


@pytest.mark.parametrize("patch", [ray.patch, kubernetes.patch])
def test_the_submission_mode_of_a_job_is_always_set(patch: Any) -> None:
    assert built(kind="RayJob")["spec"]["submissionMode"] == "HTTPMode"
    job = dict(built(kind="RayJob", submission_mode="SidecarMode"))
    assert patch(job, kai.PodRequest(queue="a"))["spec"]["submissionMode"] == "SidecarMode"
    del job["spec"]["submissionMode"]
    assert patch(job, kai.PodRequest(queue="a"))["spec"]["submissionMode"] == "HTTPMode"
    refused = built(kind="RayJob", submission_mode="K8sJobMode")
    assert any("refuses the submissionMode K8sJobMode" in each for each in refused.warnings)


def test_cluster_and_groups_have_topologies() -> None:
    request = {"gpus": 1, "topology": "racks", "required_level": "example.com/block"}
    own = kai.PodRequest(
        queue="team-a", gpus=1, topology="racks", preferred_level="example.com/rack"
    )
    manifest = built(request, groups={"a": WorkerGroup(request=own), "b": WorkerGroup()})
    required = "kai.scheduler/topology-required-placement"
    assert manifest["metadata"]["annotations"][required] == "example.com/block"
    first, second = manifest["spec"]["workerGroupSpecs"]
    assert first["template"]["metadata"]["annotations"] == {
        "kai.scheduler/topology": "racks",
        "kai.scheduler/topology-preferred-placement": "example.com/rack",
    }
    assert "annotations" not in second["template"]["metadata"]


def test_a_head_with_a_gpu_sets_its_number_for_ray() -> None:
    head, _ = groups(built(HALF, head=kai.PodRequest(queue="team-a", gpu_memory="2Gi")))
    assert head["template"]["metadata"]["annotations"]["gpu-memory"] == "2048"
    assert head["rayStartParams"] == {"num-gpus": "1"}


def test_the_size_of_the_gang_follows_from_the_groups() -> None:
    (one,) = built({"gang_min": 2}).unsupported
    assert one.setting == "gang_min"
    assert "minReplicas" in one.workaround
    workers = groups(built(groups={"w": WorkerGroup(replicas=3, min_replicas=1, hosts=2)}))[1]
    assert (workers["minReplicas"], workers["replicas"], workers["maxReplicas"]) == (1, 3, 3)
    assert workers["numOfHosts"] == 2
    empty = built(groups={"w": WorkerGroup(replicas=0, max_replicas=2)})
    assert any("starts with no workers" in each for each in empty.warnings)


def test_the_priority_label_of_kuberay_is_corrected() -> None:
    cluster = dict(built())
    cluster["metadata"]["labels"][ray.PRIORITY_LABEL] = "build"
    corrected = ray.patch(cluster, kai.PodRequest(queue="team-a", priority="train"))
    assert corrected["metadata"]["labels"][ray.PRIORITY_LABEL] == "train"
    assert any("was build" in each for each in corrected.warnings)
    kept = ray.patch(cluster, kai.PodRequest(queue="team-a"))
    assert kept["metadata"]["labels"][ray.PRIORITY_LABEL] == "build"


def test_the_queue_label_before_kai_0_6_causes_a_warning() -> None:
    message = "KubeRay's own integration"
    assert any(message in each for each in built({"legacy": True}).warnings)
    assert not any(message in each for each in built({"both": True}).warnings)


def test_worker_groups_have_no_segments() -> None:
    (one,) = built({"annotations": {"kai.scheduler/segment-size": "2"}}).unsupported
    assert one.setting == "annotations"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "RayServe"}, "kind is 'RayServe'"),
        ({"kind": "RayJob", "submission_mode": "Http"}, "submission_mode is 'Http'"),
        ({"entrypoint": "python x.py"}, "write kind='RayJob'"),
        ({"serve_config": ""}, "write kind='RayService'"),
        ({"groups": {"Big": WorkerGroup()}}, "'Big' is not a name"),
        ({"groups": {"head": WorkerGroup()}}, "a group has the name 'head'"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        built(**options)


def test_more_minimum_workers_than_workers_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="write min_replicas <= replicas"):
        WorkerGroup(replicas=1, min_replicas=2)
    cluster = dict(built())
    cluster["spec"]["workerGroupSpecs"][0]["minReplicas"] = 3
    with pytest.raises(InvalidRequestError, match="minReplicas 3 above replicas 1"):
        ray.patch(cluster, kai.PodRequest(queue="team-a"))
