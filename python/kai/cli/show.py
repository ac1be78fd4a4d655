"""Pages for people: tables that fit 80 columns, with colour on a terminal only."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from kai.api.visible import visible
from kai.engine import text
from kai.engine.text import Table

_STYLES = {"title": "bold", "head": "dim", "row": "", "note": "dim"}
_FIRST_WORDS = {"bind": "green", "pipeline": "cyan", "evict": "red"}


class Page:
    """Writes to standard output."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        # Wider lines than a page of a book are hard to read; files get what terminals get.
        self._width = min(self._console.width, 100) if self._console.is_terminal else text.WIDTH
        self._written = False

    def heading(self, sentence: str) -> None:
        self._gap()
        for line in text.wrap(sentence, self._width):
            self._line(line, "bold")

    def tables(self, tables: Iterable[Table]) -> None:
        """Those that have rows."""
        for table in tables:
            if table.rows:
                self._gap()
                for what, line in text.lines(table, self._width):
                    self._line(line, _STYLES[what])

    def paragraph(self, sentences: str) -> None:
        """Lines of text, each wrapped below where it starts."""
        self._gap()
        for line in sentences.split("\n"):
            indent = len(line) - len(line.lstrip()) + 2
            for part in text.wrap(line, self._width, indent=indent):
                self._line(part, "")

    def verbatim(self, lines: Iterable[str]) -> None:
        """Lines to copy: however long, each stays one."""
        self._gap()
        for line in lines:
            self._line(line, "")

    def _gap(self) -> None:
        if self._written:
            self._line("", "")

    def _line(self, line: str, style: str) -> None:
        self._written = True
        line = visible(line)
        written = Text(line, style=style)
        first_word = line.split(maxsplit=1)[0] if line.strip() else ""
        if line.startswith("  ") and first_word in _FIRST_WORDS:
            written.stylize(_FIRST_WORDS[first_word], 2, 2 + len(first_word))
        self._console.print(written, soft_wrap=True)
