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
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction

WIDTH = 80
SHORTEST_NAME, LONGEST_NAME, LONGEST_TEXT = 12, 56, 2000
NARROW = 28  # a text column with less room than this gets lines of its own


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a title; the last column may be as long as it likes and is wrapped.

    With `name`, every row is one line: the last column lists less for it, then names are shortened.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: AbstractSet[int] = frozenset()
    note: str = ""
    name: int | None = None


def number(value: float | Fraction | None) -> str:
    """At most three digits after the point and none to spare; None is unlimited.

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
        return f"{amount:.3g}"
    return f"{amount:,.3f}".rstrip("0").rstrip(".")


def count(value: float | Fraction, noun: str) -> str:
    """ "1 pod", "4,000 pods".

    >>> count(1, "pod"), count(4000, "pod"), count(0.5, "GPU")
    ('1 pod', '4,000 pods', '0.5 GPUs')
    """
    return f"{number(value)} {noun if value == 1 else noun + 's'}"


def size(value: float | None) -> str:
    """Bytes in the unit people use.

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
    """Some names, and how many more there are.

    >>> listing(["a", "b"]), listing(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    names = list(names)
    shown = ", ".join(names[:most])
    return f"{shown} and {number(len(names) - most)} more" if len(names) > most else shown


def listing_of(shown: Sequence[str], total: int) -> str:
    """The same where only the first are at hand.

    >>> listing_of(["a", "b"], 5)
    'a, b and 3 more'
    """
    more = total - len(shown)
    return f"{', '.join(shown)} and {number(more)} more" if more > 0 else ", ".join(shown)


def not_found(noun: str, name: str, known: Iterable[str]) -> str:
    """That there is no such thing, with names that are close.

    >>> not_found("queue", "visoin", ["speech", "vision"])
    "there is no queue 'visoin'; did you mean 'vision'?"
    """
    known = list(known)
    # "train" for "vision/train": what was typed is often the part after the slash
    close = [each for each in known if each.rpartition("/")[2] == name]
    close += difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    close = list(dict.fromkeys(close))[:3]
    hint = f"; did you mean {' or '.join(repr(each) for each in close)}?" if close else ""
    return f"there is no {noun} {name!r}{hint}"


def to_text(title: str, tables: Iterable[Table], *, width: int = WIDTH) -> str:
    """All tables with something in them, under one title, in at most `width` columns."""
    parts = ["\n".join(wrap(title, width))] if title else []
    parts += ["\n".join(line for _, line in lines(table, width)) for table in tables if table.rows]
    return "\n\n".join(parts)


def wrap(sentence: str, width: int, *, indent: int = 0) -> list[str]:
    """Lines of at most `width` columns; those after the first start further right."""
    return textwrap.wrap(sentence, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def lines(table: Table, width: int = WIDTH) -> Iterator[tuple[str, str]]:
    """The lines of a table, each with what it is: "title", "head", "row" or "note"."""
    yield "title", table.title
    headed = any(table.columns)
    rows = [_clipped(row) for row in ([table.columns] if headed else []) + list(table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
    last = len(widths) - 1
    if last in table.right:  # a table of numbers: the names give way
        excess = 2 * last + 2 + sum(widths) - width
        widths[0] = min(widths[0], max(widths[0] - excess, SHORTEST_NAME))
        rows = [[_clip(row[0], widths[0]), *row[1:]] for row in rows]
    elif table.name is not None:
        _fit(rows, widths, table.name, width)
    start = 2 + sum(widths[:last]) + 2 * last
    stacked = last not in table.right and start + min(widths[last], NARROW) > width
    for index, row in enumerate(rows):
        what = "head" if headed and index == 0 else "row"
        cells = [
            cell.rjust(widths[column]) if column in table.right else cell.ljust(widths[column])
            for column, cell in enumerate(row)
        ]
        if start + widths[last] <= width or last in table.right:
            yield what, ("  " + "  ".join(cells)).rstrip()
        elif not stacked:
            first, *rest = wrap(row[last], width - start) or [""]
            yield what, ("  " + "  ".join([*cells[:last], first])).rstrip()
            yield from ((what, " " * start + line) for line in rest)
        elif what == "row":  # the text gets lines of its own under the other cells
            yield what, ("  " + "  ".join(cells[:last])).rstrip()
            wrapped = wrap(row[last], width - 6)
            yield from ((what, "      " + line) for line in wrapped)
    if table.note:
        yield "note", f"  {table.note}"


def _fit(rows: list[list[str]], widths: list[int], name: int, width: int) -> None:
    """Shortens the last column, and names by what that cannot give."""
    last = len(widths) - 1
    excess = 2 * last + 2 + sum(widths) - width
    of_last = max(0, min(excess, widths[last] - NARROW))
    of_names = max(0, min(excess - of_last, widths[name] - SHORTEST_NAME))
    for column, less, shorter in ((last, of_last, _shorter_listing), (name, of_names, _clip)):
        widths[column] -= less
        for row in rows:
            row[column] = shorter(row[column], widths[column])


def _shorter_listing(cell: str, limit: int) -> str:
    """Fewer names and more that are only counted.

    >>> _shorter_listing("n1 (4), n2 (4), n3 (4) and 7 more", 26)
    'n1 (4), n2 (4) and 8 more'
    """
    if len(cell) <= limit:
        return cell
    shown, _, rest = cell.partition(" and ")
    names, more = shown.split(", "), rest.removesuffix(" more").replace(",", "")
    if rest and not more.isdigit():
        return _clip(cell, limit)
    if len(names) == 1:
        counted = cell[len(shown) :]
        return _clip(shown, limit - len(counted)) + counted
    kept = f"{', '.join(names[:-1])} and {number(int(more or 0) + 1)} more"
    return _shorter_listing(kept, limit)


def _clipped(row: Sequence[str]) -> list[str]:
    """Names end somewhere, however long they are: a page is for reading."""
    most = [LONGEST_NAME] * (len(row) - 1) + [LONGEST_TEXT]
    return [_clip(cell, limit) for cell, limit in zip(row, most, strict=True)]


def _clip(cell: str, limit: int) -> str:
    """Without the middle: names of one cluster often begin alike."""
    if len(cell) <= limit:
        return cell
    tail = (limit - 3) // 2
    return f"{cell[: limit - 3 - tail]}...{cell[-tail:]}"


def to_html(title: str, tables: Iterable[Table], *, most_rows: int = 50) -> str:
    """The same for Jupyter; long tables are folded."""
    parts = [f"<p><b>{html.escape(title)}</b></p>"] if title else []
    for table in tables:
        if not table.rows:
            continue
        align = [
            ' style="text-align: right"' if column in table.right else ' style="text-align: left"'
            for column in range(len(table.columns))
        ]
        head = "".join(
            f"<th{align[column]}>{html.escape(name)}</th>"
            for column, name in enumerate(table.columns)
        )
        body = "".join(
            "<tr>"
            + "".join(f"<td{align[n]}>{html.escape(cell)}</td>" for n, cell in enumerate(row))
            + "</tr>"
            for row in table.rows[:most_rows]
        )
        folded = len(table.rows) - most_rows
        notes = [table.note, f"and {number(folded)} more rows" if folded > 0 else ""]
        below = "".join(f"<p>{html.escape(note)}</p>" for note in notes if note)
        parts.append(
            f"<table><caption>{html.escape(table.title)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
        )
    return "".join(parts)
