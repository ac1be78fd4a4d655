"""docs/concepts/questions.md: a script per question, short, complete, typed, and with its output.

A section whose title ends with a question mark has a script of at most 12 lines, which needs only
the files of earlier blocks. The ```text block after it is its output.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from type_checker import type_check

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/concepts/questions.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUESTIONS = [
    "What if I add 10 nodes?",
    "What is the smallest change that starts vision/train?",
    "Which weight gives vision half?",
    "Which pods would be evicted if I submitted this?",
    "Binpack or spread: what is left whole?",
    "Why does this group wait?",
    "Who could evict this group?",
    "Why this node and not another?",
    "What differs between these two plans?",
]
MOST_LINES = 12


def sections() -> dict[str, list[tuple[str, str]]]:
    """The blocks of each section, by its title; those before the first title are under ""."""
    found: dict[str, list[tuple[str, str]]] = {}
    for part in re.split(r"^## ", "\n" + PAGE, flags=re.MULTILINE):
        title = part.partition("\n")[0] if found else ""
        found[title] = BLOCK.findall(part)
    return found


def scripts(title: str) -> list[str]:
    return [code for kind, code in sections()[title] if kind == "python"]


def test_each_question_has_a_section() -> None:
    assert [title for title in sections() if title.endswith("?")] == QUESTIONS


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_answer_is_one_short_script(question: str) -> None:
    script = scripts(question)[-1]
    assert script.startswith("import kai\n")
    assert len(script.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_script_prints_the_text_of_the_page(question: str, tmp_path: Path) -> None:
    *before, script = [*scripts(""), *scripts(question)]
    for number, code in enumerate([*before, script]):
        (tmp_path / f"{number}.py").write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, f"{number}.py"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT / "python")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    found = [text for kind, text in sections()[question] if kind == "text"]
    assert [done.stdout] == found


def test_the_scripts_are_typed_strictly(tmp_path: Path) -> None:
    for number, title in enumerate(title for title in sections() if title):
        if "data frames" not in title:  # scripts with pandas are not typed here
            (tmp_path / f"script_{number}.py").write_text(scripts(title)[-1], encoding="utf-8")
    done = type_check(tmp_path, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
