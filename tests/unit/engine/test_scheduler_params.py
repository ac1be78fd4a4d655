"""The schedulerParams of a configuration: kai.Config keeps them, and a cluster gets them."""

import json
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.api import defaults

SHARD = {
    "apiVersion": "kai.scheduler/v1",
    "kind": "SchedulingShard",
    "metadata": {"name": "gpu"},
    "spec": {"partitionLabelValue": "gpu", "args": {"full-hierarchy-fairness": "false"}},
}
OPERATOR = {
    "apiVersion": "kai.scheduler/v1",
    "kind": "Config",
    "metadata": {"name": "kai-config"},
    "spec": {"global": {"schedulerName": "my-kai", "nodePoolLabelKey": "pool"}},
}


def params(cluster: kai.Cluster) -> Any:
    return cluster._tree_before()["schedulerParams"]


def test_a_shard_and_the_configuration_of_the_operator_are_kept_whole() -> None:
    config = kai.Config.load({"kind": "List", "items": [SHARD, OPERATOR]})
    assert config.scheduler_params == {
        "schedulerName": "my-kai",
        "fullHierarchyFairness": "false",
        "partitionParams": {"NodePoolLabelKey": "pool", "NodePoolLabelValue": "gpu"},
    }
    assert kai.Config.load(config.to_dict()) == config


def test_a_cluster_gets_the_parameters_of_a_configuration() -> None:
    given = {"actions": "allocate", "schedulerParams": {"fullHierarchyFairness": False}}
    for config in (given, kai.Config.load(given), json.dumps(given)):
        cluster = kai.Cluster().configure(config, countMigAsParts=True)
        assert cluster.config == {"actions": "allocate"}
        assert params(cluster) == {
            **defaults.scheduler_params(),
            "fullHierarchyFairness": False,
            "countMigAsParts": True,
        }


def test_a_file_with_a_duration_in_words(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("schedulerParams: {globalDefaultStalenessGracePeriod: 1m30s}\n")
    config = kai.Config.load(file)
    assert (
        params(kai.Cluster().configure(config))["globalDefaultStalenessGracePeriod"] == 90 * 10**9
    )


def test_missing_parameters_of_a_snapshot_are_zero() -> None:
    snapshot = {
        "config": {"actions": "allocate"},
        "schedulerParams": {"schedulerName": "kai", "detailedFitErrors": True},
        "rawObjects": {},
    }
    config = kai.Config.load(snapshot)
    assert config.actions == ("allocate",)
    assert config.scheduler_params["schedulerName"] == "kai"
    assert config.scheduler_params["fullHierarchyFairness"] is False
    assert config.scheduler_params["maxNumberConsolidationPreemptees"] == 0
    assert kai.Config.load({"config": None, "rawObjects": {}}) == kai.Config()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"fullHierarchyFairnes": True}, "did you mean 'fullHierarchyFairness'"),
        ({"fullHierarchyFairness": 5}, "schedulerParams.fullHierarchyFairness"),
        ([], r"scheduler.?[Pp]arams"),
    ],
)
def test_a_wrong_parameter_is_named(given: Any, sentence: str) -> None:
    for make in (
        lambda: kai.Config.load({"schedulerParams": given}),
        lambda: kai.Config(scheduler_params=given),
        lambda: kai.Scheduler({"schedulerParams": given}),
        lambda: kai.Cluster().configure({"schedulerParams": given}),
    ):
        with pytest.raises(kai.InvalidConfigError, match=sentence):
            make()


def test_a_plan_has_a_warning_if_only_its_scheduler_has_the_parameters() -> None:
    config = kai.Config(scheduler_params={"fullHierarchyFairness": False})
    cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=1)
    [warning] = kai.Scheduler(config).plan(cluster).warnings
    assert "write cluster.configure(config)" in warning
    assert kai.Scheduler(config).plan(cluster.configure(config)).warnings == ()
    same = kai.Config(scheduler_params={"fullHierarchyFairness": True})
    assert kai.Scheduler(same).plan(kai.Cluster().queue("a")).warnings == ()
