"""A text table as columns; unusable rows are left out and counted.

    table = Table.of_csv("philly.csv", text)
    duration_s = table.numbers("duration", least=0)
    kept = table.kept()              # indices of the rows that all columns could use
    table.problems()                 # a sentence for each reason why rows were left out

A bad cell never raises: its row is left out of `kept`, and the first one of a column and a reason
is reported with file, line and column. A table without a usable row raises InvalidInputError.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kai.api.nearest import check_known
from kai.api.rules import shown
from kai.errors import InvalidInputError
from kai.sim.workload import Floats, Ints

__all__ = ["MOST_GPUS", "Table"]

MOST_GPUS = 1_000_000
"""The most GPUs of one job; a larger number counts as an error."""

_ISO_LENGTH = len("2017-10-09 07:01:55")
_UNIX_TIME = re.compile(r"\d{9,10}")  # of a program that prints seconds since 1970
_LATEST_S = 1e11  # years after any trace; keeps sums of times exact


class Table:
    """Rows of one file; ``columns`` are texts by the name of the column."""

    def __init__(
        self, file: str, header: Sequence[str], rows: Sequence[Sequence[str]], lines: Sequence[int]
    ) -> None:
        self.file = file
        self.lines: Ints = np.asarray(lines, dtype=np.int64)
        self._reasons: dict[str, tuple[int, str]] = {}  # number of rows, and the first one
        width = len(header)
        if any(len(row) != width for row in rows):
            self._drop_by_width(rows, width)
            good = [i for i, row in enumerate(rows) if len(row) == width]
            rows = [rows[i] for i in good]
            self.lines = self.lines[good]
        columns = zip(*rows, strict=True) if rows else ([] for _ in header)
        self.columns: dict[str, Sequence[str]] = dict(zip(header, columns, strict=True))
        self._good: NDArray[np.bool_] = np.ones(len(rows), dtype=bool)

    @classmethod
    def of_csv(cls, file: str, text: str, *, separator: str = ",") -> Table:
        """A table whose first line names the columns; blank lines are ignored.

        Raises InvalidInputError if the text is not a table.
        """
        lines_of = io.StringIO(text, newline="")
        if separator in ",;":
            reader = csv.reader(lines_of, delimiter=separator)
        else:  # from a program that never quotes
            reader = csv.reader(lines_of, delimiter=separator, quoting=csv.QUOTE_NONE)
        rows: list[list[str]] = []
        lines: list[int] = []
        try:
            for row in reader:
                if row:
                    rows.append(row)
                    lines.append(reader.line_num)
        except csv.Error as error:
            raise InvalidInputError(f"{file}: line {reader.line_num}: {error}") from None
        if not rows:
            raise InvalidInputError(f"{file}: is empty")
        header = [each.strip() for each in rows[0]]
        twice = next((each for each in header if each and header.count(each) > 1), None)
        if twice is not None:
            raise InvalidInputError(f"{file}: two columns are named {twice!r}")
        return cls(file, header, rows[1:], lines[1:])

    def __len__(self) -> int:
        return len(self.lines)

    def require(self, *names: str) -> None:
        """Raises InvalidInputError if a column is missing."""
        check_known(names, self.columns, f"{self.file}: there is no column")

    def where(self, wanted: Sequence[bool]) -> Table:
        """The table with only these rows; call it before reading columns. The others are not
        counted."""
        places = [place for place, is_wanted in enumerate(wanted) if is_wanted]
        self.columns = {name: [cells[i] for i in places] for name, cells in self.columns.items()}
        self.lines, self._good = self.lines[places], self._good[places]
        return self

    def texts(self, column: str, default: str = "") -> Sequence[str]:
        """The cells of a column; the default in each row if there is no such column."""
        return self.columns.get(column) or [default] * len(self)

    def filled(self, column: str) -> Sequence[str]:
        """The cells of a column that must not be empty. Raises InvalidInputError as `require`."""
        self.require(column)
        texts = self.columns[column]
        empty = np.fromiter((not text.strip() for text in texts), dtype=bool, count=len(texts))
        self.leave_out(column, empty, "is empty")
        return texts

    def numbers(
        self,
        column: str,
        *,
        least: float = -math.inf,
        most: float = _LATEST_S,
        whole: bool = False,
        blank: float | None = None,
    ) -> Floats:
        """A column of numbers; an empty cell is `blank`, otherwise its row is left out.

        Raises InvalidInputError if there is no such column.
        """
        self.require(column)
        texts = self.columns[column]
        values = _floats(texts)
        if blank is not None:
            empty = np.fromiter((not text.strip() for text in texts), dtype=bool, count=len(texts))
            values[empty] = blank
            wrong = ~np.isfinite(values) & ~empty
        else:
            wrong = ~np.isfinite(values)
        self.leave_out(column, wrong, "is not a number")
        self.leave_out(column, values < least, f"is less than {least:g}")
        self.leave_out(column, values > most, f"is more than {most:,.0f}")
        if whole:
            self.leave_out(
                column, np.isfinite(values) & (np.trunc(values) != values), "is not a whole number"
            )
        return values

    def gpus(self, column: str, *, least: float = 0) -> Floats:
        """A column of whole numbers of GPUs. Raises InvalidInputError as `numbers`."""
        return self.numbers(column, least=least, most=MOST_GPUS, whole=True)

    def times(self, column: str, *, unknown: Iterable[str] = ()) -> Floats:
        """Seconds since 1970 of dates with times, in local clock time.

        A text in `unknown` is NaN; for other texts that are not a date the row is left out. Raises
        InvalidInputError if there is no such column.
        """
        self.require(column)
        texts = self.columns[column]
        values = _seconds(texts)
        wrong = np.isnan(values)
        if names := set(unknown):
            wrong &= np.fromiter((text not in names for text in texts), bool, len(texts))
        self.leave_out(column, wrong, "is not a date with a time")
        return values

    def parsed(self, column: str, parse: Callable[[str], float | None], kind: str) -> Floats:
        """A column of numbers, parsed by a function that returns None for invalid texts.

        Raises InvalidInputError if there is no such column.
        """
        self.require(column)
        known: dict[str, float | None] = {}
        texts = self.columns[column]
        for text in texts:
            if text not in known:
                known[text] = parse(text)
        wrong = np.fromiter((known[text] is None for text in texts), bool, len(texts))
        self.leave_out(column, wrong, f"is not {kind}")
        values = (math.nan if known[text] is None else known[text] for text in texts)
        return np.fromiter(values, np.float64, len(texts))

    def leave_out(self, column: str, wrong: NDArray[np.bool_], why: str) -> None:
        """Leaves out rows that were good so far; an empty `column` means the row as a whole."""
        rows = np.flatnonzero(wrong & self._good)
        if not len(rows):
            return
        self._good[rows] = False
        cell = f"{column} {shown(self.columns[column][rows[0]])} " if column else ""
        self._count(f"{column}|{why}", len(rows), f"line {self.lines[rows[0]]}: {cell}{why}")

    def kept(self) -> Ints:
        """The indices of the usable rows.

        Raises InvalidInputError if there is none, with the first reason.
        """
        rows = np.flatnonzero(self._good)
        if not len(rows):
            problem = next(iter(self.problems()), f"{self.file}: has no rows")
            raise InvalidInputError(f"{problem}; nothing is left" if self._reasons else problem)
        return rows

    def problems(self) -> tuple[str, ...]:
        """A sentence for each column and reason: how many rows were left out, and the first one."""
        return tuple(
            f"{self.file}: {count:,} rows are left out; the first is {first}"
            if count > 1
            else f"{self.file}: 1 row is left out; it is {first}"
            for count, first in self._reasons.values()
        )

    def _drop_by_width(self, rows: Sequence[Sequence[str]], width: int) -> None:
        bad = [i for i, row in enumerate(rows) if len(row) != width]
        first = f"line {self.lines[bad[0]]}: has {len(rows[bad[0]])} columns instead of {width}"
        self._count("width", len(bad), first)

    def _count(self, reason: str, count: int, first: str) -> None:
        before, first_before = self._reasons.get(reason, (0, first))
        self._reasons[reason] = (before + count, first_before)


def _floats(texts: Sequence[str]) -> Floats:
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        return np.fromiter((_float(text) for text in texts), np.float64, len(texts))


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _seconds(texts: Sequence[str]) -> Floats:
    if all(len(text) == _ISO_LENGTH for text in texts):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                moments: NDArray[Any] = np.array(texts, dtype="datetime64[s]")
            return moments.astype(np.int64).astype(np.float64)
        except (ValueError, Warning):
            pass
    return np.fromiter((_second(text) for text in texts), np.float64, len(texts))


def _second(text: str) -> float:
    if _UNIX_TIME.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.timestamp()
