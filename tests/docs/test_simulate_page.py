"""The examples of docs/howto/simulate.md give the output that the page shows."""

import re
from pathlib import Path

import pytest

from kai.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "simulate.md"
# Wall times, which differ from run to run.
TIMES = re.compile(r"in [\d.]+ s$|they took .*$", re.MULTILINE)


def write_files(text: str, folder: Path) -> None:
    """Writes the YAML blocks that begin with the name of a file."""
    for name, content in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        (folder / name).write_text(content)


@pytest.mark.parametrize("name", ["jobs.yaml", "scaled.yaml"])
def test_the_page_shows_the_tables_of_a_simulation(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    write_files(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = re.search(rf"^\$ kai simulate {name}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert main(["simulate", name]) == 0
    assert TIMES.sub("-", capsys.readouterr().out) == TIMES.sub("-", shown[1])


def test_the_page_shows_the_example_of_past_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Past usage")[1]
    write_files(text, tmp_path)
    monkeypatch.chdir(tmp_path)
    console = re.search(r"```console\n(.*?)```", text, re.DOTALL)
    assert console is not None
    commands = re.findall(r"^\$ kai (.*?) \| grep .*?\n([^$]*)", console[1], re.MULTILINE)
    assert len(commands) == 2
    for command, shown in commands:
        assert main(command.split()) == 0
        assert shown in capsys.readouterr().out
