"""README.md shows a part of what `kai demo` prints, and what its Python example prints."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from kai.cli import main

README = Path(__file__).parents[2] / "README.md"


def blocks() -> list[tuple[str, str]]:
    """The language and the content of each block."""
    text = README.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_shown_parts_of_the_demo_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    [shown] = [text for kind, text in blocks() if kind == "text" and text.startswith("00:00")]
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    parts = [part.strip("\n") for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    places = [printed.find(part) for part in parts if part]
    assert len(places) == 2
    assert -1 not in places
    assert places == sorted(places)


def test_the_python_example_prints_the_shown_text(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [
        (code, shown)
        for (kind, code), (next_kind, shown) in pairwise(blocks())
        if (kind, next_kind) == ("python", "text")
    ]
    assert pairs
    for code, shown in pairs:
        exec(compile(code, str(README), "exec"), {"__name__": "example"})
        assert capsys.readouterr().out == shown
