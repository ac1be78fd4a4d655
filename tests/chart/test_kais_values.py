"""The table of values and the values of KAI's own chart, whose folder KAI_CHART names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendering import Chart
from testcluster import UnavailableError, kais_chart

import chart as tool

KAIS = {row["key"]: row["kai"] for row in tool.rows() if "kai" in row}


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return kais_chart.folder()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def values(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "values.yaml").read_text())
    return found


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in KAIS:
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def test_each_value_of_kais_chart_is_in_the_table_with_its_default(values: dict[str, Any]) -> None:
    found = dict(leaves(values))
    assert len(found) > 100
    assert {key: KAIS.get(key, "absent") for key in found} == found


def test_each_value_that_kais_templates_read_is_in_the_table(folder: Path) -> None:
    texts = [each.read_text() for each in (folder / "templates").rglob("*") if each.is_file()]
    read = {found for text in texts for found in re.findall(r"\.Values\.([\w.]+\w)", text)}
    assert len(read) > 100

    def is_known(name: str) -> bool:
        return any(f"{key}.".startswith(f"{name}.") or name.startswith(f"{key}.") for key in KAIS)

    assert [name for name in sorted(read) if not is_known(name)] == []


def test_kais_values_as_a_whole_render_without_a_remark(
    chart: Chart, values: dict[str, Any]
) -> None:
    made = chart.render(values)
    assert made.one("Deployment", "kai")["spec"]["replicas"] == 1
    assert "no effect" not in made.notes
