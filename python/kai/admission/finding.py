"""Findings: one for each mistake in an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Path = tuple[str | int, ...]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Edit:
    """A certain fix of a document: rename a key, set a value, quote the value that is there, or add
    an entry after another entry of the same mapping."""

    action: Literal["rename", "set", "quote", "add"]
    at: Path  # the entry; for "add", the entry before
    value: str = ""
    key: str = ""  # for "add"


@dataclass(frozen=True, slots=True)
class Finding:
    """An error (KAI refuses it) or a warning (it has no effect, or an unexpected one).

    path: the place in the object, such as ``spec.containers[0].env``. fix: what to write instead.
    object: kind and name of the manifest, "" for settings. edit: the fix, if it is certain.
    refused: the API server or KAI's webhook refuses the object, so plans do not contain it.
    answer: what KAI's webhook answers, word for word; "" if it does not refuse it.
    """

    code: str
    severity: Severity
    path: str
    message: str
    fix: str
    object: str = ""
    at: Path = ()
    edit: Edit | None = None
    refused: bool = False
    answer: str = ""

    def __str__(self) -> str:
        where = ", ".join(each for each in (self.object, self.path) if each)
        return f"{self.severity} {self.code} ({where}): {self.message}; {self.fix}"

    def inside(self, prefix: Path, name: str) -> Finding:
        """The same finding, for an object inside a document."""
        edit = None if self.edit is None else replace(self.edit, at=(*prefix, *self.edit.at))
        return replace(self, object=name, at=(*prefix, *self.at), edit=edit)

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity,
            "object": self.object,
            "path": self.path,
            "message": self.message,
            "fix": self.fix,
            "fixable": self.edit is not None,
        }


def error(code: str, at: Path, message: str, fix: str, edit: Edit | None = None) -> Finding:
    return Finding(code, "error", dotted(at), message, fix, at=at, edit=edit)


def refusal(
    code: str, at: Path, message: str, fix: str, edit: Edit | None = None, *, answer: str = ""
) -> Finding:
    """An error that makes the API server or KAI's webhook refuse the object."""
    return replace(error(code, at, message, fix, edit), refused=True, answer=answer)


def warning(code: str, at: Path, message: str, fix: str, edit: Edit | None = None) -> Finding:
    return Finding(code, "warning", dotted(at), message, fix, at=at, edit=edit)


def dotted(path: Sequence[str | int]) -> str:
    """
    >>> dotted(("spec", "containers", 0, "env")), dotted(("labels", "a.b/c"))
    ('spec.containers[0].env', 'labels[a.b/c]')
    """
    text = ""
    for each in path:
        if isinstance(each, int) or not each.replace("_", "").isalnum():
            text += f"[{each}]"
        else:
            text += f".{each}" if text else each
    return text
