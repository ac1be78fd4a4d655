"""Text output: tables as wide as the terminal, with colours only on a terminal.

``NO_COLOR`` turns off colours, bold and dim text; ``FORCE_COLOR`` turns them on in files as well.
``COLUMNS`` overrides the width of the terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from kai.api.visible import visible
from kai.engine import text
from kai.engine.text import Table

MOST_PROSE = 100  # longer lines are hard to read
UNLIMITED = 1_000_000

_STYLES = {"title": "1", "head": "2", "row": "", "note": "2"}  # bold, dim
_FIRST_WORDS = {"bind": "32", "pipeline": "36", "evict": "31"}  # green, cyan, red


class Page:
    """Writes text to standard output. With `wide`, nothing is shortened or wrapped."""

    def __init__(self, *, wide: bool = False) -> None:
        terminal = columns_of(sys.stdout)
        self._styled = is_styled(sys.stdout)
        self._width = UNLIMITED if wide else terminal
        self._prose = UNLIMITED if wide else min(terminal or text.WIDTH, MOST_PROSE)
        self._split = terminal is not None and not wide  # names that are longer than a line
        self._written = False

    def heading(self, sentence: str) -> None:
        self._gap()
        for line in text.wrap(visible(sentence), self._width or text.WIDTH, split=self._split):
            self._line(line, "1")

    def tables(self, tables: Iterable[Table]) -> None:
        """Writes the tables that have rows."""
        for table in tables:
            if table.rows:
                self._gap()
                for what, line in text.lines(table, self._width):
                    self._line(line, _STYLES[what], is_row=what == "row")

    def paragraph(self, sentences: str) -> None:
        """Writes lines of text; a wrapped line keeps its indentation."""
        self._gap()
        for line in sentences.split("\n"):
            indent = len(line) - len(line.lstrip()) + 2
            for part in text.wrap(visible(line), self._prose, indent=indent, split=self._split):
                self._line(part, "")

    def verbatim(self, lines: Iterable[str]) -> None:
        """Writes lines that people copy: they are never wrapped."""
        self._gap()
        for line in lines:
            self._line(line, "")

    def _gap(self) -> None:
        if self._written:
            sys.stdout.write("\n")

    def _line(self, line: str, style: str, *, is_row: bool = False) -> None:
        self._written = True
        line = visible(line)
        if self._styled:
            first_word = line.split(maxsplit=1)[0] if line.strip() else ""
            if is_row and not line.startswith("   ") and first_word in _FIRST_WORDS:
                line = line.replace(first_word, styled(_FIRST_WORDS[first_word], first_word), 1)
            elif style:
                line = styled(style, line)
        sys.stdout.write(f"{line}\n")


def styled(style: str, words: str) -> str:
    """The words, bold or coloured, for a terminal."""
    return f"\x1b[{style}m{words}\x1b[0m"


def columns_of(stream: TextIO) -> int | None:
    """The width of the terminal that a stream writes to; None if it is not a terminal."""
    if not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), text.NARROWEST)
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns, text.NARROWEST) if columns else text.WIDTH


def is_styled(stream: TextIO) -> bool:
    """Whether text on this stream may be bold or coloured."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"
