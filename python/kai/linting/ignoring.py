"""Comments that ignore findings of a line: ``# kai: ignore[queue-missing]``.

A comment at the end of a line covers that line. A comment on its own line covers the next line that
is neither a comment nor empty. Without codes it ignores all of them. JSON has no comments.

>>> marks = marks_in("a: 1  # kai: ignore[queue-missing, fraction]\\n# kai: ignore\\nb: 2\\n")
>>> [(mark.line, mark.covers, mark.names) for mark in marks]
[(1, 1, ('queue-missing', 'fraction')), (2, 3, ())]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.admission.finding import warning
from kai.errors import InvalidRequestError
from kai.linting.codes import matching

_MARK = re.compile(r"(?:^|\s)#\s*kai:\s*ignore(?:\s*\[([^\]]*)\])?(?=[\s,;.]|$)")


@dataclass(slots=True)
class Mark:
    """A comment on `line` that ignores findings of the line `covers`; () means all codes."""

    line: int
    covers: int
    names: tuple[str, ...]
    used: set[str] = field(default_factory=set)

    def ignores(self, code: str) -> bool:
        """Whether it ignores this code; if so, it counts as used."""
        if not self.names:
            self.used.add("")
            return True
        meant = [name for name in self.names if code == name or code.startswith(f"{name}-")]
        self.used.update(meant)
        return bool(meant)

    def unused(self) -> list[str]:
        """The names without a finding; [""]: it ignores everything, and there is no finding."""
        return [name for name in self.names or ("",) if name not in self.used]


def marks_in(text: str) -> list[Mark]:
    """All such comments in a text."""
    if "kai:" not in text:
        return []
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        mark = _MARK.search(line)
        if mark is None:
            continue
        names = tuple(name.strip() for name in (mark[1] or "").split(",") if name.strip())
        own = line.lstrip().startswith("#")
        found.append(Mark(number, _next(lines, number) if own else number, names))
    return found


def _next(lines: Sequence[str], number: int) -> int:
    """The next line that is neither a comment nor empty."""
    for later in range(number, len(lines)):
        written = lines[later].strip()
        if written and not written.startswith("#"):
            return later + 1
    return number


def without_ignored(found: Iterable[Any], text: str) -> tuple[list[Any], list[tuple[int, Any]]]:
    """The findings that no comment ignores, and findings about comments, with their lines.

    A comment that ignores nothing is a finding: its reason is gone, or its code is misspelled.
    """
    marks = marks_in(text)
    if not marks:
        return list(found), []
    kept = []
    for each in found:
        about = [mark for mark in marks if mark.covers == each.line]
        ignoring = [mark for mark in about if mark.ignores(each.finding.code)]
        if not ignoring:
            kept.append(each)
    return kept, [(mark.line, _unused(name)) for mark in marks for name in mark.unused()]


def _unused(name: str) -> Any:
    fix = "remove it"
    if not name:
        message = "this comment ignores nothing: the line has no findings"
    else:
        try:
            matching([name])
            message = f"this comment ignores {name}, but the line has no such finding"
        except InvalidRequestError as error:
            message, fix = f"this comment ignores nothing: {error}", "write a code of kai lint"
    return warning("ignore-unused", (), message, fix)
