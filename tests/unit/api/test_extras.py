"""A missing package: one sentence with a command that works without a release on PyPI."""

import re
import sys
from pathlib import Path

import pytest

from kai.api import extras

ROOT = Path(__file__).parents[3]


def test_the_extras_are_those_of_the_project() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    listed = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    found = {
        name: tuple(re.findall(r'"([a-z-]+)[><=]', packages))
        for name, packages in re.findall(r"^(\w+) = \[(.*)\]$", listed, re.MULTILINE)
    }
    del found["test"]
    assert found == extras.EXTRAS


def test_make_demo_installs_what_the_commands_of_the_readme_need() -> None:
    lines = (ROOT / "tools" / "requirements-run.in").read_text().splitlines()
    assert {*extras.EXTRAS["cluster"], *extras.EXTRAS["sim"]} <= {*lines}


def test_the_sentence_names_only_the_packages_that_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda package: package == "aiohttp")
    found = extras.needed("a live cluster", "aiohttp", "prometheus-client")
    assert found.startswith("a live cluster needs prometheus-client: ")
    assert found.endswith("pip install prometheus-client")


def test_the_pip_is_that_of_the_python_that_runs_kai(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "pip").touch()
    (programs / "pip").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.chdir(tmp_path)
    assert "numpy: .venv/bin/pip install numpy" in extras.needed("kai simulate", "numpy")
    (tmp_path.parent / "other").mkdir()
    monkeypatch.chdir(tmp_path.parent / "other")
    assert f"numpy: {programs}/pip install numpy" in extras.needed("kai simulate", "numpy")
    monkeypatch.setenv("PATH", str(programs))
    assert "numpy: pip install numpy" in extras.needed("kai simulate", "numpy")


def test_packages_and_modules_may_have_different_names() -> None:
    assert extras.missing("pytest", "no-such-package") == ["no-such-package"]
    assert all(extras.is_installed(each) for each in extras.EXTRAS["cluster"])


def test_nothing_proposes_to_install_kai_sched_from_pypi() -> None:
    files = [*ROOT.glob("python/kai/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    proposing = re.compile(r"pip install[^\n]*['\"` ]kai[-_]sched(\[|\b(?!-\*))")
    assert [str(each) for each in files if proposing.search(each.read_text())] == []


def test_nothing_proposes_to_install_a_package_that_is_not_on_pypi() -> None:
    proposed = re.compile(r"""pip install (?:[^\n/#`]*\s)?['"]?kai[-_]sched""")
    folders = ("python/kai", "docs", "examples", "notebooks")
    files = [file for each in folders for file in (ROOT / each).rglob("*")] + [ROOT / "README.md"]
    named = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        if file.suffix in (".py", ".md", ".ipynb", ".sh", ".txt")
        for line in file.read_text().splitlines()
        if proposed.search(line)
    ]
    assert named == []
