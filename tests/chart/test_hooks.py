"""The hooks of the chart: what they get about the programs of the release."""

import json
from typing import Any

import pytest
from rendering import Chart, Object, Rendered, expanded

from kai.cli import main

SPLIT = {"topology": "split"}
CONFIG = "/etc/kai/config.yaml"


def told(args: list[str]) -> dict[str, list[str]]:
    """The arguments of each program that a hook gets, by Deployment."""
    options = [each.removeprefix("--program=") for each in expanded(args) if "--program" in each]
    return {name: json.loads(text) for name, _, text in (each.partition("=") for each in options)}


def hooks(made: Rendered) -> list[Object]:
    [tests] = made.of_kind("Pod")
    return [made.container("Job", "kai-hook-check"), *tests["spec"]["containers"]]


@pytest.mark.parametrize(
    "values",
    [
        {},
        SPLIT,
        {"admission": {"enabled": False}},
        {**SPLIT, "binder": {"enabled": False}, "scheduler": {"args": {"v": 5}}},
        {"scheduler": {"extras": {"volume_zones": True}, "compat": {"a": "$(b) $$"}}},
    ],
    ids=["together", "split", "no webhooks", "no binder", "configuration"],
)
def test_hooks_get_the_arguments_and_the_configuration_of_each_program(
    chart: Chart, values: dict[str, Any]
) -> None:
    made = chart.render(values)
    config = made.one("ConfigMap", "kai-config")["data"]["config.yaml"]
    wanted = {}
    for each in made.of_kind("Deployment"):
        name = each["metadata"]["name"]
        args = expanded(made.container("Deployment", name)["args"])
        wanted[name] = [config if arg == CONFIG else arg for arg in args]
    assert [told(each["args"]) for each in hooks(made)] == [wanted, wanted]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"scheduler": {"args": {"foo": "bar"}}}, "there is no option '--foo'"),
        ({**SPLIT, "scheduler": {"args": {"node-pol": "x"}}}, "there is no option '--node-pol'"),
        ({"admission": {"additionalArgs": ["--foo"]}}, "there is no option '--foo'"),
        ({"scheduler": {"extras": {"foo": 1}}}, "the configuration: extras.foo must be true"),
    ],
    ids=["scheduler", "split", "webhooks", "configuration"],
)
def test_a_mistake_in_a_value_ends_the_first_hook(
    chart: Chart, values: dict[str, Any], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = chart.render(values)
    assert main(expanded(made.container("Job", "kai-hook-check")["args"])) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("topology", ["together", "split"])
def test_without_roles_there_is_no_deployment_for_them(chart: Chart, topology: str) -> None:
    blocks = ("scheduler", "binder", "podgrouper", "podgroupcontroller", "queuecontroller")
    made = chart.render({"topology": topology, **{each: {"enabled": False} for each in blocks}})
    assert [each["metadata"]["name"] for each in made.of_kind("Deployment")] == ["kai-admission"]
    assert list(told(made.container("Job", "kai-hook-check")["args"])) == ["kai-admission"]
