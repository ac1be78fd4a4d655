"""docs/reference/reasons.md has a row and a section for every code, and names every fact.

`kai plan --explain` has a sentence for every cause.
"""

import re
from pathlib import Path

from kai.engine import places
from kai.engine.values import REASON_CODES

ROOT = Path(__file__).parents[2]


def test_every_reason_code_is_explained() -> None:
    header = (ROOT / "cpp/kai/model/reasons/reason_codes.h").read_text()
    page = (ROOT / "docs/reference/reasons.md").read_text()
    codes = set(re.findall(r'string_view k\w+ = "(\w+)"', header))
    sections = re.findall(r"^## (\w+)$", page, re.MULTILINE)
    assert codes == set(sections)
    rows = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\) \|", page, re.MULTILINE)
    assert rows == [(code, code) for code in sections]
    assert codes == set(REASON_CODES)


def test_every_fact_and_cause_is_listed() -> None:
    page = (ROOT / "docs/reference/reasons.md").read_text()
    named = set(re.findall(r"`(\w+)`", page[page.index("## Facts by code") :]))
    facts = (ROOT / "cpp/kai/texts/reason_facts.cc").read_text()
    assert set(re.findall(r'\{"(\w+)", ', facts)) - named == set()
    words = (ROOT / "cpp/kai/texts/refusal_words.cc").read_text()
    assert set(re.findall(r'"(\w+)"', words)) - named == set()


def test_every_cause_has_a_text() -> None:
    words = (ROOT / "cpp/kai/texts/refusal_words.cc").read_text()
    causes = set(re.findall(r'\{Refusal::k\w+,\s*\{"(\w+)"', words))
    assert len(causes) > 20
    assert causes <= set(places.OF_REFUSALS)
