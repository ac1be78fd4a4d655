"""MLflow Projects on Kubernetes: the Job template and the backend configuration.

    built = mlflow.build(kai.PodRequest(queue="test", gpu_fraction=0.5), project="mnist",
                         repository_uri="registry.example.com/mnist")
    mlflow.write(built)             # the template, where the configuration says that it is

    mlflow run . --backend kubernetes --backend-config kubernetes_config.json

MLflow makes one Job of the template for each run. It gives the first container the project's name
(spec 7 L1), which is therefore the name to say for a part of a GPU.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kai.api import rules
from kai.api.fields import check_fields, fields_at
from kai.integrations.placement import placement
from kai.settings import Built, PodRequest, filled, merge, merge_into_pod, pod_part

TEMPLATE_PATH = "kubernetes_job_template.yaml"
CONFIG_PATH = "kubernetes_config.json"
# MLflow replaces it, and the command and the image with it, in each run.
_REPLACED = "replaced-by-mlflow"


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
    """``kube-job-template``, a Job, and ``backend-config``, which names the file it is in.

    project: name in the MLproject file. template: a Job, to which the settings are added; it has to
    have a namespace, and `namespace` is for one that has none. repository_uri: where MLflow pushes
    the image; it will not run without one. MLflow has no objects for this: native is the same
    mapping.

    Raises InvalidRequestError for a `project` that can name no container, for a request that names
    another one, for a template that is no Job, for ``style="nvfractions"`` without a `project`, and
    with `strict` for what MLflow cannot express.
    """
    if project is not None:
        rules.dns_label("project", project)
    if request.container not in (None, project):
        raise rules.refuse(
            f"container is {request.container!r}, and MLflow renames it like the project: write"
            f" project={request.container!r} if that is the project, else leave it out"
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
    owner = {"labels": dict(part.owner_labels), "annotations": dict(part.owner_annotations)}
    metadata = {"namespace": namespace, **(job.get("metadata") or {})}
    job["metadata"] = merge(metadata, filled(owner))
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
    built = Built(
        orchestrator="mlflow",
        settings=settings,
        native=settings,
        pod={"apiVersion": "v1", "kind": "Pod", **job["spec"]["template"]},
        placement=placement(part, pod="pod template", owner="Job", container=project),
        warnings=(*part.warnings, *warnings, *_warnings(request, job, repository_uri)),
    )
    return built.strict() if strict else built


def write(built: Mapping[str, Any], folder: str | Path = ".") -> tuple[Path, Path]:
    """Writes the template where the configuration says, and the configuration beside it."""
    import yaml

    config = {**built["backend-config"]}
    template = Path(folder) / config["kube-job-template-path"]
    # MLflow opens the path as it is, from wherever it runs.
    config["kube-job-template-path"] = str(template)
    template.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(built["kube-job-template"], sort_keys=False)
    template.write_text(text, encoding="utf-8")
    path = Path(folder) / CONFIG_PATH
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return template, path


def _plain_job() -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": _REPLACED},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": _REPLACED, "image": _REPLACED, "command": [_REPLACED]},
                    ],
                }
            },
        },
    }


def _warnings(request: PodRequest, job: Mapping[str, Any], repository_uri: str | None) -> list[str]:
    said = []
    if repository_uri is None:
        said.append("MLflow refuses a backend-config without repository-uri: write repository_uri=")
    pods = job["spec"].get("parallelism", 1)
    if request.gang_min is not None and request.gang_min > pods:
        said.append(
            f"gang_min={request.gang_min}: KAI waits for that many pods of the Job, and it has"
            f" {pods}, unless its spec says parallelism {request.gang_min}"
        )
    return said
