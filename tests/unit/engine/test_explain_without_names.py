"""Explanations for readers who may not see other pods: a number of groups and their queue."""

import re

import pytest
import yaml

import kai
from kai.engine.explain import why

NOW = "2026-01-01T00:00:00Z"
FIXED = {"kai.scheduler/movable": "false"}
STARTED = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: NAME
  namespace: a
  annotations: {kai.scheduler/last-start-timestamp: "2026-01-01T00:00:00Z"}
spec: {minMember: 1, queue: a}
"""


def both(cluster: kai.Cluster, name: str) -> tuple[str, str]:
    """The explanation with all names, and that without the names of other groups."""
    plan = kai.Scheduler().plan(cluster, now=NOW)
    return why(plan, name), why(plan, name, lambda other: False)


def full(*groups: str, gpus: int, **more: object) -> kai.Cluster:
    cluster = kai.Cluster().queue("a", deserved_gpus=1, **more).queue("q", deserved_gpus=1)
    cluster.node("n1", gpus=2)
    for each in groups:
        cluster.running(f"a/{each}", gpus=gpus, node="n1", priority=100)
    return cluster.pending("q/p", gpus=1)


@pytest.mark.parametrize(
    ("groups", "gpus", "sentence"),
    [
        (["x"], 2, "1 pod group of queue a holds 2 GPUs and is not preemptible."),
        (["x", "y"], 1, "2 pod groups of queue a hold 2 GPUs and are not preemptible."),
    ],
)
def test_holders_are_a_number_and_their_queue(groups: list[str], gpus: int, sentence: str) -> None:
    named, cut = both(full(*groups, gpus=gpus), "q/p")
    assert "a/x" in named
    assert "a/x" not in cut
    assert sentence in cut


@pytest.mark.parametrize("groups", [["low"], ["low", "too"]])
def test_protected_groups_have_their_end_without_a_name(groups: list[str]) -> None:
    cluster = kai.Cluster().queue("a", deserved_gpus=1, spec={"reclaimMinRuntime": "10m"})
    cluster.queue("q", deserved_gpus=1).node("n1", gpus=2)
    for each in groups:
        cluster.running(f"a/{each}", gpus=2 // len(groups), node="n1")
        cluster.upsert(yaml.safe_load(STARTED.replace("NAME", each)))
    named, cut = both(cluster.pending("q/p", gpus=1), "q/p")
    assert "a/low" in named
    assert not re.search(r"a/(low|too)", cut)
    end = {
        1: "protected until 2026-01-01T00:10:00Z (reclaimMinRuntime 10m).",
        2: "protected (reclaimMinRuntime 10m), the first until 2026-01-01T00:10:00Z.",
    }
    assert end[len(groups)] in cut


def test_the_group_that_gets_the_room_has_its_queue() -> None:
    cluster = kai.Cluster().queue("rich", deserved_gpus=2).queue("poor", deserved_gpus=2)
    cluster.node("n1", gpus=4).running("rich/old", gpus=2, node="n1")
    cluster.running("rich/young", pods=2, gpus=1, node="n1", min_member=1)
    named, cut = both(cluster.pending("poor/new", gpus=1), "rich/young")
    assert "1 pod makes room for poor/new: reclaim." in named
    assert "1 pod makes room for 1 pod group of queue poor: reclaim." in cut


def test_groups_that_are_not_moved_are_counted() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, gpus=2)
    for name, at in (("one", "n1"), ("two", "n2")):
        cluster.running(f"a/{name}", gpus=1, node=at, annotations=FIXED)
    named, cut = both(cluster.pending("a/big", gpus=2), "a/big")
    assert "Consolidation does not move a/one, a/two:" in named
    assert "Consolidation does not move 2 pod groups of queue a:" in cut


def test_the_right_to_name_a_group_is_checked_for_each() -> None:
    asked = []
    plan = kai.Scheduler().plan(full("x", gpus=2), now=NOW)
    assert "a/x holds" in why(plan, "q/p", lambda other: not asked.append(other))
    assert asked == ["a/x"]
