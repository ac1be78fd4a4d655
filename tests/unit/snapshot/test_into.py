"""Manifests that are added to a cluster, as if they were submitted."""

from pathlib import Path

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"
JOB = b"""
apiVersion: batch/v1
kind: Job
metadata: {name: urgent, namespace: vision, labels: {kai.scheduler/queue: vision}}
spec:
  parallelism: 1
  template:
    spec:
      priorityClassName: rush
      containers: [{name: main, image: train, resources: {limits: {nvidia.com/gpu: 2}}}]
"""


def cluster() -> kai.Cluster:
    living = kai.Cluster(now=NOW).queue("vision", deserved_gpus=4).queue("speech")
    living.priority_class("rush", 90).node("n1", gpus=4)
    return living.running("speech/bulk", pods=4, gpus=1, node="n1")


def test_a_job_gets_its_pods_and_its_group() -> None:
    living = cluster()
    assert kai.load(JOB, into=living) is living
    plan = kai.Scheduler().plan(living)
    assert plan.pod_groups["vision/pg-urgent"].verdict == "pipelined"
    assert {each.for_group for each in plan.evictions} == {"vision/pg-urgent"}
    assert plan == kai.Scheduler().plan(
        kai.Cluster.from_snapshot(living.to_snapshot()), now=living.now
    )


def test_a_loaded_job_is_created_now_with_a_class_of_the_cluster() -> None:
    living = kai.load(JOB, into=cluster().pending("vision/first", gpus=4, priority="rush"))
    order = kai.Scheduler().plan(living.cordon("n1")).order
    assert [turn.group for turn in order] == ["vision/first", "vision/pg-urgent"]
    assert order[1].priority == 90
    assert order[1].created is not None
    assert order[1].created.isoformat() == "2026-01-01T00:00:00+00:00"


def test_default_objects_are_not_added_again() -> None:
    before = cluster()
    living = kai.load(b"{kind: Node, metadata: {name: n2}}", into=before.copy())
    assert [queue["metadata"]["name"] for queue in living.objects["queues"]] == ["vision", "speech"]
    assert living.objects["priorityClasses"] == before.objects["priorityClasses"]
    assert len(living.objects["nodes"]) == 2


def test_an_object_replaces_one_with_its_name() -> None:
    node = b"{kind: Node, metadata: {name: n1}, status: {capacity: {nvidia.com/gpu: 6}}}"
    plan = kai.Scheduler().plan(kai.load(node, into=cluster()))
    assert plan.nodes["n1"].gpus == 6


def test_invalid_objects_are_rejected() -> None:
    broken = b"{kind: Node, metadata: {namespace: x}}"
    living = kai.load(broken, into=cluster())
    assert [each.field for each in living.rejected] == ["metadata.name"]
    assert living.copy().rejected == living.rejected
    with pytest.raises(kai.InvalidClusterError, match=r"metadata\.name"):
        kai.load(broken, into=cluster(), strict=True)


def test_a_snapshot_cannot_be_loaded_into_a_cluster(tmp_path: Path) -> None:
    cluster().save(tmp_path / "snapshot.zip")
    with pytest.raises(kai.InvalidInputError, match=r"only manifests can be added"):
        kai.load(tmp_path / "snapshot.zip", into=cluster())
