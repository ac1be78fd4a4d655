"""Checks of the names of objects, which the API server requires to be DNS names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission.finding import Finding, refusal
from kai.api import kinds
from kai.api.names import LONGEST_LABEL, LONGEST_NAME, problem_of_label, problem_of_name
from kai.api.reading import mapping, text


def name_refusals(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """Why the API server refuses the name and the namespace of an object of a known kind."""
    if kinds.row_of_manifest(manifest) is None:
        return
    kind = text(manifest.get("kind"))
    metadata = mapping(manifest.get("metadata"))
    name, start = text(metadata.get("name")), text(metadata.get("generateName"))
    member, given = ("name", name) if name else ("generateName", start)
    # The API server adds letters and digits to a generateName.
    whole = given if name else f"{given[:-1]}x" if given.endswith("-") else given
    if given and (problem := problem_of_name(whole)):
        shown = problem.replace(f'"{whole}"', f'"{given}"')
        fix = f"write a name of up to {LONGEST_NAME} characters, such as train-1"
        yield refusal("name-refused", ("metadata", member), shown, fix)
    space = text(metadata.get("namespace"))
    if space and kind not in kinds.CLUSTER_SCOPED and (problem := problem_of_label(space)):
        fix = f"write a name of up to {LONGEST_LABEL} characters, such as team-a"
        yield refusal("name-refused", ("metadata", "namespace"), problem, fix)


def same_name(number: int) -> str:
    """The message about different objects of one kind, namespace and name."""
    return f"is the name of {number} different objects, so none of them is used"
