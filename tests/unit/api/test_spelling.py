"""Fields of Kubernetes objects in Python's spelling, and back."""

from typing import Any

import pytest

from kai.api import spelling

CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"schedulerName": "kai-scheduler"}, {"scheduler_name": "kai-scheduler"}),
    (
        {"tolerations": [{"key": "a", "tolerationSeconds": 5}]},
        {"tolerations": [{"key": "a", "toleration_seconds": 5}]},
    ),
    (
        {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
        {"volumes": [{"name": "v", "host_path": {"path": "/x"}}]},
    ),
    (
        {"env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]},
        {"env": [{"name": "POD_IP", "value_from": {"field_ref": {"field_path": "status.podIP"}}}]},
    ),
]


@pytest.mark.parametrize(("camel", "snake"), CASES)
def test_fields_are_spelled_at_every_depth(camel: dict[str, Any], snake: dict[str, Any]) -> None:
    assert spelling.snake(camel) == snake
    assert spelling.camel(snake) == camel
    assert spelling.snake(snake) == snake
    assert spelling.camel(camel) == camel


@pytest.mark.parametrize("field", ["labels", "annotations", "nodeSelector", "limits", "requests"])
def test_keys_chosen_by_a_user_are_unchanged(field: str) -> None:
    chosen = {"example.com/nodeType": "a_b", "priorityClassName": "train", "my_key": "1"}
    assert list(spelling.snake({field: chosen}).values()) == [chosen]
    assert list(spelling.camel({field: chosen}).values()) == [chosen]
    assert spelling.camel(spelling.snake({field: chosen})) == {field: chosen}
