"""tools/broken_updates.py reports broken updates that the test of random events misses."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import broken_updates  # noqa: E402

SOURCE = """\
#include "kai/engine/sums.h"

void Add(int* sum, int pod) { *sum += pod; }
void Remove(int* sum, int pod) { *sum -= pod; }
int Unused(int pod) { return pod; }
"""
LIST = """\
[[broken]]
name = "sums"
row = "queue sums"
breaks = "a pod that goes is still counted"
file = "cpp/kai/engine/sums.cc"
before = "{ *sum -= pod; }"
after = "{}"

[[broken]]
name = "unused"
row = "nothing"
breaks = "nothing"
file = "cpp/kai/engine/sums.cc"
before = "return pod;"
after = "return -pod;"

[[broken]]
name = "crash"
row = "nothing"
breaks = "the test itself"
file = "cpp/kai/engine/sums.cc"
before = "*sum += pod;"
after = "*static_cast<volatile int*>(nullptr) = pod;"
"""
FILES = {
    "cpp/kai/engine/CMakeLists.txt": "kai_floor(engine LINKS)\n",
    "cpp/kai/engine/sums.h": "void Add(int*, int), Remove(int*, int);\nint Unused(int);\n",
    "cpp/kai/engine/sums.cc": SOURCE,
    # Only sequences of events from the second on show it.
    "cpp/kai/engine/sums_test.cc": """\
#include "kai/engine/sums.h"
#include <gtest/gtest.h>
#include <cstdlib>
TEST(EventsTest, RandomEventsGiveThePlanOfAFreshLoad) {
  for (int seed = 0; seed < std::atoi(std::getenv("KAI_SEEDS") + 2); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    int sum = 0;
    Add(&sum, seed);
    Remove(&sum, seed);
    ASSERT_EQ(sum, 0);
  }
}
TEST(OtherTest, IsNotRun) { FAIL(); }
""",
    "tools/broken_updates.toml": LIST,
}


@pytest.fixture(scope="module")
def project(make_project: Callable[[Mapping[str, str], Sequence[str]], Path]) -> Path:
    """A checkout of one floor."""
    return make_project(FILES, ["broken_updates.py", "mutants.py", "check_floors.py"])


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "tools" / "broken_updates.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_fault_that_no_sequence_finds_is_missed(project: Path) -> None:
    report = project / "report.json"
    done = run(project, "--seeds", "10", "--json", str(report))
    assert done.stderr == ""
    assert done.stdout.splitlines()[:3] == [
        "[1/3] sums (queue sums: a pod that goes is still counted): found by seed 1",
        "[2/3] unused (nothing: nothing): MISSED",
        "[3/3] crash (nothing: the test itself): found by a crash",
    ]
    assert done.stdout.splitlines()[3].startswith("2 of 3 were found")
    assert done.returncode == 1
    assert [each["verdict"] for each in json.loads(report.read_text())["broken"]] == [
        "caught",
        "survived",
        "caught",
    ]
    assert (project / "cpp/kai/engine/sums.cc").read_text() == SOURCE

    done = run(project, "sums", "--seeds", "1")
    assert (done.returncode, done.stdout.splitlines()[0][-6:]) == (1, "MISSED"), "seed 0 alone"
    assert run(project, "sums", "--seeds", "2").returncode == 0


def test_a_text_that_is_missing_or_repeated_is_refused(project: Path) -> None:
    source = project / "cpp/kai/engine/sums.cc"
    source.write_text(SOURCE.replace("return pod;", "return +pod;"))
    done = run(project, "--list")
    assert done.returncode == 2
    expected = "broken_updates: unused: cpp/kai/engine/sums.cc has its text 0 times, not once\n"
    assert done.stderr == expected
    assert run(project, "sums", "--list").returncode == 0, "it is not asked for"
    source.write_text(SOURCE)
    done = run(project, "attic")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "broken_updates: attic: not in broken_updates.toml\n"


def test_all_listed_faults_can_be_applied() -> None:
    known = broken_updates.read_list()
    assert [problem for each in known if (problem := each.problem())] == []
    assert len({each.name for each in known}) == len(known)
    for each in known:
        source = (ROOT / each.file).read_text()
        assert each.applied(source) != source, each.name
