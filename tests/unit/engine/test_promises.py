"""A scheduler that plans a cluster repeatedly keeps its promises, and its assumptions."""

import io
import json
import pickle
import zipfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"


def in_the_way() -> kai.Cluster:
    """One node with a pod that must be evicted for a group with higher priority."""
    cluster = kai.Cluster(now=NOW).queue("a").node("n", gpus=1)
    cluster.running("a/low", gpus=1, priority=10, node="n")
    return cluster.pending("a/high", gpus=1, priority=20)


def decided(scheduler: kai.Scheduler, cluster: kai.Cluster) -> list[str]:
    return [f"{each.kind} {each.pod}" for each in scheduler.plan(cluster).decisions]


def request_for(pod: str, node: str) -> dict[str, Any]:
    return {
        "kind": "BindRequest",
        "metadata": {"namespace": "a", "name": pod},
        "spec": {"podName": pod, "selectedNode": node, "receivedResourceType": "Regular"},
    }


def test_the_first_plan_of_a_loaded_cluster_keeps_its_promises() -> None:
    cluster, scheduler = in_the_way(), kai.Scheduler()
    assert decided(scheduler, cluster) == ["evict a/low-0", "pipeline a/high-0"]
    cluster.delete("Pod", "a/low-0").pending("a/top", gpus=1, priority=30)
    assert decided(scheduler, cluster) == ["bind a/high-0"]
    assert decided(kai.Scheduler(), cluster) == ["bind a/top-0"], "it has promised nothing"


def test_with_kais_switch_promises_are_forgotten() -> None:
    cluster, scheduler = in_the_way(), kai.Scheduler({"compat": {"promises": "kai"}})
    decided(scheduler, cluster)
    cluster.delete("Pod", "a/low-0").pending("a/top", gpus=1, priority=30)
    assert decided(scheduler, cluster) == ["bind a/top-0"]


def test_an_assumption_counts_until_it_is_confirmed_or_forgotten() -> None:
    cluster, scheduler = in_the_way(), kai.Scheduler()
    decided(scheduler, cluster)
    evicted = scheduler.assume_evicted(cluster, "a/low-0")
    assert evicted is not None
    assert decided(scheduler, cluster) == ["pipeline a/high-0"]
    assert scheduler.forget(cluster, evicted)
    assert not scheduler.forget(cluster, evicted)
    assert decided(scheduler, cluster) == ["evict a/low-0", "pipeline a/high-0"]
    cluster.delete("Pod", "a/low-0")
    assert scheduler.assume_bound(cluster, request_for("high-0", "n")) is not None
    assert decided(scheduler, cluster) == []
    assert decided(kai.Scheduler(), cluster) == ["bind a/high-0"], "others know nothing of it"
    text = json.dumps(request_for("gone-0", "n"))
    assert scheduler.assume_bound(cluster, text) is None
    assert scheduler.assume_evicted(cluster, "a/gone-0", now=NOW) is None


def test_a_scheduler_imports_the_memory_of_another() -> None:
    cluster, first, second = in_the_way(), kai.Scheduler(), kai.Scheduler()
    decided(first, cluster)
    first.assume_evicted(cluster, "a/low-0")
    cluster.pending("a/top", gpus=1, priority=30)
    memory = first.export_memory(cluster)
    [promise] = json.loads(memory)["promises"]
    assert (promise["pod_group"], promise["pod"], promise["node"]) == ("a/high", "high-0", "n")
    second.import_memory(cluster, memory)
    assert second.plan(cluster) == first.plan(cluster)
    assert decided(second, cluster) == ["pipeline a/high-0"]


def test_an_old_plan_is_computed_again_with_its_promises_and_assumptions() -> None:
    cluster, scheduler = in_the_way(), kai.Scheduler()
    decided(scheduler, cluster)
    scheduler.assume_evicted(cluster, "a/low-0")
    cluster.pending("a/top", gpus=1, priority=30)
    kept = scheduler.plan(cluster)
    again = kai.Scheduler()
    again.import_memory(cluster, scheduler.export_memory(cluster))
    now = again.plan(cluster).to_json()
    cluster.delete("Pod", "a/low-0").delete("PodGroup", "a/low")
    assert decided(scheduler, cluster) == ["bind a/high-0"]
    assert without_timing(kept.to_json()) == without_timing(now)


def without_timing(text: str) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(text)
    del plan["timing_ms"]
    return plan


def test_next_wake_is_when_time_alone_changes_the_plan() -> None:
    cluster, scheduler = kai.Cluster(now=NOW).queue("a").node("n", gpus=1), kai.Scheduler()
    assert scheduler.next_wake(cluster) is None, "no plan was made"
    cluster.releasing("a/old", gpus=1, node="n")
    [pod] = cluster.objects["pods"]
    since = {"metadata": {**pod["metadata"], "deletionTimestamp": NOW}}
    cluster.upsert({**pod, **since, "kind": "Pod"}).pending("a/new", gpus=1)
    assert decided(scheduler, cluster) == ["pipeline a/new-0"]
    wake = scheduler.next_wake(cluster)
    assert wake is not None
    assert wake.reason == "pod_overdue"
    assert wake.at.replace(microsecond=0) == datetime(2026, 1, 1, 0, 2, tzinfo=timezone.utc)
    loaded = kai.Cluster.from_snapshot(cluster.to_snapshot(), now=NOW)
    scheduler.plan(loaded)
    assert scheduler.next_wake(loaded) == wake
    cluster.delete("Pod", "a/old-0")
    assert scheduler.next_wake(cluster) is None, "there is something to plan now"


def test_invalid_memory_raises_one_sentence() -> None:
    cluster, scheduler = in_the_way(), kai.Scheduler()
    with pytest.raises(kai.InvalidClusterError, match=r"^memory: version: expected 1, found 7$"):
        scheduler.import_memory(cluster, '{"version": 7}')
    with pytest.raises(kai.InvalidClusterError, match="BindRequest"):
        scheduler.assume_bound(cluster, {"metadata": {"namespace": "a"}})
    with pytest.raises(kai.InvalidInputError, match="soon"):
        scheduler.assume_evicted(cluster, "a/low-0", now="soon")
    twice = kai.Cluster.from_snapshot({"rawObjects": {"nodes": [{"metadata": {"name": "n"}}] * 2}})
    with pytest.raises(kai.InvalidClusterError, match="an object twice"):
        scheduler.export_memory(twice)


# ---- a memory beside a snapshot ------------------------------------------------------------------


def taken_in_the_middle(path: Path) -> tuple[list[str], kai.Cluster]:
    """A snapshot of a scheduler that has promised a place, and its next decisions."""
    cluster, scheduler = in_the_way(), kai.Scheduler()
    decided(scheduler, cluster)
    scheduler.assume_evicted(cluster, "a/low-0")
    cluster.pending("a/top", gpus=1, priority=30)
    memory = {"now": NOW, **json.loads(scheduler.export_memory(cluster))}
    taken = kai.Cluster.from_snapshot(cluster.to_snapshot(), now=NOW, memory=json.dumps(memory))
    taken.save(path)
    return decided(scheduler, cluster), taken


def test_a_snapshot_is_planned_with_the_memory_in_its_archive(tmp_path: Path) -> None:
    expected, taken = taken_in_the_middle(tmp_path / "s.zip")
    assert expected == ["pipeline a/high-0"]
    loaded = kai.load(tmp_path / "s.zip")
    assert loaded.now == datetime(2026, 1, 1, tzinfo=timezone.utc), "it has the time"
    for cluster in (taken, loaded, loaded.copy(), pickle.loads(pickle.dumps(loaded))):
        assert decided(kai.Scheduler(), cluster) == expected
        assert decided(pickle.loads(pickle.dumps(kai.Scheduler())), cluster) == expected
    loaded.save(tmp_path / "again.zip")
    assert decided(kai.Scheduler(), kai.load(tmp_path / "again.zip")) == expected
    loaded.save(tmp_path / "again.json")
    assert decided(kai.Scheduler(), kai.load(tmp_path / "again.json")) == expected
    exported = kai.Cluster.from_snapshot(loaded.to_snapshot())
    assert decided(kai.Scheduler(), exported) == expected


def test_a_memory_is_imported_once_and_again_after_an_edit(tmp_path: Path) -> None:
    taken_in_the_middle(tmp_path / "s.zip")
    cluster, scheduler = kai.load(tmp_path / "s.zip"), kai.Scheduler()
    assert decided(scheduler, cluster) == ["pipeline a/high-0"]
    cluster.delete("Pod", "a/low-0")
    assert decided(scheduler, cluster) == ["bind a/high-0"]
    assert scheduler.assume_bound(cluster, request_for("high-0", "n")) is not None
    later = ["evict a/high-0", "pipeline a/top-0"]
    assert decided(scheduler, cluster) == later, "the file does not undo what came later"
    cluster = kai.load(tmp_path / "s.zip").node("n2", gpus=1)
    assert decided(scheduler, cluster) == ["pipeline a/high-0", "bind a/top-0"]


def zipped(**entries: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("snapshot.json", '{"rawObjects": {}}')
        for name, text in entries.items():
            archive.writestr(f"{name}.json", text)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "memory.json in the archive is not a JSON object"),
        ("[]", "memory.json in the archive is not a JSON object"),
        ('{"now": 7}', "memory.json in the archive: now is not a string"),
        ('{"now": "soon"}', "'soon' is not an RFC 3339 time"),
    ],
)
def test_an_invalid_memory_in_an_archive_raises_one_sentence(text: str, message: str) -> None:
    with pytest.raises(kai.InvalidInputError, match=message):
        kai.load(zipped(memory=text))


def test_other_files_in_an_archive_are_ignored() -> None:
    assert decided(kai.Scheduler(), kai.load(zipped(other="{"))) == []
