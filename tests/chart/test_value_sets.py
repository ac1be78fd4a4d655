"""Sets of values as people write them: each renders into objects whose fields exist."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from rendering import Chart, Rendered, expanded

from kai.admission import fields
from kai.admission.pods import pods_in
from kai.cli import main

SETS = yaml.safe_load((Path(__file__).parent / "value_sets.yaml").read_text())


@pytest.mark.parametrize("each", SETS, ids=lambda each: each["name"])
def test_a_set_of_values_renders(chart: Chart, each: dict[str, Any]) -> None:
    made = chart.render(each["values"])
    assert_the_check_accepts(made)
    text = yaml.safe_dump_all(made.objects, width=10_000)
    for wanted in each.get("has", ()):
        assert wanted in text
    for manifest in made.objects:
        assert list(fields.of_manifest(manifest, pods_in(manifest))) == []
    silent = made.notes.partition("These values have no effect")[2]
    for key in each.get("notes", ()):
        assert key in silent
    if "notes" not in each:
        assert silent == ""


def assert_the_check_accepts(made: Rendered) -> None:
    if made.of_kind("Job"):
        args = expanded(made.container("Job", "kai-hook-check")["args"])
        assert main(args) == 0


@pytest.fixture(scope="module")
def of_older_chart(chart: Chart, tmp_path_factory: pytest.TempPathFactory) -> Chart:
    """The chart with the values of an older one, which has none of this one's keys."""
    return chart.of_older_values(tmp_path_factory.mktemp("older"), {})


@pytest.mark.parametrize("each", SETS, ids=lambda each: each["name"])
def test_a_set_of_values_renders_the_same_with_reuse_values(
    chart: Chart, of_older_chart: Chart, each: dict[str, Any]
) -> None:
    assert of_older_chart.render(each["values"]) == chart.render(each["values"])


def test_there_are_forty_sets_with_names_of_their_own() -> None:
    assert len({each["name"] for each in SETS}) == len(SETS) >= 40
