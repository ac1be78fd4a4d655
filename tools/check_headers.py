"""Checks that every public C++ header explains its use, and that its example is real code.

A public header is a *.h below cpp/kai or guard that is not only for tests. Its first comment has
four parts: a use (indented by three spaces: `//   Code();`), and sentences that begin with
"Invariant:" or "Invariants:", "Cost:", and "Threads:" (or contain "thread-safe"). All lines of one
example are in one other compiled file of cpp/ or guard/ (of this floor or one that uses it: a test,
or product code that makes such a call). Prints what is missing; exit status 1 if anything is.
How lines are compared: comments and white space are removed on both sides, so a line may be wrapped
differently. `...` cuts a line: the part before it has to be found. Lines that are only `...`, or
only a comment, are skipped.
Limits: the check finds words, not whether they are true. The lines of an example may be in any
order and anywhere in the file, also inside of a longer line. Results in comments are not compared.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby

from check_floors import CPP, ROOT

PARTS = {
    "Invariants": re.compile(r"\bInvariants?:"),
    "Cost": re.compile(r"\bCost:"),
    "Threads": re.compile(r"\bThreads:|\b[Tt]hread-safe\b"),
}
FOR_TESTS = ("cpp/kai/testing/", "guard/device/", "guard/stub/")
TOKEN = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def bare(code: str) -> str:
    """Code without comments and white space."""
    return "".join(TOKEN.sub(lambda match: match[1] or " ", code).split())


def leading_comment(text: str) -> list[str]:
    lines = text.splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return [line.removeprefix("//") for line in lines[:end]]


def examples(comment: list[str]) -> Iterator[list[str]]:
    """The lines of each example, without comments and white space."""
    for is_code, lines in groupby(comment, key=lambda line: line.startswith("   ")):
        if is_code:
            code = [bare(line).partition("...")[0] for line in lines]
            yield [line for line in code if line]


def is_public(path: str) -> bool:
    is_product = path.startswith(("cpp/kai/", "guard/")) and path.endswith(".h")
    return is_product and not (path.endswith("_for_test.h") or path.startswith(FOR_TESTS))


def problems(path: str, text: str, code: Mapping[str, str]) -> Iterator[str]:
    """The missing parts of the header; `code` has each file's text without comments, by path."""
    comment = leading_comment(text)
    words = " ".join(line.strip() for line in comment)
    uses = [use for use in examples(comment) if use]
    missing = [name for name, pattern in PARTS.items() if not pattern.search(words)]
    if not uses:
        missing.insert(0, "a use")
    if missing:
        yield f"{path}: the first comment lacks {', '.join(missing)}"
    others = [text for other, text in code.items() if other != path]
    for use in uses:
        best = min(([line for line in use if line not in text] for text in others), key=len)
        if best:
            yield f"{path}: no test or other file has this line of the example: {best[0]}"


def main() -> int:
    files = {
        file.relative_to(ROOT).as_posix(): file.read_text()
        for file in sorted([*CPP.rglob("*"), *(ROOT / "guard").rglob("*")])
        if file.suffix in {".h", ".cc"}
    }
    code = {path: bare(text) for path, text in files.items()}
    found = [
        problem
        for path, text in files.items()
        if is_public(path)
        for problem in problems(path, text, code)
    ]
    print("".join(f"{each}\n" for each in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
