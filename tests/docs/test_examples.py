"""Every ```python block of README.md and docs/ runs, from top to bottom of its page.

The blocks of a page share a namespace and a directory, so a page reads like a session. Pages of
docs/orchestrators run with the library they describe (noxfile.py). A block that is only shown has
```python notest in its first line. The examples in docstrings run as doctests (pyproject.toml).
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("README.md"), *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python *\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """The line that each block starts on, and its code."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)), match.group(1)) for match in BLOCK.finditer(text)]


WITH_EXAMPLES = [
    page
    for page in PAGES
    if blocks(page) and (page.parent.name != "orchestrators" or page.name == "README.md")
]


@pytest.mark.parametrize(
    "page", WITH_EXAMPLES, ids=[str(page.relative_to(ROOT)) for page in WITH_EXAMPLES]
)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    for line, code in blocks(page):
        # Blank lines put the code at its line in the page, for the traceback.
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


def test_blocks_are_found_with_the_line_they_start_on(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\na = 1\n```\n\n```python notest\nno\n```\n```sh\nls\n```\n"
    )
    assert blocks(page) == [(3, "a = 1\n")]
