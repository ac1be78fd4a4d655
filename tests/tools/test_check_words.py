"""tools/check_words.py: words that a plainer word can replace are found where people read them."""

import subprocess
import sys
from pathlib import Path

import check_words as tool
import pytest

TOOLS = Path(__file__).parents[2] / "tools"
LIST = (TOOLS / "words.toml").read_text(encoding="utf-8")
WORDS, EXEMPT = tool.read_words(LIST)


def found(path: str, text: str) -> list[str]:
    """The words, each with its line: "2: whom"."""
    return [
        f"{line}: " + what.split('"')[1] for line, what in sorted(tool.faults(path, text, WORDS))
    ]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.examples[0])
def test_each_word_of_the_list_finds_its_examples(word: object) -> None:
    for example in word.examples:  # type: ignore[attr-defined]
        assert list(tool.faults("a.md", example, [word])), example


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a.md", "One.\nThe pod for whom it waits.\n", ["2: whom"]),
        ("a.md", "Code is `whom`, and [a link](whom.md).\n```\nwhom\n```\n", []),
        ("a.md", "Two nodes, of\nwhich one is full.\n", ["1: of which"]),
        ("a.cc", "int whom;\n// whom\n", ["2: whom"]),
        ("a.cc", "// The binder is\n// told.\n", ["1: is told"]),
        ("a.cc", 'Fail("nobody reads it");\n', ["1: nobody"]),
        ("a.cc", "// The field `whom`.\n", []),
        ("a.py", 'whom = 1\n"""Nobody\nor whom.\n"""\n', ["2: Nobody", "3: whom"]),
        ("a.py", "# The node is asked.\nasked = f'nobody {1}'\n", ["1: is asked", "2: nobody"]),
        ("a_test.cc", "TEST(WhomTest, WhatIsToldToThePod) {\n}\n", ["1: Is Told"]),
        ("a_test.cc", "TEST_P(T, AGangWaits) {  // whom\n", ["1: whom"]),
        ("test_a.py", "async def test_a_pod_that_nobody_uses() -> None:\n", ["1: nobody"]),
        ("test_a.py", "def test_a_pod() -> None:\n    whom = told\n", []),
        ("a.sh", 'echo "$#" whom  # whom\n', ["1: whom"]),
        ("CMakeLists.txt", "set(whom 1)\n# nobody\n", ["2: nobody"]),
        ("a.json", '"whom"\n', []),
        ("a.md", "Nobody-else is a name.\n", []),
    ],
)
def test_words_are_found_in_comments_docs_and_texts(path: str, text: str, words: list[str]) -> None:
    assert found(path, text) == words


def test_an_exception_allows_a_line_of_a_file() -> None:
    exempt = [tool.Exempt("docs/*.md", "as KAI writes it", "a text of KAI")]
    text = "whom, as KAI writes it\nwhom\n"
    assert [line for line, _ in tool.faults("docs/a.md", text, WORDS, exempt)] == [2]
    assert [line for line, _ in tool.faults("a.md", text, WORDS, exempt)] == [1, 2]


@pytest.mark.parametrize(
    "bad",
    [
        '[[words]]\npattern = "x"\nadvice = ""\nexamples = ["x"]\n',
        '[[words]]\npattern = "x"\nadvice = "y"\n',
        'words = []\n[[exceptions]]\npath = "x"\ntext = "y"\nreason = ""\n',
    ],
)
def test_words_have_advice_and_examples_and_exceptions_a_reason(bad: str) -> None:
    with pytest.raises(ValueError, match="needs"):
        tool.read_words(bad)


def test_the_command_prints_a_line_for_each_word_and_fails(tmp_path: Path) -> None:
    def run(*paths: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(TOOLS / "check_words.py"), *paths]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "a.md").write_text("A pod.\nWhom?\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("A node.\n", encoding="utf-8")
    failed = run(".")
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[0].startswith('a.md:2: "Whom": ')
    assert failed.stdout.splitlines()[-1] == "1 words to replace"
    assert run("b.md").returncode == 0
