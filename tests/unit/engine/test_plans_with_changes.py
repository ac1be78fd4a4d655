"""An old plan made again with one change: another configuration, or swapped names of nodes."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

import kai
from kai import _core
from kai.engine import config
from kai.engine.decisions import Decisions

NOW = "2026-01-01T00:00:00Z"
NOW_NS = 1_767_225_600_000_000_000


def living(cluster: kai.Cluster) -> _core.Cluster:
    """A cluster that has been updated in place."""
    core = _core.load_snapshot(json.dumps(cluster.to_snapshot()).encode())
    core.upsert(json.dumps({"kind": "Queue", "metadata": {"name": "another"}}).encode())
    return core


def decided(plan: _core.Plan | None) -> dict[str, str]:
    assert plan is not None
    return {f"{each.kind} {each.pod}": getattr(each, "node", "") for each in Decisions(plan)}


def session(settings: Mapping[str, Any] | None = None) -> _core.Session:
    return _core.Session(configured(settings))


def configured(settings: Mapping[str, Any] | None = None) -> _core.Config:
    found: _core.Config = config.read("" if settings is None else json.dumps(settings))
    return found


@pytest.fixture
def deep() -> kai.Cluster:
    """F of docs/compatibility.md: the best of three comes last."""
    made = (
        kai.Cluster(now=NOW).queue("a").node("n", gpus=2).pending("a/second", gpus=1, priority=60)
    )
    made.pending("a/third", gpus=1, priority=50)
    return made.pending("a/first", gpus=1, priority=70)


def test_a_plan_is_repeated_with_another_configuration(deep: kai.Cluster) -> None:
    two = {"actions": "allocate", "queueDepthPerAction": {"allocate": 2}}
    core = living(deep)
    plan = session(two).plan(core, now_ns=NOW_NS)
    assert decided(plan).keys() == {"bind a/first-0", "bind a/second-0"}
    other = configured({**two, "compat": {"queue_depth": "kai"}})
    changed = plan.with_change(config=other)
    assert decided(changed).keys() == {"bind a/first-0", "bind a/third-0"}
    assert decided(plan.with_change()) == decided(plan)


def test_a_plan_is_repeated_after_its_cluster_changed(deep: kai.Cluster) -> None:
    core = living(deep)
    first = session()
    plan = first.plan(core, now_ns=NOW_NS)
    before = decided(plan)
    core.delete("Node", "n")
    assert decided(first.plan(core, now_ns=NOW_NS)) == {}
    assert decided(plan.with_change()) == before


def test_a_plan_is_repeated_with_swapped_node_names() -> None:
    """Of two equal nodes the first by name is used; a fuller one stays fuller."""
    empty = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=2).pending("a/x", gpus=1)
    alike = session().plan(living(empty), now_ns=NOW_NS)
    assert decided(alike) == {"bind a/x-0": "n1"}
    assert decided(alike.with_change(new_names=("n1", "n2"))) == {"bind a/x-0": "n1"}
    fuller = session().plan(living(empty.running("a/y", gpus=1, node="n2")), now_ns=NOW_NS)
    assert decided(fuller) == {"bind a/x-0": "n2"}
    assert decided(fuller.with_change(new_names=("n1", "n2"))) == {"bind a/x-0": "n1"}


def test_a_repeated_plan_can_be_read_and_repeated_again(deep: kai.Cluster) -> None:
    core = living(deep)
    plan = session().plan(core, now_ns=NOW_NS)
    changed = plan.with_change(config=configured({"actions": "reclaim"}))
    assert changed is not None
    core.delete("Node", "n")
    assert changed.counts()["waiting"] == 3
    assert decided(changed.with_change()) == {}
    assert len(changed.order()) == 3


def test_a_plan_that_was_computed_again_can_be_repeated(deep: kai.Cluster) -> None:
    core = living(deep)
    first = session()
    plan = first.plan(core, now_ns=NOW_NS)
    core.delete("Node", "n")
    first.plan(core, now_ns=NOW_NS)
    assert plan.pod_groups()  # it is made again, and has the same result
    assert decided(plan.with_change()) == decided(plan)


def test_an_unchanged_file_has_no_nodes_to_rename(deep: kai.Cluster) -> None:
    core = _core.load_snapshot(json.dumps(deep.to_snapshot()).encode())
    plan = session().plan(core, now_ns=NOW_NS)
    assert plan.with_change(new_names=("n", "m")) is None
    assert decided(plan.with_change()) == decided(plan)
