"""tools/check_headers.py finds headers with too little documentation, and examples that no code
has."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
HEADER = """\
// Doors: what opens and closes.
//
//   Door door(wood);
//   door.Open();      // it creaks
//
// Invariants: a door is open or closed. Cost: O(1). Threads: one per door.
#ifndef DOOR_H_
#define DOOR_H_
class Door {};
#endif
"""
TEST = "TEST(Door, Opens) {\n  Door door(\n      wood);  // oak\n  door.Open();\n}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    for tool in ("check_headers.py", "check_floors.py"):
        shutil.copy(TOOLS / tool, tmp_path / "tools")
    for folder in ("cpp/kai/low", "cpp/kai/testing", "cpp/bindings", "guard/hooks", "guard/stub"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "cpp/kai/low/door.h").write_text(HEADER)
    (tmp_path / "cpp/kai/low/door_test.cc").write_text(TEST)
    return tmp_path


def check(project: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, str(project / "tools" / "check_headers.py")],
        capture_output=True,
        text=True,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def write_header(project: Path, old: str, new: str) -> None:
    assert old in HEADER
    (project / "cpp/kai/low/door.h").write_text(HEADER.replace(old, new))


def test_a_complete_header_with_a_tested_example_passes(project: Path) -> None:
    assert check(project) == (0, [])


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("//   Door door(wood);\n//   door.Open();      // it creaks\n", "a use"),
        ("Invariants: a door is open or closed. ", "Invariants"),
        ("Cost: O(1). ", "Cost"),
        (" Threads: one per door.", "Threads"),
    ],
)
def test_each_missing_part_is_named(project: Path, header: str, part: str) -> None:
    write_header(project, header, "")
    assert check(project) == (1, [f"cpp/kai/low/door.h: the first comment lacks {part}"])


def test_a_header_without_any_comment_lacks_everything(project: Path) -> None:
    (project / "cpp/kai/low/door.h").write_text("class Door {};\n// Cost: said too late.\n")
    message = "cpp/kai/low/door.h: the first comment lacks a use, Invariants, Cost, Threads"
    assert check(project) == (1, [message])


def test_not_thread_safe_is_enough_about_threads(project: Path) -> None:
    write_header(project, "Threads: one per door.", "Not thread-safe.")
    assert check(project) == (0, [])


def test_an_example_without_matching_code_is_named(project: Path) -> None:
    write_header(project, "door.Open();", "door.Swing();")
    message = (
        "cpp/kai/low/door.h: no test or other file has this line of the example: door.Swing();"
    )
    assert check(project) == (1, [message])


def test_lines_in_comments_or_in_the_header_do_not_count(
    project: Path,
) -> None:
    write_header(project, "class Door {};", "class Door { void Test() { door.Swing(); } };")
    header = (project / "cpp/kai/low/door.h").read_text().replace("door.Open();", "door.Swing();")
    (project / "cpp/kai/low/door.h").write_text(header)
    (project / "cpp/kai/low/door_test.cc").write_text(TEST + "// door.Swing();\n")
    assert check(project)[0] == 1


def test_all_lines_of_an_example_must_be_in_one_file(project: Path) -> None:
    (project / "cpp/kai/low/door_test.cc").write_text("Door door(wood);\n")
    (project / "cpp/kai/low/window_test.cc").write_text("door.Open();\n")
    assert check(project)[0] == 1


def test_examples_may_be_shortened_and_may_match_any_file(project: Path) -> None:
    write_header(project, "//   door.Open();      // it creaks", "//   door.Open( ...\n//   ...")
    (project / "cpp/kai/low/door_test.cc").unlink()
    (project / "cpp/bindings/doors.cc").write_text(TEST)
    assert check(project) == (0, [])


def test_quoted_text_is_not_a_comment(project: Path) -> None:
    write_header(project, "door.Open();      // it creaks", 'door.Open("http://a b");')
    assert check(project)[0] == 1
    (project / "cpp/kai/low/door_test.cc").write_text(
        TEST.replace("door.Open();", 'door.Open("http://a b");')
    )
    assert check(project) == (0, [])


def test_headers_for_tests_may_have_less(project: Path) -> None:
    (project / "cpp/kai/low/door_for_test.h").write_text("class Knock {};\n")
    (project / "cpp/kai/testing/doors.h").write_text("class Knock {};\n")
    (project / "guard/stub/doors.h").write_text("class Knock {};\n")
    assert check(project) == (0, [])


def test_headers_of_the_guard_are_checked_too(project: Path) -> None:
    (project / "guard/hooks/gate.h").write_text(HEADER.replace("door.Open();", "door.Shut();"))
    message = "guard/hooks/gate.h: no test or other file has this line of the example: door.Shut();"
    assert check(project) == (1, [message])
    (project / "guard/hooks/gate.cc").write_text("Door door(wood);\ndoor.Shut();\n")
    assert check(project) == (0, [])
