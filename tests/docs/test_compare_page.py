"""The command of docs/howto/compare-policies.md prints what the page shows."""

import re
from pathlib import Path

import pytest

from kai.cli import main

PAGE = Path(__file__).parents[2] / "docs/howto/compare-policies.md"


def test_the_first_comparison_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    first = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    console = re.search(r"^```console\n\$ kai (.*?)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert first is not None
    assert console is not None
    exec(compile(first.group(1), str(PAGE), "exec"), {})
    assert main(console.group(1).split()) == 1  # the variant is worse
    assert capsys.readouterr().out == console.group(2)
    assert (tmp_path / "page.html").exists()
