"""Draws sentences at random from docs, comments, docstrings and texts, for a reader to judge.

    tools/draw_sentences.py --seed 1 [--count 100]

Prints a line for each: path, line, sentence. The same seed draws the same sentences from the same
tree. A person reads them with CONTRIBUTING.md, "Plain English", beside them.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Mapping

from check_words import ROOT, prose, readable

INLINE_CODE = re.compile(r"`([^`\n]*)`")
SENTENCE = re.compile(r"[^.!?:|\n\"](?:[^.!?|\n\"]|\.(?!\s)|\n(?![\n#|*-]))*[.!?]?")
FEWEST_WORDS = 6


def sentences(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a file, each with its line. Code and lists of names are left out."""
    read = prose(path, INLINE_CODE.sub(r"<\1>", text))
    for match in SENTENCE.finditer(read):
        words = " ".join(match[0].split()).strip("\"' *_>-")
        plain = re.findall(r"(?<![\w=(\[{/])[A-Za-z]{2,}(?![\w(/\[=])", words)
        if len(plain) >= FEWEST_WORDS and len(plain) * 2 > len(words.split()):
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            yield read.count("\n", 0, start) + 1, words


def draw(texts: Mapping[str, str], seed: int, count: int) -> list[tuple[str, int, str]]:
    """Path, line and sentence of so many of these files; of all sentences if there are fewer."""
    found = [
        (path, line, words)
        for path, text in sorted(texts.items())
        for line, words in sentences(path, text)
    ]
    return random.Random(seed).sample(found, min(count, len(found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args()
    for path, line, words in draw(readable(ROOT, ()), options.seed, options.count):
        print(f"{path}:{line}: {words}")


if __name__ == "__main__":
    main()
