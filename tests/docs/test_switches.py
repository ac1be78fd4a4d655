"""The tables of switches and of extras have exactly one row for each of the engine's."""

import re
from pathlib import Path

from kai import _core

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/compatibility.md"


def test_every_switch_has_a_row() -> None:
    section = PAGE.read_text().partition("## Switches")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(rows) == sorted(_core.compat_switches())
    assert len(rows) == len(set(rows))


def test_every_switch_is_tested_or_has_a_reason() -> None:
    section = PAGE.read_text().partition("## Switches")[2].partition("\n## ")[0]
    block = section.partition("```python")[2]
    tried = {name for name in _core.compat_switches() if re.search(rf"\b{name}\b", block)}
    assert set(_core.compat_switches()) - tried == {
        "exact_rollback",  # needs searches without a result, and then one with a result
        "passed_devices",  # needs searches that evict the same pod one after the other
        "whole_gangs",  # needs a large cluster
    }


def test_every_extra_has_a_row() -> None:
    header = (ROOT / "cpp/kai/api/extras.h").read_text()
    names = re.findall(r'"(\w+)"', header[header.index("kExtraNames = {") :].partition("}")[0])
    page = (ROOT / "docs/reference/config.md").read_text()
    section = page.partition("## Extras")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(rows) == sorted(names)
