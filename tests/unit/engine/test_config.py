"""kai.Config, and every name of a configuration: a name with one wrong letter is reported.

The names come from the compiled core's own tables, so new names are tested at once.
"""

import dataclasses
import json
import typing
from collections.abc import Iterator
from typing import Any

import pytest

import kai
from kai import _core
from kai.engine import config as configuration
from kai.engine.config import Action, Extra, PluginName

NAMES = _core.config_names()
PARAMS = _core.scheduler_param_names()

GOOD_VALUES: dict[str, Any] = {
    "actions": "allocate",
    "tiers": [{"plugins": [{"name": "predicates"}, {"name": "proportion"}]}],
    "queueDepthPerAction": 5,
    "compat": "kai",
    "extras": True,
    "scenarioSearchBudgets": "1s",
}


def mistyped(name: str) -> list[str]:
    """The name with a letter left out, one doubled, and two swapped, without results equal to
    it."""
    middle = len(name) // 2
    forms = (
        name[:middle] + name[middle + 1 :],
        name[:middle] + name[middle] + name[middle:],
        name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :],
    )
    return [form for form in dict.fromkeys(forms) if form and form != name]


def holding(place: str, name: str) -> dict[str, Any]:
    """A configuration with this name in this place."""
    match place.split("."):
        case [""]:
            return {name: None}
        case ["actions"]:
            return {"actions": name}
        case ["tiers[]"]:
            return {"tiers": [{**GOOD_VALUES["tiers"][0], name: 1}]}
        case ["tiers[]", "plugins[]"]:
            (tier,) = GOOD_VALUES["tiers"]
            return {"tiers": [{"plugins": [*tier["plugins"], {"name": "ray", name: 1}]}]}
        case ["plugins"]:
            return {"plugins": {name: True}}
        case ["plugins", plugin]:
            return {"plugins": {plugin: {name: "1"}}}
        case ["plugins", plugin, argument]:
            return {"plugins": {plugin: {argument: name}}}
        case ["scenarioSearchBudgets", member]:
            value: Any = 1 if member == "maxScenarios" else "1s"
            return {"scenarioSearchBudgets": {member: {name: value}}}
        case [member]:
            return {member: {name: GOOD_VALUES[member]}}
    raise AssertionError(f"no configuration is known for {place}")


def warnings_of(config: dict[str, Any]) -> list[str]:
    """Its warnings, or the error message."""
    try:
        return _core.Config.parse(json.dumps(config)).warnings
    except kai.InvalidConfigError as error:
        return [str(error)]


def every_name() -> Iterator[tuple[str, str]]:
    for place, names in NAMES.items():
        for name in names:
            yield place, name


@pytest.mark.parametrize(("place", "name"), list(every_name()))
def test_a_name_mistyped_by_one_letter_is_reported(place: str, name: str) -> None:
    known = NAMES[place]
    for wrong in mistyped(name):
        if wrong in known:
            continue
        (message,) = warnings_of(holding(place, wrong))
        assert wrong in message
        near = [each for each in known if f'did you mean "{each}"?' in message]
        assert near == [name] or len(name) < 6, message  # "cpu" and "gpu" are similar


@pytest.mark.parametrize(("place", "name"), list(every_name()))
def test_a_correct_name_is_not_reported(place: str, name: str) -> None:
    if place in ("tiers[]", "tiers[].plugins[]"):
        return  # their values have several types
    assert [each for each in warnings_of(holding(place, name)) if "not known" in each] == []


@pytest.mark.parametrize("name", PARAMS[""])
def test_a_parameter_mistyped_by_one_letter_is_refused(name: str) -> None:
    for wrong in mistyped(name):
        with pytest.raises(kai.InvalidClusterError, match=f"no member '{wrong}'; did you mean"):
            kai.Cluster().configure(**{wrong: 1})


@pytest.mark.parametrize("name", [*PARAMS[""], *PARAMS["partitionParams"]])
def test_a_parameter_mistyped_in_a_snapshot_is_among_the_warnings(name: str) -> None:
    snapshot = kai.Cluster().to_snapshot()
    for wrong in mistyped(name):
        inner = {wrong: 1} if name in PARAMS[""] else {"partitionParams": {wrong: 1}}
        snapshot["schedulerParams"] = inner
        plan = kai.Scheduler().plan(kai.Cluster.from_snapshot(snapshot))
        (text,) = plan.warnings
        assert f'"{wrong}" is not known and is skipped; did you mean "{name}"?' in text


def test_the_default_parameters_of_a_cluster_are_known() -> None:
    cluster = kai.Cluster().configure(restrictSchedulingNodes=False)
    assert kai.Scheduler().plan(cluster).warnings == ()


# ---- kai.Config ----------------------------------------------------------------------------------


def test_types_and_core_have_the_same_names() -> None:
    assert list(typing.get_args(Action)) == NAMES["actions"]
    assert list(typing.get_args(Extra)) == NAMES["extras"]
    assert list(typing.get_args(PluginName)) == NAMES["plugins"]
    assert sorted(configuration._MEMBERS) == sorted([*NAMES[""], "schedulerParams"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"actions": ["alocate"]}, 'action "alocate" is not known'),
        ({"actions": "allocate"}, "actions is a string: write a list"),
        ({"plugins": {"nodeplacement": {"gpu": "sprad"}}}, 'did you mean "spread"?'),
        (
            {"plugins": {"numa": "yes"}},
            "plugins.numa must be an object of arguments, true or false",
        ),
        ({"extras": {"topology_sprad": True}}, 'did you mean "topology_spread"?'),
        ({"compat": {"slow_job": "off"}}, 'compat.slow_job must be "fixed" or "kai"'),
        ({"queue_depth_per_action": {"allocate": 0}}, "must be a whole number above 0"),
        ({"tiers": [{"plugins": [{"name": "ray"}]}]}, "plugins: only ray; limits, selectors and"),
        ({"compat": {"slow_job": object()}}, "is not a valid value in a configuration"),
    ],
)
def test_invalid_configurations_are_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(kai.InvalidConfigError) as caught:
        kai.Config(**given)
    assert sentence in str(caught.value)


def test_setting_one_argument_keeps_limits_and_taints() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).nodes("n", 2, gpus=4)
    cluster.node("tainted", gpus=8, taints=["a=b:NoSchedule"]).pending("a/x", pods=4, gpus=1)
    spread = kai.Config(plugins={"nodeplacement": {"gpu": "spread"}})
    plan = kai.Scheduler(spread).plan(cluster)
    assert [decision.node for decision in plan.decisions] == ["n1"]
    assert plan.warnings == ()


def test_missing_protective_plugins_cause_a_warning() -> None:
    cluster = kai.Cluster().queue("a", gpu_limit=1).nodes("n", 2, gpus=4)
    cluster.pending("a/x", pods=4, gpus=1)
    plan = kai.Scheduler({"tiers": [{"plugins": [{"name": "nodeplacement"}]}]}).plan(cluster)
    message = "plugins: only nodeplacement; limits, selectors and taints are not checked"
    assert plan.warnings == (message,)
    assert message in " ".join(str(plan).split())
    assert message in plan._repr_html_()


def test_the_written_default_configuration_equals_the_default() -> None:
    default = kai.default_config()
    assert default.actions == tuple(NAMES["actions"])
    assert set(default.compat) == set(NAMES["compat"])
    assert set(default.extras) == set(NAMES["extras"])
    text = configuration.config_json(default)
    assert configuration.in_force(text) == configuration.in_force("")
    assert set(kai.default_config(as_kai=True).compat.values()) == {"kai"}
    changed = dataclasses.replace(default, plugins={"nodeplacement": {"gpu": "spread"}})
    shown = configuration.in_force(configuration.config_json(changed))
    (arguments,) = [
        plugin["arguments"]
        for plugin in shown["tiers"][0]["plugins"]
        if plugin["name"] == "nodeplacement"
    ]
    assert arguments == {"cpu": "binpack", "gpu": "spread"}


def test_a_configuration_is_loaded_from_its_dictionary() -> None:
    config = kai.Config(
        actions=["allocate", "reclaim"],
        plugins={"numa": True, "minruntime": {"defaultReclaimMinRuntime": "10m"}},
        queue_depth_per_action={"allocate": 25},
        extras={"volume_zones": True},
    )
    again = kai.Config.load(config.to_dict())
    assert again.to_dict() == config.to_dict()
    assert kai.Cluster().configure(config).config == config.to_dict()
    assert kai.Cluster().config is None
    with pytest.raises(kai.InvalidConfigError, match='"actons" is not known'):
        kai.Config.load("actons: allocate\n")
