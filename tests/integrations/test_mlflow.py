"""MLflow Projects with the Job template and the configuration that kai builds."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import GPUS, HALF_A_T4, without_nulls
from mlflow import projects
from mlflow.projects.kubernetes import _get_kubernetes_job_definition

import kai
from kai.integrations import mlflow


def job_of(template: Any) -> Any:
    job = _get_kubernetes_job_definition(
        "my-project",
        "repo/img",
        "sha256:abc",
        ["python", "train.py"],
        {"MLFLOW_RUN_ID": "r"},
        copy.deepcopy(template),
    )
    job["metadata"]["name"] = re.sub(r"\d{4}(-\d+)+$", "TIMESTAMP", job["metadata"]["name"])
    return without_nulls(job)


def test_the_job_of_a_run(expected: Any) -> None:
    built = mlflow.build(HALF_A_T4, project="my-project", namespace="ml")
    assert job_of(built["kube-job-template"]) == expected("mlflow-skinny-3.17.2")


def test_mlflow_reads_the_written_template(tmp_path: Path) -> None:
    built = mlflow.build(HALF_A_T4, project="my-project", repository_uri="example.com/r")
    _, config = mlflow.write(built, tmp_path)
    read = projects._parse_kubernetes_config(json.loads(config.read_text()))
    assert read["kube-job-template"] == built["kube-job-template"]
    assert read["repository-uri"] == "example.com/r"


@pytest.mark.parametrize("gpus", GPUS)
def test_mlflow_makes_the_predicted_pod(gpus: dict[str, Any]) -> None:
    request = kai.PodRequest(queue="team-a", priority="train", privileged=True, **gpus)
    built = mlflow.build(request, project="my-project")
    made, predicted = job_of(built["kube-job-template"]), built.to_pod_spec()
    pod = made["spec"]["template"]
    assert pod["metadata"] == predicted["metadata"]
    main, wanted = pod["spec"].pop("containers")[0], predicted["spec"].pop("containers")[0]
    assert pod["spec"] == predicted["spec"]
    for field in ("name", "resources", "securityContext"):
        assert main.get(field) == wanted.get(field)
