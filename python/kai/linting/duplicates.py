"""Different objects of the same kind, namespace and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kai.admission import same_name
from kai.admission.finding import Finding, refusal
from kai.api import kinds
from kai.api.reading import at, text
from kai.linting.templates import placeholder_in


def check(objects: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Finding]]:
    """A finding for each such object after the first, with the index of the object.

    Plans use none of them. Equal objects count once, and kinds that plans do not read may repeat.
    """
    found: dict[tuple[str, str], list[int]] = {}
    for index, manifest in enumerate(objects):
        if key := _key(manifest):
            found.setdefault(key, []).append(index)
    for same in found.values():
        first = objects[same[0]]
        if all(objects[index] == first for index in same):
            continue
        for index in same[1:]:
            fix = "write another name, or remove the others"
            message = f"{at(first, 'metadata', 'name')} {same_name(len(same))}"
            yield index, refusal("name-twice", ("metadata", "name"), message, fix)


def _key(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and full name of an object that plans read and that has a name, which is known."""
    known = kinds.row_of_manifest(manifest)
    name = text(at(manifest, "metadata", "name"))
    if known is None or not known.read or not name or placeholder_in(name):
        return None
    kind = text(manifest.get("kind"))
    return kind, kinds.full_name(manifest, cluster_scoped=kind in kinds.CLUSTER_SCOPED)
