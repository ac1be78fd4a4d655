"""Comments that say which findings a line is allowed to have: ``# kai: ignore[queue-missing]``.

At the end of a line the comment counts for that line; on a line of its own, for the next one that
is neither a comment nor empty. Without codes it counts for all of them. JSON has no comments.

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
    """A comment on `line` that ignores findings on the line that it covers; () is all codes."""

    line: int
    covers: int
    names: tuple[str, ...]
    used: set[str] = field(default_factory=set)

    def ignores(self, code: str) -> bool:
        """Whether it ignores this code, and notes that it did."""
        if not self.names:
            self.used.add("")
            return True
        meant = [name for name in self.names if code == name or code.startswith(f"{name}-")]
        self.used.update(meant)
        return bool(meant)

    def unused(self) -> list[str]:
        """What it names that no finding has; [""]: it ignores everything, and there is nothing."""
        return [name for name in self.names or ("",) if name not in self.used]


def marks_in(text: str) -> list[Mark]:
    """All such comments of a text."""
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
    """The first line after this one that is neither a comment nor empty."""
    for later in range(number, len(lines)):
        written = lines[later].strip()
        if written and not written.startswith("#"):
            return later + 1
    return number


def without_ignored(found: Iterable[Any], text: str) -> tuple[list[Any], list[tuple[int, Any]]]:
    """Findings with lines that no comment ignores; and with its line what is wrong with a comment.

    A comment that ignores nothing is a finding of its own: the reason for it is gone, or the code
    is mistyped.
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
    fix = "leave it out"
    if not name:
        said = "this comment ignores nothing: the line has no findings"
    else:
        try:
            matching([name])
            said = f"this comment ignores {name}, which the line does not have"
        except InvalidRequestError as error:
            said, fix = f"this comment ignores nothing: {error}", "write a code of kai lint"
    return warning("ignore-unused", (), said, fix)
