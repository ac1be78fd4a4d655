"""Settings in files: what people keep, and what `kai settings` prints (report 18)."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kai import PodRequest
from kai.errors import InvalidRequestError
from kai.integrations import ORCHESTRATORS, builder_for
from kai.linting import Finding, lint, text

QUEUE = {"kai.scheduler/queue": "ml"}
WRONG = {"kai.scheduler/gpu-fraction": "0.5"}
METADATA = {"labels": QUEUE, "annotations": WRONG}
KAI = "kai-scheduler"


def only(settings: Any, **options: Any) -> Finding:
    (finding,) = lint(settings, **options)
    return finding


ASKED: dict[str, dict[str, Any]] = {
    "none": {},
    "whole": {"gpus": 2},
    "fraction": {"gpu_fraction": 0.5},
    "memory": {"gpu_memory": "5Gi", "devices": 2},
    "slice": {"mig": "1g.5gb"},
}


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
@pytest.mark.parametrize("kind", ASKED)
def test_settings_that_kai_prints_are_right(orchestrator: str, kind: str) -> None:
    request = PodRequest(queue="ml", priority="train", **ASKED[kind])
    built = builder_for(orchestrator)(request, as_native=False)
    printed = yaml.safe_load(yaml.safe_dump(_plain(built.settings)))
    assert [str(each) for each in lint(printed)] == []
    assert [str(each) for each in lint(_plain(built.pod))] == []


def _plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("orchestrator", ORCHESTRATORS)
def test_a_mistake_in_printed_settings_is_found(orchestrator: str) -> None:
    request = PodRequest(queue="ml", gpu_fraction=0.5)
    built = builder_for(orchestrator)(request, as_native=False)
    printed = yaml.safe_dump(_plain(built.settings), sort_keys=False)
    wrong = printed.replace("gpu-fraction: ", "gpu_fraction: ")
    codes = {each.code for each in lint(yaml.safe_load(wrong))}
    assert "key-unknown" in codes


FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "SkyPilot": (
        {"kubernetes": {"pod_config": {"metadata": METADATA, "spec": {"schedulerName": KAI}}}},
        "kubernetes.pod_config.metadata.annotations",
    ),
    "a task of SkyPilot": (
        {
            "resources": {"cloud": "kubernetes"},
            "experimental": {
                "config_overrides": {
                    "kubernetes": {
                        "pod_config": {"metadata": METADATA, "spec": {"schedulerName": KAI}}
                    }
                }
            },
        },
        "experimental.config_overrides.kubernetes.pod_config.metadata.annotations",
    ),
    "KFP": ({"kubernetes": {"podMetadata": METADATA}}, "kubernetes.podMetadata.annotations"),
    "Metaflow": ({"kubernetes": METADATA}, "kubernetes.annotations"),
    "Dagster": (
        {
            "run_launcher": {
                "config": {
                    "run_k8s_config": {
                        "pod_template_spec_metadata": METADATA,
                        "pod_spec_config": {"scheduler_name": KAI},
                    }
                }
            }
        },
        "run_launcher.config.run_k8s_config.pod_template_spec_metadata.annotations",
    ),
    "Flyte": (
        {"pod_spec": {"schedulerName": KAI, "containers": [{"name": "primary"}]}, **METADATA},
        "annotations",
    ),
    "Argo": (
        {
            "workflow": {"spec": {"schedulerName": KAI}},
            "template": {"metadata": METADATA, "container": {"image": "i"}},
        },
        "template.metadata.annotations",
    ),
    "Airflow": ({"schedulername": KAI, **METADATA}, "annotations"),
    "MLflow": (
        {
            "kube-job-template": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j", "labels": QUEUE},
                "spec": {
                    "template": {
                        "metadata": {"annotations": WRONG},
                        "spec": {"schedulerName": KAI, "containers": [{"name": "c"}]},
                    }
                },
            }
        },
        "spec.template.metadata.annotations",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_misspelt_key_in_the_settings_of(name: str) -> None:
    settings, where = FORMS[name]
    finding = only(settings)
    assert (finding.code, finding.fix) == ("key-unknown", "did you mean gpu-fraction?")
    assert finding.path == f"{where}[kai.scheduler/gpu-fraction]"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (
            {"kubernetes": {**METADATA, "annotations": {"gpu-fraction": "0.5"}, "gpu": 1}},
            "whole-gpu-beside-fraction",
        ),
        (
            {
                "pod_template_spec_metadata": {"annotations": {"gpu-fraction": "0.5"}},
                "pod_spec_config": {},
            },
            "scheduler-missing",
        ),
        (
            {"kubernetes": {"pod_config": {"spec": {"schedulerName": KAI, "tolerationz": []}}}},
            "field-unknown",
        ),
        ({"schedulername": "kai-sheduler", "labels": QUEUE}, "scheduler-other"),
        ({"schedulername": KAI, "labels": {}}, "queue-missing"),
        ({"kubernetes": {"podMetadata": {"annotations": {"gpu-fraction": 0.5}}}}, "not-text"),
    ],
)
def test_what_lint_finds_in_settings(settings: dict[str, Any], code: str) -> None:
    assert code in {each.code for each in lint(settings)}


def test_a_job_of_prefect_has_the_values_of_its_variables() -> None:
    built = builder_for("prefect")(PodRequest(queue="ml", gpu_fraction=0.5), as_native=False)
    settings = _plain(built.settings)
    settings["job_variables"]["gpu_fraction"] = "half"
    finding = only(settings)
    assert (finding.code, finding.fix) == ("fraction-refused", "write 0.5")
    assert finding.path == "spec.template.metadata.annotations[gpu-fraction]"


# ---- ZenML ---------------------------------------------------------------------------------------


def run_configuration(**pod_settings: Any) -> dict[str, Any]:
    return {
        "enable_cache": False,
        "settings": {
            "orchestrator.kubernetes": {"synchronous": True, "pod_settings": pod_settings},
            "docker": {"requirements": ["torch"]},
        },
        "steps": {
            "trainer": {
                "settings": {
                    "orchestrator.kubernetes": {"pod_settings": {"container_environment": {}}}
                }
            }
        },
    }


def test_a_run_configuration_of_zenml() -> None:
    configuration = run_configuration(scheduler_name=KAI, labels=QUEUE, node_selector={"a": "b"})
    assert [(each.code, each.path) for each in lint(configuration)] == [
        ("zenml-unknown-setting", "settings[orchestrator.kubernetes].pod_settings.node_selector"),
        (
            "zenml-unknown-setting",
            "steps.trainer.settings[orchestrator.kubernetes].pod_settings.container_environment",
        ),
    ]


def test_whole_gpus_of_zenml_beside_a_part() -> None:
    half = {"gpu-fraction": "0.5", "gpu-fraction-container-name": "main"}
    configuration = run_configuration(scheduler_name=KAI, labels=QUEUE, annotations=half)
    configuration["steps"] = {}
    assert lint(configuration) == []
    configuration["settings"]["resources"] = {"gpu_count": 1}
    finding = only(configuration)
    assert (finding.code, finding.severity) == ("whole-gpu-beside-fraction", "warning")
    assert finding.path == "settings.resources.gpu_count"


def test_a_finding_in_a_run_configuration_has_its_line() -> None:
    from kai.admission.queue_tree import Queues

    written = yaml.safe_dump(run_configuration(node_selector={"a": "b"}))
    file = text.read(written)
    found = text.check(file, Queues.of(None, []))
    lines = written.splitlines()
    assert "node_selector:" in lines[found[0].line - 1]


# ---- other documents -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"a": 1},
        {"settings": {"theme": "dark"}, "steps": {"one": {"settings": {"x": 1}}}},
        {"labels": {"app": "web"}, "annotations": {"a": "b"}},
        {"kubernetes": {"namespace": "ml"}},
        {"image": {"tag": "1"}, "podAnnotations": {}},
    ],
)
def test_documents_that_are_no_settings(other: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="this object cannot be checked"):
        lint(other)
