"""Fixes that request less: the largest request that starts the group; one unit more does not."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
import yaml
from proven import fixes, plan_of

import kai
from kai.engine import requests
from kai.engine.fixing.trials import starts_in

MIB = 2**20


def nodes() -> kai.Cluster:
    """A small node and a large one."""
    cluster = kai.Cluster().queue("a")
    return cluster.node(
        "small",
        gpus=2,
        cpus=8,
        memory="32Gi",
        gpu_memory_mib=40_000,
        resources={"rdma/ib": 2, "ephemeral-storage": "50Gi"},
    ).node(
        "large",
        gpus=4,
        cpus=16,
        memory="64Gi",
        gpu_memory_mib=80_000,
        resources={"rdma/ib": 8, "ephemeral-storage": "100Gi"},
    )


@pytest.mark.parametrize(
    ("request_", "kind", "change", "more"),
    [
        ({"cpus": 20}, "cpus", "request 16 CPUs for each pod instead of 20", {"cpus": 17}),
        (
            {"memory": "100Gi"},
            "memory",
            "request 64 GiB of memory for each pod instead of 100 GiB",
            {"memory": "65Gi"},
        ),
        (
            {"resources": {"ephemeral-storage": "200Gi"}},
            "resources",
            "request 100 GiB of storage for each pod instead of 200 GiB",
            {"resources": {"ephemeral-storage": "101Gi"}},
        ),
        (
            {"resources": {"rdma/ib": 9}},
            "resources",
            "request 8 of rdma/ib for each pod instead of 9",
            {"resources": {"rdma/ib": 9}},
        ),
        (
            {"gpu_memory_mib": 100_000},
            "gpus",
            "request 80,000 MiB of a GPU for each pod instead of 100,000",
            {"gpu_memory_mib": 80_001},
        ),
        (
            {"gpu_fraction": 0.5, "gpu_devices": 6},
            "gpus",
            "request parts of 4 GPUs for each pod instead of 6",
            {"gpu_fraction": 0.5, "gpu_devices": 5},
        ),
    ],
)
def test_a_pod_larger_than_any_node_requests_what_the_largest_has(
    request_: Any, kind: str, change: str, more: Any
) -> None:
    assert fixes(nodes().pending("a/new", **request_), "a/new")[kind].changes == (change,)
    assert not starts_in(plan_of(nodes().pending("a/new", **more)), "a/new")


@pytest.mark.parametrize(
    ("held", "wanted", "kind", "change"),
    [
        ({"cpus": 14}, {"cpus": 10}, "cpus", "request 8 CPUs for each pod instead of 10"),
        (
            {"memory": "60Gi"},
            {"memory": "40Gi"},
            "memory",
            "request 32 GiB of memory for each pod instead of 40 GiB",
        ),
        (
            {"resources": {"rdma/ib": 5}},
            {"resources": {"rdma/ib": 4}},
            "resources",
            "request 3 of rdma/ib for each pod instead of 4",
        ),
        (
            {"gpu_memory_mib": 40_000, "gpu_groups": ["g"]},
            {"gpu_memory_mib": 70_000},
            "gpus",
            "request 40,000 MiB of a GPU for each pod instead of 70,000",
        ),
        (
            {"gpu_fraction": 0.3, "gpu_groups": ["g"]},
            {"gpu_fraction": 0.9},
            "gpus",
            "request 0.7 of a GPU for each pod instead of 0.9",
        ),
    ],
)
def test_a_pod_requests_what_is_free(held: Any, wanted: Any, kind: str, change: str) -> None:
    cluster = nodes() if "gpu" not in str(held) else kai.Cluster().queue("a")
    if "gpu" in str(held):
        cluster.node("large", gpus=1, gpu_memory_mib=80_000)
    cluster.running("a/old", node="large", **held).pending("a/new", **wanted)
    assert fixes(cluster, "a/new")[kind].changes == (change,)


def test_the_memory_of_a_gpu_counts_in_hundreds_of_mib() -> None:
    cluster = kai.Cluster().queue("a").node("n1", gpus=1, gpu_memory_mib=81_559)
    cluster.running("a/old", gpu_memory_mib=20_000, gpu_groups=["g"], node="n1")
    fix = fixes(cluster.pending("a/new", gpu_memory_mib=70_000), "a/new")["gpus"]
    assert fix.changes == ("request 61,500 MiB of a GPU for each pod instead of 70,000",)


def test_less_than_one_core_is_requested_in_tenths() -> None:
    cluster = kai.Cluster().queue("a").node("n1", cpus=4).running("a/old", cpus="3.3", node="n1")
    cluster.pending("a/new", cpus=2)
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 0.7 CPUs for each pod instead of 2",)
    assert "cpu: 700m" in "\n".join(fix.how)


def test_all_pods_of_a_gang_fit_with_the_smaller_request() -> None:
    cluster = nodes().pending("a/new", pods=6, cpus=6, min_member=6)
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 4 CPUs for each pod instead of 6",)


def test_a_queue_has_so_much_left_for_each_pod() -> None:
    cluster = kai.Cluster().queue("a", cpu_limit=8).node("n1", cpus=32)
    cluster.running("a/old", cpus=2, node="n1").pending("a/new", pods=2, cpus=8, min_member=2)
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 3 CPUs for each pod instead of 8",)


def test_an_init_container_requests_less() -> None:
    """A pod needs what its largest init container needs."""
    init = {
        "name": "prepare",
        "resources": {"requests": {"nvidia.com/gpu": "6"}, "limits": {"nvidia.com/gpu": "6"}},
    }
    cluster = nodes().pending("a/new", gpus=1, pod_spec={"initContainers": [init]})
    fix = fixes(cluster, "a/new")["gpus"]
    assert fix.changes == ("request 4 GPUs for each pod instead of 6",)
    assert yaml.safe_load("\n".join(fix.how))["spec"] == {
        "initContainers": [
            {
                "name": "prepare",
                "resources": {"limits": {"nvidia.com/gpu": 4}, "requests": {"nvidia.com/gpu": 4}},
            }
        ]
    }


def test_containers_get_less_in_proportion() -> None:
    containers = [
        {"name": name, "resources": {"requests": {"cpu": cpus}}}
        for name, cpus in (("proxy", "1"), ("main", "18"), ("log", "500m"))
    ]
    cluster = nodes().pending("a/new", pod_spec={"containers": containers})
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 16 CPUs for each pod instead of 19.5",)
    assert yaml.safe_load("\n".join(fix.how))["spec"]["containers"] == [
        {"name": name, "resources": {"requests": {"cpu": cpus}}}
        for name, cpus in (("proxy", "800m"), ("main", "14800m"), ("log", "400m"))
    ]


@pytest.mark.parametrize(
    ("resource", "before", "room", "after"),
    [
        ("cpu", ("8", "20"), 8, ["2", "6"]),
        ("cpu", ("100m", "20"), 8, ["40m", "7960m"]),
        ("memory", ("1Gi", "63Gi"), 2**35, ["512Mi", "32256Mi"]),
        ("nvidia.com/gpu", ("1", "8", "0"), 4, ["1", "3", "0"]),
        ("nvidia.com/gpu", ("1", "8"), 1, None),
    ],
)
def test_no_container_gets_nothing(
    resource: str, before: tuple[str, ...], room: int, after: list[str] | None
) -> None:
    """One with 0 CPUs would be started, and starve."""
    containers = [{"resources": {"requests": {resource: each}}} for each in before]
    less = requests.capped({"spec": {"containers": containers}}, resource, Fraction(room))
    found = less and [
        each["resources"]["requests"][resource] for each in less["spec"]["containers"]
    ]
    assert found == after


def test_pods_of_several_shapes_are_shown_one_by_one() -> None:
    cluster = nodes()
    for name, cpus in (("head", "20"), ("worker", "24"), ("log", "1")):
        container = {"name": name, "resources": {"requests": {"cpu": cpus}}}
        spec: Any = {"containers": [container]}
        cluster.pending("a/new", min_member=3, labels={"role": name}, pod_spec=spec)
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 8 CPUs for each pod instead of up to 24",)
    assert [line for line in fix.how if line.startswith("#")] == [
        "# pods of Job a/new like a/new-0",
        "# pods of Job a/new like a/new-1",
    ]


def test_one_mig_profile_replaces_another() -> None:
    def slices(count: int, profile: str) -> dict[str, int]:
        return {f"nvidia.com/mig-{profile}": count}

    cluster = kai.Cluster().queue("a")
    labels = {"nvidia.com/mig.strategy": "mixed", "node-role.kubernetes.io/mig-enabled": "true"}
    cluster.node("n1", labels=labels, resources=slices(2, "1g.10gb"))
    cluster.pending("a/new", resources=slices(1, "1g.5gb")).pending(
        "a/many", resources=slices(3, "1g.10gb")
    )
    fix = fixes(cluster, "a/new")["gpus"]
    assert fix.changes == (
        "request nvidia.com/mig-1g.10gb instead of nvidia.com/mig-1g.5gb in Job a/new",
    )
    fewer = fixes(cluster, "a/many")["resources"]
    assert fewer.changes == ("request 2 of nvidia.com/mig-1g.10gb for each pod instead of 3",)


def test_nodes_are_added_where_cpus_or_memory_lack() -> None:
    cluster = kai.Cluster().queue("a").nodes("n", 2, cpus=16, memory="64Gi")
    cluster.pending("a/cpus", pods=12, cpus=5, min_member=12)
    cluster.pending("a/memory", pods=8, memory="30Gi", min_member=8)
    assert fixes(cluster, "a/cpus")["nodes"].changes == ("add 2 nodes like n1",)
    assert fixes(cluster, "a/memory")["nodes"].changes == ("add 2 nodes like n1",)


def test_two_resources_that_lack_are_two_changes_as_small_as_they_can_be() -> None:
    cluster = nodes().pending("a/new", gpus=6, cpus=20)
    assert [fix.changes for fix in plan_of(cluster).fix("a/new")] == [
        (
            "request 16 CPUs for each pod instead of 20",
            "request 4 GPUs for each pod instead of 6",
        )
    ]


def test_limits_of_cpus_stay_and_those_of_devices_follow() -> None:
    amounts = {"cpu": "20", "rdma/ib": "9"}
    container = {"name": "m", "resources": {"requests": amounts, "limits": {**amounts}}}
    cluster = nodes().pending("a/new", pod_spec={"containers": [container]})
    [fix] = plan_of(cluster).fix("a/new")
    assert fix.kinds == ("cpus", "resources")
    pod = fix.apply(cluster).objects["pods"][0]
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "16", "rdma/ib": "8"},
        "limits": {"cpu": "20", "rdma/ib": "8"},
    }


def test_a_sidecar_keeps_what_it_requests() -> None:
    def container(name: str, cpus: str, **fields: str) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": cpus}}, **fields}

    spec: Any = {
        "containers": [container("main", "10")],
        "initContainers": [container("log", "4", restartPolicy="Always"), container("get", "14")],
    }
    cluster = nodes().pending("a/new", pod_spec=spec)
    fix = fixes(cluster, "a/new")["cpus"]
    assert fix.changes == ("request 16 CPUs for each pod instead of 18",)
    assert yaml.safe_load("\n".join(fix.how))["spec"] == {
        "initContainers": [{"name": "get", "resources": {"requests": {"cpu": 12}}}]
    }


def test_pods_request_fewer_gpus_of_amd() -> None:
    cluster = kai.Cluster().queue("a").node("n1", resources={"amd.com/gpu": 4})
    container = {"name": "main", "resources": {"limits": {"amd.com/gpu": 8}}}
    metadata = {"name": "new", "namespace": "a", "labels": {"kai.scheduler/queue": "a"}}
    spec = {"schedulerName": "kai-scheduler", "containers": [container]}
    pod = {"kind": "Pod", "metadata": metadata, "spec": spec}
    kai.load(json.dumps(pod).encode(), into=cluster)
    fix = fixes(cluster, "a/pg-new")["gpus"]
    assert fix.changes == ("request 4 GPUs for each pod instead of 8",)
    assert "        amd.com/gpu: 4" in fix.how
