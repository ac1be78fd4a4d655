"""tools/check_citations.py: each citation leads to a rule, and each rule is cited."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import check_citations
import pytest

TOOLS = Path(__file__).parents[2] / "tools"

PAGE = """\
# 2. The cycle

## Statements

### T5: pipeline

A pod gets a promise (T6). On an `A100`, as in spec 1 F44.

```
T99: not a rule
```

### T6: gangs

### T8: promises

### W13: errors
"""
FILES = {
    "docs/spec/README.md": "# Rules\n\n### Not a page of rules\n",
    "docs/spec/1-fairness.md": "# 1. Queues\n\n### F44: one round\n\n### F92: siblings\n",
    "docs/spec/2-cycle.md": PAGE,
    "cpp/all.cc": "// spec 1 F44, F92\n// spec 2 T5-T8, W13\n",
}


Check = Callable[[Mapping[str, str]], list[str]]


@pytest.fixture(scope="module")
def check() -> Check:
    """The faults in a small checkout with two chapters, and these files."""

    def faults(files: Mapping[str, str]) -> list[str]:
        found: list[str] = check_citations.problems({**FILES, **files})[0]
        return found

    return faults


def test_citations_of_existing_rules_pass(check: Check) -> None:
    assert check({}) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cpp/a.h", "// Spec 2 T5: a sentence.\n"),
        ("cpp/a.h", "// a rule (spec 2 T5, T8 and W13; spec 1 F44)\n"),
        ("cpp/a.h", "// wrapped (spec\n    // 2 T5, spec 2\n    // T6)\n"),
        ("cpp/a.h", "// an item (spec 1 F92.3), a range (spec 2 T5\N{EN DASH}T8)\n"),
        ("a.py", '"""Two chapters (spec 2 T5, 1 F44)."""\n'),
        ("a.py", "# wrapped (spec 2\n# T5)\n"),
        ("a.yaml", "rules: [spec 1 F44, spec 2 T5]\n"),
        ("a.md", "In brackets (2 T5, W13), (2 T8, the switch) and a cell\n\n| 1 F44 | x |\n"),
    ],
)
def test_every_form_is_read(check: Check, path: str, text: str) -> None:
    assert check({path: text}) == []


@pytest.mark.parametrize(
    ("path", "text", "missing"),
    [
        ("a.h", "// spec 2 T99\n", "spec 2 T99"),
        ("a.h", "// spec 9 T5\n", "spec 9 T5"),
        ("a.h", "// spec 2 T5, T99\n", "spec 2 T99"),
        ("a.h", "// spec 2 T5-T99\n", "spec 2 T99"),
        ("a.h", "// spec 2 T5 and W99\n", "spec 2 W99"),
        ("a.h", "// spec 2 T5, 1 T5\n", "spec 1 T5"),
        ("a.h", "// spec 1 F44b\n", "spec 1 F44b"),
        ("a.md", "(2 T99)\n", "spec 2 T99"),
        ("a.md", "| 2 T5, V8 | x |\n", "spec 2 V8"),
    ],
)
def test_a_citation_of_a_missing_rule_is_reported(
    check: Check, path: str, text: str, missing: str
) -> None:
    assert check({path: text}) == [f"{path}:1: {missing} does not exist"]


def test_an_uncited_rule_is_reported(check: Check) -> None:
    cited = "// spec 1 F44, F92; spec 2 T5, T6, T8\n"
    assert check({"cpp/all.cc": cited}) == ["docs/spec/2-cycle.md:17: W13 is cited nowhere"]


def test_citations_in_docs_spec_do_not_count(check: Check) -> None:
    cited = "// spec 1 F92; spec 2 T5-T8, W13\n"
    assert check({"cpp/all.cc": cited}) == ["docs/spec/1-fairness.md:3: F44 is cited nowhere"]


def test_a_range_cites_exactly_the_rules_between(check: Check) -> None:
    assert check({"docs/spec/2-cycle.md": f"{PAGE}\n### T9: more\n\n### W7: other\n"}) == [
        "docs/spec/2-cycle.md:19: T9 is cited nowhere",
        "docs/spec/2-cycle.md:21: W7 is cited nowhere",
    ]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("a.h", "// the worked cycle (spec 2 §15)\n", '1: "spec 2 §15" cites no rule'),
        ("a.h", "// read from objects (spec 2)\n", '1: "spec 2" cites no rule'),
        ("a.h", "// spec 2 T5, §15\n", '1: "T5, §15" cites no rule'),
        ("a.h", "// wrapped (spec 2\n// §15)\n", '1: "spec 2 §15" cites no rule'),
        ("a.py", '"""One step (spec 7, section 4)."""\n', '1: "spec 7" cites no rule'),
        ("a.h", "// like (design §4.2)\n", '1: "design §4.2" cites no rule'),
        ("a.py", "# what KAI does (FINDINGS 9)\n", '1: "FINDINGS 9" cites no rule'),
        ("a.py", '"""It has none (surprise 13)."""\n', '1: "surprise 13" cites no rule'),
        ("a.md", "as it is (3 §12)\n", '1: "3 §12" cites no rule'),
        ("a.h", "// spec 2 T5\nint a;  // T6\n", '2: "T6" names no chapter: "spec 2 T6"'),
        ("a.py", '"""spec 2 T5\n"""\n# T6\n', '3: "T6" names no chapter: "spec 2 T6"'),
        ("a.md", "As (2 T5) and\nT6 say.\n", '2: "T6" names no chapter: "spec 2 T6"'),
    ],
)
def test_other_forms_are_reported(check: Check, path: str, text: str, found: str) -> None:
    assert check({path: text}) == [f"{path}:{found}"]


def test_names_that_are_not_rules_are_ignored(check: Check) -> None:
    files = {
        "a.h": "// spec 2 T5, on an H100\nint T6 = 1;  // T77, T6x and /T6\n",
        "b.h": "// T6 of a file that cites no chapter\n",
        "c.py": 'pod_spec = {"spec": 1}  # a spec: 2 fields\n',
    }
    assert check(files) == []


def test_pages_of_rules_refer_to_rules(check: Check) -> None:
    page = PAGE.replace("(T6)", "(T7)").replace("spec 1 F44", "spec 1 F45")
    assert check({"docs/spec/2-cycle.md": page}) == [
        "docs/spec/2-cycle.md:7: spec 1 F45 does not exist",
        "docs/spec/2-cycle.md:7: T7 does not exist",
    ]


def test_headings_are_unique_rules(check: Check) -> None:
    page = f"{PAGE}\n### promises\n\n### T7:\n\n### T5: again\n"
    assert check({"docs/spec/2-cycle.md": page}) == [
        'docs/spec/2-cycle.md:19: "promises" is not a heading of a rule ("T5: what it says")',
        'docs/spec/2-cycle.md:21: "T7:" is not a heading of a rule ("T5: what it says")',
        "docs/spec/2-cycle.md:23: T5 is there twice",
        "docs/spec/2-cycle.md:21: T7 does not exist",
    ]


def run_in(checkout: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "tools/check_citations.py"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_files_in_git_are_read_and_faults_counted(tmp_path: Path) -> None:
    for path, text in {**FILES, ".gitignore": "built\n", "built/a.h": "// spec 2 T99\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / "tools").mkdir()
    for tool in ("check_citations.py", "git_files.py"):
        shutil.copy(TOOLS / tool, tmp_path / "tools")
    (tmp_path / "picture").write_bytes(b"\xff spec 2 T99")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert run_in(tmp_path) == (0, [])
    (tmp_path / "a.h").write_text("// spec 2 T98, T99\n")
    assert run_in(tmp_path) == (
        1,
        [
            "a.h:1: spec 2 T98 does not exist",
            "a.h:1: spec 2 T99 does not exist",
            "2 faults in 3 citations of 6 rules",
        ],
    )
