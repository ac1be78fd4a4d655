"""Our manifests match the CustomResourceDefinitions of their kinds exactly.

An API server drops unknown fields, and the setting is lost: unknown fields therefore count as
errors here. The definitions belong to their projects, and we do not ship them: KAI_CRDS names a
folder of them (KubeRay, JobSet, LeaderWorkerSet, Spark operator, Trainer, Training Operator, Grove
and Dynamo keep theirs in ``config/crd/bases``, ``manifests/base/crds`` or
``api/core/v1alpha1/crds``). The checker covers the part of OpenAPI that CRDs use; rules in CEL are
not checked.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifests import CUSTOM, GPUS, request_with

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": Mapping,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def errors(value: Any, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """A sentence for each error."""
    where = path or "the object"
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            yield f"{where} is {value!r}, no number and no text"
        return
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and value is True)):
        yield f"{where} is {value!r}, no {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is {value!r}, none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where} is {value!r}, which does not match {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{where} is {value!r}, of a wrong length"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where} is {value!r}, out of range"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where} has too few entries"
        for at, each in enumerate(value):
            yield from errors(each, schema.get("items", {}), f"{path}[{at}]")
    if isinstance(value, Mapping):
        yield from _of_fields(value, schema, path)


def _of_fields(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    anything = schema.get("x-kubernetes-preserve-unknown-fields") or not (known or rest)
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path or 'the object'} lacks {name}"
    for name, each in value.items():
        its = f"{path}.{name}" if path else name
        if name in known:
            yield from errors(each, known[name], its)
        elif isinstance(rest, Mapping):
            yield from errors(each, rest, its)
        elif not rest and not anything:
            yield f"{its} is not a field"


def schemas_of(crd: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """apiVersion, kind and schema of each version, without metadata, which is the same for all
    objects."""
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        fields = {**schema["properties"], "metadata": {"type": "object"}}
        yield f"{group}/{version['name']}", kind, {**schema, "properties": fields}


# ---- the checker --------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 1},
        "amount": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "parts": {
            "type": "array",
            "items": {"type": "object", "properties": {"on": {"type": "boolean"}}},
        },
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def test_valid_values_have_no_errors() -> None:
    right = {
        "name": "x",
        "mode": "b",
        "count": 2,
        "amount": "500m",
        "labels": {"a.b/c": "d"},
        "parts": [{"on": True}, {}],
        "any": {"what": ["ever"]},
    }
    assert list(errors(right, SCHEMA)) == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({}, "the object lacks name"),
        ({"name": 1}, "name is 1, no string"),
        ({"name": "X"}, "name is 'X', which does not match ^[a-z]+$"),
        ({"name": "x", "mode": "c"}, "mode is 'c', none of ['a', 'b']"),
        ({"name": "x", "count": 0}, "count is 0, out of range"),
        ({"name": "x", "count": True}, "count is True, no integer"),
        ({"name": "x", "amount": 1.5}, "amount is 1.5, no number and no text"),
        ({"name": "x", "labels": {"a": 1}}, "labels.a is 1, no string"),
        ({"name": "x", "parts": [{}, {"off": True}]}, "parts[1].off is not a field"),
        ({"name": "x", "nmae": "y"}, "nmae is not a field"),
    ],
)
def test_invalid_values_have_errors(wrong: dict[str, Any], error: str) -> None:
    assert list(errors(wrong, SCHEMA)) == [error]


# ---- our manifests ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def definitions() -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    """By apiVersion and kind: the schemas of every available version of its project."""
    folder = os.environ.get("KAI_CRDS")
    if folder is None:
        pytest.skip("KAI_CRDS names no folder of CustomResourceDefinitions")
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for file in sorted(Path(folder).glob("*.yaml")):
        for document in yaml.load_all(file.read_text(encoding="utf-8"), Loader=loader):
            if document and document.get("kind") == "CustomResourceDefinition":
                for api_version, kind, schema in schemas_of(document):
                    found.setdefault((api_version, kind), []).append(schema)
    return found


@pytest.mark.parametrize("gpus", GPUS, ids=[" ".join(gpus) or "none" for gpus in GPUS])
@pytest.mark.parametrize("name", CUSTOM)
def test_a_manifest_matches_its_definition(
    name: str, gpus: dict[str, Any], definitions: dict[tuple[str, str], list[Mapping[str, Any]]]
) -> None:
    built = CUSTOM[name](request_with(gpus))
    manifests = [dict(built), *getattr(built, "cluster_objects", ())]
    checked = 0
    for manifest in manifests:
        for schema in definitions.get((manifest["apiVersion"], manifest["kind"]), []):
            assert list(errors(manifest, schema)) == []
            checked += 1
    if checked == 0:
        pytest.skip(f"KAI_CRDS has no definition of {name}")
