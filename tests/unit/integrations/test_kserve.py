"""The settings for KServe, without KServe."""

import copy
import json
from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import kserve


def predictor(**arguments: Any) -> dict[str, Any]:
    built = kserve.build(kai.PodRequest(queue="team-a", **arguments), as_native=False)
    return dict(json.loads(json.dumps(built.settings))["spec"]["predictor"])


@EACH_GPU_REQUEST
@pytest.mark.parametrize("mode", ["RawDeployment", "Serverless"])
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str], mode: str
) -> None:
    annotations = in_container("kserve-container", annotations)
    made = predictor(**gpus)
    assert made.get("annotations", {}) == annotations
    assert made.get("model", {}).get("resources", {}).get("limits", {}) == limits
    assert made.get("tolerations", []) == ([GPU_TOLERATION] if gpus else [])
    assert made["schedulerName"] == "kai-scheduler"
    pod = kserve.build(kai.PodRequest(queue="team-a", **gpus), mode=mode).to_pod_spec()
    assert annotations.items() <= pod["metadata"].get("annotations", {}).items()
    (main,) = pod["spec"]["containers"]
    assert main["name"] == "kserve-container"
    assert main.get("resources", {}).get("limits", {}) == limits


def test_the_queue_is_on_the_service_and_on_its_predictor() -> None:
    built = kserve.build(kai.PodRequest(queue="team-a", priority="inference"), name="m")
    labels = {"kai.scheduler/queue": "team-a", "priorityClassName": "inference"}
    assert built["metadata"] == {"name": "m", "labels": labels}
    assert built["spec"]["predictor"]["labels"] == labels
    assert built.placement["kai.scheduler/queue"] == "InferenceService and predictor"


def test_a_deployment_has_the_topology_of_its_predictor() -> None:
    request = kai.PodRequest(queue="team-a", topology="t", required_level="rack")
    topology = {"kai.scheduler/topology": "t", "kai.scheduler/topology-required-placement": "rack"}
    raw = kserve.build(request)
    assert raw["spec"]["predictor"]["annotations"] == topology
    assert raw.unsupported == ()
    serverless = kserve.build(request, mode="Serverless")
    assert [each.setting for each in serverless.unsupported] == ["topology"]
    assert topology.keys().isdisjoint(serverless["spec"]["predictor"]["annotations"])


def test_knative_needs_feature_flags_and_a_longer_timeout() -> None:
    request = kai.PodRequest(
        queue="team-a", gpu_fraction=0.5, gpu_type="Tesla-T4", runtime_class="nvidia"
    )
    built = kserve.build(request, mode="Serverless")
    (features,) = built.cluster_objects
    assert features["metadata"] == {"name": "config-features", "namespace": "knative-serving"}
    assert features["data"] == {
        "kubernetes.podspec-schedulername": "enabled",
        "kubernetes.podspec-nodeselector": "enabled",
        "kubernetes.podspec-tolerations": "enabled",
        "kubernetes.podspec-runtimeclassname": "enabled",
    }
    annotations = built["spec"]["predictor"]["annotations"]
    assert annotations["serving.knative.dev/progress-deadline"] == "1h"
    assert any("progress-deadline is 1h" in warning for warning in built.warnings)
    assert kserve.build(request).cluster_objects == ()
    assert "serving.knative.dev/progress-deadline" not in predictor()


def test_a_serverless_gang_sets_the_minimum_replicas() -> None:
    request = kai.PodRequest(queue="team-a", gang_min=2)
    serverless = kserve.build(request, mode="Serverless")
    assert serverless["spec"]["predictor"]["minReplicas"] == 2
    assert serverless.unsupported == ()
    raw = kserve.build(request)
    assert [each.setting for each in raw.unsupported] == ["gang_min"]
    assert "minReplicas" not in raw["spec"]["predictor"]
    assert "annotations" not in raw["spec"]["predictor"]


def test_settings_that_knative_refuses_are_left_out() -> None:
    request = kai.PodRequest(queue="team-a", claim="one-gpu", privileged=True)
    built = kserve.build(request, mode="Serverless")
    assert {each.setting for each in built.unsupported} == {"claim", "privileged"}
    assert "claims" not in json.dumps(built.settings)
    assert "privileged" not in json.dumps(built.settings)
    with pytest.raises(kai.InvalidRequestError, match="kserve cannot express claim"):
        kserve.build(request, mode="Serverless", strict=True)
    assert kserve.build(request, strict=True)["spec"]["predictor"]["model"] == {
        "resources": {"claims": [{"name": "gpu"}]},
        "securityContext": {"privileged": True},
    }


def test_a_service_keeps_its_fields_except_whole_gpus() -> None:
    existing = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "m", "labels": {"team": "vision"}},
        "spec": {
            "predictor": {
                "minReplicas": 1,
                "huggingface": {
                    "storageUri": "hf://m",
                    "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "2Gi"}},
                },
                "containers": [{"name": "side", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
            },
            "transformer": {"containers": [{"name": "kserve-container", "image": "t"}]},
        },
    }
    before = copy.deepcopy(existing)
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    built = kserve.build(request, existing=existing)
    assert existing == before
    assert built["metadata"]["labels"] == {"team": "vision", "kai.scheduler/queue": "team-a"}
    assert built["spec"]["transformer"] == before["spec"]["transformer"]
    made = built["spec"]["predictor"]
    assert made["minReplicas"] == 1
    assert made["huggingface"]["storageUri"] == "hf://m"
    assert made["huggingface"]["resources"] == {"limits": {"memory": "2Gi"}}
    assert [each["name"] for each in made["containers"]] == ["side"]
    assert '"nvidia.com/gpu":' not in json.dumps(built.settings)
    assert sum("in the limits" in warning for warning in built.warnings) == 2
    names = [each["name"] for each in built.pod["spec"]["containers"]]
    assert names == ["kserve-container", "side"]


def test_custom_predictors_and_transformers_have_containers() -> None:
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5, env={"A": "1"})
    container = {"name": "kserve-container", "env": [{"name": "A", "value": "1"}]}
    transformer = kserve.build(request, component="transformer")
    assert transformer["spec"]["transformer"]["containers"] == [container]
    existing = {"spec": {"predictor": {"containers": [{"name": "side"}]}}}
    custom = kserve.build(request, existing=existing)
    assert custom["spec"]["predictor"]["containers"] == [{"name": "side"}, container]
    assert "model" not in custom["spec"]["predictor"]


def test_workers_of_a_predictor_get_whole_gpus_from_kserve() -> None:
    existing = {"spec": {"predictor": {"workerSpec": {}}}}
    built = kserve.build(kai.PodRequest(queue="a", gpu_memory=1024), existing=existing)
    assert [each.setting for each in built.unsupported] == ["gpu_memory"]
    assert kserve.build(kai.PodRequest(queue="a", gpus=1), existing=existing).unsupported == ()


def test_services_are_not_preemptible_by_default() -> None:
    quiet = kserve.build(kai.PodRequest(queue="a", preemptible=True))
    assert not any("rollout" in warning for warning in quiet.warnings)
    built = kserve.build(kai.PodRequest(queue="a"))
    assert any("rollout" in warning for warning in built.warnings)


def test_unknown_names_are_refused() -> None:
    request = kai.PodRequest(queue="a")
    with pytest.raises(kai.InvalidRequestError, match="RawDeployment, Serverless"):
        kserve.build(request, mode="raw")
    with pytest.raises(kai.InvalidRequestError, match="predictor, transformer, explainer"):
        kserve.build(request, component="model")
    with pytest.raises(kai.InvalidRequestError, match="kserve-container: omit it"):
        kserve.build(kai.PodRequest(queue="a", container="main"))
    with pytest.raises(kai.InvalidRequestError, match="write existing="):
        kserve.build(request, component="transformer", as_native=True)
    with pytest.raises(kai.InvalidRequestError, match="write model_format="):
        kserve.build(kai.PodRequest(queue="a", cpu=1), as_native=True)
