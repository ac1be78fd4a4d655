"""Tables and numbers for people, as plain text and as HTML for Jupyter.

>>> table = Table("Queues", ("queue", "GPUs"), [("vision", "2"), ("speech", "16")], right={1})
>>> print(to_text("", [table]))
Queues
  queue   GPUs
  vision     2
  speech    16
"""

from __future__ import annotations

import difflib
import html
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from kai.api.numerals import rounded
from kai.api.visible import visible
from kai.engine.names import clip, shortened

WIDTH = 80
SHORTEST_NAME, SHORTEST_OF_LIST, LONGEST_TEXT = 12, 8, 2000
NARROW = 28  # a column of text is at least this wide, or has its own lines
NARROWEST = 40  # narrower terminals are treated as this wide


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a title; the last column may have any length and is wrapped.

    With `name`, every row is one line: the list in the last column is shortened first, then names.
    `spare` are columns of a table of numbers that a narrow terminal omits, in this order.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: AbstractSet[int] = frozenset()
    note: str = ""
    name: int | None = None
    spare: Sequence[int] = ()


def number(value: float | Fraction | None) -> str:
    """At most three decimals, without trailing zeros; None is unlimited.

    >>> [number(value) for value in (8, 0.5, 1 / 3, 4000, None)]
    ['8', '0.5', '0.333', '4,000', '-']
    """
    if value is None:
        return "-"
    try:
        amount = float(value)
    except OverflowError:
        return "far too many"
    if abs(amount) >= 1e15:
        return rounded(amount, 3)
    return f"{amount:,.3f}".rstrip("0").rstrip(".")


def count(value: float | Fraction, noun: str) -> str:
    """ "1 pod", "4,000 pods".

    >>> count(1, "pod"), count(4000, "pod"), count(0.5, "GPU")
    ('1 pod', '4,000 pods', '0.5 GPUs')
    """
    return f"{number(value)} {noun if value == 1 else noun + 's'}"


def of_queue(groups: int, queue: str) -> str:
    """
    >>> of_queue(1, "vision"), of_queue(2, "vision")
    ('1 pod group of queue vision', '2 pod groups of queue vision')
    """
    return f"{count(groups, 'pod group')} of queue {queue}"


def size(value: float | None) -> str:
    """Bytes in a suitable binary unit.

    >>> size(512 * 2**30), size(1.5 * 2**40), size(2000), size(None)
    ('512 GiB', '1.5 TiB', '1.953 KiB', '-')
    """
    if value is None:
        return "-"
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    step = 0
    while abs(value) >= 1024 and step < len(units) - 1:
        value /= 1024
        step += 1
    return f"{number(value)} {units[step]}"


def listing(names: Iterable[str], *, most: int = 3) -> str:
    """The first names, and the number of the others.

    >>> listing(["a", "b"]), listing(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    names = list(names)
    shown = ", ".join(names[:most])
    return f"{shown} and {number(len(names) - most)} more" if len(names) > most else shown


def either(values: Sequence[str], *, most: int = 3) -> str:
    """The first values, and the number of the others.

    >>> either(["a"]), either(["a", "b", "c"]), either("abcde")
    ('a', 'a, b or c', 'a, b, c or 2 others')
    """
    shown = list(values[:most])
    if (others := len(values) - most) > 0:
        shown.append(count(others, "other"))
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else "".join(shown)


def listing_of(shown: Sequence[str], total: int) -> str:
    """The same if only the first names are known.

    >>> listing_of(["a", "b"], 5)
    'a, b and 3 more'
    """
    more = total - len(shown)
    return f"{', '.join(shown)} and {number(more)} more" if more > 0 else ", ".join(shown)


def tidy(message: str) -> str:
    """KAI's text on one line, without a doubled full stop.

    >>> tidy("pod a/x:\\n no claim ..")
    'pod a/x: no claim.'
    """
    return " ".join(message.split()).replace(" .", ".").replace("..", ".")


class Sentences(str):
    """A text of several lines that a notebook and IPython show as lines, and not as a literal.

    >>> Sentences("a/x waits.\\n  No GPU is free.")._repr_html_()
    '<p><b>a/x waits.</b><br>No GPU is free.</p>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        first, *others = (html.escape(line.strip()) for line in self.splitlines() or [""])
        return f"<p>{'<br>'.join([f'<b>{first}</b>', *others])}</p>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def not_found(noun: str, name: str, known: Iterable[str]) -> str:
    """A message about an unknown name, with similar names.

    >>> not_found("queue", "visoin", ["speech", "vision"])
    "there is no queue 'visoin'; did you mean 'vision'?"
    """
    known = list(known)
    # "train" for "vision/train": users often type only the part after the slash
    close = [each for each in known if each.rpartition("/")[2] == name]
    close += difflib.get_close_matches(str(name), known, n=3, cutoff=0.6)
    close = list(dict.fromkeys(close))[:3]
    hint = f"; did you mean {' or '.join(repr(each) for each in close)}?" if close else ""
    return f"there is no {noun} {name!r}{hint}"


def to_text(title: str, tables: Iterable[Table], *, width: int | None = None) -> str:
    """All non-empty tables under one title; `width` as for `lines`."""
    parts = ["\n".join(wrap(title, width or WIDTH))] if title else []
    parts += ["\n".join(line for _, line in lines(table, width)) for table in tables if table.rows]
    return "\n\n".join(parts)


def wrap(sentence: str, width: int, *, indent: int = 0, split: bool = True) -> list[str]:
    """Lines of at most `width` columns; lines after the first are indented.

    Without `split`, a word longer than a line stays whole.
    """
    return textwrap.wrap(
        sentence,
        width,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
        break_long_words=split,
    )


# ---- lines ---------------------------------------------------------------------------------------


def lines(table: Table, width: int | None = None) -> Iterator[tuple[str, str]]:
    """The lines of a table, each with its role: "title", "head", "row" or "note".

    `width` is that of a terminal: names are cut to fit and stay distinct. None is for a file or a
    notebook: sentences are wrapped, and names stay whole.
    """
    for part in [table.title] if width is None else wrap(table.title, width):
        yield "title", part
    rows = [[visible(cell) for cell in row] for row in table.rows]
    table, rows, left_out = _without_spare(table, rows, width)
    if len(table.columns) - 1 in table.right:
        yield from _numbers(table, rows, width)
    elif table.name is not None:
        yield from _listings(table, rows, table.name, width)
    else:
        yield from _sentences(table, rows, width)
    notes = [table.note, f"not shown for lack of space: {', '.join(left_out)}" if left_out else ""]
    for note in notes:
        yield from (("note", "  " + line) for line in wrap(note, (width or WIDTH) - 2))


def _numbers(table: Table, rows: list[list[str]], width: int | None) -> Iterator[tuple[str, str]]:
    """A table of numbers: names are shortened; each row is one line unless two names would be
    equal."""
    heads = [[head] for head in table.columns]
    widths = _widths([*rows, list(table.columns)])
    if width is not None and _sum(widths) > width:
        heads = _two_lines(heads, _widths(rows) if rows else widths)
        widths = _widths([*rows, *([*each] for each in zip(*heads, strict=True))])
        widths[0] = min(widths[0], max(SHORTEST_NAME, width - _sum([0, *widths[1:]])))
    for each in zip(*heads, strict=True):
        if any(each):
            yield "head", _joined(each, widths, table.right)
    names = _tree_names([row[0] for row in rows], widths[0])
    for name, row in zip(names, rows, strict=True):
        yield "row", _joined([name[0], *row[1:]], widths, table.right)
        yield from (("row", f"  {rest}") for rest in name[1:])


def _without_spare(
    table: Table, rows: list[list[str]], width: int | None
) -> tuple[Table, list[list[str]], list[str]]:
    """The table without columns that do not fit on a narrow terminal, and their heads."""
    left_out: list[str] = []
    kept = list(range(len(table.columns)))
    for column in table.spare if width is not None else ():
        measured = kept if kept[-1] in table.right else kept[:-1]  # a sentence wraps
        heads = _two_lines([[table.columns[at]] for at in measured], [0] * len(measured))
        shown = [[row[at] for at in measured] for row in rows]
        widths = _widths([*shown, *([*each] for each in zip(*heads, strict=True))])
        widths = [
            size if at in table.right else min(size, 2 * SHORTEST_NAME)
            for at, size in zip(measured, widths, strict=True)
        ]
        if _sum(widths) <= (width or 0):
            break
        kept.remove(column)
        left_out.append(table.columns[column])
    right = frozenset(kept.index(at) for at in table.right if at in kept)
    narrow = replace(table, columns=[table.columns[at] for at in kept], right=right)
    return narrow, [[row[at] for at in kept] for row in rows], left_out


def _two_lines(heads: list[list[str]], widths: Sequence[int]) -> list[list[str]]:
    """Heads of two words, on two lines if their column is narrower."""
    split = [
        head[0].rsplit(" ", 1) if len(head[0]) > width and " " in head[0] else ["", head[0]]
        for head, width in zip(heads, widths, strict=True)
    ]
    return split if any(upper for upper, _ in split) else heads


def _tree_names(names: Sequence[str], limit: int) -> list[list[str]]:
    """Each name as lines of at most this many columns; the indentation stays."""
    indents = [len(name) - len(name.lstrip()) for name in names]
    rooms = [max(limit - indent, SHORTEST_NAME) for indent in indents]
    made = []
    cells = _fitting([name.lstrip() for name in names], rooms)
    for cell, indent, room in zip(cells, indents, rooms, strict=True):
        parts = [cell[at : at + room] for at in range(0, len(cell), room)] or [""]
        made.append([" " * indent + part for part in parts])
    return made


def _listings(
    table: Table, rows: list[list[str]], name: int, width: int | None
) -> Iterator[tuple[str, str]]:
    """Rows that end in a list of names: the list is shortened first, then the names."""
    heads, last = list(table.columns), len(table.columns) - 1
    widths = _widths([*rows, heads])
    stacked = False
    if width is not None and _sum(widths) > width:
        fixed = _sum(widths) - widths[name] - widths[last]
        wanted = min(widths[name], NARROW) + min(widths[last], NARROW)
        stacked = fixed + wanted > width
        if stacked:  # the list has its own line
            widths[name] = min(widths[name], width - (fixed - 2))
            widths[last] = min(widths[last], width - 6)
        else:
            room = width - fixed
            of_last = max(room - widths[name], NARROW, room // 3)
            widths[last] = min(widths[last], of_last)
            widths[name] = min(widths[name], room - widths[last])
        _cut_lists(rows, name, widths[name])
        _cut_lists(rows, last, widths[last])
    elif width is None:  # fewer names, but whole ones
        for row in rows:
            room = WIDTH - _sum(widths) + widths[last]
            row[last] = str(_List.of(row[last]).within(max(room, NARROW)))
    for what, row in [("head", heads), *(("row", row) for row in rows)]:
        if not stacked:
            yield what, _joined(row, widths, table.right)
        elif what == "head":
            yield what, _joined(row[:last], widths[:last], table.right)
        else:
            yield what, _joined(row[:last], widths[:last], table.right)
            if row[last]:
                yield what, f"      {row[last]}"


def _cut_lists(rows: list[list[str]], column: int, limit: int) -> None:
    """Makes the cells of a column fit."""
    cells = _fitting([row[column] for row in rows], [limit] * len(rows))
    for row, cell in zip(rows, cells, strict=True):
        row[column] = cell


def _fitting(cells: Sequence[str], limits: Sequence[int]) -> list[str]:
    """Lists of names with fewer names, and then with shorter ones; all stay distinct."""
    lists = [_List.of(cell).within(limit) for cell, limit in zip(cells, limits, strict=True)]
    rooms: dict[str, int] = {}
    for each, limit in zip(lists, limits, strict=True):
        room = max(limit - len(str(each)) + len(each.names[0]), SHORTEST_OF_LIST)
        for item in each.names:
            rooms[item] = min(rooms.get(item, room), room)
    short = shortened(rooms)
    for each in lists:
        each.names = [short[item] for item in each.names]
    return [str(each) for each in lists]


@dataclass(slots=True)
class _List:
    """ "n1 (4), n2 (4) and 7 more": names, their counts, and the number of omitted names.

    >>> some = _List.of("n1 (4), n2 (4), n3 (4) and 7 more")
    >>> str(some.within(26)), some.names
    ('n1 (4), n2 (4) and 8 more', ['n1', 'n2'])
    """

    names: list[str]
    counts: list[str]
    more: int

    @classmethod
    def of(cls, cell: str) -> _List:
        shown, _, rest = cell.rpartition(" and ")
        more = rest.removesuffix(" more").replace(",", "")
        if not rest.endswith(" more") or not more.isdigit():
            shown, more = cell, "0"
        items = [item.partition(" (") for item in shown.split(", ")]
        return cls([name for name, *_ in items], ["".join(of) for _, *of in items], int(more))

    def within(self, limit: int) -> _List:
        """The same list, with fewer names if it needs more columns than the limit."""
        while len(str(self)) > limit and self.names[1:]:
            self.names.pop()
            self.counts.pop()
            self.more += 1
        return self

    def __str__(self) -> str:
        items = ", ".join(map("".join, zip(self.names, self.counts, strict=True)))
        return f"{items} and {number(self.more)} more" if self.more else items


def _sentences(table: Table, rows: list[list[str]], width: int | None) -> Iterator[tuple[str, str]]:
    """Rows that end in a sentence: beside the names if there is room, otherwise below them."""
    book, last = width or WIDTH, len(table.columns) - 1
    lefts, beside = _beside(table, rows, width)
    start = _sum(lefts) + 2 if beside else 6
    if any(table.columns) and (beside or last > 1):
        heads = table.columns if beside else table.columns[:last]
        yield "head", _joined(heads, [*lefts, 0], table.right)
    for row in rows:
        lines = wrap(clip(row[last], LONGEST_TEXT), book - start, split=width is not None)
        left = _joined(row[:last], lefts, table.right)
        if beside and len(left) <= start - 2:
            yield "row", f"{left.ljust(start - 2)}  {''.join(lines[:1])}".rstrip()
            del lines[:1]
        elif width is None or len(left) <= book:
            yield "row", left
        else:
            yield from (("row", part) for part in wrap(left, book, indent=2))
        yield from (("row", " " * start + line) for line in lines)


def _beside(table: Table, rows: list[list[str]], width: int | None) -> tuple[list[int], bool]:
    """The widths of all columns except the last, and whether the last is beside them or below.

    With one column, names longer than most have their own line. With several, names are cut.
    """
    book, last = width or WIDTH, len(table.columns) - 1
    widths = _widths([*rows, list(table.columns)])
    lefts = widths[:last]
    if last <= 1:
        limit = book - min(max(widths[last], 1), max(NARROW, 2 * book // 5)) - 2
        short = [row for row in rows if _sum(_widths([row[:last]])) <= limit] if last else rows
        if 2 * len(short) < len(rows):
            return lefts, False
        return _widths([*short, list(table.columns)])[:last], True
    limit = book - min(widths[last], max(NARROW, book // 3)) - 2
    if _sum(lefts) > limit and widths[last] <= NARROW and width is not None:
        _cut_names(rows, lefts, table.right, limit)
    if _sum(lefts) <= limit:
        return lefts, True
    if width is not None:
        _cut_names(rows, lefts, table.right, width)
    return lefts, False


def _cut_names(
    rows: list[list[str]], widths: list[int], right: AbstractSet[int], width: int
) -> None:
    """Makes the columns of names before a sentence fit: the widest is shortened first."""
    names = [column for column in range(len(widths)) if column not in right]
    while _sum(widths) > width and any(widths[column] > SHORTEST_NAME for column in names):
        widths[max(names, key=lambda column: widths[column])] -= 1
    for column in names:
        _cut_lists(rows, column, widths[column])
        widths[column] = max(widths[column], *(len(row[column]) for row in rows))


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _sum(widths: Sequence[int]) -> int:
    """The width of a row, with two blanks before each column."""
    return 2 * len(widths) + sum(widths)


def _joined(row: Sequence[str], widths: Sequence[int], right: AbstractSet[int]) -> str:
    cells = [
        cell.rjust(width) if column in right else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=False))
    ]
    return ("  " + "  ".join(cells)).rstrip()


# ---- other forms ---------------------------------------------------------------------------------


def to_markdown(title: str, tables: Iterable[Table]) -> str:
    """The same in Markdown, for an issue or a merge request.

    >>> table = Table("Queues", ("queue", "GPUs"), [("a", "2"), ("  b|c", "16")], right={1})
    >>> print(to_markdown("", [table]))
    **Queues**
    <BLANKLINE>
    | queue | GPUs |
    | --- | ---: |
    | a | 2 |
    | &nbsp;&nbsp;&nbsp;&nbsp;b\\|c | 16 |
    """
    parts = [f"### {_in_markdown(title)}"] if title else []
    for table in tables:
        if not table.rows:
            continue
        rules = ["---:" if at in table.right else "---" for at in range(len(table.columns))]
        heads = [_in_markdown(head) or " " for head in table.columns]
        body = [[_in_markdown(cell) for cell in row] for row in table.rows]
        written = "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *body))
        parts.append(f"**{_in_markdown(table.title)}**\n\n{written}")
        parts += [_in_markdown(table.note)] if table.note else []
    return "\n\n".join(parts)


def prose_to_markdown(sentences: str) -> str:
    """Sentences in Markdown, from a line each; those that are indented are a list.

    >>> print(prose_to_markdown("a/x waits.\\n  No GPU is free.\\n  Queue b is full."))
    a/x waits.
    <BLANKLINE>
    - No GPU is free.
    - Queue b is full.
    """
    parts: list[str] = []
    is_listed = False
    for line in filter(None, sentences.split("\n")):
        was_listed, is_listed = is_listed, line.startswith(" ")
        if parts and not (was_listed and is_listed):
            parts.append("")
        parts.append(f"{'- ' if is_listed else ''}{_in_markdown(line.strip())}")
    return "\n".join(parts)


def _in_markdown(cell: str) -> str:
    """The cell with Markdown's special characters escaped."""
    text = visible(cell)
    content = _MARKS.sub(r"\\\g<0>", text.lstrip(" "))
    return "&nbsp;" * 2 * (len(text) - len(text.lstrip(" "))) + content


_MARKS = re.compile(r"[\\`*_|<>\[\]]")


# Styles without colours: the notebook has a light or a dark theme.
_LEFT = ' style="text-align: left; vertical-align: top"'
_RIGHT = ' style="text-align: right; vertical-align: top; white-space: nowrap"'
_CAPTION = ' style="text-align: left; font-weight: bold; caption-side: top; white-space: nowrap"'


def to_html(title: str, tables: Iterable[Table], *, most_rows: int = 50) -> str:
    """The same in HTML for Jupyter; long tables are folded."""
    parts = [f"<p><b>{html.escape(title)}</b></p>"] if title else []
    for table in tables:
        if not table.rows:
            continue
        align = [_RIGHT if column in table.right else _LEFT for column in range(len(table.columns))]
        head = "".join(
            f"<th{align[column]}>{html.escape(name)}</th>"
            for column, name in enumerate(table.columns)
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td{align[n]}>{_in_html(cell)}</td>" for n, cell in enumerate(row))
            + "</tr>"
            for row in table.rows[:most_rows]
        )
        folded = len(table.rows) - most_rows
        notes = [table.note, f"and {number(folded)} more rows" if folded > 0 else ""]
        below = "".join(f"<p>{html.escape(note)}</p>" for note in notes if note)
        parts.append(
            f"<table><caption{_CAPTION}>{html.escape(table.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
        )
    return "".join(parts)


def _in_html(cell: str) -> str:
    """Leading blanks stay: they show the parent of a queue."""
    content = cell.lstrip(" ")
    return "&nbsp;" * 2 * (len(cell) - len(content)) + html.escape(content)
