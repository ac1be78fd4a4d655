"""Writes the table of Kubernetes fields: python/kai/api/kubernetes_fields.txt.

    pip download kubernetes==35.0.0 --no-deps, unpack it, and
    tools/kubernetes_fields.py FOLDER/kubernetes/client/models

The models of the official Python client name the fields of every type, and their types. A line of
the table is a type: its name, and its fields, each with its own type if that type has fields. The
versions of a type are one entry, with the fields of all.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from kai.api import kinds

TABLE = Path(__file__).parents[1] / "python" / "kai" / "api" / "kubernetes_fields.txt"
ROOTS = (
    *(name for name, kind in kinds.KINDS.items() if kind.listed and "run.ai" not in kind.group),
    *("Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"),
    "ReplicationController",
)
_VERSION = re.compile(r"^(Core|Events|Discovery|Storage|Resource)?V\d+((alpha|beta)\d+)?")


def types_of(models: Path) -> dict[str, dict[str, str]]:
    """By type, the fields with their types, "" for those that have no fields."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted(models.glob("*.py")):
        text = file.read_text()
        name = re.search(r"^class (\w+)\(", text, re.MULTILINE)
        tables = [
            re.search(rf"    {table} = (\{{.*?\}})\n", text, re.DOTALL)
            for table in ("openapi_types", "attribute_map")
        ]
        if name is None or not all(tables):
            continue
        types, spelled = (ast.literal_eval(table.group(1)) for table in tables if table)
        fields = found.setdefault(_VERSION.sub("", name.group(1)), {})
        for field, kind in types.items():
            inner = re.fullmatch(r"(?:list\[)?(\w+)\]?", kind)
            written = inner.group(1) if inner else ""
            fields[spelled[field]] = _VERSION.sub("", written) if _VERSION.match(written) else ""
    return found


def reached(types: dict[str, dict[str, str]]) -> list[str]:
    """Types that an object of a kind can hold."""
    seen: set[str] = set()
    left = [each for each in (*ROOTS, "ObjectMeta") if each in types]
    while left:
        name = left.pop()
        if name not in seen and name in types:
            seen.add(name)
            left += types[name].values()
    return sorted(seen)


def main() -> None:
    types = types_of(Path(sys.argv[1]))
    names = reached(types)
    lines = ["# Types of Kubernetes and their fields; written by tools/kubernetes_fields.py."]
    for name in names:
        fields = [
            f"{field}:{kind}" if kind in names else field
            for field, kind in sorted(types[name].items())
        ]
        lines.append(" ".join((name, *fields)))
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
