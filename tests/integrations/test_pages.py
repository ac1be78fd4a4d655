"""The examples of an orchestrator's page run with its library, from top to bottom."""

import os
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "orchestrators"
BLOCK = re.compile(r"^```python *\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", os.environ["KAI_PAGES"].split())
def test_the_examples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (PAGES / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    matches = list(BLOCK.finditer(text))
    assert matches, f"{name} has no example"
    for match in matches:
        line = text.count("\n", 0, match.start(1))
        exec(compile("\n" * line + match.group(1), name, "exec"), namespace)
