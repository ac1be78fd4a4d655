"""Checks that functions and headers of the product stay small enough to read in one go.

A function has at most 80 lines and a cyclomatic complexity of 25, a header at most 250 lines.
tools/size_exceptions.txt lists exceptions, each with its reason; exceptions that are no longer
needed are reported, too. Prints what is too large; exit status 1 if anything is reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import lizard
from check_duplicates import PRODUCT, ROOT, product_files

MOST_LINES = 80
MOST_COMPLEX = 25
MOST_HEADER_LINES = 250
EXCEPTIONS = ROOT / "tools" / "size_exceptions.txt"


def too_large(file: Path) -> Iterator[tuple[str, str]]:
    """The header or functions of a file that are too large: a name, and how large."""
    text = file.read_text()
    lines = text.count("\n")
    if file.suffix == ".h" and lines > MOST_HEADER_LINES:
        yield "header", f"{lines} lines, at most {MOST_HEADER_LINES}"
    for function in lizard.analyze_file.analyze_source_code(str(file), text).function_list:
        if function.length > MOST_LINES:
            yield function.name, f"{function.length} lines, at most {MOST_LINES}"
        if function.cyclomatic_complexity > MOST_COMPLEX:
            complexity = function.cyclomatic_complexity
            yield function.name, f"a complexity of {complexity}, at most {MOST_COMPLEX}"


def read_exceptions(file: Path) -> dict[str, str]:
    """Reasons by "<path> <function>"; a line is "<path> <function>: <reason>"."""
    exceptions = {}
    for line in file.read_text().splitlines():
        if line and not line.startswith("#"):
            what, colon, reason = line.partition(": ")
            if not colon or not reason.strip():
                sys.exit(f"{file.name}: an exception needs a reason: {line}")
            exceptions[what] = reason
    return exceptions


def problems(files: Iterable[Path], exceptions: dict[str, str], root: Path = ROOT) -> list[str]:
    unused = dict(exceptions)
    found = []
    for file in files:
        path = file.relative_to(root).as_posix()
        for name, size in too_large(file):
            if f"{path} {name}" in exceptions:
                unused.pop(f"{path} {name}", None)
            else:
                found.append(f"{path}: {name} has {size}")
    return [*found, *(f"{EXCEPTIONS.name}: {what} is no longer too large" for what in unused)]


def main() -> int:
    found = problems(product_files(PRODUCT), read_exceptions(EXCEPTIONS))
    print("".join(f"{each}\n" for each in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
