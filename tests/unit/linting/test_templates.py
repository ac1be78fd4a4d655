"""Files that a program renders first, and values that another program fills in (reports 19, 23)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import kai
from kai.cli import main
from kai.errors import InvalidInputError
from kai.linting import Finding, lint, text

HELM = "this is a Helm template; render it first: helm template CHART | kai lint -"
POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels: {{kai.scheduler/queue: team-a}}
spec:
  schedulerName: kai-scheduler
  containers: [{{name: c}}]
"""


def pod(annotations: dict[str, Any], queue: str = "team-a", **spec: Any) -> dict[str, Any]:
    labels = {"kai.scheduler/queue": queue}
    given = {"schedulerName": "kai-scheduler", "containers": [{"name": "c"}], **spec}
    metadata = {"name": "p", "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": given}


def only(manifest: Any) -> Finding:
    (finding,) = lint(manifest)
    return finding


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "{{- if .Values.gpu }}\n" + POD.format(name="p") + "{{- end }}\n",
        POD.format(name="{{ .Release.Name }}"),
        POD.format(name='{{ include "x.name" . }}'),
        POD.format(name="p") + "  replicas: {{ .Values.replicas | default 1 }}\n",
        POD.format(name="p") + "  {{- with .Values.affinity }}\n  affinity: {}\n  {{- end }}\n",
        "{{/* a comment */}}\n" + POD.format(name="p"),
        POD.format(name="p") + "---\n" + POD.format(name="{{ .Values.name }}"),
        POD.format(name="p") + "  resources: {limits: {nvidia.com/gpu: {{ .Values.gpus }}}}\n",
    ],
)
def test_a_helm_template_is_rendered_first(content: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        text.read(content)
    assert str(caught.value) == HELM


@pytest.mark.parametrize("name", ["{{ .Values.name }}", "train-{{ .Values.name }}"])
def test_a_plan_reads_no_template_either(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        kai.load(POD.format(name=name).encode())
    assert str(caught.value).endswith(HELM.replace("kai lint", "kai plan"))


def test_a_jinja_template_is_rendered_first() -> None:
    with pytest.raises(InvalidInputError, match="this is a Jinja template; render it first"):
        text.read("{% if gpu %}\n" + POD.format(name="p") + "{% endif %}\n")


def test_text_that_looks_like_a_template_in_strings_is_read() -> None:
    alert = "data:\n  rule: |\n    {{ if $labels }}{{ .Values.x }}{{ end }}\n"
    content = "kind: ConfigMap\nmetadata: {name: c}\n" + alert + "---\n" + POD.format(name="p")
    assert len(text.read(content).objects) == 2
    comment = "# {{ if .Values.gpu }}\n" + POD.format(name="p")
    assert len(text.read(comment).objects) == 1


def test_yaml_that_is_broken_in_another_way_is_no_template() -> None:
    with pytest.raises(InvalidInputError, match="not valid YAML"):
        text.read("a: [\nb: c\n")
    [document] = text.read("kind: Pod\nkind: Pod\n").documents
    assert document.problem == "the key 'kind' is given twice"


def test_a_parameter_without_quotes_needs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(POD.format(name="{{name}}"))
    assert main(["lint", str(file)]) == 1
    assert "write it in quotes: '{{name}}'" in capsys.readouterr().out
    assert main(["plan", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Pod {{ name }} is not in quotes, so YAML reads a mapping" in out


def test_templates_of_a_chart_are_skipped_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "app" / "templates").mkdir(parents=True)
    (tmp_path / "app" / "Chart.yaml").write_text("name: app\n")
    (tmp_path / "app" / "templates" / "p.yaml").write_text(POD.format(name="{{ .Values.x }}"))
    (tmp_path / "loose.yaml").write_text(POD.format(name="{{ .Values.x }}"))
    (tmp_path / "pod.yaml").write_text(POD.format(name="p"))
    assert main(["lint", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == "All checks passed!\n"
    assert f"helm template {tmp_path}/app | kai lint -" in err
    assert f"{tmp_path}/loose.yaml: skipped: {HELM}" in err
    assert main(["lint", str(tmp_path / "loose.yaml")]) == 2


# ---- values --------------------------------------------------------------------------------------

PLACEHOLDERS = (
    *("{{inputs.parameters.x}}", "$(params.x)", "${X}", "$X", "{{ .Values.x }}", "{{ x }}"),
    "$(params['x'])",
)


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_value_that_another_program_fills_in(placeholder: str) -> None:
    assert lint(pod({"gpu-fraction": placeholder})) == []
    assert lint(pod({"gpu-memory": placeholder})) == []
    limits = {"resources": {"limits": {"nvidia.com/gpu": placeholder, "cpu": placeholder}}}
    assert lint(pod({}, containers=[{"name": "c", **limits}])) == []
    known = [pod({}, queue=f"team-{placeholder}", priorityClassName=placeholder)]
    assert lint(known, queues=[]) == []


def test_a_wrong_key_is_found_with_any_value() -> None:
    assert only(pod({"gpu_fraction": "${X}"})).code == "key-unknown"
    found = lint(pod({"gpu-fraction": "${X}", "gpu-memory": "${Y}"}))
    assert [each.code for each in found] == ["fraction-and-memory"]


def test_names_that_another_program_fills_in_may_be_equal() -> None:
    first, second = pod({}), pod({}, queue="team-b")
    first["metadata"]["name"] = second["metadata"]["name"] = "train-${ID}"
    assert lint([first, second]) == []
    second["metadata"]["name"] = first["metadata"]["name"] = "train"
    assert [each.code for each in lint([first, second])] == ["name-twice"]


def test_another_value_of_the_object_is_checked() -> None:
    spec: dict[str, Any] = {"nodeName": "${X}", "hostNetwork": "on"}
    with_placeholder = only(pod({}, **spec))
    assert with_placeholder.code == "value-refused"


def workflow(fraction: str, **more: Any) -> dict[str, Any]:
    annotations = {"gpu-fraction": fraction, "gpu-fraction-container-name": "main"}
    template = {
        "name": "t",
        "metadata": {"labels": {"kai.scheduler/queue": "a"}, "annotations": annotations},
        "container": {"image": "i"},
        **more,
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "w", "labels": {"kai.scheduler/queue": "a"}},
        "spec": {"schedulerName": "kai-scheduler", "templates": [template]},
    }


def test_argo_refuses_parameters_in_resources() -> None:
    limits = {"limits": {"nvidia.com/gpu": "{{inputs.parameters.gpus}}"}}
    manifest = workflow("0.5")
    del manifest["spec"]["templates"][0]["metadata"]["annotations"]
    manifest["spec"]["templates"][0]["container"]["resources"] = limits
    assert only(manifest).fix == "Argo refuses parameters in resources: use podSpecPatch"


def test_the_default_of_a_parameter_is_checked() -> None:
    parameter = "{{inputs.parameters.share}}"
    assert lint(workflow(parameter)) == []
    for value, fixes in (("0.5", []), ("half", [f"write 0.5, as the default of {parameter}"])):
        inputs = {"parameters": [{"name": "share", "value": value}]}
        found = lint(workflow(parameter, inputs=inputs))
        assert [each.fix for each in found] == fixes
        assert [each.edit for each in found] == [None for _ in fixes]
    of_all = workflow("{{workflow.parameters.share}}")
    of_all["spec"]["arguments"] = {"parameters": [{"name": "share", "value": "2"}]}
    assert only(of_all).code == "fraction-refused"
    assert lint(pod({"gpu-fraction": "${SHARE:-0.5}"})) == []
    assert only(pod({"gpu-fraction": "${SHARE:-50%}"})).fix == (
        "write 0.5, as the default of ${SHARE:-50%}"
    )


def test_the_command_says_what_it_did_not_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(yaml.safe_dump(pod({"gpu-fraction": "${SHARE}"})))
    assert main(["lint", str(file), "--strict"]) == 0
    assert "values such as ${SHARE} were not checked" in capsys.readouterr().err
    file.write_text(yaml.safe_dump(pod({}, containers=[{"name": "c", "args": ["${HOME}"]}])))
    assert main(["lint", str(file)]) == 0
    assert capsys.readouterr().err == ""
