"""Outlines of pod groups agree with the groups themselves."""

import pytest

import kai
from kai.engine.outlines import Outline, groups_named, outlines


def plan() -> kai.Plan:
    cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a", deserved_gpus=1).queue("b")
    cluster.node("n1", gpus=2)
    cluster.running("b/loan", pods=2, gpus=1, node="n1").pending("a/small", gpus=1)
    cluster.pending("a/large", gpus=8).pending("a/gang", pods=1, gpus=1, min_member=2)
    return kai.Scheduler().plan(cluster)


def test_outlines_equal_the_groups_of_the_plan() -> None:
    made = plan()
    decisions = [(each.kind, each.pod.rsplit("-", 1)[0]) for each in made.decisions]
    found = list(outlines(made))
    assert [each.name for each in found] == list(made.pod_groups)
    for each in found:
        group = made.pod_groups[each.name]
        reason = group.reasons[0] if group.reasons else None
        assert each == Outline(
            group.name,
            group.verdict,
            reason.code if reason else "",
            reason.message if reason else "",
            *(decisions.count((kind, each.name)) for kind in ("bind", "pipeline", "evict")),
        )
    assert len({each.verdict for each in found}) >= 3


def test_running_groups_without_decisions_are_listed_only_by_name() -> None:
    cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a").node("n1", gpus=3)
    for name in ("a/one", "a/two"):
        cluster.running(name, pods=1, gpus=1, node="n1")
    cluster.pending("a/fits", gpus=1).pending("a/large", gpus=8)
    made = kai.Scheduler().plan(cluster)
    assert [each.name for each in outlines(made)] == ["a/fits", "a/large", "a/one", "a/two"]
    assert [each.name for each in outlines(made, ["a/two", "a/none"])] == [
        "a/fits", "a/large", "a/two",
    ]  # fmt: skip
    assert [each.name for each in outlines(made, [])] == ["a/fits", "a/large"]


def test_groups_are_read_by_name() -> None:
    made = plan()
    names = ["a/large", "b/loan"]
    found = groups_named(made, names)
    assert [each.name for each in found] == names
    assert found[0] == made.pod_groups["a/large"]
    assert groups_named(made, []) == []
    with pytest.raises(KeyError):
        groups_named(made, ["a/nothing"])
