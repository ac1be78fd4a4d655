"""docs/internals/first-change.md adds a filter that fits into the tree, and compiles there.

A ```diff block names the file that it changes; without its added lines it is in that file. A ```cpp
or ```yaml block that names a file is a new one.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kai.verify import find_cases

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/internals/first-change.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(diff|cpp|yaml) (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
NEW = {path: text for kind, path, text in BLOCKS if kind != "diff"}


def changed() -> dict[str, str]:
    """The files that the page changes, in their new state."""
    files: dict[str, str] = {}
    for kind, path, block in BLOCKS:
        if kind != "diff":
            continue
        lines = [(line[:1], line[1:]) for line in block.splitlines(keepends=True)]
        before = "".join(text for sign, text in lines if sign != "+")
        text = files.get(path) or (ROOT / path).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{path} has not once:\n{before}"
        files[path] = text.replace(before, "".join(text for sign, text in lines if sign != "-"))
    return files


def test_every_change_applies_to_the_tree() -> None:
    assert len(changed()) > 9
    assert [path for path in NEW if (ROOT / path).exists()] == []


def test_every_file_that_is_named_exists() -> None:
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`((?:cpp|docs|python|tests|tools)/[\w./-]+)`", prose))
    assert len(named) > 9
    assert sorted(path for path in named - set(NEW) if not (ROOT / path).exists()) == []


def test_the_filter_and_the_changed_files_compile(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler")
    files = {path: text for path, text in (changed() | NEW).items() if path.startswith("cpp/")}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    sources = [path.removeprefix("cpp/") for path in files if path.endswith(".cc")]
    everything = tmp_path / "everything.cc"  # one file, as batches compile them
    everything.write_text("".join(f'#include "{path}"\n' for path in sources))
    command = [compiler, "-std=c++20", "-fsyntax-only", f"-I{tmp_path}/cpp", f"-I{ROOT}/cpp"]
    done = subprocess.run([*command, str(everything)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_scenarios_can_be_read(tmp_path: Path) -> None:
    [scenarios] = [text for path, text in NEW.items() if path.endswith(".yaml")]
    (tmp_path / "page.yaml").write_text(scenarios)
    found, broken = find_cases([tmp_path])
    # The compiled core has the new extra only in a tree with the filter.
    assert [
        each for each in map(str, broken) if 'extra "maintenance" is not known' not in each
    ] == []
    assert len(found) + len(broken) == scenarios.count("name: ") > 0
