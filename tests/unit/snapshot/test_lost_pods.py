"""Pods on nodes that the input lacks vanished silently, so a cluster looked empty."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.cli import main
from kai.linting import lint


def node(name: str = "n1") -> dict[str, Any]:
    held = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": held,
            "capacity": held,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, on: str, phase: str = "Running") -> dict[str, Any]:
    container = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "labels": {"kai.scheduler/queue": "default"}},
        "spec": {"schedulerName": "kai-scheduler", "nodeName": on, "containers": [container]},
        "status": {"phase": phase},
    }


def manifests(*objects: dict[str, Any]) -> bytes:
    return json.dumps(objects).encode()


def snapshot(*objects: dict[str, Any]) -> bytes:
    lists: dict[str, list[Any]] = {"nodes": [], "pods": []}
    for each in objects:
        lists[{"Node": "nodes", "Pod": "pods"}[each["kind"]]].append(each)
    return json.dumps({"rawObjects": lists}).encode()


def warnings(data: bytes) -> list[str]:
    return list(kai.Scheduler().plan(kai.load(data)).warnings)


ONE = (
    "1 pod (a/x) is on a node that is not in the input (gone1), so plans leave it out; did you mean"
    " 'gone'?"
)


@pytest.mark.parametrize("write", [manifests, snapshot])
def test_one_sentence_names_the_pods_and_the_missing_nodes(write: Any) -> None:
    assert warnings(write(node(), pod("x", "n1"))) == []
    assert warnings(write(node("gone"), pod("x", "gone1"))) == [ONE]
    assert warnings(write(node(), *(pod(f"x{i:03}", f"gone{i:03}") for i in range(300)))) == [
        "300 pods (a/x000, a/x001, a/x002 and 297 more) are on 300 nodes that are not in the input"
        " (gone000, gone001, gone002 and 297 more), so plans leave them out"
    ]


@pytest.mark.parametrize("write", [manifests, snapshot])
def test_ended_pods_and_inputs_without_nodes_give_no_warning(write: Any) -> None:
    assert warnings(write(node(), pod("x", "gone", "Succeeded"), pod("y", "", "Pending"))) == []
    assert warnings(write(pod("x", "gone"))) == []


def test_a_node_that_is_left_out_is_in_the_input() -> None:
    broken = {**node(), "status": {"allocatable": {"nvidia.com/gpu": "x"}}}
    assert warnings(manifests(broken, node("n2"), pod("x", "n1"))) == []
    assert warnings(manifests(node(), pod("x", "n1"), {**node(), "spec": {"a": 1}})) == []


def test_the_warning_follows_changes_of_the_cluster() -> None:
    cluster = kai.load(manifests(node("gone"), pod("x", "gone1")))
    other = pickle.loads(pickle.dumps(cluster))
    plan = kai.Scheduler().plan
    assert list(plan(copy.copy(cluster)).warnings) == list(plan(other).warnings) == [ONE]
    assert list(plan(cluster.upsert(node("gone1"))).warnings) == []
    assert list(plan(other.delete("Pod", "a/x")).warnings) == []


def test_manifests_are_compared_with_the_cluster_that_they_are_added_to() -> None:
    cluster = kai.Cluster().queue("default").node("n1", gpus=8)
    kai.load(manifests(pod("x", "n1"), pod("y", "n2")), into=cluster)
    [text] = kai.Scheduler().plan(cluster).warnings
    assert text.startswith("1 pod (a/y) is on a node that is not in the input (n2)")


def test_strict_counts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in (
        ("c.json", manifests(node("gone"), pod("x", "gone1"))),
        ("s.json", snapshot(node("gone"), pod("x", "gone1"))),
    ):
        (tmp_path / name).write_bytes(data)
        assert main(["plan", str(tmp_path / name)]) == 0
        assert "not in the input" in capsys.readouterr().out
        assert main(["plan", str(tmp_path / name), "--strict"]) == 2
        assert ONE in capsys.readouterr().err
        with pytest.raises(kai.InvalidClusterError, match="not in the input"):
            kai.load(str(tmp_path / name), strict=True)


def test_lint_names_the_field() -> None:
    def found(*objects: dict[str, Any]) -> list[tuple[str, str]]:
        return [(each.code, each.path) for each in lint(list(objects))]

    assert found(node(), pod("x", "n1"), pod("y", "gone", "Failed")) == []
    assert found(pod("x", "gone")) == []
    assert found(node(), pod("x", "gone")) == [("node-unknown", "spec.nodeName")]
