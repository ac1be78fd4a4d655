"""The configuration of a SchedulingShard, as KAI's operator writes it."""

import json
from typing import Any

import pytest
import yaml

import kai
from kai.cli import main
from kai.engine import config as configuration
from kai.engine import parameters, shards


def plugins_of(spec: dict[str, Any]) -> dict[str, Any]:
    [tier] = shards.configuration(spec)["tiers"]
    return {each["name"]: each.get("arguments", {}) for each in tier["plugins"]}


def test_an_empty_shard_has_the_operators_order() -> None:
    found = shards.configuration({})
    assert found["actions"] == "allocate, consolidation, reclaim, preempt, stalegangeviction"
    assert list(plugins_of({})) == [
        *("predicates", "proportion", "priority", "nodeavailability", "resourcetype"),
        *("podaffinity", "elastic", "kubeflow", "ray", "subgrouporder", "taskorder"),
        *("nominatednode", "dynamicresources", "minruntime", "topology", "snapshot"),
        *("sg-nodelocalgreedy", "sg-multinodegang", "gpupack", "nodeplacement"),
        "gpusharingorder",
    ]
    assert plugins_of({})["nodeplacement"] == {"gpu": "binpack", "cpu": "binpack"}


def test_spreading_gpus_changes_plugins_and_turns_consolidation_off() -> None:
    spec = {"placementStrategy": {"gpu": "spread", "cpu": "binpack"}}
    chosen = plugins_of(spec)
    assert "gpuspread" in chosen
    assert not {"gpupack", "gpusharingorder"} & chosen.keys()
    assert chosen["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    assert "consolidation" not in shards.configuration(spec)["actions"]


def test_spreading_cpus_keeps_the_plugins_of_gpus() -> None:
    spec = {"placementStrategy": {"cpu": "spread"}}
    assert {"gpupack", "gpusharingorder"} <= plugins_of(spec).keys()
    assert "consolidation" not in shards.configuration(spec)["actions"]


def test_consolidation_can_be_turned_on_again() -> None:
    spec = {
        "placementStrategy": {"gpu": "spread"},
        "actions": {"consolidation": {"enabled": True}},
    }
    assert "consolidation" in shards.configuration(spec)["actions"]


def test_priorities_change_the_order() -> None:
    spec = {
        "plugins": {"elastic": {"priority": 2000}, "numa": {}},
        "actions": {"reclaim": {"priority": 450}},
    }
    first, *_, last = plugins_of(spec)
    assert (first, last) == ("elastic", "numa")
    found = shards.configuration(spec)["actions"]
    assert found == "allocate, reclaim, consolidation, preempt, stalegangeviction"


def test_a_plugin_can_be_turned_off() -> None:
    assert "elastic" not in plugins_of({"plugins": {"elastic": {"enabled": False}}})


def test_arguments_replace_all_arguments_of_a_plugin() -> None:
    spec = {
        "minRuntime": {"preemptMinRuntime": "5m"},
        "plugins": {"minruntime": {"arguments": {"defaultReclaimMinRuntime": "10m"}}},
    }
    assert plugins_of(spec)["minruntime"] == {"defaultReclaimMinRuntime": "10m"}


def test_shorter_members_become_arguments() -> None:
    runtimes = {"preemptMinRuntime": "5m", "reclaimMinRuntime": "1h"}
    found = plugins_of({"minRuntime": runtimes, "kValue": 0.5})
    assert found["minruntime"] == {
        "defaultPreemptMinRuntime": "5m",
        "defaultReclaimMinRuntime": "1h",
    }
    assert found["proportion"] == {"kValue": "0.5"}


def test_arguments_of_the_command_line_become_parameters() -> None:
    spec = {
        "partitionLabelValue": "blue",
        "args": {"default-staleness-grace-period": "-1s", "v": "4"},
    }
    assert shards.configuration(spec)["schedulerParams"] == {
        "partitionParams": {"NodePoolLabelValue": "blue"},
        "globalDefaultStalenessGracePeriod": "-1s",
    }


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"queueDepthPerAction": {"alocate": 5}},
            "spec.queueDepthPerAction: the action 'alocate' does not run; did you mean 'allocate'?",
        ),
        ({"args": {"verbosity": "1"}}, "spec.args: KAI's scheduler has no flag 'verbosity'"),
        ({"plugins": {"elastic": False}}, "spec.plugins.elastic: False is not a mapping"),
        ({"plugins": {"elastic": {"enabled": "no"}}}, "spec.plugins.elastic: priority must be a"),
        ({"actions": ["allocate"]}, "spec.actions: ['allocate'] is not a mapping"),
    ],
)
def test_mistakes_are_named_with_their_field(spec: dict[str, Any], why: str) -> None:
    with pytest.raises(kai.InvalidConfigError) as error:
        shards.configuration(spec)
    assert why in str(error.value)


SHARD = """
apiVersion: kai.scheduler/v1
kind: SchedulingShard
metadata: {name: default}
spec:
  placementStrategy: {gpu: spread, cpu: spread}
  queueDepthPerAction: {allocate: 10}
  extras: {volume_zones: true}
"""


def test_a_shard_is_a_configuration() -> None:
    config = kai.Config.load(SHARD)
    assert config.actions == ("allocate", "reclaim", "preempt", "stalegangeviction")
    assert config.queue_depth_per_action == {"allocate": 10}
    assert config.extras == {"volume_zones": True}


def test_a_wrong_shard_is_named(tmp_path: Any) -> None:
    file = tmp_path / "shard.yaml"
    file.write_text("kind: SchedulingShard\nspec: {plugins: [elastic]}\n")
    with pytest.raises(kai.InvalidConfigError, match=r"shard.yaml: spec.plugins: "):
        kai.Config.load(file)


def test_a_list_with_one_shard_is_that_shard() -> None:
    listed = {"kind": "SchedulingShardList", "items": [yaml.safe_load(SHARD)]}
    assert kai.Config.load(json.dumps(listed)) == kai.Config.load(SHARD)


CONFIG = """
apiVersion: kai.scheduler/v1
kind: Config
metadata: {name: kai-config}
spec: {global: {schedulerName: ours, queueLabelKey: team, nodePoolLabelKey: pool}}
"""


def test_the_configuration_of_the_operator_names_the_scheduler_and_its_labels() -> None:
    config, found = configuration.split(CONFIG)
    assert config["actions"] == shards.configuration({})["actions"]
    assert found == {
        "schedulerName": "ours",
        "queueLabelKey": "team",
        "partitionParams.NodePoolLabelKey": "pool",
    }
    # What the shard sets counts more.
    shard = SHARD + "  partitionLabelValue: blue\n  args: {scheduler-name: theirs}\n"
    _, found = configuration.split(f"{CONFIG}---{shard}")
    assert parameters.nested(found) == {
        "schedulerName": "theirs",
        "queueLabelKey": "team",
        "partitionParams": {"NodePoolLabelKey": "pool", "NodePoolLabelValue": "blue"},
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{SHARD}---{SHARD}", "has 2 objects of kind SchedulingShard (default, default): give"),
        ("apiVersion: v1\nkind: Pod\n", "is a Pod: give a scheduler configuration, a SchedulingSh"),
        ("kind: List\nitems: []\n", "is a List: give a scheduler configuration"),
        ("actions: allocate\n---\ntiers: []\n", "contains 2 documents instead of one"),
    ],
)
def test_a_file_without_one_configuration_is_named(text: str, why: str) -> None:
    with pytest.raises(kai.InvalidConfigError) as error:
        kai.Config.load(text)
    assert why in str(error.value)


def test_a_plan_has_the_parameters_of_its_shard(tmp_path: Any, capsys: Any) -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1, labels={"kai.scheduler/node-pool": "b"})
    cluster.node("n2").pending("a/x", gpus=1).save(tmp_path / "c.zip")
    shard = tmp_path / "shard.yaml"
    shard.write_text(SHARD)
    assert main(["plan", str(tmp_path / "c.zip"), "--config", str(shard), "--strict"]) == 0
    assert "nothing to do; 1 of 1 pod group waits" in capsys.readouterr().out
    shard.write_text(SHARD + "  partitionLabelValue: b\n")
    assert main(["plan", str(tmp_path / "c.zip"), "--config", str(shard), "--strict"]) == 0
    assert "nothing to do; no pod groups" in capsys.readouterr().out  # they are in another pool
