"""Which CustomResourceDefinitions of a cluster the Helm chart replaces with its own.

    why_it_stays(in_the_cluster, ours)     # "": ours is applied

Our definitions carry our version. One without it is KAI's, of an unknown version. It is older if
ours has all its fields and more; any other one stays, because a replacement could remove fields
that KAI's programs use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kai.api.reading import annotations_of, at, mapping, objects

VERSION_ANNOTATION = "kai.scheduler/kai-sched-version"


def with_version(definition: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The definition with our version in its annotations."""
    metadata = dict(definition["metadata"])
    metadata["annotations"] = {**annotations_of(definition), VERSION_ANNOTATION: version}
    return {**definition, "metadata": metadata}


def why_it_stays(found: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Why the definition that was found stays as it is; "": ours is applied."""
    theirs, own = (annotations_of(each).get(VERSION_ANNOTATION) for each in (found, ours))
    if isinstance(theirs, str):
        is_newer = _numbers(theirs) > _numbers(str(own))
        return f"it is of the newer version {theirs} of kai-sched" if is_newer else ""
    if fields_of(found) < fields_of(ours):
        return ""
    return "it is of KAI, and not older than ours"


def fields_of(definition: Mapping[str, Any]) -> frozenset[str]:
    """The fields of all versions, such as "v2 spec.resources.gpu.quota"."""
    return frozenset(
        f"{version.get('name')} {path}"
        for version in objects(at(definition, "spec", "versions"))
        for path in _paths(mapping(at(version, "schema", "openAPIV3Schema")), "")
    )


def _paths(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, field in mapping(schema.get("properties")).items():
        yield f"{prefix}{name}"
        yield from _paths(mapping(field), f"{prefix}{name}.")
    for inner in ("items", "additionalProperties"):
        if below := mapping(schema.get(inner)):
            yield from _paths(below, f"{prefix}[].")


def _numbers(version: str) -> tuple[int, ...]:
    """The release numbers of a version: (1, 2, 0) for "1.2.0rc1"."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
