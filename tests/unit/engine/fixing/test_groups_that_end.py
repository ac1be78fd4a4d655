"""Which running groups would have to end: holders of any resource that a waiting group lacks."""

from __future__ import annotations

import pytest
from proven import fixes

import kai


def test_a_holder_of_cpus_ends_for_a_group_without_gpus() -> None:
    cluster = kai.Cluster().queue("a").node("n1", cpus=8).node("n2", cpus=8)
    cluster.running("a/small", cpus=3, node="n1").running("a/large", cpus=7, node="n2")
    fix = fixes(cluster.pending("a/new", cpus=6), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod group a/small (3 CPUs)",)


def test_a_group_that_holds_gpus_only_is_not_ended_for_cpus() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=8, cpus=8)
    cluster.running("a/gpus", gpus=4, cpus=0, node="n1").running("a/cpus", cpus=8, node="n1")
    fix = fixes(cluster.pending("a/new", gpus=2, cpus=2), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod group a/cpus (8 CPUs)",)


def test_a_holder_of_memory_ends() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=8, memory="64Gi")
    cluster.running("a/old", memory="48Gi", node="n1")
    fix = fixes(cluster.pending("a/new", gpus=1, memory="32Gi"), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod group a/old (48 GiB of memory)",)


def test_one_group_holds_gpus_and_another_one_cpus_of_the_same_node() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=2, cpus=8)
    cluster.running("a/gpus", gpus=2, cpus=0, node="n1").running("a/cpus", cpus=8, node="n1")
    fix = fixes(cluster.pending("a/new", gpus=2, cpus=4), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod groups a/cpus, a/gpus (2 GPUs, 8 CPUs)",)


def test_a_gang_ends_the_groups_that_free_most_places() -> None:
    cluster = kai.Cluster().queue("a")
    for number in (1, 2, 3):
        cluster.node(f"n{number}", cpus=8).running(f"a/r{number}", cpus=8, node=f"n{number}")
    fix = fixes(cluster.pending("a/new", pods=2, min_member=2, cpus=8), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod groups a/r1, a/r2 (16 CPUs)",)


@pytest.mark.parametrize("resource", ["nvidia.com/mig-3g.20gb", "rdma/ib"])
def test_a_holder_of_slices_or_other_devices_ends(resource: str) -> None:
    labels = {"nvidia.com/mig.strategy": "mixed"}
    cluster = kai.Cluster().queue("a").node("n1", cpus=64, labels=labels, resources={resource: 1})
    cluster.running("a/old", resources={resource: 1}, node="n1")
    fix = fixes(cluster.pending("a/new", resources={resource: 1}), "a/new")["end"]
    assert fix.changes == (f"end the running pods of pod group a/old (1 of {resource})",)


def test_what_a_group_holds_on_other_nodes_counts_too() -> None:
    """It ends everywhere; so a group that holds less in all comes first."""
    cluster = kai.Cluster().queue("a").node("n1", gpus=4).node("n2", gpus=4).node("n3", gpus=4)
    cluster.running("a/two", pods=2, gpus=3, node=["n1", "n2"])
    cluster.running("a/r1", gpus=1, node="n1").running("a/r2", gpus=1, node="n2")
    cluster.running("a/one", gpus=4, node="n3")
    fix = fixes(cluster.pending("a/new", gpus=3), "a/new")["end"]
    assert fix.changes == ("end the running pods of pod group a/one (4 GPUs)",)


def test_no_group_ends_where_nothing_lacks() -> None:
    cluster = (
        kai.Cluster().queue("a", cpu_limit=4).node("n1", cpus=8).running("a/old", cpus=3, node="n1")
    )
    assert "end" not in fixes(cluster.pending("a/new", cpus=3), "a/new")
