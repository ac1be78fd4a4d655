"""tools/check_sizes.py finds functions and headers that are too large, and knows exceptions."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    for tool in ("check_sizes.py", "check_duplicates.py"):
        shutil.copy(TOOLS / tool, tmp_path / "tools")
    (tmp_path / "tools" / "size_exceptions.txt").write_text("# none\n")
    for folder in ("cpp/kai/low", "python/kai"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def check(project: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, str(project / "tools" / "check_sizes.py")], capture_output=True, text=True
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def cpp(lines: int) -> str:
    """A function of this many lines."""
    return "int Long(int a) {\n" + "  a += 1;\n" * (lines - 3) + "  return a;\n}\n"


def python(branches: int) -> str:
    """A function of this complexity."""
    return "def tangled(a):\n" + "    if a: a()\n" * (branches - 1)


def test_sizes_at_the_limit_pass(project: Path) -> None:
    (project / "cpp/kai/low/a.cc").write_text(cpp(80))
    (project / "cpp/kai/low/a.h").write_text("// a line\n" * 250)
    (project / "python/kai/a.py").write_text(python(25))
    assert check(project) == (0, [])


def test_sizes_over_the_limit_are_named(project: Path) -> None:
    (project / "cpp/kai/low/a.cc").write_text(cpp(81))
    (project / "cpp/kai/low/a.h").write_text("// a line\n" * 251)
    (project / "python/kai/a.py").write_text(python(26))
    assert check(project) == (
        1,
        [
            "cpp/kai/low/a.cc: Long has 81 lines, at most 80",
            "cpp/kai/low/a.h: header has 251 lines, at most 250",
            "python/kai/a.py: tangled has a complexity of 26, at most 25",
        ],
    )


def test_tests_have_no_size_limit(project: Path) -> None:
    (project / "cpp/kai/low/a_test.cc").write_text(cpp(200))
    assert check(project) == (0, [])


def test_an_exception_must_have_a_reason_and_be_needed(project: Path) -> None:
    exceptions = project / "tools" / "size_exceptions.txt"
    (project / "cpp/kai/low/a.cc").write_text(cpp(81))
    exceptions.write_text("cpp/kai/low/a.cc Long: a table in code\n")
    assert check(project) == (0, [])
    exceptions.write_text("cpp/kai/low/a.cc Long\n")
    assert check(project) == (
        1,
        ["size_exceptions.txt: an exception needs a reason: cpp/kai/low/a.cc Long"],
    )
    exceptions.write_text("cpp/kai/low/a.cc Long: a table\ncpp/kai/low/b.cc Short: once long\n")
    message = "size_exceptions.txt: cpp/kai/low/b.cc Short is no longer too large"
    assert check(project) == (1, [message])
