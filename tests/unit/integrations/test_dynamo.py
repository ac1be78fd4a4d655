"""Dynamo's deployments and Grove's cliques."""

from typing import Any

import pytest

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, in_container
from kai.errors import InvalidRequestError
from kai.integrations import dynamo

QUEUE = "nvidia.com/kai-scheduler-queue"


def request(**arguments: Any) -> kai.PodRequest:
    return kai.PodRequest(queue="inference", **arguments)


@EACH_GPU_REQUEST
def test_workers_request_gpus_with_dynamos_fields(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, Any]
) -> None:
    built = dynamo.build(request(**gpus), services=["Frontend", "Decode"])
    frontend, decode = (built["spec"]["services"][name] for name in ("Frontend", "Decode"))
    annotations = in_container("main", annotations)
    assert decode["extraPodMetadata"].get("annotations", {}) == annotations
    of_dynamo = {"gpu": "2"} if "gpus" in gpus else {"custom": limits} if limits else {}
    assert decode.get("resources", {}).get("limits", {}) == of_dynamo
    assert "annotations" not in frontend["extraPodMetadata"]
    assert "resources" not in frontend
    assert built["metadata"]["annotations"] == {QUEUE: "inference"}
    assert built.placement[QUEUE] == "DynamoGraphDeployment"
    assert built.to_pod_spec()["spec"]["containers"][0]["name"] == "main"


def test_a_deployment_has_the_default_queue_without_one() -> None:
    built = dynamo.build(kai.PodRequest(gpus=1))
    assert built["metadata"]["annotations"] == {QUEUE: "default-queue"}
    assert any(QUEUE in each for each in built.warnings)


def test_an_existing_deployment_keeps_its_fields() -> None:
    mine = {
        "apiVersion": dynamo.API,
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "llm", "annotations": {"nvidia.com/enable-grove": "false"}},
        "spec": {
            "services": {
                "Decode": {
                    "replicas": 2,
                    "resources": {
                        "limits": {"gpu": "1", "memory": "64Gi", "custom": {"rdma/ib": "1"}},
                        "requests": {"gpu": "1"},
                    },
                    "extraPodSpec": {"mainContainer": {"image": "i"}},
                }
            }
        },
    }
    built = dynamo.build(
        request(gpu_fraction=0.5, env={"A": "1"}, topology="racks", required_level="rack"),
        manifest=mine,
    )
    decode = built["spec"]["services"]["Decode"]
    assert decode["resources"] == {"limits": {"memory": "64Gi", "custom": {"rdma/ib": "1"}}}
    assert decode["extraPodSpec"]["mainContainer"] == {
        "image": "i",
        "env": [{"name": "A", "value": "1"}],
    }
    assert decode["replicas"] == 2
    assert built["metadata"]["annotations"]["kai.scheduler/topology"] == "racks"
    assert any("one by one" in each for each in built.warnings)


def test_the_newer_version_has_pod_templates() -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "i"}]}}
    mine = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "spec": {"components": [{"name": "decode", "podTemplate": template}]},
    }
    built = dynamo.build(request(gpu_memory=2000), manifest=mine)
    (component,) = built["spec"]["components"]
    assert component["podTemplate"]["metadata"]["annotations"]["gpu-memory"] == "2000"
    assert component["podTemplate"]["spec"]["schedulerName"] == "kai-scheduler"


def test_a_frontend_with_any_name_gets_no_gpu() -> None:
    def template() -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "main", "image": "i"}]}}

    components = [
        {"name": name, "type": kind, "podTemplate": template()}
        for name, kind in (("web", "frontend"), ("picker", "epp"), ("engine", "decode"))
    ]
    newer = dynamo.build(
        request(gpus=1),
        manifest={"kind": "DynamoGraphDeployment", "spec": {"components": components}},
    )
    takers = [
        each["name"]
        for each in newer["spec"]["components"]
        if "resources" in each["podTemplate"]["spec"]["containers"][0]
    ]
    assert takers == ["engine"]

    services = {"web": {"componentType": "frontend"}, "engine": {"componentType": "worker"}}
    older = dynamo.build(
        request(gpus=1),
        manifest={"kind": "DynamoGraphDeployment", "spec": {"services": services}},
    )["spec"]["services"]
    assert [name for name in older if "resources" in older[name]] == ["engine"]


def test_cliques_of_grove_have_labels_beside_their_pods() -> None:
    pod = {"containers": [{"name": "prefill", "image": "i"}]}
    mine = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "spec": {"template": {"cliques": [{"name": "p", "spec": {"podSpec": pod}}]}},
    }
    built = dynamo.build(request(gpu_fraction=0.5, gang_min=2), manifest=mine)
    (clique,) = built["spec"]["template"]["cliques"]
    assert clique["annotations"]["gpu-fraction-container-name"] == "prefill"
    assert clique["labels"] == {"kai.scheduler/queue": "inference"}
    assert clique["spec"]["podSpec"]["schedulerName"] == "kai-scheduler"
    assert [each.setting for each in built.unsupported] == ["gang_min"]
    assert QUEUE not in str(dict(built))


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(InvalidRequestError, match="services is empty"):
        dynamo.build(request(), services=[])
    with pytest.raises(InvalidRequestError, match="kind is 'Job'"):
        dynamo.build(request(), manifest={"kind": "Job"})
