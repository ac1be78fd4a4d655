"""tools/mutants.py finds changes that no test notices, and restores the sources."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import mutants  # noqa: E402

SOURCE = """\
#include "kai/low/low.h"

int Most(int a) { return a > 10 ? 10 : a; }    // > or >=: at 10 both are 10
int Sum(int a, int b) { return a + b; }        // tested here
bool Both(bool a, bool b) { return a && b; }   // tested above
int Twice(int a) { return a * 2; }             // not tested
"""
FILES = {
    "cpp/kai/low/CMakeLists.txt": "kai_floor(low LINKS)\n",
    "cpp/kai/low/low.h": "int Most(int), Sum(int, int), Twice(int);\nbool Both(bool, bool);\n",
    "cpp/kai/low/low.cc": SOURCE,
    "cpp/kai/low/low_test.cc": """\
#include "kai/low/low.h"
#include <gtest/gtest.h>
TEST(LowTest, Works) {
  EXPECT_EQ(Most(9), 9);
  EXPECT_EQ(Most(11), 10);
  EXPECT_EQ(Sum(1, 2), 3);
}
""",
    "cpp/kai/high/CMakeLists.txt": "kai_floor(high LINKS kai::low)\n",
    "cpp/kai/high/high_test.cc": """\
#include "kai/low/low.h"
#include <gtest/gtest.h>
TEST(HighTest, Works) { EXPECT_FALSE(Both(true, false)); }
""",
    "tools/mutants_equal.txt": "# none\n",
}


def found(line: str) -> list[str]:
    return [f"{each.old} -> {each.new}" for each in mutants.find_mutants("a.cc", line)]


@pytest.mark.parametrize(
    ("line", "operators"),
    [
        ("if (a < b && !c) {", ["< -> <=", "&& -> ||", "! -> "]),
        ("a += b - c;", ["+= -> -=", "- -> +"]),
        ("return std::max(a, b) >=", ["std::max -> std::min", ">= -> >"]),
        ("for (int i = 0; i < n; ++i) {", ["< -> <="]),
        ("std::vector<int> a; Foo* b; Foo&& c; *d = -e; f->g; h != i", ["!= -> =="]),
        ('Say("a < b"); // a < b', []),
        ("case '<': return a != '>' ;", ["!= -> =="]),
        ("template <typename T>", []),
        ("KAI_DCHECK(a < b);", []),
        ("static_assert(a < b);", []),
        ("#if a < b", []),
        ("bool operator<(A a, A b) { return a < b; }", []),
    ],
)
def test_every_operator_is_changed(line: str, operators: list[str]) -> None:
    assert found(line) == operators


def test_one_place_is_changed_at_a_time() -> None:
    source = "int a;\nreturn a < b || c < d;\n"
    assert [each.applied(source) for each in mutants.find_mutants("a.cc", source)] == [
        "int a;\nreturn a <= b || c < d;\n",
        "int a;\nreturn a < b && c < d;\n",
        "int a;\nreturn a < b || c <= d;\n",
    ]


def test_equal_operators_of_a_line_are_distinguished_by_their_place() -> None:
    line = "return a < b || c < d;"
    _, _, last = mutants.find_mutants("a.cc", line)
    assert last.names() == {("a.cc", line, "<"), ("a.cc", line, "< #2")}


def test_the_drawn_mutants_depend_only_on_the_seed() -> None:
    all_of_them = list(mutants.find_mutants("a.cc", "a < b\n" * 100))
    drawn = mutants.draw(all_of_them, 10, 1)
    assert len(drawn) == 10
    assert drawn == mutants.draw(all_of_them, 10, 1) == sorted(drawn, key=lambda each: each.line)
    assert drawn != mutants.draw(all_of_them, 10, 2)
    assert mutants.draw(all_of_them, 0, 1) == all_of_them


def test_every_known_equal_mutant_exists() -> None:
    for key in mutants.read_equal():
        there = mutants.find_mutants(key[0], (ROOT / key[0]).read_text())
        assert any(key in each.names() for each in there), key


# --- a whole run ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(make_project: Callable[[Mapping[str, str], Sequence[str]], Path]) -> Path:
    """A checkout of two floors."""
    return make_project(FILES, ["mutants.py", "check_floors.py"])


def command(project: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-u", str(project / "tools" / "mutants.py"), "--seed", "1", *arguments]


def run(project: Path, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run(command(project, *arguments), capture_output=True, text=True)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


def test_a_survivor_is_found_unless_it_is_known_to_be_equal(project: Path) -> None:
    report = project / "report.json"
    status, lines = run(project, "--count", "0", "--json", str(report))
    most, twice = "cpp/kai/low/low.cc:3: > -> >=", "cpp/kai/low/low.cc:6: * -> /"
    assert lines[:5] == [
        "4 of 4 mutants in 1 files, seed 1; 0 of them are known to be equal",
        f"[1/4] {most}: survived",
        "[2/4] cpp/kai/low/low.cc:4: + -> -: caught by kai_low_test",
        "[3/4] cpp/kai/low/low.cc:5: && -> ||: caught by kai_high_test",
        f"[4/4] {twice}: survived",
    ]
    assert lines[5].startswith("2 of 4 were caught")
    assert [line for line in lines if line.startswith("survived: ")] == [
        f"survived: {most}",
        f"survived: {twice}",
    ]
    assert status == 1
    assert [each["verdict"] for each in json.loads(report.read_text())["mutants"]] == [
        "survived",
        "caught",
        "caught",
        "survived",
    ]

    texts = {line: SOURCE.splitlines()[line - 1] for line in (3, 6)}
    equal = project / "tools" / "mutants_equal.txt"
    equal.write_text(
        f"cpp/kai/low/low.cc | {texts[3]} | > | both are 10\n"
        f"cpp/kai/low/low.cc | {texts[6]} | * | says this test\n"
    )
    status, lines = run(project, "--count", "0", "--files", "low")
    assert lines[0] == "4 of 4 mutants in 2 files, seed 1; 2 of them are known to be equal"
    assert status == 0
    _, lines = run(project, "--list", "--files", "cpp/kai/low/low.cc:4")
    assert lines[1:] == ["cpp/kai/low/low.cc:4: + -> -    " + SOURCE.splitlines()[3]]
    equal.write_text(FILES["tools/mutants_equal.txt"])


def test_an_interrupt_restores_the_sources(project: Path) -> None:
    test = project / "cpp/kai/low/low_test.cc"
    test.write_text(
        FILES["cpp/kai/low/low_test.cc"]
        + "#include <unistd.h>\nTEST(LowTest, IsSlow) { EXPECT_EQ(sleep(2), 0); }\n"
    )
    running = subprocess.Popen(
        command(project, "--count", "0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    while not running.stdout.readline().startswith("[1/4]"):
        assert running.poll() is None
    running.send_signal(signal.SIGINT)  # during the second mutant
    output, error = running.communicate(timeout=60)
    test.write_text(FILES["cpp/kai/low/low_test.cc"])
    assert running.returncode == 130
    assert error == "interrupted\n"
    assert "were caught" in output
    assert (project / "cpp/kai/low/low.cc").read_text() == SOURCE
    assert (project / "build/mutants/source/cpp/kai/low/low.cc").read_text() == SOURCE


def test_an_unknown_name_is_refused(project: Path) -> None:
    done = subprocess.run(command(project, "--files", "attic"), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "mutants: no file of the product is attic\n"


def test_tests_that_fail_without_a_mutant_are_reported(project: Path) -> None:
    test = project / "cpp/kai/low/low_test.cc"
    test.write_text(FILES["cpp/kai/low/low_test.cc"].replace("Sum(1, 2), 3", "Sum(1, 2), 4"))
    done = subprocess.run(command(project, "--count", "1"), capture_output=True, text=True)
    test.write_text(FILES["cpp/kai/low/low_test.cc"])
    assert done.returncode == 1
    assert "Sum(1, 2)" in done.stderr
    assert "without any mutant this failed" in done.stderr
