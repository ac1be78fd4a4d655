"""ZenML stores unknown keys, and never uses them (spec 7 Z2, Z3)."""

from typing import Any

import pytest

from kai.linting import lint

# As the reference example writes them.
EXAMPLE: dict[str, Any] = {
    "orchestrator": {
        "pod_settings": {
            "scheduler_name": "kai-scheduler",
            "labels": {"kai.scheduler/queue": "test"},
            "annotations": {"gpu-fraction": "0.5"},
            "tolerations": [],
            "node_selector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
            "container_environment": {"NVIDIA_DRIVER_CAPABILITIES": "all"},
            "resources": {"requests": {"cpu": "500m"}},
            "security_context": {"privileged": True},
        }
    },
    "docker": {"parent_image": "i", "skip_build": True, "env": {"NVIDIA_VISIBLE_DEVICES": "all"}},
}


def test_the_reference_example() -> None:
    found = lint(EXAMPLE)
    assert {each.code for each in found} == {"zenml-unknown-setting"}
    fixes = {each.path: each.fix for each in found}
    assert fixes == {
        "orchestrator.pod_settings.node_selector": "write node_selectors",
        "orchestrator.pod_settings.container_environment": (
            "write env, a list of {'name': ..., 'value': ...}"
        ),
        "orchestrator.pod_settings.security_context": "write privileged=True, beside pod_settings",
        "docker.env": "move them to env of pod_settings",
    }


@pytest.mark.parametrize("key", ["orchestrator.kubernetes", "orchestrator:mine", "step_operator"])
def test_settings_of_other_components(key: str) -> None:
    found = lint({key: EXAMPLE["orchestrator"]})
    assert len(found) == 3
    assert found[0].at[0] == key


def test_each_level_is_checked() -> None:
    component = EXAMPLE["orchestrator"]
    assert len(lint(component)) == len(lint(component["pod_settings"])) == 3


def test_a_key_that_is_not_a_component() -> None:
    found = lint({"kubernetes": {}, "docker": {}})
    assert [each.fix for each in found] == ["write orchestrator"]


def test_pod_settings_at_the_wrong_level() -> None:
    found = lint({"pod_settings": {}, "node_selectors": {}, "node_selector": {}, "timeout": 5})
    assert [each.fix for each in found] == [
        "in pod_settings write node_selectors",
        "in pod_settings write node_selectors",
    ]


def test_misspelt_names_and_refused_values() -> None:
    found = lint({"scheduler_name": "s", "tolerationz": [], "env": {"A": "b"}})
    assert [(each.code, each.path) for each in found] == [
        ("zenml-unknown-setting", "tolerationz"),
        ("zenml-value", "env"),
    ]
    assert found[0].fix == "write tolerations"


def test_kais_rules_are_checked() -> None:
    settings = {
        "pod_settings": {
            "annotations": {"gpu-fraction": "0.5"},
            "resources": {"limits": {"nvidia.com/gpu": "0"}},
        }
    }
    assert [each.code for each in lint(settings)] == [
        "whole-gpu-beside-fraction",
        "scheduler-missing",
    ]


class Model:
    """A pydantic model, like ZenML's settings; it stores what was written."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.fields


def test_zenml_objects_are_checked() -> None:
    settings = Model(pod_settings={"node_selector": {}})
    assert len(lint(settings)) == len(lint({"orchestrator": settings})) == 1
