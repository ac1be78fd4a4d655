"""The chart's files that need no Helm: the generated ones are up to date, and the tables agree."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import chart as tool  # noqa: E402

ROWS = tool.rows()


def leaves(
    values: Mapping[str, Any], known: set[str], prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in known:
            yield from leaves(value, known, f"{key}.")
        else:
            yield key, value


def test_the_generated_files_are_up_to_date() -> None:
    stale = [path.name for path, text in tool.files() if path.read_text() != text]
    assert stale == [], "run tools/chart.py"


def test_each_value_is_in_the_table_once() -> None:
    keys = [row["key"] for row in ROWS]
    assert len(keys) == len(set(keys))


def test_the_values_of_the_chart_have_the_defaults_of_the_table() -> None:
    table = {row["key"]: row for row in ROWS}
    values = yaml.safe_load((tool.CHART / "values.yaml").read_text())
    for key, value in leaves(values, set(table)):
        assert value == table[key]["default"], key
        assert table[key]["does"] == "honoured"


def test_a_value_without_effect_has_no_default() -> None:
    """Otherwise the templates would read it."""
    assert [row["key"] for row in ROWS if row["does"] == "accepted" and "default" in row] == []


def test_each_honoured_value_has_an_example() -> None:
    assert [r["key"] for r in ROWS if r["does"] == "honoured" and "example" not in r] == []


def test_the_needs_of_a_value_are_values() -> None:
    keys = {row["key"] for row in ROWS}
    assert {each for row in ROWS for each in row.get("needs", {})} <= keys


def test_each_text_is_a_sentence() -> None:
    for row in ROWS:
        for text in (row["text"], row.get("why", row["text"])):
            assert re.fullmatch(r"[A-Z`[].*\.", text, re.DOTALL), text


def test_the_options_exist() -> None:
    from kai.cli import admission, gpu_auditor, numa_exporter, run

    options = {
        name.removeprefix("--")
        for command in (
            run.command,
            admission.command,
            gpu_auditor.command,
            numa_exporter.command,
        )
        for parameter in command.params
        for name in parameter.opts
    }
    assert {row["flag"] for row in ROWS if "flag" in row} <= options


def test_the_members_of_a_row_are_known() -> None:
    """An unquoted comma in YAML would cut a text, and make a member of its rest."""
    known = {*tool.MEMBERS, "type", "example"}
    assert [row["key"] for row in ROWS if not set(row) <= known] == []
