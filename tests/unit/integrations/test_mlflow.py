"""The settings for MLflow Projects, without MLflow."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from fakes.gpu_requests import EACH_GPU_REQUEST, GPU_TOLERATION, in_container
from kai.integrations import mlflow


def job_of(**arguments: Any) -> dict[str, Any]:
    request = kai.PodRequest(queue="team-a", **arguments)
    return dict(mlflow.build(request, project="mnist")["kube-job-template"])


@EACH_GPU_REQUEST
def test_each_kind_of_gpu_request_is_set(
    gpus: dict[str, Any], annotations: dict[str, str], limits: dict[str, str]
) -> None:
    annotations = in_container("mnist", annotations)
    pod = json.loads(json.dumps(job_of(**gpus)))["spec"]["template"]
    assert pod["metadata"].get("annotations", {}) == annotations
    assert pod["spec"]["containers"][0].get("resources", {}).get("limits", {}) == limits
    assert pod["spec"].get("tolerations", []) == ([GPU_TOLERATION] if gpus else [])
    assert pod["spec"]["schedulerName"] == "kai-scheduler"


def test_settings_of_the_job_are_on_the_job() -> None:
    job = job_of(priority="train", topology="t", required_level="rack")
    labels = {"kai.scheduler/queue": "team-a", "priorityClassName": "train"}
    assert job["metadata"] == {
        "namespace": "default",
        "name": "replaced-by-mlflow",
        "labels": labels,
        "annotations": {
            "kai.scheduler/topology": "t",
            "kai.scheduler/topology-required-placement": "rack",
        },
    }
    assert job["spec"]["template"]["metadata"] == {"labels": labels}


def test_the_container_name_needs_the_project() -> None:
    built = mlflow.build(kai.PodRequest(queue="team-a", gpu_fraction=0.5))
    annotations = built["kube-job-template"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"gpu-fraction": "0.5"}
    with pytest.raises(kai.InvalidRequestError, match="write project='main'"):
        mlflow.build(kai.PodRequest(queue="a", gpu_fraction=0.5, container="main"))
    new = kai.PodRequest(queue="a", gpu_memory=1024, style="nvfractions", kai_version="0.18")
    with pytest.raises(kai.InvalidRequestError, match="write project="):
        mlflow.build(new)


def test_a_template_keeps_its_fields_except_whole_gpus() -> None:
    template = {
        "metadata": {"namespace": "ml", "labels": {"team": "vision"}},
        "spec": {
            "ttlSecondsAfterFinished": 60,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}},
                        {"name": "side"},
                    ],
                }
            },
        },
    }
    request = kai.PodRequest(queue="team-a", gpu_fraction=0.5)
    built = mlflow.build(request, project="mnist", template=template)
    job = built["kube-job-template"]
    assert job["metadata"] == {
        "namespace": "ml",
        "labels": {"team": "vision", "kai.scheduler/queue": "team-a"},
    }
    assert job["spec"]["ttlSecondsAfterFinished"] == 60
    containers = job["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in containers] == ["mnist", "side"]
    assert '"nvidia.com/gpu":' not in json.dumps(containers)
    assert any("nvidia.com/gpu: 1 in the limits" in warning for warning in built.warnings)


def test_the_configuration_has_the_path_of_the_template(tmp_path: Path) -> None:
    built = mlflow.build(
        kai.PodRequest(queue="team-a"), repository_uri="example.com/r", kube_context="gke"
    )
    assert built["backend-config"] == {
        "kube-context": "gke",
        "repository-uri": "example.com/r",
        "kube-job-template-path": "kubernetes_job_template.yaml",
    }
    template, config = mlflow.write(built, tmp_path)
    assert yaml.safe_load(template.read_text()) == built["kube-job-template"]
    assert json.loads(config.read_text())["kube-job-template-path"] == str(template)


def test_values_that_mlflow_refuses_cause_warnings() -> None:
    without_uri = mlflow.build(kai.PodRequest(queue="a")).warnings
    assert any("repository_uri=" in warning for warning in without_uri)
    with_uri = mlflow.build(kai.PodRequest(queue="a"), repository_uri="example.com/r").warnings
    assert not any("repository_uri=" in warning for warning in with_uri)


def test_a_gang_larger_than_the_job_causes_a_warning() -> None:
    built = mlflow.build(kai.PodRequest(queue="a", gang_min=2))
    annotations = built["kube-job-template"]["metadata"]["annotations"]
    assert annotations == {"kai.scheduler/batch-min-member": "2"}
    assert any("gang_min=2" in warning for warning in built.warnings)
    template = {**built["kube-job-template"]}
    template["spec"] = {**template["spec"], "parallelism": 2}
    enough = mlflow.build(kai.PodRequest(queue="a", gang_min=2), template=template)
    assert not any("gang_min=2" in warning for warning in enough.warnings)
