"""A cluster to a snapshot and back."""

import gc
import json
import zipfile
from pathlib import Path

import pytest

import kai


def small() -> kai.Cluster:
    return (
        kai.Cluster().queue("a").node("n1", gpus=2).pending("a/job", pods=2, gpus=1, min_member=2)
    )


def test_changing_a_snapshot_does_not_change_its_cluster() -> None:
    cluster = small()
    cluster.to_snapshot()["rawObjects"]["pods"].clear()
    assert len(cluster.objects["pods"]) == 2


def test_changing_a_mapping_does_not_change_its_cluster() -> None:
    snapshot = small().to_snapshot()
    cluster = kai.Cluster.from_snapshot(snapshot)
    snapshot["rawObjects"]["pods"].clear()
    assert len(cluster.objects["pods"]) == 2


@pytest.mark.parametrize("name", ["cluster.json", "cluster.zip"])
def test_a_saved_cluster_is_loaded_unchanged(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    small().save(path)
    again = kai.load(path)
    assert again.to_snapshot() == small().to_snapshot()
    assert again.name == str(path)


def test_equal_clusters_are_saved_as_equal_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    small().save(first)
    small().save(str(second))
    assert first.read_bytes() == second.read_bytes()
    assert zipfile.ZipFile(first).namelist() == ["snapshot.json"]


def test_a_cluster_can_be_planned_changed_and_planned_again() -> None:
    cluster = small()
    scheduler = kai.Scheduler()
    assert len(scheduler.plan(cluster).decisions) == 2
    cluster.pending("a/more", gpus=1)
    assert scheduler.plan(cluster).pod_groups["a/more"].verdict == "unschedulable"
    cluster.node("n2", gpus=1)
    assert scheduler.plan(cluster).pod_groups["a/more"].verdict == "placed"


def test_a_loaded_cluster_can_be_added_to() -> None:
    cluster = kai.Cluster.from_snapshot(json.dumps(small().to_snapshot()).encode())
    cluster.node("n2", gpus=8).pending("a/more", gpus=8)
    assert kai.Scheduler().plan(cluster).pod_groups["a/more"].verdict == "placed"


def test_missing_parameters_have_kais_default() -> None:
    params = small().configure(fullHierarchyFairness=False).to_snapshot()["schedulerParams"]
    assert params["fullHierarchyFairness"] is False
    assert params["useSchedulingSignatures"] is True
    assert params["queueLabelKey"] == "kai.scheduler/queue"


def test_the_snapshot_has_the_configuration() -> None:
    config = {"actions": "allocate", "tiers": [{"plugins": [{"name": "predicates"}]}]}
    cluster = kai.Cluster.from_snapshot(small().configure(config).to_snapshot())
    plan = kai.Scheduler().plan(cluster)
    assert len(plan.queues) == 0  # without the plugin proportion there are no queue numbers
    assert len(kai.Scheduler({"actions": "allocate"}).plan(cluster).queues) == 1


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"rawObjects": {"pods": [', b""])
def test_bytes_that_are_not_a_snapshot_are_refused(data: bytes) -> None:
    with pytest.raises(kai.InvalidInputError) as caught:
        kai.Cluster.from_snapshot(data)
    assert "\n" not in str(caught.value)


def test_invalid_objects_are_named_and_the_rest_is_planned() -> None:
    cluster = small().queue("lost", parent="missing").pending("lost/job", gpus=1)
    [rejected] = cluster.rejected
    assert (rejected.kind, rejected.name, rejected.field) == ("Queue", "lost", "spec.parentQueue")
    assert "missing" in rejected.message
    plan = kai.Scheduler().plan(cluster)
    assert plan.rejected == cluster.rejected
    assert plan.pod_groups["a/job"].verdict == "placed"
    assert plan.pod_groups["lost/job"].verdict == "invalid"


def test_the_repr_of_a_cluster_is_one_line() -> None:
    assert repr(small()) == (
        "<kai.Cluster: 1 node with 2 GPUs, 1 pod group with 2 pods (2 pending), 1 queue>"
    )
    named = kai.Cluster.from_snapshot(
        small().to_snapshot(), name="x.zip", now="2026-01-01T00:00:00Z"
    )
    assert repr(named).startswith("<kai.Cluster x.zip: ")


def test_html_tables_of_a_cluster_are_escaped() -> None:
    html = kai.Cluster(name="<script>").queue("a").pending("a/<b>")._repr_html_()
    assert "<table>" in html
    assert "&lt;b&gt;" in html
    assert "<script>" not in html


@pytest.mark.parametrize("is_on", [True, False])
def test_an_export_keeps_the_state_of_the_garbage_collector(is_on: bool) -> None:
    made = kai.Cluster().queue("a").upsert({"kind": "Node", "metadata": {"name": "n1"}})
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        assert [each["metadata"]["name"] for each in made.to_snapshot()["rawObjects"]["nodes"]] == [
            "n1"
        ]
        assert gc.isenabled() is is_on
        with pytest.raises(kai.InvalidInputError):
            kai.Cluster.from_snapshot(b"{")
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()
