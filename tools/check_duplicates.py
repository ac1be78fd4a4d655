"""Finds duplicated code in the product.

    tools/check_duplicates.py [FILE or FOLDER...]

Two lines are equal if they differ only in names, numbers, texts and spaces. Blank lines, comments,
imports, parameters and lone brackets do not count. Prints each pair of places with more than 12
equal lines. At least 8 of the lines must differ from each other, because an enumeration or a table
is no duplicate of another one. Exit status 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("cpp/kai", "cpp/bindings", "guard", "python/kai")
NOT_PRODUCT = re.compile(r"_test\.(cc|h)$|_benchmark\.cc$|/testing/|/guard/(stub|play)/")
MOST_LINES = 12
LEAST_DISTINCT = 8

NOT_COUNTED = re.compile(
    r"""\s*( // | \#(?!\s*(if|else|endif|define)\b) | using\s | import\s | from\s\S+\simport\s
        | \w+:\s[^()]*,$  # a parameter or field of Python
        | \W*$ )""",
    re.VERBOSE,
)
KEYWORD = re.compile(
    "and|auto|bool|break|case|class|const|continue|def|default|else|for|if|in|int|not|or|private|"
    "public|raise|return|self|static|std|struct|switch|void|while|with|yield"
)
TEXT = re.compile(r'"(\\.|[^"\\])*"')
NUMBER = re.compile(r"\b\d[\w.']*")
NAME = re.compile(r"\b[A-Za-z_]\w*")

Place = tuple[Path, int, int]  # first and last line


def shape_of(line: str) -> str:
    """The line with names, numbers and texts replaced, because they may differ."""
    line = NUMBER.sub("1", TEXT.sub('""', line))
    line = NAME.sub(lambda name: name[0] if KEYWORD.fullmatch(name[0]) else "x", line)
    return "".join(line.split())


def counted_lines(text: str) -> list[tuple[int, str]]:
    """The number and shape of each line that counts."""
    return [
        (number, shape_of(line))
        for number, line in enumerate(text.splitlines(), start=1)
        if not NOT_COUNTED.match(line)
    ]


def duplicates(files: Iterable[Path]) -> Iterator[tuple[Place, Place]]:
    """Pairs of places with equal lines, each as long as it can be."""
    lines = {file: counted_lines(file.read_text()) for file in files}
    windows: defaultdict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for file, counted in lines.items():
        for start in range(len(counted) - MOST_LINES):
            window = tuple(shape for _, shape in counted[start : start + MOST_LINES + 1])
            windows[window].append((file, start))
    for places in windows.values():
        for (one, a), (other, b) in combinations(places, 2):
            if a and b and lines[one][a - 1][1] == lines[other][b - 1][1]:
                continue  # a part of a stretch that begins earlier
            length = 0
            for left, right in zip(lines[one][a:], lines[other][b:], strict=False):
                if left[1] != right[1]:
                    break
                length += 1
            if one == other:
                length = min(length, b - a)  # or it would run into itself
            shapes = {shape for _, shape in lines[one][a : a + length]}
            if length > MOST_LINES and len(shapes) >= LEAST_DISTINCT:
                ends = [lines[file][at + length - 1][0] for file, at in ((one, a), (other, b))]
                yield (one, lines[one][a][0], ends[0]), (other, lines[other][b][0], ends[1])


def product_files(paths: Sequence[str]) -> list[Path]:
    """The product's sources below these paths, by name."""
    found: list[Path] = []
    for path in map(ROOT.joinpath, paths):
        found += [path] if path.is_file() else path.rglob("*")
    return sorted(
        file
        for file in found
        if file.suffix in {".h", ".cc", ".py"}
        and not NOT_PRODUCT.search(file.as_posix())
        and not file.stem.endswith("_for_test")
    )


def main(arguments: Sequence[str]) -> int:
    found = list(duplicates(product_files(arguments or PRODUCT)))
    for places in found:
        print(" = ".join(f"{file.relative_to(ROOT)}:{a}-{b}" for file, a, b in places))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
