"""Scenario files: what they may say, and one clear sentence for what they may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kai.errors import InvalidInputError
from kai.verify.scenario import read_scenarios

GOOD = """
name: a group starts
rules: [G13]
cluster:
  queues: {vision: {deserved: {gpu: 2, cpu: 4}, limit: {memory: 64Gi}, weight: 2, parent: all}}
  nodes: {n: {gpu: 1, count: 2, taints: "a=b:NoSchedule"}, m: {cpu: 4, conditions: [DiskPressure]}}
running: {vision/now: {gpu: 1, node: n1}}
pending: {vision/train: [{pods: 2, gpu: 1, min_member: 2}, {cpu: 1, selector: {a: b}}]}
placement: {gpu: spread}
expect: {vision/train: {placed: 2}, queues: {vision: {gpu: {limit: null}}}}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "it.yaml"
    path.write_text(text)
    return path


def test_a_scenario_becomes_a_cluster(tmp_path: Path) -> None:
    (scenario,) = read_scenarios(write(tmp_path, GOOD))
    objects = scenario.build().to_snapshot()["rawObjects"]
    assert [node["metadata"]["name"] for node in objects["nodes"]] == ["n1", "n2", "m"]
    assert objects["nodes"][2]["status"]["conditions"][-1]["type"] == "DiskPressure"
    assert len(objects["pods"]) == 4
    (queue,) = objects["queues"]
    assert queue["spec"]["resources"]["gpu"] == {"quota": 2, "limit": -1, "overQuotaWeight": 2}
    assert queue["spec"]["resources"]["cpu"]["quota"] == 4000
    assert queue["spec"]["parentQueue"] == "all"
    assert scenario.queues == {"vision": {"gpu": {"limit": None}}}


def test_a_placement_names_every_plugin(tmp_path: Path) -> None:
    (scenario,) = read_scenarios(write(tmp_path, GOOD))
    (tier,) = scenario.build().to_snapshot()["config"]["tiers"]
    plugins = {plugin["name"]: plugin.get("arguments") for plugin in tier["plugins"]}
    assert plugins["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    assert "gpuspread" in plugins
    assert "gpupack" not in plugins


def test_a_file_may_hold_several(tmp_path: Path) -> None:
    text = f"{GOOD}---{GOOD.replace('a group starts', 'another')}"
    assert [s.name for s in read_scenarios(write(tmp_path, text))] == ["a group starts", "another"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name: a group starts", "", "a scenario needs a name, the sentence it proves"),
        ("deserved:", "deserves:", "cluster.queues.vision: there is no member 'deserves'; did you"),
        ("gpu: 1, count", "gpus: 1, count", "cluster.nodes.n: there is no member 'gpus'; did you"),
        ("vision/train: [", "train: [", "pending: a group is named namespace/name, not 'train'"),
        ("{placed: 2}", "{place: 2}", "expect.vision/train: there is no member 'place'; did you"),
        ("gpu: spread", "gpu: wide", "placement.gpu: a placement is binpack or spread, not 'wide'"),
        ("node: n1", "cpu: 1", "running.vision/now: these pods need a node"),
        ("selector: {a: b}", "node: n1", "pending.vision/train.node: a pending pod has no node"),
        ("pods: 2", "pods: -2", "pending.vision/train: pods is -2"),
        ("{gpu: {limit: null}}", "{gpu: {limits: 1}}", "expect.queues.vision.gpu: there is no"),
        ("rules: [G13]", "cycles: 0", "cycles: this should be a number from 1 on"),
        ("{deserved:", "[deserved:", "not YAML: "),
        ("rules: [G13]", "rules: [G13]\nrules: [G14]", "'rules' is there twice, again in line 4"),
    ],
)
def test_a_mistake_is_one_clear_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InvalidInputError) as caught:
        read_scenarios(path)[0].build()
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert sentence in said
    assert "\n" not in said


def test_an_empty_or_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no scenario in this file"):
        read_scenarios(write(tmp_path, ""))
    with pytest.raises(InvalidInputError, match="no such file"):
        read_scenarios(tmp_path / "none.yaml")
