"""docs/reference/reasons.md has a section for every code of the engine, and for no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_reason_code_is_explained() -> None:
    header = (ROOT / "cpp/kai/session/plan.h").read_text()
    page = (ROOT / "docs/reference/reasons.md").read_text()
    codes = set(re.findall(r'string_view k\w+ = "(\w+)"', header))
    assert codes == set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
