"""Scenario files: the accepted members, and a clear message for all others."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kai.engine.config import in_force
from kai.engine.values import REASON_CODES, VERDICTS
from kai.errors import InvalidInputError
from kai.verify.outcome import NUMBERS, RESOURCES
from kai.verify.scenario import (
    CLUSTER_MEMBERS,
    EXPECTED,
    GROUP_MEMBERS,
    MEMBERS,
    NODE_MEMBERS,
    QUEUE_MEMBERS,
    read_scenarios,
    scenarios_in,
)

GOOD = """
name: a group starts
rules: [G13]
cluster:
  queues:
    all: {}
    vision: {deserved: {gpu: 2, cpu: 4}, limit: {memory: 64Gi}, weight: 2, parent: all}
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
    queue = objects["queues"][1]
    assert queue["spec"]["resources"]["gpu"] == {"quota": 2, "limit": -1, "overQuotaWeight": 2}
    assert queue["spec"]["resources"]["cpu"]["quota"] == 4000
    assert queue["spec"]["parentQueue"] == "all"
    assert scenario.queues == {"vision": {"gpu": {"limit": None}}}


def test_a_placement_is_what_kais_operator_makes_of_it(tmp_path: Path) -> None:
    (scenario,) = read_scenarios(write(tmp_path, GOOD))
    made = scenario.build().to_snapshot()["config"]
    (tier,) = in_force(json.dumps(made))["tiers"]
    plugins = {plugin["name"]: plugin["arguments"] for plugin in tier["plugins"]}
    assert plugins["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    assert {"gpuspread", "podaffinity", "predicates", "proportion"} <= plugins.keys()
    assert "gpupack" not in plugins


def test_plugins_of_the_configuration_override_those_of_the_placement(tmp_path: Path) -> None:
    text = GOOD.replace("placement:", "config: {plugins: {numa: true, gpupack: true}}\nplacement:")
    (scenario,) = read_scenarios(write(tmp_path, text))
    plugins = scenario.build().to_snapshot()["config"]["plugins"]
    assert (plugins["numa"], plugins["gpupack"], plugins["gpuspread"]) == (True, True, True)


def test_a_file_may_have_several_scenarios(tmp_path: Path) -> None:
    text = f"{GOOD}---{GOOD.replace('a group starts', 'another')}"
    assert [s.name for s in read_scenarios(write(tmp_path, text))] == ["a group starts", "another"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name: a group starts", "", "a scenario needs a name, the sentence it proves"),
        (
            "deserved:",
            "deserves:",
            "cluster.queues.vision.deserves: there is no member 'deserves'; did",
        ),
        (
            "gpu: 1, count",
            "gpus: 1, count",
            "cluster.nodes.n.gpus: there is no member 'gpus'; did you mean",
        ),
        (
            "vision/train: [",
            "train: [",
            "pending.train: a group is named namespace/name, not 'train'",
        ),
        (
            "{placed: 2}",
            "{place: 2}",
            "expect.vision/train.place: there is no member 'place'; did you",
        ),
        ("gpu: spread", "gpu: wide", "placement.gpu: a placement is binpack or spread, not 'wide'"),
        ("node: n1", "cpu: 1", "running.vision/now: these pods need a node"),
        ("selector: {a: b}", "node: n1", "pending.vision/train.1.node: a pending pod has no node"),
        ("pods: 2", "pods: -2", "pending.vision/train.0: pods is -2"),
        (
            "{gpu: {limit: null}}",
            "{gpu: {limits: 1}}",
            "expect.queues.vision.gpu.limits: there is no",
        ),
        ("rules: [G13]", "cycles: 0", "cycles: expected a number of at least 1"),
        ("{deserved:", "[deserved:", "not valid YAML: "),
        ("rules: [G13]", "rules: [G13]\nrules: [G14]", ":4: the key 'rules' is given twice"),
        # Names that exist nowhere.
        (
            "vision/train: {placed",
            "vision/tran: {placed",
            ":12: 'a group starts': expect.vision/tran",
        ),
        (
            "queues: {vision: {gpu",
            "queues: {visoin: {gpu",
            "there is no queue 'visoin'; did you mean",
        ),
        ("{placed: 2}", "{verdict: plced}", "there is no verdict 'plced'; did you mean 'placed'?"),
        ("{placed: 2}", "{reasons: [gang_incomplet]}", "there is no reason 'gang_incomplet'; did"),
        ("{placed: 2}", "{placed: two}", "expect.vision/train.placed: expected a number of pods"),
        ("{placed: 2}", "{nodes: {n9: 1}}", "expect.vision/train.nodes: there is no node 'n9'"),
        ("{placed: 2}", "{nodes: 5}", "expect.vision/train.nodes: expected a list of nodes"),
        ("limit: null", "limit: none", "queues.vision.gpu.limit: expected a number, or null"),
        ("node: n1", "node: n7", ":9: 'a group starts': running.vision/now.node: there is no node"),
        ("min_member: 2", "priority: trian", "there is no priority class 'trian'; did you mean"),
        ("min_member: 2", "bind_request: n7", "pending.vision/train.0.bind_request: there is no"),
        ("min_member: 2", 'preemptible: "no"', "preemptible is 'no': write True or False"),
        ('"a=b:NoSchedule"', '"a=b:NoShedule"', "there is no effect 'NoShedule'; did you mean"),
        (
            "  nodes: {n",
            "  objects: {BindReqest: []}\n  nodes: {n",
            "a snapshot does not contain the kind BindReqest",
        ),
        (
            "  nodes: {n",
            "  objects: {Queue: [{metadata: {name: q}, spec: {displayNam: q}}]}\n  nodes: {n",
            "cluster.objects.Queue.0.spec.displayNam: a Queue has no field displayNam: the",
        ),
        (
            "deserved: {gpu: 2",
            "spec: {displayNam: v}, deserved: {gpu: 2",
            "has no field displayNam",
        ),
        (
            "pods: 2",
            "queue: visoin",
            "pending.vision/train.0.queue: there is no queue 'visoin'; did",
        ),
        (
            "vision/now: {gpu",
            "visoin/now: {gpu",
            "running.visoin/now: there is no queue 'visoin'; did",
        ),
        # Members that would be left out, or skipped.
        (
            "parent: all",
            "parent: al",
            "cluster.queues.vision: this is not used: Queue vision",
        ),
        (
            "placement:",
            "config: {actons: reclaim}\nplacement:",
            ":11: 'a group starts': config.act",
        ),
        ("rules: [G13]", "actions: [alocate]", 'actions: action "alocate" is not known'),
        (
            "rules: [G13]",
            "params: {fullHierarchyFairnes: true}",
            "params.fullHierarchyFairnes: sched",
        ),
    ],
)
def test_an_error_is_one_clear_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InvalidInputError) as caught:
        read_scenarios(path)[0].build()
    text = str(caught.value)
    assert re.match(rf"{re.escape(str(path))}:\d+: ", text)
    assert sentence in text
    assert "\n" not in text


def test_an_empty_or_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="the file has no scenario"):
        read_scenarios(write(tmp_path, ""))
    with pytest.raises(InvalidInputError, match="no such file"):
        read_scenarios(tmp_path / "none.yaml")


# ---- every member, mistyped by a letter ----------------------------------------------------------

PLACES: dict[tuple[str, ...], Sequence[str]] = {
    (): MEMBERS,
    ("cluster",): CLUSTER_MEMBERS,
    ("cluster", "queues", "vision"): QUEUE_MEMBERS,
    ("cluster", "queues", "vision", "deserved"): RESOURCES,
    ("cluster", "queues", "vision", "limit"): RESOURCES,
    ("cluster", "nodes", "n1"): tuple(NODE_MEMBERS),
    ("running", "vision/now"): tuple(GROUP_MEMBERS),
    ("pending", "vision/train"): tuple(GROUP_MEMBERS),
    ("placement",): ("gpu", "cpu"),
    ("expect", "vision/train"): EXPECTED,
    ("expect", "queues", "vision"): RESOURCES,
    ("expect", "queues", "vision", "gpu"): NUMBERS,
}


def situation() -> dict[str, Any]:
    return {
        "name": "a group starts",
        "cluster": {
            "queues": {"vision": {"deserved": {"gpu": 2}, "limit": {"gpu": 2}}},
            "nodes": {"n1": {"gpu": 2}},
        },
        "running": {"vision/now": {"gpu": 1, "node": "n1"}},
        "pending": {"vision/train": {"gpu": 1}},
        "placement": {},
        "expect": {"vision/train": {"placed": 1}, "queues": {"vision": {"gpu": {"deserved": 2}}}},
    }


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_member_mistyped_by_one_letter_is_reported(
    tmp_path: Path, place: tuple[str, ...]
) -> None:
    for name in PLACES[place]:
        wrong = name[:1] + name[2:] if len(name) > 1 else name * 2
        document = situation()
        inner = document
        for step in place:
            inner = inner[step]
        inner[wrong] = inner.pop(name, 1)
        path = write(tmp_path, json.dumps(document))
        (message,) = map(str, scenarios_in(path))
        if name == "name" and not place:
            assert "there is no member 'nme'; did you mean 'name'?" in message
        else:
            where = ".".join([*place, wrong])
            assert f": {where}: there is no member {wrong!r}" in message, message


@pytest.mark.parametrize("word", [*VERDICTS, *REASON_CODES])
def test_a_word_of_a_plan_mistyped_by_one_letter_is_reported(tmp_path: Path, word: str) -> None:
    document = situation()
    what = "verdict" if word in VERDICTS else "reasons"
    document["expect"]["vision/train"] = {what: word[:3] + word[4:]}
    (message,) = map(str, scenarios_in(write(tmp_path, json.dumps(document))))
    assert f"did you mean {word!r}?" in message
