"""tools/draw_sentences.py: sentences that a reader judges, drawn from all that people read."""

import draw_sentences as tool
import pytest


@pytest.mark.parametrize(
    ("path", "text", "sentences"),
    [
        (
            "a.md",
            "# Nodes\n\nA node offers `cpu` and memory\nto all its pods. Short one.\n",
            [(3, "A node offers <cpu> and memory to all its pods.")],
        ),
        (
            "a.cc",
            "int a;  // The first pod\n// of a group is never left out.\n",
            [(1, "The first pod of a group is never left out.")],
        ),
        (
            "a.py",
            'names = ("queue", "node")\n"""Returns the name of each node that is full."""\n',
            [(2, "Returns the name of each node that is full.")],
        ),
        ("a.md", "`a`, `b`, `c`, `d`, `e`, `f`, `g` and `h`\n", []),
    ],
)
def test_sentences_are_found_with_their_lines(
    path: str, text: str, sentences: list[tuple[int, str]]
) -> None:
    assert list(tool.sentences(path, text)) == sentences


def test_the_same_seed_draws_the_same_sentences() -> None:
    text = "".join(f"This is the sentence with the number {each}.\n\n" for each in range(100))
    texts = {"a.md": text, "b.md": text}
    assert len(tool.draw(texts, 7, 5)) == 5
    assert tool.draw(texts, 7, 5) == tool.draw(dict(reversed(texts.items())), 7, 5)
    assert tool.draw(texts, 7, 5) != tool.draw(texts, 8, 5)
    assert len(tool.draw(texts, 7, 1000)) == 200
