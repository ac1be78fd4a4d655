"""A type checker knows every public name, and finds a mistyped argument."""

import ast
import subprocess
import sys
from pathlib import Path

import kai

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
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(FILE)]
    env = {"MYPYPATH": str(ROOT / "python"), "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_file_runs() -> None:
    subprocess.run(
        [sys.executable, str(FILE)], env={"PYTHONPATH": str(ROOT / "python")}, check=True
    )
