"""Which definitions of a cluster the chart replaces."""

import copy
from typing import Any

import pytest

from kai.install import definitions, manifests
from kai.install.definitions import VERSION_ANNOTATION, with_version

[QUEUES] = [each for each in manifests.crds() if each["spec"]["names"]["kind"] == "Queue"]
OURS = with_version(QUEUES, "0.2.0")


def spec_fields(definition: dict[str, Any]) -> dict[str, Any]:
    [version] = definition["spec"]["versions"]
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return dict(schema)["properties"]


@pytest.mark.parametrize("version", ["0.1.0", "0.1.9", "0.2.0", "0.2.0rc1", "unreadable"])
def test_an_older_version_of_ours_is_replaced(version: str) -> None:
    assert definitions.why_it_stays(with_version(QUEUES, version), OURS) == ""


@pytest.mark.parametrize("version", ["0.2.1", "0.10.0", "1.0.0"])
def test_a_newer_version_of_ours_stays(version: str) -> None:
    why = definitions.why_it_stays(with_version(QUEUES, version), OURS)
    assert why == f"it is of the newer version {version} of kai-sched"


def test_a_definition_of_kai_with_the_same_fields_stays() -> None:
    assert "is of KAI" in definitions.why_it_stays(QUEUES, OURS)


def test_an_older_definition_of_kai_is_replaced() -> None:
    older = copy.deepcopy(QUEUES)
    del spec_fields(older)["reclaimMinRuntime"]
    assert definitions.why_it_stays(older, OURS) == ""


def test_a_newer_definition_of_kai_stays() -> None:
    newer = copy.deepcopy(QUEUES)
    spec_fields(newer)["color"] = {"type": "string"}
    assert "is of KAI" in definitions.why_it_stays(newer, OURS)


def test_a_definition_of_kai_with_other_fields_stays() -> None:
    """A replacement would remove a field that KAI's programs may use."""
    other = copy.deepcopy(QUEUES)
    fields = spec_fields(other)
    fields["color"] = fields.pop("reclaimMinRuntime")
    assert "is of KAI" in definitions.why_it_stays(other, OURS)


def test_the_version_is_added_to_the_annotations() -> None:
    assert OURS["metadata"]["annotations"][VERSION_ANNOTATION] == "0.2.0"
    assert OURS["spec"] == QUEUES["spec"]
    assert VERSION_ANNOTATION not in QUEUES["metadata"].get("annotations", {})
