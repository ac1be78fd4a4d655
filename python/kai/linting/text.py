"""Findings in files, with their lines and fixes.

Values come from `kai.api.documents`, which reads as kubectl does; lines come from `kai.api.places`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kai.admission.finding import Edit, Finding, Path, error
from kai.admission.queue_tree import Queues
from kai.api import documents, keys
from kai.api.documents import plain_scalar
from kai.api.places import line_of, nodes_of, walk
from kai.api.templates import read_rendered
from kai.errors import InvalidRequestError
from kai.linting import checks, duplicates, templates
from kai.linting.given import NOTHING, Given
from kai.linting.groups import name_of
from kai.linting.ignoring import without_ignored


@dataclass(frozen=True, slots=True)
class Located:
    """A finding in a file; lines are counted from 1."""

    finding: Finding
    document: int
    line: int


@dataclass(frozen=True, slots=True)
class File:
    """The objects of a file, each with the number of its document and its path there."""

    text: str
    documents: Sequence[documents.Document]
    objects: Sequence[tuple[int, Path, Mapping[str, Any]]]

    @property
    def queues(self) -> list[Mapping[str, Any]]:
        return [each for _, _, each in self.objects if each.get("kind") == "Queue"]

    @property
    def placeholder(self) -> str:
        """A value that another program fills in, and that was not checked; "" without any."""
        return templates.first_placeholder([each for _, _, each in self.objects])


def read(text: str) -> File:
    """Reads the objects of a text.

    Raises InvalidInputError for a text that cannot be read, UnrenderedError for a template of Helm
    or Jinja, and InvalidRequestError for a text that is empty or contains other things than objects
    to check.
    """
    read = read_rendered(text, "kai lint")
    objects = []
    has_others = False
    for index, document in enumerate(read):
        if document.value is None or document.problem:
            continue
        try:
            found = list(checks.objects_in(document.value))
        except InvalidRequestError as refused:
            # Not an object, such as the first document of a compiled pipeline.
            if len(read) == 1:
                raise InvalidRequestError(f"line {document.line}: {refused}") from None
            has_others = True
            continue
        objects += [(index, path, value) for path, value in found]
    # A text of empty Lists or comments has nothing to check, which is no error.
    is_manifest = text.strip() and not has_others
    if not objects and not is_manifest and not any(each.problem for each in read):
        raise InvalidRequestError("contains no object that can be checked")
    return File(text, read, objects)


def check(
    file: File,
    known: Queues,
    *,
    scheduler_name: str = keys.SCHEDULER_NAME,
    queue_label_key: str = keys.QUEUE_LABEL,
    given: Given = NOTHING,
) -> list[Located]:
    """The findings about the objects of a file, without those that comments ignore."""
    found = [
        (index, error("document-unreadable", (), each.problem, _how_to_correct(file.text)))
        for index, each in enumerate(file.documents)
        if each.problem
    ]
    for index, document in enumerate(file.documents):
        found += [(index, each) for each in checks.not_objects(document.value)]
    said: set[str] = set()
    for index, path, value in file.objects:
        found += [
            (index, each)
            for each in checks.check(
                value,
                path,
                known,
                scheduler_name=scheduler_name,
                queue_label_key=queue_label_key,
                given=given,
            )
            if not checks.was_said(each, said)
        ]
    for place, each in duplicates.check([value for _, _, value in file.objects]):
        index, path, value = file.objects[place]
        found.append((index, each.inside(path, name_of(value))))
    nodes = nodes_of(file.text) if found else []
    located = [
        Located(each, index, line_of(nodes, index, each.at) or file.documents[index].line)
        for index, each in found
    ]
    kept, unused = without_ignored(located, file.text)
    kept += [Located(each, 0, line) for line, each in unused]
    return sorted(kept, key=lambda each: (each.line, each.finding.code))


def _how_to_correct(text: str) -> str:
    unquoted = re.search(r"^\s*(?:- +)?[^\s#\"']+: +(\{\{.*\}\})\s*$", text, re.MULTILINE)
    return f"write it in quotes: '{unquoted[1]}'" if unquoted else "correct the document"


def corrected(file: File, findings: Iterable[Located]) -> tuple[str, int]:
    """The text with every certain fix, and the number of fixes."""
    nodes = nodes_of(file.text)
    changes: dict[tuple[int, int], str] = {}
    for each in findings:
        if each.finding.edit is not None and each.document < len(nodes):
            change = _change(file.text, nodes[each.document], each.finding.edit)
            if change is not None:
                start, end, new = change
                changes.setdefault((start, end), new)
    text = file.text
    for (start, end), new in sorted(changes.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text, len(changes)


# ---- places in the text --------------------------------------------------------------------------


def _change(text: str, root: Any, edit: Edit) -> tuple[int, int, str] | None:
    """Start, end and new text; None if the entry cannot be changed in place."""
    steps = list(walk(root, edit.at))
    if len(steps) < len(edit.at):
        return None
    key, value = steps[-1]
    if value.id != "scalar" or value.style in ("|", ">"):
        return None
    end = value.end_mark.index
    if edit.action in ("set", "quote"):
        new = edit.value if edit.action == "set" else value.value
        return value.start_mark.index, end, _scalar(new)
    if edit.action == "rename":
        if key is None:
            return None
        new = _scalar(edit.value) if key.style else edit.value
        return key.start_mark.index, key.end_mark.index, new
    above = steps[-2][1] if len(steps) > 1 else root
    written = f"{json.dumps(edit.key) if key.style else edit.key}: {_name(edit.value, key.style)}"
    if above.flow_style:
        return end, end, f", {written}"
    return end, end, f"\n{' ' * key.start_mark.column}{written}"


def _scalar(value: str) -> str:
    return json.dumps(value)


def _name(value: str, style: str | None) -> str:
    """A container name, without quotes if YAML still reads a string."""
    return _scalar(value) if style or not isinstance(plain_scalar(value), str) else value
