"""Writes the table of Kubernetes fields: python/kai/api/kubernetes_fields.txt.

    tools/kubernetes_fields.py FOLDER...

A folder has OpenAPI documents (v3) of API servers: those of the Kubernetes repository
(api/openapi-spec/v3), with all versions, and those that a server answers, which also have the
values of fields with few values (`kubectl get --raw /openapi/v3/apis/batch/v1`, one file each). A
definition of a later folder replaces that of an earlier one.

A line of the table is a type: its name, and its fields, each with its own type. The types of values
are str, bool, number, int32, int64, quantity, time, int-or-str and any; "=A|B" lists the values of
a text, "[]" is a list, "{}" a mapping with names that the user chooses, and "!" a field that must
be there. The versions of a type are one entry, with the fields of all.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kai.api import kinds

TABLE = Path(__file__).parents[1] / "python" / "kai" / "api" / "kubernetes_fields.txt"
ROOTS = (
    *(name for name, kind in kinds.KINDS.items() if kind.listed and "run.ai" not in kind.group),
    *("Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"),
    *("ReplicationController", "ObjectMeta"),
)
NOT_ENFORCED = (
    *("DeviceClass.spec", "DeviceCapacity.value", "ResourcePool.generation"),
    *("HTTPHeader.value", "Sysctl.value", "PreferredSchedulingTerm.preference"),
    *("PodFailurePolicy.rules", "SleepAction.seconds"),
    *("ISCSIVolumeSource.lun", "ISCSIPersistentVolumeSource.lun"),
)
"""Fields that servers do not require, although their documents say so."""
ENFORCED = (
    *("Container.image", "DeviceSelector.cel"),
    *("PersistentVolumeClaimSpec.accessModes", "PersistentVolumeSpec.accessModes"),
    *("PersistentVolumeClaim.spec", "PersistentVolume.spec"),
    *("JobTemplateSpec.spec", "PodTemplateSpec.spec", "ConfigMapVolumeSource.name"),
    *("ConfigMapKeySelector.name", "SecretKeySelector.name"),
)
"""Fields that servers require, although their documents do not say so."""
LISTED = {
    "Container.restartPolicy": "Always|Never|OnFailure",
    "ExactDeviceRequest.allocationMode": "All|ExactCount",
    "DeviceSubRequest.allocationMode": "All|ExactCount",
}
"""Values of texts that the documents do not list."""
_VALUES = {
    "Quantity": "quantity", "IntOrString": "int-or-str", "Time": "time", "MicroTime": "time",
}  # fmt: skip
_GROUPS = re.compile(r"io\.k8s\.(api|apimachinery)\.")

Types = dict[str, dict[str, str]]


def definitions(folders: Iterable[Path]) -> dict[str, Mapping[str, Any]]:
    """The schemas of Kubernetes' own types, by their full names."""
    found: dict[str, Mapping[str, Any]] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.json")):
            document = json.loads(file.read_text())
            schemas = document.get("components", {}).get("schemas", {})
            found |= {name: each for name, each in schemas.items() if _GROUPS.match(name)}
    return found


def types_of(schemas: Mapping[str, Mapping[str, Any]]) -> Types:
    """By type, the fields with their types."""
    found: Types = {}
    versions: dict[str, int] = {}
    required: dict[str, dict[str, int]] = {}
    for full_name, schema in schemas.items():
        name = full_name.rpartition(".")[2]
        if name in _VALUES or "properties" not in schema:
            continue
        fields = found.setdefault(name, {})
        versions[name] = versions.get(name, 0) + 1
        counts = required.setdefault(name, {})
        for field, value in schema["properties"].items():
            kind = kind_of(value, schemas)
            fields[field] = _either(kind, fields.get(field, kind))
        for field in schema.get("required", ()):
            counts[field] = counts.get(field, 0) + 1
    for name, counts in required.items():
        for field, count in counts.items():
            if count == versions[name] and f"{name}.{field}" not in NOT_ENFORCED:
                found[name][field] += "!"
    for place, values in LISTED.items():
        name, _, field = place.partition(".")
        found[name][field] = f"str={values}"
    for name, _, field in (each.partition(".") for each in ENFORCED):
        found[name][field] += "!"
    return found


def kind_of(schema: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """The type of a value, as the table has it."""
    if inner := schema.get("allOf"):
        return kind_of(inner[0], schemas)
    if reference := schema.get("$ref"):
        full_name = reference.rpartition("/")[2]
        name = full_name.rpartition(".")[2]
        return _VALUES.get(name) or (name if "properties" in schemas[full_name] else "any")
    kind = schema.get("type")
    if kind == "array":
        return f"{kind_of(schema['items'], schemas)}[]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"{kind_of(values, schemas)}{{}}" if isinstance(values, Mapping) else "any"
    if kind == "string":
        return "=".join(("str", "|".join(schema["enum"]))) if schema.get("enum") else "str"
    if kind == "integer":
        return str(schema.get("format", "int64"))
    return {"boolean": "bool", "number": "number"}.get(kind or "", "any")


def _either(kind: str, other: str) -> str:
    """One type of a field that differs between versions; only some list the values of a text."""
    if kind == other:
        return kind
    listed = {each for each in (kind, other) if each.startswith("str=")}
    return listed.pop() if len(listed) == 1 and "str" in (kind, other) else "any"


def reached(types: Types) -> list[str]:
    """Types that an object of a kind can hold."""
    seen: set[str] = set()
    left = [each for each in ROOTS if each in types]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            named = (re.match(r"[A-Z]\w*", kind) for kind in types[name].values())
            left += [each[0] for each in named if each]
    return sorted(seen)


def table(folders: Iterable[Path]) -> str:
    types = types_of(definitions(folders))
    lines = ["# Types of Kubernetes and their fields; written by tools/kubernetes_fields.py."]
    for name in reached(types):
        fields = [f"{field}:{kind}" for field, kind in sorted(types[name].items())]
        lines.append(" ".join((name, *fields)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TABLE.write_text(table(map(Path, sys.argv[1:])))
