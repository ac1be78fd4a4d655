"""Checks of the names of objects, which the API server requires to be DNS names, and of kinds."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from kai.admission import misspelt
from kai.admission.finding import Finding, Path, refusal
from kai.api import keys, kinds
from kai.api.names import LONGEST_LABEL, LONGEST_NAME, problem_of_label, problem_of_name
from kai.api.reading import mapping, text
from kai.api.rules import written


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
    is_label = kind in _WITHOUT_DOTS
    problem_of, most = (
        (problem_of_label, LONGEST_LABEL) if is_label else (problem_of_name, LONGEST_NAME)
    )
    problem = problem_of(whole) if given else ""
    if name and not problem and len(name) > (longest := _LONGEST.get(kind, most)):
        most, problem = longest, f"has {len(name)} characters, more than {longest}"
    if problem:
        shown = problem.replace(f'"{whole}"', f'"{given}"')
        fix = f"write a name of up to {most} characters, such as train-1"
        yield refusal("name-refused", ("metadata", member), shown, fix)
    space = text(metadata.get("namespace"))
    if space and kind not in kinds.CLUSTER_SCOPED and (problem := problem_of_label(space)):
        fix = f"write a name of up to {LONGEST_LABEL} characters, such as team-a"
        yield refusal("name-refused", ("metadata", "namespace"), problem, fix)


_WITHOUT_DOTS = ("Namespace", "StatefulSet")
"""Kinds with names that are a part of other names, such as those of hosts."""
_LONGEST = {"Job": LONGEST_LABEL, "CronJob": 52}
"""Kinds with names that become a label of their pods; a CronJob adds the time to its own. Names
that the API server generates are cut."""


def without_name(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """An object of a kind that plans read, without metadata or a name."""
    row = kinds.row_of_manifest(manifest)
    if row is None or not row.read:
        return
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        yield refusal("name-refused", ("metadata",), "metadata is missing", "write metadata.name")
        return
    for member in ("name", "namespace"):
        value = metadata.get(member)
        if value and not isinstance(value, str):
            if member == "namespace" and text(manifest.get("kind")) in kinds.CLUSTER_SCOPED:
                continue
            yield refusal(
                "name-refused", ("metadata", member), f"metadata.{member} is not a text",
                'write it in quotes, such as "train-1"',
            )  # fmt: skip
    start = metadata.get("generateName")
    if not metadata.get("name") and not (isinstance(start, str) and start.rstrip("-")):
        fix = "write the name of the object"
        yield refusal("name-refused", ("metadata",), "metadata.name is missing", fix)


def list_refusals(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """A List, or a PodList and so on, whose items are no list."""
    kind, items = text(manifest.get("kind")), manifest.get("items")
    if kind != "List" and kind not in _LISTS:
        return
    if items is not None and not isinstance(items, list):
        yield _not_of_type(("items",), "items", items, "a list")


_LISTS = frozenset(f"{kind}List" for kind in kinds.KINDS)


def item_refusals(manifest: Mapping[str, Any], at: Path = ()) -> Iterator[Finding]:
    """Items of a List, at any depth, that are no objects; plans skip null. `at`: the path of the
    List."""
    for index, each in enumerate(kinds.items_of(manifest) or ()):
        where = (*at, "items", index)
        if isinstance(each, Mapping):
            yield from item_refusals(each, where)
        elif each is not None:
            yield _not_of_type(where, "this item", each, "an object")


def _not_of_type(at: Path, name: str, value: Any, wanted: str) -> Finding:
    message = f"{name} is {written(value)}: the API server requires {wanted}"
    return refusal("value-refused", at, message, f"write {wanted}")


def unknown_kind(manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """A kind that a group of Kubernetes or KAI does not have, and so is misspelt."""
    kind, version = text(manifest.get("kind")), manifest.get("apiVersion")
    group = kinds.group_of(version) if isinstance(version, str) else None
    if kind in kinds.KINDS:
        yield from _of_another_group(kind, group)
        return
    if not kind:
        return
    if group is not None and group not in kinds.WHOLE_GROUPS:
        return
    known = [name for name, row in kinds.KINDS.items() if row.group in kinds.WHOLE_GROUPS]
    close = difflib.get_close_matches(kind, known, n=1)
    fix = f"did you mean {close[0]}?" if close else "write another kind"
    yield refusal("kind-unknown", ("kind",), f"{kind} is not a kind of Kubernetes", fix)


_VERSIONS = {
    "Queue": "v2", "PodGroup": "v2alpha2", "BindRequest": "v1alpha2", "Topology": "v1alpha1",
}  # fmt: skip
"""Versions other than v1."""


def _of_another_group(kind: str, group: str | None) -> Iterator[Finding]:
    """A kind of Kubernetes or KAI with the API group of another one: Jobs are in batch."""
    row = kinds.KINDS[kind]
    if kind == "PodGroup" and group == "scheduling.k8s.io":
        return  # Kubernetes has pod groups, too
    is_close = group in kinds.WHOLE_GROUPS or group == "extensions"
    is_kais = row.group in (keys.SCHEDULING_GROUP, keys.KAI_GROUP) and misspelt.is_kais(group or "")
    if group is None or group == row.group or row.group not in kinds.WHOLE_GROUPS:
        return
    if is_close or is_kais:
        message = f"the group {group or 'of v1'} has no kind {kind}"
        yield refusal(
            "kind-unknown", ("apiVersion",), message, f"write {_version(kind, row.group)}"
        )


def _version(kind: str, group: str) -> str:
    version = _VERSIONS.get(kind, "v1")
    return f"{group}/{version}" if group else version


def same_name(number: int) -> str:
    """The message about different objects of one kind, namespace and name."""
    return f"is the name of {number} different objects, so none of them is used"
