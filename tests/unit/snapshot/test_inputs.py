"""Files, directories, lists and standard input: what forms one input, and its name."""

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import kai
from kai import snapshot

NODE = "kind: Node\nmetadata: {name: n1}\nstatus: {capacity: {nvidia.com/gpu: 4}}\n"
POD = "kind: Pod\nmetadata: {name: p1}\nspec: {containers: []}\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "nodes.yaml").write_text(NODE)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "pods.yml").write_text(POD)
    (tmp_path / ".hidden.yaml").write_text("not: read")
    (tmp_path / "README.md").write_text("not read")
    kai.Cluster().queue("a").save(tmp_path / "a.json")
    kai.Cluster().queue("b").save(tmp_path / "b.zip")
    return tmp_path


def test_each_snapshot_is_an_input_and_all_manifests_are_one(directory: Path) -> None:
    first, second, manifests = kai.load_all(directory)
    assert first.name == str(directory / "a.json")
    assert second.name == str(directory / "b.zip")
    assert manifests.name == str(directory)
    assert len(manifests.objects["nodes"]) == len(manifests.objects["pods"]) == 1


def test_manifests_of_several_arguments_are_one_input(directory: Path) -> None:
    nodes, pods = str(directory / "nodes.yaml"), str(directory / "below")
    cluster = kai.load([nodes, pods])
    assert cluster.name == f"{nodes}, {pods}"
    assert len(cluster.objects["pods"]) == 1


def test_load_refuses_several_inputs(directory: Path) -> None:
    with pytest.raises(kai.InvalidInputError, match=r"there are 3 inputs, use kai.load_all"):
        kai.load(directory)


def test_a_cluster_of_bytes_has_no_name() -> None:
    cluster = kai.load([NODE.encode(), POD.encode()])
    assert cluster.name is None
    assert len(cluster.objects["nodes"]) == 1


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(NODE.encode())))
    assert kai.load("-").name == "-"


def test_an_unreadable_input_does_not_stop_the_others(directory: Path) -> None:
    (directory / "a.json").write_text('{"rawObjects": ')
    found = list(snapshot.read(directory))
    assert [type(each) for each in found] == [kai.InvalidInputError, kai.Cluster, kai.Cluster]


def test_one_invalid_manifest_file_rejects_all_manifests(directory: Path) -> None:
    (directory / "broken.yaml").write_text("a: [")
    found = list(snapshot.read(directory))
    assert sum(isinstance(each, kai.InvalidInputError) for each in found) == 1
    assert [each.name for each in found if isinstance(each, kai.Cluster)] == [
        str(directory / "a.json"),
        str(directory / "b.zip"),
    ]


def test_a_file_is_read_completely_or_not_at_all() -> None:
    with pytest.raises(kai.InvalidInputError):
        kai.load(f"{NODE}---\na: [".encode())


@pytest.mark.parametrize("name", ["missing.yaml", "empty"])
def test_missing_and_empty_inputs_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(kai.InvalidInputError, match=r"no such file|no snapshot and no"):
        kai.load(tmp_path / name)


def test_strict_raises_for_left_out_objects() -> None:
    bad = f"{NODE}---\nkind: Job\nmetadata: {{name: j}}\n".encode()
    assert len(kai.load(bad).rejected) == 1
    with pytest.raises(kai.InvalidClusterError, match=r"Job default/j: spec: is missing"):
        kai.load(bad, strict=True)


def test_nested_lists_are_flattened() -> None:
    inner = {"kind": "PodList", "items": [json.loads('{"metadata": {"name": "p"}, "spec": {}}')]}
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": [[inner], inner]})
    assert len(kai.load(text.encode()).objects["pods"]) == 1


# ---- inputs without objects ----------------------------------------------------------------------

EMPTY = {
    "kubectl's List": "apiVersion: v1\nitems: []\nkind: List\nmetadata: {resourceVersion: ''}\n",
    "a PodList": '{"apiVersion": "v1", "kind": "PodList", "items": []}',
    "a list of KAI's kind": "{apiVersion: scheduling.run.ai/v2, kind: QueueList, items: []}",
    "a list of an unknown kind": "{apiVersion: example.com/v1, kind: WidgetList, items: []}",
    "items that are null": '{"kind": "PodList", "apiVersion": "v1", "items": null}',
    "no items": "{kind: List, apiVersion: v1, metadata: {}}",
    "a List of empty Lists": "{kind: List, items: [{kind: PodList, items: []}]}",
    "an array": "[]",
    "two empty Lists": "{kind: List, items: []}\n---\n{kind: PodList, items: []}",
    "a comment": "# nothing here",
    "a comment and a separator": "# nothing here\n---\n",
    "separators": "---\n---\n",
    "null": "null",
}


@pytest.mark.parametrize("content", EMPTY.values(), ids=EMPTY)
def test_an_input_without_objects_changes_nothing_beside_others(written: Any, content: str) -> None:
    path = written("empty.yaml", content)
    cluster = kai.load([NODE.encode(), path], strict=True)
    assert len(cluster.objects["nodes"]) == 1
    assert cluster.objects["pods"] == cluster.objects.get("podGroups", []) == []


@pytest.mark.parametrize("content", EMPTY.values(), ids=EMPTY)
def test_an_input_without_any_object_is_an_empty_cluster_with_a_warning(
    written: Any, content: str
) -> None:
    path = written("empty.yaml", content)
    cluster = kai.load([path, content.encode()])
    assert cluster.counts["nodes"] == 0
    assert not cluster.rejected
    plan = kai.Scheduler().plan(cluster, now="2026-01-01T00:00:00Z")
    assert list(plan.warnings) == [f"there are no objects in {path}, the input"]
    with pytest.raises(kai.InvalidClusterError, match="there are no objects in"):
        kai.load(path, strict=True)


def test_an_empty_list_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = io.TextIOWrapper(io.BytesIO(EMPTY["kubectl's List"].encode()))
    monkeypatch.setattr("sys.stdin", empty)
    assert kai.load(["-", NODE.encode()]).counts["nodes"] == 1


def test_an_empty_list_beside_a_snapshot_is_no_cluster_of_its_own(directory: Path) -> None:
    [snapshot_] = kai.load_all([directory / "a.json", EMPTY["a PodList"].encode()])
    assert snapshot_.name == str(directory / "a.json")


def test_an_empty_list_is_added_to_a_cluster() -> None:
    cluster = kai.Cluster().queue("vision").node("n1", gpus=8)
    before = cluster.to_snapshot()["rawObjects"]
    assert kai.load(EMPTY["a PodList"].encode(), into=cluster) is cluster
    assert cluster.to_snapshot()["rawObjects"] == before


@pytest.mark.parametrize("content", ["", " \n", "just words", "{kind: List, items: [text]}"])
def test_a_text_without_objects_is_refused_or_rejected(content: str) -> None:
    with pytest.raises(kai.InvalidInputError, match="is neither a Kubernetes object nor a KAI"):
        kai.load([NODE.encode(), content.encode()][1:])


def test_a_pipe_in_a_directory_is_skipped_with_a_word(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")  # reading it would wait for ever
    why = r"pipe\.yaml was skipped: it is no regular file; name it as an input itself"
    with pytest.raises(kai.InvalidInputError, match=why):
        kai.load(tmp_path)
    (tmp_path / "node.yaml").write_text("kind: Node\nmetadata: {name: n1}\n")
    [warning] = kai.Scheduler().plan(kai.load(tmp_path)).warnings
    assert re.search(why, warning)
    (tmp_path / "node.yaml").unlink()
    kai.Cluster().node("n1").save(tmp_path / "cluster.zip")
    [warning] = kai.Scheduler().plan(kai.load(tmp_path)).warnings
    assert re.search(why, warning)
