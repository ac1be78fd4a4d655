"""Checks that every citation of a rule leads to a rule in docs/spec, and that each rule is cited.

    tools/check_citations.py

A citation names the chapter and the rule: "spec 2 T5". Lists ("spec 2 T5, T7 and W13", also with
another chapter, "spec 3 B11, 6 C55"), ranges ("spec 1 F115-F121") and one item of a rule ("spec 1
F92.3") are fine. In Markdown, a whole table cell or a whole pair of brackets may leave out the
word "spec": "(2 T8, V8)". A rule is a heading "### T5: a few words" on the page of its chapter.

Reported are citations of rules that do not exist, rules without a citation outside docs/spec,
other ways to cite ("spec 2 §15", "design §4", "T5" alone), and headings that are no rule. Prints
them and their number; exit status 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from git_files import texts

ROOT = Path(__file__).resolve().parent.parent
PAGES = "docs/spec"
NOT_READ = (f"{PAGES}/", "tools/check_citations.py", "tests/tools/test_check_citations.py")

GAP = r"\s+(?://+\s*|\#\s*)?"  # also from one line of a comment to the next
RULE = r"[A-Z]{1,2}\d+[a-z]?(?:\.\d+)?"
ITEM = rf"(?:(?:[1-9]{GAP})?{RULE})"
JOIN = rf"(?:\s?[-\u2013]\s?|[,;/]{GAP}|{GAP}and{GAP}|{GAP}to{GAP})"
LIST = rf"{ITEM}(?:{JOIN}{ITEM})*"
CITATION = re.compile(rf"\b[Ss]pecs?{GAP}(?=[1-9])({LIST})(?![\w§])")
ITEM_OR_RANGE = re.compile(
    rf"(?P<range>[-\u2013]|\bto\b)|(?:(?P<chapter>[1-9]){GAP})?(?P<rule>{RULE})"
)
IN_MARKDOWN = re.compile(rf"(?:\(|\|[ ])([1-9][ ]{LIST})(?=[),;]|[ ]\|)")
NOT_ALLOWED = re.compile(
    rf"""\b[Ss]pecs?{GAP}[1-9]a?\b(?:{GAP}§[ ]?[\w.]+)?
       | \b[Dd]esign{GAP}§[ ]?[\w.]*
       | \bFINDINGS\b(?:{GAP}\d+)?
       | \b[Ss]urprises?{GAP}\d+
       | \([1-9][ ]§[ ]?[\w.]+
       | {RULE}(?:,|{GAP}and){GAP}§[ ]?[\w.]+ """,
    re.VERBOSE,
)
COMMENT = re.compile(r"//.*|(?<!\S)\#[ ].*|\"\"\".*|^\s*[^\"'\n]*\"\"\"$", re.MULTILINE)
ALONE = re.compile(rf"(?<![\w./§-]){RULE}(?![\w/])")
HEADING = re.compile(r"^### (.*)$", re.MULTILINE)
RULE_HEADING = re.compile(r"([A-Z]{1,2}\d+[a-z]?): \S.*")
CODE = re.compile(r"^```.*?^```|`[^`]*`", re.MULTILINE | re.DOTALL)

Rule = tuple[str, str]  # chapter and id: ("2", "T5")


@dataclass(frozen=True)
class Found:
    """A citation in a text: where it is, and the rules that it names, ranges as (first, last)."""

    start: int
    end: int
    rules: tuple[tuple[Rule, Rule], ...]


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def rules_of(items: str) -> Iterator[tuple[Rule, Rule]]:
    """The rules of a list that begins with its chapter, each or each range by first and last."""
    chapter = ""
    rules: list[tuple[Rule, Rule]] = []
    is_range = False
    for item in ITEM_OR_RANGE.finditer(items):
        if item["range"]:
            is_range = True
            continue
        chapter = item["chapter"] or chapter
        rule = (chapter, item["rule"].partition(".")[0])
        rules.append((rules.pop()[0] if is_range else rule, rule))
        is_range = False
    yield from rules


def citations(text: str, *, markdown: bool) -> Iterator[Found]:
    """The citations of a text in a form that is allowed."""
    for pattern in (CITATION, IN_MARKDOWN) if markdown else (CITATION,):
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), tuple(rules_of(match[1])))


def number_of(rule: str) -> tuple[str, int]:
    """The letters and the number of a rule's id."""
    match = re.match(r"([A-Z]+)(\d+)", rule)
    assert match is not None
    return match[1], int(match[2])


def spread(first: Rule, last: Rule, rules: Iterable[Rule]) -> set[Rule]:
    """The rules from the first to the last, both with them."""
    (letters, low), (other, high) = number_of(first[1]), number_of(last[1])
    between = {
        each
        for each in rules
        if each[0] == first[0]
        and number_of(each[1])[0] == letters == other
        and low < number_of(each[1])[1] < high
    }
    return {first, last, *between}


def read_rules(pages: Mapping[str, str]) -> tuple[dict[Rule, str], list[str]]:
    """Where each rule of docs/spec is, and what is wrong with the headings of its pages."""
    rules: dict[Rule, str] = {}
    wrong = []
    for path, text in pages.items():
        chapter = re.match(r"(\d)-", Path(path).name)
        if chapter is None:
            continue
        for heading in HEADING.finditer(text):
            place = f"{path}:{line_of(text, heading.start())}"
            match = RULE_HEADING.fullmatch(heading[1])
            if match is None:
                wrong.append(
                    f'{place}: "{heading[1]}" is not a heading of a rule ("T5: what it says")'
                )
            elif (chapter[1], match[1]) in rules:
                wrong.append(f"{place}: {match[1]} is there twice")
            else:
                rules[chapter[1], match[1]] = place
    return rules, wrong


def check_page(path: str, text: str, rules: Mapping[Rule, str]) -> Iterator[str]:
    """Rules that a page of docs/spec refers to, by "T5" or "spec 3 N4", and that do not exist."""
    text = CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    found = list(citations(text, markdown=False))
    for each in found:
        for rule in {end for ends in each.rules for end in ends} - set(rules):
            yield f"{path}:{line_of(text, each.start)}: spec {rule[0]} {rule[1]} does not exist"
    chapter = Path(path).name[0]
    letters = {number_of(rule)[0] for of, rule in rules if of == chapter}
    for alone in ALONE.finditer(text):
        rule = alone[0].partition(".")[0]
        is_cited = any(each.start <= alone.start() < each.end for each in found)
        if not is_cited and number_of(rule)[0] in letters and (chapter, rule) not in rules:
            yield f"{path}:{line_of(text, alone.start())}: {rule} does not exist"


def check_text(
    path: str, text: str, rules: Mapping[Rule, str]
) -> tuple[set[Rule], list[tuple[int, str]]]:
    """The rules that a file cites, and by line what is wrong with how it cites."""
    cited: set[Rule] = set()
    wrong = []
    found = list(citations(text, markdown=path.endswith(".md")))
    for each in found:
        line = line_of(text, each.start)
        for first, last in each.rules:
            for chapter, rule in sorted({first, last} - set(rules)):
                wrong.append((line, f"spec {chapter} {rule} does not exist"))
            cited |= spread(first, last, rules)

    def is_cited(offset: int) -> bool:
        return any(each.start <= offset < each.end for each in found)

    for match in NOT_ALLOWED.finditer(text):
        if not is_cited(match.end() - 1):
            words = " ".join(re.sub(r"//+|#", "", match[0]).split()).lstrip("(")
            wrong.append((line_of(text, match.start()), f'"{words}" cites no rule'))
    chapters = sorted({chapter for chapter, _ in cited})
    spans = [(0, len(text))] if path.endswith(".md") else [c.span() for c in COMMENT.finditer(text)]
    for start, end in spans:
        for alone in ALONE.finditer(text, start, end):
            rule = alone[0].partition(".")[0]
            homes = [chapter for chapter in chapters if (chapter, rule) in rules]
            if homes and not is_cited(alone.start()):
                full = " or ".join(f'"spec {chapter} {alone[0]}"' for chapter in homes)
                wrong.append(
                    (line_of(text, alone.start()), f'"{alone[0]}" names no chapter: {full}')
                )
    return cited, wrong


def problems(texts: Mapping[str, str]) -> tuple[list[str], Counter[str]]:
    """What is wrong with these files, by path, and how many rules and citations they have."""
    pages = {path: text for path, text in texts.items() if path.startswith(f"{PAGES}/")}
    rules, found = read_rules(pages)
    for path, text in pages.items():
        found += check_page(path, text, rules)
    cited: set[Rule] = set()
    counts: Counter[str] = Counter(rules=len(rules))
    for path, text in texts.items():
        if path.startswith(NOT_READ):
            continue
        here, wrong = check_text(path, text, rules)
        cited |= here
        counts["citations"] += len(list(citations(text, markdown=path.endswith(".md"))))
        found += [f"{path}:{line}: {words}" for line, words in sorted(wrong)]
    found += [
        f"{place}: {rule} is cited nowhere"
        for (of, rule), place in rules.items()
        if (of, rule) not in cited
    ]
    return found, counts


def main() -> int:
    found, counts = problems(texts(ROOT))
    print("".join(f"{each}\n" for each in found), end="")
    if found:
        print(f"{len(found)} faults in {counts['citations']} citations of {counts['rules']} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
