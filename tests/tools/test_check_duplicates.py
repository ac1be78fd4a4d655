"""tools/check_duplicates.py finds duplicated code, also with renamed variables, and nothing
else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "check_duplicates.py"

# 13 lines that count.
LINES = """
int Total(const Rows& rows) {
  int total = 0;
  // how many there are
  for (const Row& row : rows) {
    total += row.count * 2;
  }
  if (total < 0) {
    total = -total;
  }
  Log("total", total);
  while (total % 10 == 0) {
    total /= 10;
  }
  switch (total) {
    case 1:
      return 3;
  }
  return rows.last().count(total);
}
""".splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    shutil.copy(TOOL, tmp_path / "tools")
    for folder in ("cpp/kai/low", "cpp/bindings", "python/kai"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def check(project: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(project / "tools" / "check_duplicates.py"), *arguments],
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def write(project: Path, name: str, lines: list[str]) -> None:
    (project / name).write_text("\n".join(lines) + "\n")


def test_unique_lines_pass(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", LINES)
    assert check(project) == (0, "")


def test_equal_lines_are_found_in_two_files(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", LINES)
    write(project, "cpp/bindings/b.cc", ["int b = 1;", *LINES])
    assert check(project) == (1, "cpp/bindings/b.cc:3-20 = cpp/kai/low/a.cc:2-19\n")


def test_equal_lines_are_found_in_one_file(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", [*LINES, "int b = 1;", *LINES])
    assert check(project) == (1, "cpp/kai/low/a.cc:2-19 = cpp/kai/low/a.cc:23-40\n")


def test_different_names_numbers_texts_and_spaces_do_not_matter(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", LINES)
    other = "\n".join(LINES).replace("total", "sum").replace("10", "16").replace("count", "size")
    other = other.replace('"sum"', '"another"').replace("  ", "\t").replace("\n  }", "  }\n")
    write(project, "cpp/kai/low/b.cc", other.splitlines())
    status, message = check(project)
    assert (status, message.count(" = ")) == (1, 1)


def test_twelve_lines_are_not_enough(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", LINES)
    write(project, "cpp/kai/low/b.cc", LINES[:-2])
    assert check(project) == (0, "")


def test_enumerations_and_tables_are_not_duplicates(project: Path) -> None:
    write(project, "cpp/kai/low/a.h", [f"  kOne{i}," for i in range(40)])
    write(project, "cpp/kai/low/b.h", [f"  kOther{i}," for i in range(40)])
    assert check(project) == (0, "")


def test_imports_and_parameters_do_not_count(project: Path) -> None:
    lines = [f"from kai.api import name{i}" for i in range(15)]
    lines += [f"    name{i}: {kind} | None = None," for i, kind in enumerate("abcdefghijklmnop")]
    write(project, "python/kai/a.py", lines)
    write(project, "python/kai/b.py", lines)
    assert check(project) == (0, "")


def test_tests_may_repeat_themselves(project: Path) -> None:
    (project / "cpp/kai/testing").mkdir()
    write(project, "cpp/kai/low/a.cc", LINES)
    for name in ("low/a_test.cc", "low/a_benchmark.cc", "low/a_for_test.cc", "testing/maker.cc"):
        write(project, f"cpp/kai/{name}", LINES)
    assert check(project) == (0, "")


def test_files_may_be_named(project: Path) -> None:
    write(project, "cpp/kai/low/a.cc", LINES)
    write(project, "cpp/kai/low/b.cc", LINES)
    assert check(project, "cpp/kai/low/a.cc") == (0, "")
    assert check(project, "cpp/kai/low")[0] == 1
