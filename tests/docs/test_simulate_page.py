"""The example of past usage in docs/howto/simulate.md gives the output that the page shows."""

import re
from pathlib import Path

import pytest

from kai.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "simulate.md"


def test_the_example_of_past_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8").split("## The past counts")[1]
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    console = re.search(r"```console\n(.*?)```", text, re.DOTALL)
    assert console is not None
    commands = re.findall(r"^\$ kai (.*?) \| grep .*?\n([^$]*)", console[1], re.MULTILINE)
    assert len(commands) == 2
    for command, shown in commands:
        assert main(command.split()) == 0
        assert shown in capsys.readouterr().out
