"""Existing fields are checked before settings are merged into them."""

from typing import Any

import pytest

from kai.api.fields import check_fields, fields_at
from kai.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "Job x is []: write a mapping"),
        ({1: 2}, "Job x has the key 1: write a string"),
        ({"spec": 5}, "spec of Job x is 5: write a mapping"),
        ({"spec": {"containers": {}}}, "spec.containers of Job x is {}: write a list"),
        ({"containers": [{}, None]}, "containers[1] of Job x is None: write a mapping"),
        ({"containers": [{"env": 0}]}, "containers[0].env of Job x is 0: write a list"),
        ({"metadata": {"labels": []}}, "metadata.labels of Job x is []: write a mapping"),
        (
            {"metadata": {"annotations": {5: "a"}}},
            "metadata.annotations of Job x has the key 5: write a string",
        ),
        (
            {"tolerations": [{"key": ["a"]}]},
            "tolerations[0].key of Job x is ['a']: write a string",
        ),
        ({"spec": {"replicas": "2"}}, "spec.replicas of Job x is '2': write a whole number"),
        ({"pod_spec": True}, "pod_spec of Job x is True: write a mapping"),
        ({"pytorchReplicaSpecs": {"Worker": 1}}, "pytorchReplicaSpecs.Worker of Job x is 1: write"),
        ({"services": {"web": {"resources": 1}}}, "services.web.resources of Job x is 1: write"),
        ({"spec": "x" * 100}, "spec of Job x is 'xxx"),
    ],
)
def test_an_invalid_field_raises_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_fields("Job x", given)
    assert str(caught.value).startswith(sentence)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"metadata": None, "spec": {"containers": None, "replicas": 2}},
        {"data": {"containers": 5}},  # a field that is not read
        {"metadata": {"labels": {"spec": "x"}}},
        {"tolerations": [{"key": "a", "operator": None}]},
        {"services": {"env": {"replicas": 1}, "web": None}},
    ],
)
def test_valid_fields_are_returned_unchanged(given: dict[str, Any]) -> None:
    assert check_fields("Job x", given) is given


def test_placeholders_are_accepted_only_in_templates() -> None:
    template = {"env": "{{ env }}", "labels": "{{ labels }}", "replicas": "{{ replicas }}"}
    assert check_fields("template", template, placeholders=True) is template
    with pytest.raises(InvalidRequestError, match="write a list"):
        check_fields("template", template)
    for name in ("spec", "limits"):
        with pytest.raises(InvalidRequestError, match=f"{name} of template is '{{{{ x }}}}'"):
            check_fields("template", {name: "{{ x }}"}, placeholders=True)


def test_a_missing_required_field_is_reported() -> None:
    assert fields_at("base", {"spec": {"template": {"a": 1}}}, "spec", "template") == {"a": 1}
    with pytest.raises(InvalidRequestError, match=r"base has no spec\.template: write it"):
        fields_at("base", {"spec": {"template": None}}, "spec", "template", "spec")
