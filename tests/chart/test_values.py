"""Each value of the table has the effect that the table names: key by key."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from rendering import CHART, Chart, Rendered, RenderError

import chart as tool

ROWS = tool.rows()
HONOURED = [row for row in ROWS if row["does"] == "honoured"]
ACCEPTED = [row for row in ROWS if row["does"] == "accepted" and row["key"] != "enabled"]
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
    """A value that is not KAI's default; None if the only other ones are refused."""
    if "example" in row:
        return row["example"]
    kind = row["type"]
    if isinstance(kind, str) and kind != "bool":
        return EXAMPLES[kind]
    possible = [True, False] if kind == "bool" else kind["enum"]
    usual = (row.get("kai"), *row.get("refuses", ()))
    return next((each for each in possible if each not in usual), None)


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


def test_accepted_values_change_nothing_and_are_named_with_the_reason(chart: Chart) -> None:
    rows = [row for row in ACCEPTED if example_of(row) is not None]
    assert len(rows) > len(ACCEPTED) - 5
    after = render(chart, {row["key"]: example_of(row) for row in rows})
    assert render(chart, {}).objects == after.objects
    for row in rows:
        assert f"{row['key']}," in after.notes or f"{row['key']}\n" in after.notes
        assert row["text"] in after.notes


def test_kais_defaults_of_accepted_values_are_not_mentioned(chart: Chart) -> None:
    rows = [row for row in ACCEPTED if row["kai"] is not None]
    after = render(chart, {row["key"]: row["kai"] for row in rows})
    assert "no effect" not in after.notes


def test_values_for_the_other_topology_are_named(chart: Chart) -> None:
    rows = [row for row in HONOURED if "topology" in row.get("needs", {})]
    after = render(chart, {row["key"]: row["example"] for row in rows})
    assert render(chart, {}).objects == after.objects
    assert "topology=split" in after.notes
    assert [row["key"] for row in rows if row["key"] not in after.notes] == []


def test_values_of_parts_that_are_off_are_named(chart: Chart) -> None:
    settings = {"prometheus.interval": "10s", "numaPlacementExporter.pollInterval": "2s"}
    after = render(chart, settings)
    assert render(chart, {}).objects == after.objects
    assert "It needs prometheus.enabled." in after.notes
    assert "It needs numaPlacementExporter.enabled." in after.notes


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


# ---- names that YAML reads as something else -----------------------------------------------------

EVERYTHING: Mapping[str, Any] = nested(
    {
        "numaPlacementExporter.enabled": True,
        "gpuAuditor.enabled": True,
        "openshift": True,
        "networkPolicy.enabled": True,
        "prometheus.enabled": True,
        "priorityClassQuota": True,
        "global.priorityClassName": "system-cluster-critical",
        "global.vpa.enabled": True,
    }
)


@pytest.mark.parametrize("topology", ["together", "split"])
@pytest.mark.parametrize("name", ["123", "0123", "1e3", "0x1f", "true", "off", "null"])
def test_a_name_may_look_like_a_number_a_truth_or_null(
    chart: Chart, name: str, topology: str
) -> None:
    def made(release: str, namespace: str, holder: str) -> list[Any]:
        reservations = {"namespace": holder, "serviceAccount": holder}
        values = {**EVERYTHING, "topology": topology}
        values["global"] = {**values["global"], "resourceReservation": reservations}
        return chart.render(values, release=release, namespace=namespace).objects

    usual = json.dumps(made("a-release", "a-namespace", "a-holder"))
    for each in ("a-release", "a-namespace", "a-holder"):
        usual = usual.replace(each, name)
    assert made(name, name, name) == json.loads(usual)


# ---- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"scheduler.placementStrategi": "spread"}, "placementStrategi"),
        ({"schedular.args": {}}, "schedular"),
        ({"topology": "seperate"}, "value must be one of 'together', 'split'"),
        ({"global.gpuSharin": True}, "global does not have the values gpuSharin: it has"),
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


IMPOSSIBLE: Mapping[str, list[Any]] = {
    "global.registry": ["https://registry.example/team", "Foo Bar", "foo/bar//", "/foo", "a:b:1"],
    "global.tag": ["a b", ":2", "-2", "a" * 129],
    "image.name": ["", "Kai", "kai sched", "kai:2", "/kai"],
    "image.digest": ["abc", "sha256:abc", f"sha256:{'A' * 64}"],
    "scheduler.podDisruptionBudget.maxUnavailable": [-3, 2**31, "abc", "200%", "-1%", "1"],
    "global.resourceReservation.namespace": ["a.b", "-a", "a" * 64],
    "global.resourceReservation.serviceAccount": ["a..b", "a.-b", "a b"],
    "scheduler.resources": [{"limits": {"memory": each}} for each in ("2GB", "2 Gi", "Gi", -1)],
    "operator.replicaCount": [-1, 99999999999],
    "scheduler.args": [{"--node-pool": "c"}, {"a b": 1}, {"a=b": 1}, {"": 1}],
    "binder.runtimeClassName": ["a b", "A"],
    "gpuAuditor.tolerance": ["banana", "512MiB", -1, ""],
    "admission.gpuFractionRuntimeClassName": ["a b"],
    "global.priorityClassName": ["a b"],
    "global.nodePoolLabelKey": ["a b", "a/b/c", "/b"],
    "podgrouper.queueLabelKey": ["a b", ""],
    "defaultQueue.childName": ["default-parent-queue", "A"],
    "scheduler.minRuntime": [
        {"preemptMinRuntime": "abc"},
        {"reclaimMinRuntime": "5"},
        {"preemptRuntime": "5m"},
    ],
}
POSSIBLE: Mapping[str, list[Any]] = {
    "global.registry": ["", "localhost", "localhost:5000", "A.example:5000/a_b/c--d.e/", "team"],
    "global.tag": ["", "v1.2_3-X", "a" * 128],
    "image.name": ["kai", "team/kai_sched"],
    "image.digest": ["", f"sha512:{'0' * 128}"],
    "scheduler.podDisruptionBudget.maxUnavailable": [0, 2, "0%", "100%"],
    "scheduler.resources": [
        {"limits": {"memory": each}} for each in ("2G", "1.5Gi", "2e9", "1E", 0, 0.5, "100m", ".5")
    ],
    "scheduler.args": [{"v": 4, "default-staleness-grace-period": "-1s", "full_name": True}],
    "binder.runtimeClassName": ["", "nvidia-cdi.x"],
    "gpuAuditor.tolerance": ["512Mi", 536870912, "0"],
    "global.priorityClassName": ["", "system-cluster-critical"],
    "global.nodePoolLabelKey": ["", "pool", "example.com/Pool_1.x"],
    "scheduler.minRuntime": [
        {"preemptMinRuntime": each} for each in ("0", "0s", "1h30m", "1.5h", "2d", "1w2d")
    ],
}


def each_of(table: Mapping[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(key, value, id=f"{key}={json.dumps(value)[:40]}")
        for key, values in table.items()
        for value in values
    ]


@pytest.mark.parametrize(("key", "value"), each_of(IMPOSSIBLE))
def test_a_value_that_would_fail_later_is_refused(chart: Chart, key: str, value: Any) -> None:
    with pytest.raises(RenderError) as error:
        chart.render(nested({key: value}))
    assert key.split(".")[-1] in str(error.value)


def test_every_notation_that_works_is_accepted(chart: Chart) -> None:
    longest = max(map(len, POSSIBLE.values()))
    for at in range(longest):
        chosen = {key: values[min(at, len(values) - 1)] for key, values in POSSIBLE.items()}
        render(chart, chosen)


@pytest.mark.parametrize("below", ["global.", ""])
def test_no_misspelt_value_passes(chart: Chart, below: str) -> None:
    """The schema finds all but those of `global`, which the templates find."""
    keys = [row["key"] for row in ROWS if row["key"].startswith("global.") == bool(below)]
    keys = [key for key in keys if key.count(".") <= 1]
    with pytest.raises(RenderError) as error:
        chart.render(nested({f"{key}x": 1 for key in keys}))
    for key in keys:
        assert f"{key.split('.')[-1]}x" in str(error.value)


# ---- values of an older chart --------------------------------------------------------------------


BLOCKS: Mapping[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
LEAVES = [row["key"] for row in ROWS if "default" in row]


def without(block: str) -> dict[str, Any]:
    return {name: value for name, value in BLOCKS.items() if name != block}


def of_keys(keys: list[str]) -> dict[str, Any]:
    defaults = {row["key"]: row.get("default") for row in ROWS}
    return nested({key: defaults[key] for key in keys})


@pytest.mark.parametrize(
    "older",
    [
        {},
        *(without(block) for block in BLOCKS),
        {name: {} for name, value in BLOCKS.items() if isinstance(value, dict)},
        *(of_keys(LEAVES[start::3]) for start in range(3)),
    ],
    ids=lambda each: ",".join(each)[:60] or "none",
)
def test_values_of_an_older_chart_get_the_defaults_of_this_one(
    chart: Chart, tmp_path: Path, older: dict[str, Any]
) -> None:
    made = chart.of_older_values(tmp_path, older).render()
    assert made.objects == render(chart, {}).objects
    assert "no effect" not in made.notes


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
