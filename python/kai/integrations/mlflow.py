"""MLflow Projects on Kubernetes: the Job template and the backend configuration.

    built = mlflow.build(kai.PodRequest(queue="test", gpu_fraction=0.5), project="mnist",
                         repository_uri="registry.example.com/mnist")
    mlflow.write(built)             # the configuration, and the template that it names

    mlflow run . --backend kubernetes --backend-config kubernetes_config.json

MLflow creates one Job from the template for each run. It renames the first container to the
project's name (spec 7 L1), so that is the name of the container for a part of a GPU.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kai.api import rules
from kai.api.arguments import in_a_sentence
from kai.api.fields import check_fields, fields_at
from kai.api.resources import new_object
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, filled, merge, merge_into_pod, pod_part

TEMPLATE_PATH = "kubernetes_job_template.yaml"
CONFIG_PATH = "kubernetes_config.json"
# MLflow replaces it, the command and the image in each run.
_REPLACED = "replaced-by-mlflow"


@in_a_sentence
def build(
    request: PodRequest,
    *,
    as_native: bool | None = None,
    strict: bool = False,
    project: str | None = None,
    template: Mapping[str, Any] | None = None,
    namespace: str = "default",
    repository_uri: str | None = None,
    kube_context: str | None = None,
    template_path: str = TEMPLATE_PATH,
) -> Built:
    """``kube-job-template``, a Job, and ``backend-config``, which names its file.

    project: name in the MLproject file. template: a Job to which the settings are added;
    `namespace` is used if it has none. repository_uri: where MLflow pushes the image; MLflow does
    not run without it. MLflow has no objects for this: native is the same mapping.

    Raises InvalidRequestError for a `project` that is not a valid container name, for a request
    with another container, for a template that is not a Job, for ``style="nvfractions"`` without a
    `project`, and with `strict` for settings that MLflow cannot express.
    """
    if project is not None:
        rules.dns_label("project", project)
    if request.container not in (None, project):
        raise rules.refuse(
            f"container is {request.container!r}, but MLflow renames it to the project: write"
            f" project={request.container!r} if that is the project, otherwise omit it"
        )
    if request.style == "nvfractions" and project is None:
        raise rules.refuse("style nvfractions needs the container's name: write project=")
    part = pod_part(request, container=project)
    given = _plain_job() if template is None else check_fields("template", template)
    fields_at("template", given, "spec", "template", "spec")
    job = copy.deepcopy(dict(given))
    of_pod = job["spec"]["template"]
    containers = of_pod["spec"].get("containers") or [{}]
    containers[0]["name"] = project or containers[0].get("name", _REPLACED)
    of_pod["spec"]["containers"] = containers
    name = str(containers[0]["name"])
    job["spec"]["template"], warnings = merge_into_pod(of_pod, part, container=name)
    metadata = {"namespace": namespace, **(job.get("metadata") or {})}
    job["metadata"] = merge(metadata, part.owner_metadata())
    settings = {
        "kube-job-template": job,
        "backend-config": filled(
            {
                "kube-context": kube_context,
                "repository-uri": repository_uri,
                "kube-job-template-path": template_path,
            }
        ),
    }
    return Built(
        orchestrator="mlflow",
        settings=settings,
        native=settings,
        pod={"apiVersion": "v1", "kind": "Pod", **job["spec"]["template"]},
        placement=placement(part, pod="pod template", owner="Job", container=project),
        warnings=(*part.warnings, *warnings, *_warnings(request, job, repository_uri)),
    ).strict_if(strict)


def write(built: Mapping[str, Any], folder: str | Path = ".") -> tuple[Path, Path]:
    """Writes the configuration, and the template to the path in the configuration."""
    import yaml

    config = {**built["backend-config"]}
    template = Path(folder) / config["kube-job-template-path"]
    # MLflow opens the path relative to its working directory.
    config["kube-job-template-path"] = str(template)
    template.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(built["kube-job-template"], sort_keys=False)
    template.write_text(text, encoding="utf-8")
    path = Path(folder) / CONFIG_PATH
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return template, path


def _plain_job() -> dict[str, Any]:
    container = {"name": _REPLACED, "image": _REPLACED, "command": [_REPLACED]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec = {"backoffLimit": 0, "template": {"spec": pod}}
    return new_object("Job", {"name": _REPLACED}, spec=spec)


def _warnings(request: PodRequest, job: Mapping[str, Any], repository_uri: str | None) -> list[str]:
    warnings = []
    if repository_uri is None:
        warnings.append(
            "MLflow refuses a backend-config without repository-uri: write repository_uri="
        )
    pods = job["spec"].get("parallelism", 1)
    if request.gang_min is not None and request.gang_min > pods:
        warnings.append(
            f"gang_min={request.gang_min}: KAI waits for that many pods of the Job, but it has"
            f" {pods}, unless its spec has parallelism {request.gang_min}"
        )
    return warnings
