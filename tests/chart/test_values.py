"""Each value of the table has the effect that the table names: key by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from rendering import Chart, Rendered, RenderError

import chart as tool

ROWS = tool.rows()
HONOURED = [row for row in ROWS if row["does"] == "honoured"]
ACCEPTED = [row for row in ROWS if row["does"] == "accepted" and row["key"] != "enabled"]
NEEDY = [row for row in HONOURED if "topology" in row.get("needs", {})]
REFUSED = [row for row in ROWS if "refuses" in row]
EXAMPLES: Mapping[str, Any] = {
    "affinity": {"nodeAffinity": {}},
    "count": 3,
    "image": {"tag": "v0.17.0"},
    "labels": {"team": "ml"},
    "map": {"one": 1},
    "number": 0.25,
    "quantity": "6Gi",
    "resources": {"limits": {"memory": "1Gi"}},
    "text": "other",
}


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key as Helm takes them."""
    values: dict[str, Any] = {}
    for key, value in settings.items():
        *blocks, last = key.split(".")
        at = values
        for each in blocks:
            at = at.setdefault(each, {})
        at[last] = value
    return values


def example_of(row: Mapping[str, Any]) -> Any:
    if "example" in row:
        return row["example"]
    kind = row["type"]
    if kind == "bool":
        return not row.get("kai")
    if isinstance(kind, dict):
        refused = row.get("refuses", ())
        [first, *_] = [e for e in kind["enum"] if e not in (*refused, row.get("kai"))] or ["x"]
        return first
    return EXAMPLES[kind]


def names(row: Mapping[str, Any]) -> str:
    return str(row["key"])


@cache
def rendered(chart: Chart, settings: str) -> Rendered:
    return chart.render(nested(json.loads(settings)))


def render(chart: Chart, settings: Mapping[str, Any]) -> Rendered:
    return rendered(chart, json.dumps(settings))


@pytest.mark.parametrize("row", HONOURED, ids=names)
def test_an_honoured_value_changes_an_object(chart: Chart, row: Mapping[str, Any]) -> None:
    needs = row.get("needs", {})
    before = render(chart, needs)
    after = render(chart, {**needs, row["key"]: example_of(row)})
    assert before.objects != after.objects
    assert row["key"] not in after.notes


@pytest.mark.parametrize("row", ACCEPTED, ids=names)
def test_an_accepted_value_changes_nothing_and_is_named(
    chart: Chart, row: Mapping[str, Any]
) -> None:
    value = example_of(row)
    if value == row.get("kai"):
        pytest.skip("there is no other value")
    after = render(chart, {row["key"]: value})
    assert render(chart, {}).objects == after.objects
    assert row["key"] in after.notes
    assert row["text"] in after.notes


@pytest.mark.parametrize("row", [row for row in ACCEPTED if row["kai"] is not None], ids=names)
def test_kais_default_of_an_accepted_value_is_not_mentioned(
    chart: Chart, row: Mapping[str, Any]
) -> None:
    assert row["key"] not in render(chart, {row["key"]: row["kai"]}).notes


@pytest.mark.parametrize("row", NEEDY, ids=names)
def test_a_value_of_another_topology_is_named(chart: Chart, row: Mapping[str, Any]) -> None:
    after = render(chart, {row["key"]: example_of(row)})
    assert render(chart, {}).objects == after.objects
    assert row["key"] in after.notes
    assert "topology=split" in after.notes


@pytest.mark.parametrize(
    ("row", "value"),
    [(row, value) for row in REFUSED for value in row["refuses"]],
    ids=lambda each: each["key"] if isinstance(each, dict) else str(each),
)
def test_a_refused_value_ends_the_command_with_the_reason(
    chart: Chart, row: Mapping[str, Any], value: Any
) -> None:
    with pytest.raises(RenderError) as error:
        chart.render(nested({row["key"]: value}))
    assert f"value {row['key']}: {json.dumps(value)} is not possible" in str(error.value)
    assert row["why"] in str(error.value)


def test_the_notes_are_short_without_values(chart: Chart) -> None:
    assert "no effect" not in render(chart, {}).notes


# ---- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"scheduler.placementStrategi": "spread"}, "placementStrategi"),
        ({"schedular.args": {}}, "schedular"),
        ({"topology": "seperate"}, "value must be one of 'together', 'split'"),
        ({"global.gpuSharin": True}, "value global.gpuSharin is not known"),
        ({"operator.replicaCount": "two"}, "got string, want integer"),
        ({"scheduler.plugins": {"elastic": {"enable": False}}}, "enable"),
        ({"global.tolerations": [{"key": "a", "efect": "NoSchedule"}]}, "efect"),
        ({"scheduler.resources": {"limit": {}}}, "limit"),
        (
            {
                "numaPlacementExporter.enabled": True,
                "numaPlacementExporter.podResourcesSocket": "/tmp/a.sock",
            },
            "value numaPlacementExporter.podResourcesSocket: /tmp/a.sock is not in",
        ),
    ],
)
def test_a_mistake_is_named(chart: Chart, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(RenderError) as error:
        chart.render(nested(settings))
    assert why in str(error.value)


@pytest.mark.parametrize("key", [names(row) for row in ROWS if names(row).count(".") == 1])
def test_a_misspelt_key_does_not_pass(chart: Chart, key: str) -> None:
    with pytest.raises(RenderError) as error:
        chart.render(nested({f"{key}x": 1}))
    assert f"{key.split('.')[1]}x" in str(error.value)


def test_values_of_an_older_chart_get_the_defaults_of_this_one(chart: Chart) -> None:
    """As with --reuse-values, which does not read the new values.yaml. null removes a value."""
    removed = dict.fromkeys(("image", "operator", "scheduler", "defaultQueue", "topology"))
    assert chart.render(removed).objects == chart.render().objects


def test_a_parent_chart_may_have_global_values_of_its_own(chart: Chart, tmp_path: Any) -> None:
    (tmp_path / "Chart.yaml").write_text(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\n"
        "dependencies: [{name: kai-sched, version: '*', condition: kai-sched.enabled}]\n"
    )
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts/kai-sched").symlink_to(chart.folder)
    values = {"global": {"imageRegistry": "registry.example"}, "kai-sched": {"enabled": True}}
    made = chart.run(
        *("template", "parent", str(tmp_path), "--namespace", "gpu", "--values", "-"),
        stdin=json.dumps(values),
    )
    assert "kind: Deployment" in made
