"""Finds words in docs, comments, docstrings and texts that a plainer word can replace.

    tools/check_words.py              all files that Git knows
    tools/check_words.py PATH...      these files and folders

`tools/words.toml` has the words, the advice for each, and the exceptions with their reasons. Read
are the prose of Markdown (no code), comments and strings of C++, Python, shell, CMake and TOML,
YAML of tests/scenarios, and the names of tests as sentences. Prints one line for each word, and the
number of them; exit status 1 if there are any. It finds the crudest faults only: CONTRIBUTING.md
describes plain English.
"""

from __future__ import annotations

import fnmatch
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from git_files import texts

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef, import-not-found, unused-ignore]

ROOT = Path(__file__).resolve().parent.parent
WORDS = "tools/words.toml"
NOT_READ = (WORDS, "tools/check_words.py", "tests/tools/test_check_words.py", "LICENSE", "NOTICE")

CODE = re.compile(r"^```.*?^```|`[^`\n]*`|<!--.*?-->|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
CPP = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
HASH = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
TEST_NAME = re.compile(r"^(?:TEST(?:_[FP])?\(\w+, |(?:async )?def test_)(\w+)", re.MULTILINE)
WORD_OF_NAME = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
COMMENT_SIGN = re.compile(r"^\s*(?://+|#+)", re.MULTILINE)
KINDS = {
    ".md": "markdown",
    ".h": "cpp",
    ".cc": "cpp",
    ".py": "python",
    ".pyi": "python",
    ".sh": "hash",
    ".cmake": "hash",
    ".toml": "hash",
    ".yaml": "hash",
    ".txt": "hash",
}


@dataclass(frozen=True)
class Word:
    """A pattern that is looked for, and what to write instead."""

    pattern: re.Pattern[str]
    advice: str
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Exempt:
    """Lines with this text in files of this pattern keep their words."""

    path: str
    text: str
    reason: str


def read_words(text: str) -> tuple[list[Word], list[Exempt]]:
    """Raises ValueError for a word without advice or example and an exception without a reason."""
    data = tomllib.loads(text)
    words = []
    for each in data["words"]:
        if not each.get("advice") or not each.get("examples"):
            raise ValueError(f"{each['pattern']}: a word needs advice and examples")
        phrase = each["pattern"].replace(" ", r"\s{1,40}")  # it may go on in the next line
        pattern = re.compile(rf"(?<![\w-])(?:{phrase})(?![\w-])", re.IGNORECASE)
        words.append(Word(pattern, each["advice"], tuple(each["examples"])))
    exempt = [Exempt(**each) for each in data.get("exceptions", ())]
    for exception in exempt:
        if not exception.reason:
            raise ValueError(f"{exception.path}: an exception needs a reason")
    return words, exempt


def blank(text: str) -> str:
    """As many lines without letters."""
    return "\n" * text.count("\n") or " "


def keep(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with all but these parts blank."""
    parts, end = [], 0
    for start, stop in spans:
        parts += [blank(text[end:start]), text[start:stop]]
        end = stop
    return "".join([*parts, blank(text[end:])])


def python_spans(text: str) -> Iterator[tuple[int, int]]:
    """Comments and strings."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    middle = getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING, middle):
                (row, column), (end_row, end_column) = token.start, token.end
                yield starts[row - 1] + column, starts[end_row - 1] + end_column
    except (tokenize.TokenError, IndentationError):
        return  # a text that is not Python; ruff reports it


def with_test_names(found: str, text: str) -> str:
    """The same lines, with the names of tests as words: `AGangWaits` and `test_a_gang_waits`."""
    lines = found.split("\n")
    for match in TEST_NAME.finditer(text):
        words = " ".join(WORD_OF_NAME.findall(match[1]))
        lines[text.count("\n", 0, match.start())] += f" . {words} ."
    return "\n".join(lines)


def prose(path: str, text: str) -> str:
    """What people read of a file; all else is blank, so that lines keep their numbers."""
    kind = KINDS.get(Path(path).suffix, "")
    if Path(path).name in ("Makefile", "CMakeLists.txt"):
        kind = "hash"
    if kind == "markdown":
        return CODE.sub(lambda code: blank(code[0]), text)
    if kind == "cpp":
        found = keep(text, (each.span() for each in CPP.finditer(text)))
    elif kind == "python":
        found = keep(text, python_spans(text))
    elif kind == "hash":
        found = keep(text, (each.span() for each in HASH.finditer(text)))
    else:
        return ""
    found = COMMENT_SIGN.sub(lambda sign: blank(sign[0]), found)
    if kind in ("cpp", "python"):
        found = with_test_names(found, text)
    return re.sub(r"`[^`\n]*`", lambda code: blank(code[0]), found)


def faults(
    path: str, text: str, words: Iterable[Word], exempt: Iterable[Exempt] = ()
) -> Iterator[tuple[int, str]]:
    """The line of each listed word in a file, with the advice."""
    kept = [each for each in exempt if fnmatch.fnmatch(path, each.path)]
    lines = text.split("\n")
    read = prose(path, text)
    for word in words:
        for match in word.pattern.finditer(read):
            line = read.count("\n", 0, match.start())
            if not any(each.text in lines[line] for each in kept):
                yield line + 1, f'"{" ".join(match[0].split())}": {word.advice}'


def readable(root: Path, paths: Iterable[str]) -> Mapping[str, str]:
    """The texts that are checked, by path; of these folders and files if there are any."""
    return {path: text for path, text in texts(root, paths).items() if path not in NOT_READ}


def main(arguments: list[str]) -> int:
    words, exempt = read_words((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
    root = Path.cwd() if arguments else ROOT
    count = 0
    for path, text in readable(root, arguments).items():
        for line, what in sorted(faults(path, text, words, exempt)):
            print(f"{path}:{line}: {what}")
            count += 1
    if count:
        print(f"{count} words to replace")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
