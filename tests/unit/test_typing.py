"""A type checker knows every public name, and finds a mistyped argument."""

import ast
import subprocess
import sys
from pathlib import Path

import kai
from type_checker import type_check

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests/typing/public_names.py"


def test_the_file_uses_every_public_name() -> None:
    tree = ast.parse(FILE.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "kai"
    }
    public = {name for name in dir(kai) if not name.startswith("_")} | set(kai.__all__)
    assert public - used == set()


def test_the_file_passes_mypy_strict(tmp_path: Path) -> None:
    done = type_check(FILE, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_runs() -> None:
    subprocess.run(
        [sys.executable, str(FILE)], env={"PYTHONPATH": str(ROOT / "python")}, check=True
    )
