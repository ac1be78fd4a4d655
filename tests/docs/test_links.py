"""Links between pages lead to a page, and to a heading of it; files that a page names exist."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "examples", "notebooks", "tests/conformance")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for each in FOLDERS for page in (ROOT / each).rglob("*.md")),
        *(ROOT / "notebooks").glob("*.ipynb"),
    ]
)
SOURCES = ("cpp", "guard", "python/kai", "tests", "tools", "examples", "cmake")
MADE = (".venv", "build", "__pycache__", "node_modules")

BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")  # https:, mailto:
HEADING = re.compile(r"^ {0,3}#{1,6} (.+?)(?: #+)?$", re.MULTILINE)
FILE = re.compile(r"[\w-][\w./-]*/[\w-]+\.(?:h|cc|py|pyi|sh|md|toml|cmake|svg|js)")


def text_of(page: Path) -> str:
    """The Markdown of a page, or of a notebook's cells, without blocks of code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return BLOCK.sub("", text)


def anchors(page: Path) -> set[str]:
    """The headings of a page, as a link on GitHub spells them; a second equal one ends in -1."""
    found: set[str] = set()
    for heading in HEADING.findall(text_of(page)):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()  # a link shows its text
        name = re.sub(r"[^\w\- ]", "", name).strip().replace(" ", "-")
        found.add(
            next(each for n in count() if (each := f"{name}-{n}" if n else name) not in found)
        )
    return found


def faults(page: Path, root: Path = ROOT) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    for match in LINK.finditer(CODE.sub("", text_of(page))):
        link = match[1] or match[2]
        if ELSEWHERE.match(link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if path.startswith("/") or not target.is_relative_to(root):
            yield f"{link} leads out of the repository"
        elif not target.exists():
            yield f"{link} does not exist"
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            yield f"{link}: there is no such heading"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=map(name_of, PAGES))
def test_every_link_has_a_target(page: Path) -> None:
    assert list(faults(page)) == []


@pytest.fixture(scope="module")
def files() -> frozenset[str]:
    """The ends of the paths of all files: "cpp/kai/base/id.h", "kai/base/id.h", "base/id.h"."""
    paths = [
        path.relative_to(ROOT).parts
        for each in (*SOURCES, *FOLDERS)
        for path in (ROOT / each).rglob("*")
        if path.is_file() and not set(MADE) & set(path.parts)
    ]
    return frozenset("/".join(parts[n:]) for parts in paths for n in range(len(parts) - 1))


def named_files(page: Path) -> list[str]:
    """The files with a folder in the inline code of a page: `cpp/kai/base/id.h`, `base/id.h`."""
    return [code for code in CODE.findall(text_of(page)) if FILE.fullmatch(code)]


@pytest.mark.parametrize("page", PAGES, ids=map(name_of, PAGES))
def test_files_that_a_page_names_exist(page: Path, files: frozenset[str]) -> None:
    assert [each for each in named_files(page) if each not in files] == []


def test_a_missing_named_file_is_reported(tmp_path: Path, files: frozenset[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("`base/id.h`, `gone/id.h`, `x.h` and `make base/id.h`\n")
    assert named_files(page) == ["base/id.h", "gone/id.h"]
    assert [each in files for each in named_files(page)] == [True, False]


BROKEN = """\
# Two words

## Two words

[here](#two-words), [the second](#two-words-1), [out](https://example.com/x#y) and `[code](gone.md)`

```
[in a block](gone.md)
# Not a heading
```
"""


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[a](gone.md)", "gone.md does not exist"),
        ("![a](gone.svg)", "gone.svg does not exist"),
        ("[a](other.md#gone)", "other.md#gone: there is no such heading"),
        ("[a](#two-words-2)", "#two-words-2: there is no such heading"),
        ("[a](#not-a-heading)", "#not-a-heading: there is no such heading"),
        ('[a](gone.md "title")', "gone.md does not exist"),
        ("[a]: gone.md", "gone.md does not exist"),
        ("[a](/etc/hostname)", "/etc/hostname leads out of the repository"),
    ],
)
def test_a_link_without_a_target_is_reported(tmp_path: Path, link: str, fault: str) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# [Linked](page.md) `code`, and more #\n")
    page.write_text(BROKEN + "\n[fine](other.md#linked-code-and-more)\n")
    assert list(faults(page, tmp_path)) == []
    page.write_text(f"{BROKEN}\n{link}\n")
    assert list(faults(page, tmp_path)) == [fault]
