"""The chart makes the objects of `kai install`."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
from rendering import CHART, NAMESPACE, Chart, Object, Rendered, key, without_labels_of_helm

import kai
from kai.install import manifests

NOT_IN_THE_CHART = {"CustomResourceDefinition", "Namespace"}
"""Helm applies the folder `crds` and creates the namespace of the release."""
SPLIT = {"separate": True, "names": manifests.KAIS_NAMES}


def config_of(made: Rendered) -> str:
    return str(made.one("ConfigMap", "kai-config")["data"]["config.yaml"])


def by_key(objects: list[Object]) -> dict[tuple[str, str, str], Object]:
    found = {key(each): without_labels_of_helm(each) for each in objects}
    assert len(found) == len(objects), "each object occurs once"
    return found


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ({}, {}),
        ({"topology": "split"}, SPLIT),
        ({"numaPlacementExporter": {"enabled": True}}, {"numa_exporter": True}),
        ({"gpuAuditor": {"enabled": True}}, {"gpu_auditor": True}),
        (
            {"scheduler": {"placementStrategy": "spread", "plugins": {"numa": {}}}},
            {"numa_exporter": True},
        ),
    ],
    ids=["together", "split", "exporter", "auditor", "configuration"],
)
def test_the_objects_equal_those_of_kai_install(
    chart: Chart, values: dict[str, Any], options: dict[str, Any]
) -> None:
    made = chart.render(values)
    expected = manifests.everything(namespace=NAMESPACE, config=config_of(made), **options)
    found = by_key(made.installed())
    [reservations] = made.of_kind("Namespace")
    labels = reservations["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    wanted = by_key([each for each in expected if each["kind"] not in NOT_IN_THE_CHART])
    found.pop(key(reservations))
    assert found.keys() == wanted.keys()
    for each in found:
        assert found[each] == wanted[each]


def test_the_image_is_the_one_of_this_version(chart: Chart) -> None:
    images = {each["containers"][0]["image"] for each in chart.render().pods()}
    assert images == {manifests.default_image()}


def test_the_definitions_are_those_of_kai_install(chart: Chart) -> None:
    made = chart.render({}, "--include-crds")
    assert by_key(made.of_kind("CustomResourceDefinition")) == by_key(manifests.crds())


def test_the_configuration_is_valid_and_that_of_kais_operator(chart: Chart) -> None:
    config = kai.Config.load(config_of(chart.render()))
    assert config.actions == kai.default_config().actions
    [tier] = config.tiers or ()
    assert "podaffinity" in [each["name"] for each in tier["plugins"]]


def test_helm_has_nothing_to_warn_of(chart: Chart) -> None:
    assert "0 chart(s) failed" in chart.run("lint", "--strict", str(CHART))


def test_the_package_has_the_definitions_and_no_links(chart: Chart, tmp_path: Path) -> None:
    chart.run("package", str(CHART), "--destination", str(tmp_path))
    [package] = tmp_path.glob("*.tgz")
    with tarfile.open(package) as opened:
        members = {each.name: each for each in opened.getmembers()}
    assert len([name for name in members if "/crds/" in name]) == 6
    assert all(each.isfile() for each in members.values())
    assert package.stat().st_size < 100_000, "Helm stores the chart in a Secret of 1 MB"
