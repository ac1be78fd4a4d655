"""What the notes name of a cluster. Helm renders without one, so a file has the Deployments."""

import json
from pathlib import Path
from typing import Any

import pytest
from rendering import NAMESPACE, Chart

OURS = {"app.kubernetes.io/name": "kai-sched", "app.kubernetes.io/component": "all"}
_RIVALS = """{{- include "kai.prepare" . -}}
{{- $there := .Files.Get "deployments.json" | fromJsonArray -}}
kind: Rivals
found: {{ include "kai.rivals" (dict "root" . "deployments" $there) }}
"""


def deployment(*arguments: str, component: str = "all", **changes: Any) -> dict[str, Any]:
    metadata = {
        "name": "kai",
        "namespace": "other",
        "labels": {**OURS, "app.kubernetes.io/component": component},
    }
    containers = [{"name": "kai", "args": ["run", component, *arguments]}]
    spec = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    return {"metadata": {**metadata, **changes.pop("metadata", {})}, "spec": {**spec, **changes}}


def rivals(chart: Chart, folder: Path, there: dict[str, Any], values: dict[str, Any] | None) -> Any:
    copied = chart.copied_to(folder)
    (copied.folder / "deployments.json").write_text(json.dumps([there]))
    (copied.folder / "templates/rivals.yaml").write_text(_RIVALS)
    [found] = copied.render(values).of_kind("Rivals")
    return found["found"]


def pool(name: str) -> dict[str, Any]:
    return {"scheduler": {"args": {"node-pool": name}}}


@pytest.mark.parametrize(
    ("there", "values"),
    [
        (deployment(), {}),
        (deployment(), {"topology": "split"}),
        (deployment(component="scheduler"), {}),
        (deployment("--binding=direct", "--scheduler-name=kai-scheduler"), {}),
        (deployment("--node-pool=a"), pool("a")),
        (deployment("--node-pool", "a"), pool("a")),
        (
            deployment("--partition-label-value=a"),
            {"scheduler": {"additionalArgs": ["--node-pool", "a"]}},
        ),
    ],
)
def test_another_release_for_the_same_pods_is_named(
    chart: Chart, tmp_path: Path, there: dict[str, Any], values: dict[str, Any]
) -> None:
    assert rivals(chart, tmp_path, there, values) == ["other"]


@pytest.mark.parametrize(
    ("there", "values"),
    [
        (deployment(), pool("a")),
        (deployment("--node-pool=a"), {}),
        (deployment("--node-pool=a"), pool("b")),
        (deployment(), {"scheduler": {"args": {"scheduler-name": "mine"}}}),
        (deployment(), {"scheduler": {"enabled": False}}),
        (deployment(component="binder"), {}),
        (deployment(replicas=0), {}),
        (deployment(metadata={"labels": {}}), {}),
        (deployment(metadata={"namespace": NAMESPACE}), {}),
    ],
)
def test_other_programs_are_not_named(
    chart: Chart, tmp_path: Path, there: dict[str, Any], values: dict[str, Any]
) -> None:
    assert rivals(chart, tmp_path, there, values) == []


def test_one_deployment_without_the_scheduler_is_not_named(chart: Chart, tmp_path: Path) -> None:
    there = deployment()
    there["spec"]["template"]["spec"]["containers"][0]["args"] = ["run", "binder", "pod-grouper"]
    assert rivals(chart, tmp_path, there, {}) == []
