"""A cluster to a snapshot and back."""

import copy
import gc
import json
import pickle
import zipfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import kai
from kai.api.keys import LAST_START_ANNOTATION as START


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


# ---- the time, and all else that a plan depends on -----------------------------------------------


def protected(now: str | None = "2026-01-01T00:00:10Z") -> kai.Cluster:
    """A team borrows all GPUs since ten seconds, and may keep them for an hour."""
    cluster = kai.Cluster(now=now).queue("own", deserved_gpus=8)
    cluster.queue("other", spec={"reclaimMinRuntime": "1h"}).node("n1", gpus=8)
    cluster.running("other/young", pods=8, gpus=1, min_member=8, node="n1")
    [group] = cluster.objects["podGroups"]
    group["metadata"].setdefault("annotations", {})[START] = "2026-01-01T00:00:00Z"
    cluster.upsert({**group, "kind": "PodGroup"})
    return cluster.pending("own/waits", gpus=1)


def saved(name: str) -> Callable[[kai.Cluster, Path], kai.Cluster]:
    def there_and_back(cluster: kai.Cluster, folder: Path) -> kai.Cluster:
        cluster.save(folder / name)
        return kai.load(folder / name)

    return there_and_back


WAYS: dict[str, Callable[[kai.Cluster, Path], kai.Cluster]] = {
    "json": saved("s.json"),
    "zip": saved("s.zip"),
    "export": lambda cluster, _: kai.Cluster.from_snapshot(cluster.to_snapshot()),
    "copy": lambda cluster, _: copy.copy(cluster),
    "pickle": lambda cluster, _: pickle.loads(pickle.dumps(cluster)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_is_the_same_after_there_and_back(tmp_path: Path, way: str) -> None:
    cluster = protected().configure({"compat": {"queue_depth": "kai"}})
    cluster.set_usage({"other": {"gpu": 0.25}})
    planned = decided(cluster)
    assert planned["decisions"] == []
    for _ in range(2):
        cluster = WAYS[way](cluster, tmp_path)
        assert cluster.now == datetime(2026, 1, 1, 0, 0, 10, tzinfo=timezone.utc)
        assert decided(cluster) == planned


MISTAKES = b"""
{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "half"},
 "spec": {"schedulerName": "kai-scheduler",
          "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "0.5"}}}]}}
---
{"kind": "Pod", "apiVersion": "v1",
 "metadata": {"name": "typo", "annotations": {"gpu_fraction": "0.5"}},
 "spec": {"schedulerName": "kai-scheduler", "containers": [{"name": "main"}]}}
"""


@pytest.mark.parametrize("way", WAYS)
def test_what_manifests_left_out_is_still_left_out_after_there_and_back(
    tmp_path: Path, way: str
) -> None:
    cluster = kai.load(MISTAKES, now="2026-01-01T00:00:00Z")
    planned = decided(cluster)
    [left_out] = cluster.rejected
    assert left_out.name == "default/half"
    assert any("gpu_fraction" in each for each in planned["warnings"])  # type: ignore[attr-defined]
    for _ in range(2):
        cluster = WAYS[way](cluster, tmp_path)
        assert decided(cluster) == planned
    valid = {"kind": "Pod", "metadata": {"name": "half", "namespace": "default"}, "spec": {}}
    assert WAYS[way](cluster.upsert(valid), tmp_path).rejected == ()


@pytest.mark.parametrize("left_out", [5, {"objects": 5}, {"objects": [5]}, {"warnings": [5]}])
def test_what_is_no_list_of_left_out_objects_is_one_sentence(left_out: Any) -> None:
    snapshot = {"rawObjects": {}, "leftOut": left_out}
    for given in (snapshot, json.dumps(snapshot).encode()):
        with pytest.raises(kai.InvalidInputError, match=r"the snapshot's leftOut: "):
            kai.Cluster.from_snapshot(given)


@pytest.mark.parametrize("way", WAYS)
def test_a_later_time_replaces_the_saved_one(tmp_path: Path, way: str) -> None:
    cluster = WAYS["json"](protected(), tmp_path)
    there = WAYS[way](cluster.at("2026-01-01T02:00:00Z"), tmp_path)
    assert there.now == datetime(2026, 1, 1, 2, tzinfo=timezone.utc)
    kinds = [each["kind"] for each in decided(there)["decisions"]]  # type: ignore[attr-defined]
    assert kinds == ["evict"] * 8 + ["pipeline"]


def test_an_event_after_a_load_keeps_the_time(tmp_path: Path) -> None:
    cluster = WAYS["json"](protected(), tmp_path).add_nodes(1, like="n1")
    again = WAYS["zip"](cluster, tmp_path)
    assert again.now == cluster.now
    assert decided(again) == decided(cluster)


def test_the_time_of_a_load_comes_before_that_of_the_file(tmp_path: Path) -> None:
    protected().save(tmp_path / "s.json")
    late = kai.load(tmp_path / "s.json", now="2026-01-01T02:00:00Z")
    assert late.now == datetime(2026, 1, 1, 2, tzinfo=timezone.utc)


def test_a_cluster_without_a_time_is_saved_without_one(tmp_path: Path) -> None:
    protected(now=None).save(tmp_path / "s.json")
    assert kai.load(tmp_path / "s.json").now is None
    assert "now" not in json.loads((tmp_path / "s.json").read_text())


@pytest.mark.parametrize("now", ['"soon"', "7", "{}"])
def test_a_time_that_is_none_is_one_sentence(now: str) -> None:
    with pytest.raises(kai.InvalidInputError, match=r"^the input: the snapshot's now: "):
        kai.load(b'{"rawObjects": {}, "now": %s}' % now.encode())


def decided(cluster: kai.Cluster) -> dict[str, object]:
    plan: dict[str, object] = json.loads(kai.Scheduler().plan(cluster).to_json())
    return {name: plan[name] for name in plan if name not in ("input", "timing_ms")}


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


@pytest.mark.parametrize(
    ("minimum", "shown"),
    [("many", "&#x27;many&#x27;"), ([1], "[1]"), ({}, "{}"), (True, "true"), (-1, "-1"), (0, "1")],
)
def test_a_rejected_pod_group_is_shown_with_its_minimum(minimum: Any, shown: str) -> None:
    group = {"metadata": {"name": "g", "namespace": "a"}, "spec": {"minMember": minimum}}
    cluster = kai.Cluster.from_snapshot({"rawObjects": {"podGroups": [group]}})
    assert f">{shown}</td>" in cluster._repr_html_()
    assert "1 pod group" in repr(cluster)


@pytest.mark.parametrize("name", [None, 5, "", "9" * 5000])
def test_pods_without_a_usable_name_do_not_stop_a_change(name: Any) -> None:
    pod = {
        "metadata": {"name": name, "namespace": "a", "annotations": {"pod-group-name": "g"}},
        "spec": {"containers": []},
        "status": {"phase": "Pending"},
    }
    lists = {"pods": [pod], "podGroups": [5, {"metadata": {"name": "g", "namespace": "a"}}]}
    cluster = kai.Cluster.from_snapshot({"rawObjects": lists})
    cluster.scale("a/g", 0).queue("q").pending("a/other", queue="q")
    assert "a/other" in {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}"
        for each in cluster.objects["podGroups"]
        if isinstance(each, dict)
    }


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
