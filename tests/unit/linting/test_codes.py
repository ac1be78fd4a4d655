"""Every code has a description with its severity, and every description has a code."""

import ast
import re
from pathlib import Path

import kai.admission
import kai.linting
from kai.linting.codes import CODES

SOURCES = [Path(each.__file__).parent for each in (kai.admission, kai.linting)]
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lint.md"


def in_code() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in (path for folder in SOURCES for path in folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            made = {
                "error": {"error"},
                "refusal": {"error"},
                "warning": {"warning"},
                "make": {"error", "warning"},
            }
            code = node.args[0]
            if node.func.id in made and isinstance(code, ast.Constant):
                found.setdefault(code.value, set()).update(made[node.func.id])
    return found


def on_page() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([a-z, ]+) \|", PAGE.read_text(), re.MULTILINE)
    return {code: set(severity.split(", ")) for code, severity in rows}


def test_the_page_has_every_code() -> None:
    assert len(in_code()) > 30
    assert on_page() == in_code()


def test_the_table_equals_the_page() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| [a-z, ]+ \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert {code: what.replace("`", "") for code, what in rows} == CODES
