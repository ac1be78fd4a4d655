"""Differences between two states reach a cluster that is updated in place as events."""

import kai
from kai.sim.events import carry_over, changes
from kai.sim.world import step

NOW = "2026-01-01T00:00:00Z"


def test_only_differences_are_events() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=1)
    before = cluster.pending("a/x", gpus=1).pending("a/y", gpus=1).to_snapshot()
    after = step(before, kai.Scheduler().plan(cluster, now=NOW), now=NOW)
    found = {(kind, name): manifest for kind, name, manifest in changes(before, after)}
    assert set(found) == {("Pod", "a/x-0"), ("PodGroup", "a/x")}
    pod = found["Pod", "a/x-0"]
    assert pod is not None
    assert pod["spec"]["nodeName"] == "n"
    assert list(changes(after, after)) == []


def test_missing_objects_are_deleted() -> None:
    before = kai.Cluster().queue("a").node("n", gpus=1).pending("a/x", gpus=1).to_snapshot()
    objects = {**before["rawObjects"], "nodes": [], "pods": []}
    after = {**before, "rawObjects": objects}
    gone = {(kind, name) for kind, name, manifest in changes(before, after) if manifest is None}
    assert gone == {("Node", "n"), ("Pod", "a/x-0")}


def test_events_turn_a_cluster_into_the_second_world() -> None:
    scheduler = kai.Scheduler()
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=1).pending("a/x", pods=2, gpus=1)
    before = cluster.running("a/old", gpus=1, node="n1").to_snapshot()
    after = step(before, scheduler.plan(cluster, now=NOW), now=NOW)
    carry_over(cluster, before, after)
    again = kai.Cluster.from_snapshot(after)
    assert nodes_of(cluster) == nodes_of(again) == {"x-0": "n2", "x-1": None, "old-0": "n1"}
    assert scheduler.plan(cluster, now=NOW) == scheduler.plan(again, now=NOW)


def nodes_of(cluster: kai.Cluster) -> dict[str, str | None]:
    pods = cluster.objects["pods"]
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in pods}
