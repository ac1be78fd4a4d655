"""The schema of Kubernetes' kinds: values of another type, unknown values, and missing fields.

kubernetes_fields.txt has the type of each field, from the API server's own documents. The server
refuses an object with a value of another type, also in fields that neither KAI nor plans read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

from kai.admission import schema_rules
from kai.admission.finding import Edit, Finding, Path, dotted
from kai.admission.pods import Pod
from kai.api import documents, keys, kinds, quantities
from kai.api.numerals import literal
from kai.api.reading import at, mapping, text
from kai.api.rules import written


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: the name of a type, in upper case, or of a kind of values. `many`: "[]" for a list,
    "{}" for a mapping with names that the user chooses, "" for one value. `values`: of a text with
    few values."""

    kind: str
    many: str = ""
    values: tuple[str, ...] = ()
    required: bool = False

    @property
    def type(self) -> str:
        """The name of a type with fields; "" for values."""
        return self.kind if self.kind[:1].isupper() else ""


def _field(described: str) -> Field:
    """
    >>> _field("str=In|NotIn[]!")
    Field(kind='str', many='[]', values=('In', 'NotIn'), required=True)
    """
    found = re.fullmatch(r"([\w-]+)(?:=([^\[\]{}!]+))?(\[\]|\{\})?[\[\]{}]*(!?)", described)
    assert found is not None, described
    kind, values, many, required = found.groups()
    return Field(
        kind, many or "", tuple((values or "").split("|")) if values else (), bool(required)
    )


class _Types(Mapping[str, Mapping[str, Field]]):
    """The types, each read when it is used first. `lines`: the fields of each as they are
    written."""

    def __init__(self, lines: Mapping[str, str]) -> None:
        self._lines = lines
        self._read: dict[str, Mapping[str, Field]] = {}

    def __getitem__(self, name: str) -> Mapping[str, Field]:
        if name not in self._read:
            fields = (each.partition(":") for each in self._lines[name].split())
            self._read[name] = {field: _field(described) for field, _, described in fields}
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


@cache
def kubernetes() -> Mapping[str, Mapping[str, Field]]:
    """The fields of each Kubernetes type."""
    folder = os.path.dirname(kinds.__file__)  # importing pathlib takes 5 ms
    with open(os.path.join(folder, "kubernetes_fields.txt"), "rb") as file:
        lines = documents.decode(file.read()).splitlines()[1:]
    return _Types({name: rest for name, _, rest in (line.partition(" ") for line in lines)})


def kind_of_written(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
    """The kind and API group of a manifest that a user wrote; None for an object that comes from an
    API server, which accepted it, and if its `apiVersion` is that of another group."""
    if at(manifest, "metadata", "resourceVersion"):
        return None
    kind, version = text(manifest.get("kind")), manifest.get("apiVersion")
    group = kinds.known(kind).group
    return None if isinstance(version, str) and kinds.group_of(version) != group else (kind, group)


def of_manifest(manifest: Mapping[str, Any], pods: Iterable[Pod]) -> Iterator[Finding]:
    """What the API server refuses, by the schema of the kind, and in pods of other kinds.

    Objects that come from an API server were accepted by it. Settings that are merged into a
    manifest lack fields: fields that must be there are checked in whole manifests.
    """
    if (written_as := kind_of_written(manifest)) is None:
        return
    kind, group = written_as
    pods = list(pods)
    is_named = any(name in mapping(manifest.get("metadata")) for name in ("name", "generateName"))
    if is_kubernetes(kind, group):
        is_whole = isinstance(manifest.get("apiVersion"), str) and is_named and _has_images(pods)
        yield from _Check(kind, is_whole=is_whole).object(manifest, kind, ())
        return
    if not group:
        return
    if kind == "Topology" and group == keys.KAI_GROUP:
        yield from schema_rules.of_topology(manifest)
    check = _Check(kind, is_whole=False)
    yield from check.value(manifest.get("metadata"), Field("ObjectMeta"), ("metadata",))
    for pod in pods:
        if pod.spec:
            yield from check.value(pod.spec, Field("PodSpec"), pod.spec_at)
            yield from check.value(pod.metadata, Field("ObjectMeta"), pod.metadata_at)


def _has_images(pods: Iterable[Pod]) -> bool:
    """Whether some container has an image, or there are none. Parts of manifests, such as patches
    and settings of orchestrators, have containers without images."""
    containers = [each for pod in pods for each in (*pod.containers, *pod.init_containers)]
    return not containers or any("image" in each.fields for each in containers)


def is_kubernetes(kind: str, group: str) -> bool:
    """Whether this is a kind of Kubernetes; KAI has a PodGroup, too."""
    return kind in kubernetes() and "run.ai" not in group


@dataclass(frozen=True, slots=True)
class _Check:
    """The check of one object. `is_whole`: whether fields that must be there are missing."""

    kind: str
    is_whole: bool

    def value(self, value: object, field: Field, where: Path) -> Iterator[Finding]:
        """What is wrong with a field; null is the same as an absent field."""
        if value is None or field.kind == "any":
            return
        if field.many == "[]":
            if not isinstance(value, list):
                yield refused(value, where, "a list")
                return
            for index, each in enumerate(value):
                if each == "" and field.values:
                    yield refused(each, (*where, index), _one_of(field.values))
                yield from self._single(each, field, (*where, index))
        elif field.many == "{}":
            if not isinstance(value, Mapping):
                yield refused(value, where, "a mapping")
                return
            for key, each in value.items():
                yield from self._single(each, field, (*where, str(key)))
        else:
            yield from self._single(value, field, where)

    def _single(self, value: object, field: Field, where: Path) -> Iterator[Finding]:
        if not field.type:
            yield from () if value is None else _wrong(value, field, where)
        elif value is None or isinstance(value, Mapping):  # null is an empty object in a list
            yield from self.object(value or {}, field.type, where)
        else:
            yield refused(value, where, "a mapping")

    def object(self, value: Mapping[Any, Any], name: str, where: Path) -> Iterator[Finding]:
        """What is wrong with an object of this type."""
        fields = kubernetes()[name]
        is_right = True
        for key, each in value.items():
            if key not in fields:
                continue
            here = (*where, key)
            wrong = list(self.value(each, fields[key], here))
            is_right &= not wrong
            yield from wrong or schema_rules.of_field(f"{name}.{key}", each, here)
        is_whole = self.is_whole and "status" not in where
        if is_right and (is_whole or name not in schema_rules.WHOLE):
            yield from schema_rules.of_object(name, value, where)
        if not is_whole:
            return
        for key, field in fields.items():
            if field.required and value.get(key) in (None, "", []):
                wanted = f": {_one_of(field.values)}" if field.values else ""
                message = f"{key} is missing: the API server requires it"
                yield schema_rules.needs((*where, key), message, f"write {key}{wanted}")


def refused(
    value: object, where: Path, wanted: str, fix: str = "", edit: Edit | None = None
) -> Finding:
    """The finding about a value that the API server refuses."""
    name = dotted(where[-2:] if isinstance(where[-1], int) else where[-1:])
    message = f"{name} is {written(value)}: the API server requires {wanted}"
    return schema_rules.needs(where, message, fix or f"write {wanted}", edit)


def _wrong(value: object, field: Field, where: Path) -> Iterator[Finding]:
    """Why a value has not the type of a field without fields of its own."""
    if field.kind in ("str", "time"):
        if not isinstance(value, str):
            is_plain = isinstance(value, (bool, int, float))
            fix = f'write "{_text(value)}", in quotes' if is_plain else ""
            edit = Edit("quote", where) if is_plain else None
            yield refused(value, where, "a string", fix, edit)
        elif field.kind == "time" and not _is_time(value):
            yield refused(value, where, "a time such as 2026-01-31T08:00:00Z")
        elif field.values and value and value not in field.values:
            yield refused(value, where, _one_of(field.values))
        return
    is_right, wanted = _VALUES[field.kind]
    if not is_right(value):
        is_quoted = isinstance(value, str) and value and is_right(documents.plain_scalar(value))
        fix = f"write {value}, without quotes" if is_quoted else ""
        yield refused(value, where, wanted, fix)


def _text(value: Any) -> str:
    return literal(value) if isinstance(value, float) else written(value)


def _one_of(values: Iterable[str]) -> str:
    *most, last = values
    return f"{', '.join(most)} or {last}" if most else last


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def _is_time(value: str) -> bool:
    try:
        return bool(_TIME.fullmatch(value) and datetime.fromisoformat(f"{value[:19]}+00:00"))
    except ValueError:
        return False


def _is_int(bits: int, value: object) -> bool:
    """Whether this is a whole number of so many bits; kubectl writes 2.0 as 2."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value == value // 1 and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _is_quantity(value: object) -> bool:
    """As the API server reads it: a unit without a number is 0."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return False
    if isinstance(value, str) and re.fullmatch(r"[numkMGTPE]|[KMGTPE]i", value):
        return True
    try:
        quantities.parse(value)
    except ValueError:
        return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_VALUES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int32": (partial(_is_int, 32), "a whole number of 32 bits"),
    "int64": (partial(_is_int, 64), "a whole number of 64 bits"),
    "number": (_is_number, "a number"),
    "quantity": (_is_quantity, "a quantity, such as 2, 500m or 16Gi"),
    "int-or-str": (
        lambda value: isinstance(value, str) or _is_int(32, value),
        "a whole number of 32 bits, or a string",
    ),
}
"""By kind of values, whether a value is one, and what the kind is for sentences."""
