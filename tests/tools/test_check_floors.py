"""tools/check_floors.py finds arrows that point up, and only those."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_floors.py"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A floor `low`, a floor `high` on it, and a floor `makers` for tests, one folder deeper."""
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    for folder, line in {
        "low": "kai_floor(low LINKS absl::status TEST_LINKS kai::makers)",
        "high": "kai_floor(high LINKS kai::low TEST_LINKS kai::makers kai::low_for_test)",
        "testing/makers": "kai_floor(makers FOR_TESTS LINKS kai::low)",
    }.items():
        floor = tmp_path / "cpp" / "kai" / folder
        floor.mkdir(parents=True)
        (floor / "CMakeLists.txt").write_text(f"# kai_floor(no LINKS kai::high)\n{line}\n")
    return tmp_path / "cpp" / "kai"


def check(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(project.parents[1] / "tools" / "check_floors.py")],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_dependencies_on_lower_floors_pass(project: Path) -> None:
    (project / "high" / "a.cc").write_text('#include <vector>\n#include "kai/low/b.h"\n')
    (project / "high" / "a_test.cc").write_text('#include "kai/testing/makers/c.h"\n')
    (project / "low" / "b_for_test.h").write_text('#include "kai/testing/makers/c.h"\n')
    (project / "testing" / "makers" / "c.cc").write_text('#include "kai/low/b.h"\n')
    assert check(project) == (0, "")


def test_a_dependency_on_a_higher_floor_is_reported_with_its_line(project: Path) -> None:
    (project / "low" / "b.cc").write_text('#include "kai/low/b.h"\n#include "kai/high/a.h"\n')
    assert check(project) == (1, "cpp/kai/low/b.cc:2: low does not link kai::high\n")


def test_only_tests_may_use_test_floors(project: Path) -> None:
    (project / "high" / "a.cc").write_text('#include "kai/testing/makers/c.h"\n')
    assert check(project) == (1, "cpp/kai/high/a.cc:1: high does not link kai::makers\n")
