"""Causes beside free GPUs: shared claims, CPUs and memory, racks with cordons, missing partners."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml

import kai

DRIVER = "gpu.example.com"


def why(cluster: kai.Cluster, group: str = "q/p") -> list[str]:
    return [line.strip() for line in kai.Scheduler().plan(cluster).why(group).splitlines()[1:]]


# ---- pods that share the device of a claim -------------------------------------------------------


def sharing(*, devices: int = 1, pods: int = 2, limit: float = -1, **node: Any) -> kai.Cluster:
    """A gang whose pods use one claim with one GPU; n1 has no GPUs, n2 some."""
    spec = {
        "driver": DRIVER,
        "nodeName": "n2",
        "pool": {"name": "n2", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
    }
    cluster = kai.Cluster().queue("q", gpu_limit=limit)
    cluster.node("n1", cpus=16).node("n2", cpus=16, **node)
    cluster.add("DeviceClass", {"metadata": {"name": DRIVER}})
    cluster.add("ResourceSlice", {"metadata": {"name": "n2"}, "spec": spec})
    cluster.add("ResourceClaim", claim("c"))
    cluster.pending("q/p", pods=pods, cpus=4, min_member=pods)
    return using(cluster, {f"p-{number}": "c" for number in range(pods)})


def claim(name: str, **status: Any) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER}}
    metadata = {"name": name, "namespace": "q", "labels": {"kai.scheduler/queue": "q"}}
    return {
        "metadata": metadata,
        "spec": {"devices": {"requests": [request]}},
        "status": status,
    }


def using(cluster: kai.Cluster, claims: dict[str, str]) -> kai.Cluster:
    """The cluster, with pods whose specs name a claim."""
    snapshot = cluster.to_snapshot()
    for pod in snapshot["rawObjects"]["pods"]:
        if name := claims.get(pod["metadata"]["name"]):
            pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return kai.Cluster.from_snapshot(snapshot)


def held(cluster: kai.Cluster, pods: int) -> kai.Cluster:
    """Running pods share the only GPU of n2 through another claim."""
    device = {"request": "gpu", "driver": DRIVER, "pool": "n2", "device": "gpu-0"}
    reserved = [{"resource": "pods", "name": f"x-{i}", "uid": f"x-{i}"} for i in range(pods)]
    cluster.add(
        "ResourceClaim",
        claim("d", allocation={"devices": {"results": [device]}}, reservedFor=reserved),
    )
    cluster.running("q/x", pods=pods, node="n2")
    return using(cluster, {f"x-{number}": "d" for number in range(pods)})


def test_a_shared_gpu_is_one_gpu_in_the_table_of_decisions() -> None:
    plan = kai.Scheduler().plan(sharing())
    assert [row.split() for row in str(plan).splitlines() if "bind" in row] == [
        ["bind", "q/p", "2", "1", "n2"]
    ]
    assert plan.free_gpus["n2"] == 0


def test_a_node_loses_a_shared_gpu_once() -> None:
    cluster = held(sharing(devices=3), pods=2).pending("q/big", gpus=9)
    free = dict(kai.Scheduler().plan(cluster).situation.free)
    assert free == {0: 1, 1: 1}  # 3, one for the running pods, one for the gang


def test_what_pods_share_is_named_if_it_is_in_use() -> None:
    assert why(held(sharing(), pods=3))[:2] == [
        "It needs 1 GPU on one node, which its pods share through a claim; no GPU is free after"
        " this cycle.",
        "q/x holds 1 GPU and has no lower priority.",
    ]


def test_a_limit_counts_a_shared_gpu_for_each_pod() -> None:
    assert why(sharing(limit=1)) == [
        "It can never start in this queue: its pods count as 2 GPUs, as queues count the GPUs of a"
        " claim for each pod that uses it, but the limit of queue q is 1."
    ]


def test_a_cordoned_node_with_the_claimed_devices_is_named() -> None:
    assert why(sharing(cordoned=True)) == [
        "No node can take its pods now: node n2 cordoned, node n1 without GPUs."
    ]


def test_devices_that_no_selector_matches_are_counted_with_the_selector() -> None:
    selected = claim("c")
    expression = "device.driver == 'gpu.other.com'"
    exactly = selected["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": expression}}]
    cluster = sharing(devices=2, pods=1)
    snapshot = cluster.to_snapshot()
    snapshot["rawObjects"]["resourceClaims"] = [selected]
    lines = why(kai.Cluster.from_snapshot(snapshot))
    assert lines == [
        "No node can take the next pod: 1 node without free devices for its claims.",
        "Node n2 has 2 devices, none in use.",
        f"Claim q/c selects devices with: {expression}",
    ]


# ---- CPUs, memory and slices ---------------------------------------------------------------------


def busy(**pod: Any) -> kai.Cluster:
    cluster = kai.Cluster().queue("q").node("n1", gpus=4, cpus=16, memory="64Gi")
    return cluster.running("q/x", node="n1", **pod)


@pytest.mark.parametrize(
    ("running", "waiting", "needs", "holds"),
    [
        ({"cpus": 10}, {"cpus": 8}, "8 CPUs; node n1 comes nearest, with 6 free", "10 CPUs"),
        (
            {"memory": "60Gi"},
            {"memory": "8Gi"},
            "8 GiB of memory; node n1 comes nearest, with 4 GiB free",
            "60 GiB of memory",
        ),
    ],
)
def test_a_shortage_names_the_nearest_node_and_the_holders(
    running: dict[str, Any], waiting: dict[str, Any], needs: str, holds: str
) -> None:
    cluster = busy(gpus=1, **running).pending("q/p", gpus=1, **waiting)
    first, *others = why(cluster)
    assert first.startswith("No node can take the next pod: 1 node short of free ")
    assert others == [f"It needs {needs}.", f"q/x holds {holds} and has no lower priority."]


def test_nodes_that_lack_more_have_no_part_in_a_shortage() -> None:
    cluster = busy(cpus=10).node("n2", gpus=1, cpus=16)
    cluster.running("q/full", node="n2", gpus=1, cpus=15).pending("q/p", gpus=1, cpus=8)
    lines = why(cluster)
    assert "It needs 8 CPUs; node n1 comes nearest, with 6 free." in lines
    assert lines[-1] == "q/x holds 10 CPUs and has no lower priority."


def test_a_shortage_of_slices_has_holders() -> None:
    name = "nvidia.com/mig-1g.5gb"
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", labels={"nvidia.com/mig.strategy": "mixed"}, resources={name: 2})
    cluster.running("q/x", node="n1", resources={name: 2}, priority="build")
    assert why(cluster.pending("q/p", resources={name: 1}))[1:] == [
        f"It needs 1 of {name}; node n1 comes nearest, with 0 free.",
        f"q/x holds 2 of {name} and is not preemptible.",
    ]


def test_pods_with_gpu_memory_hold_a_part_of_a_gpu() -> None:
    cluster = kai.Cluster().queue("q").node("n1", gpus=1, gpu_memory_mib=16_000)
    cluster.running("q/x", node="n1", gpu_memory_mib=10_000, priority="build")
    assert why(cluster.pending("q/p", gpu_memory_mib=8_000)) == [
        "No GPU of a suitable node has 8,000 MiB left.",
        "q/x holds 0.63 GPUs and is not preemptible.",
    ]


def test_pods_of_no_group_hold_cpus_too() -> None:
    """A DaemonSet of another scheduler is not evicted."""
    cluster = busy(cpus=1)
    agent = {
        "metadata": {"name": "agent", "namespace": "kube-system"},
        "spec": {
            "schedulerName": "default-scheduler",
            "nodeName": "n1",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "11"}}}],
        },
        "status": {"phase": "Running"},
    }
    cluster.add("Pod", agent).pending("q/p", gpus=1, cpus=8)
    assert why(cluster)[1:] == [
        "It needs 8 CPUs; node n1 comes nearest, with 4 free.",
        "1 pod of no pod group (kube-system/agent) holds 11 CPUs and is not evicted.",
        "q/x holds 1 CPU and has no lower priority.",
    ]


def test_a_gang_that_does_not_fit_beside_its_first_pods_has_numbers() -> None:
    cluster = busy(cpus=10).pending("q/p", pods=2, gpus=1, cpus=4, min_member=2)
    assert why(cluster) == [
        "2 pods must start together, but there is room for 1: 1 node short of free CPUs.",
        "Each pod needs 4 CPUs; node n1 has the most free: 6.",
        "q/x holds 10 CPUs and has no lower priority.",
    ]


@pytest.mark.parametrize(
    ("request_", "amount"), [({"cpus": 4}, "4 CPUs"), ({"memory": "3Gi"}, "3 GiB of memory")]
)
def test_a_gang_that_empty_nodes_cannot_hold_never_starts(
    request_: dict[str, Any], amount: str
) -> None:
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", cpus=8, memory="8Gi").node("n2", cpus=8, memory="8Gi")
    cluster.running("q/x", cpus=2, node="n1").pending("q/p", pods=5, min_member=5, **request_)
    assert why(cluster) == [
        f"It can never start here: 5 pods that must start together need {amount} each, and empty"
        " nodes have room for 4."
    ]


def test_a_cordoned_node_may_hold_the_rest_of_a_gang_later() -> None:
    cluster = kai.Cluster().queue("q").node("n1", cpus=8).node("n2", cpus=8, cordoned=True)
    first = why(cluster.pending("q/p", pods=3, cpus=4, min_member=3))[0]
    assert first == (
        "3 pods must start together, but there is room for 2: node n2 cordoned, 1 node short of"
        " free CPUs."
    )


def test_slices_count_in_the_table_of_decisions_as_in_queues() -> None:
    name = "nvidia.com/mig-2g.10gb"
    cluster = kai.Cluster().queue("q")
    cluster.node("n1", labels={"nvidia.com/mig.strategy": "mixed"}, resources={name: 2})
    cluster.pending("q/p", resources={name: 1})
    for in_parts, gpus in ((False, "2"), (True, "0.286")):
        plan = kai.Scheduler().plan(cluster.configure(countMigAsParts=in_parts))
        row = next(row for row in str(plan).splitlines() if "bind" in row)
        assert row.split() == ["bind", "q/p", "1", gpus, "n1"]


def test_a_queue_at_its_fair_share_of_memory_cannot_reclaim() -> None:
    cluster = kai.Cluster().queue("a", deserved_memory="30Gi").queue("b", deserved_memory="30Gi")
    cluster.node("n1", memory="60Gi").running("a/x", node="n1", memory="35Gi")
    cluster.running("b/y", node="n1", memory="20Gi").pending("b/p", memory="15Gi")
    assert "a/x holds 35 GiB of memory; with more, queue b would exceed its fair share." in why(
        cluster, "b/p"
    )


# ---- topologies ----------------------------------------------------------------------------------


def racks(**second: Any) -> kai.Cluster:
    """Rack r1 with two nodes, and r2 with one."""
    cluster = kai.Cluster().topology("site", "example.com/rack").queue("q")
    rack = "example.com/rack"
    cluster.node("n1", gpus=4, labels={rack: "r1"}).node(
        "n2", gpus=4, labels={rack: "r1"}, **second
    )
    return cluster.node("n3", gpus=4, labels={rack: "r2"})


def gang(cluster: kai.Cluster) -> kai.Cluster:
    return cluster.pending(
        "q/p", pods=2, gpus=4, min_member=2, topology="site", required_level="example.com/rack"
    )


@pytest.mark.parametrize(
    ("second", "lacks"),
    [
        ({"cordoned": True}, "node n2 cordoned"),
        ({"taints": ["a=b:NoSchedule"]}, "node n2 with the taint a=b:NoSchedule"),
        ({"ready": False}, "node n2 not ready"),
    ],
)
def test_the_best_rack_is_named_with_what_keeps_pods_off_its_nodes(
    second: dict[str, Any], lacks: str
) -> None:
    plan = kai.Scheduler().plan(gang(racks(**second)))
    first = f"Its 2 pods must start in one rack; the best of 2 racks, r1, has room for 1: {lacks}."
    assert plan.why("q/p").splitlines()[1].strip() == first
    assert first in " ".join(str(plan).split())  # in the table of waiting groups
    assert first in pickle.loads(pickle.dumps(plan)).why("q/p")


def test_a_rack_that_lacks_cpus_does_not_lack_gpus() -> None:
    cluster = kai.Cluster().topology("site", "example.com/rack").queue("q")
    for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2")):
        cluster.node(name, gpus=4, cpus=16, labels={"example.com/rack": rack})
    cluster.running("q/x", node="n2", cpus=12, priority="build")
    cluster.pending(
        "q/p",
        pods=2,
        gpus=4,
        cpus=8,
        min_member=2,
        topology="site",
        required_level="example.com/rack",
    )
    assert why(cluster) == [
        "Its 2 pods must start in one rack; the best of 2 racks, r1, has room for 1: node n2 short"
        " of free CPUs.",
        "Each pod needs 8 CPUs; node n2 comes nearest, with 4 free.",
        "q/x holds 12 CPUs and is not preemptible.",
    ]


def test_the_holders_are_those_of_the_best_rack() -> None:
    cluster = racks().running("q/x", node="n2", gpus=2, priority="build")
    cluster.running("q/elsewhere", node="n3", gpus=3, priority="build")
    assert why(gang(cluster)) == [
        "It needs 8 GPUs in one rack; the best rack, r1, is 4 short.",
        "q/x holds 2 GPUs and is not preemptible.",
    ]


def test_the_holders_of_a_rack_may_leave_some_gpus_on_each_node() -> None:
    cluster = racks().running("q/x", node="n2", gpus=1, priority="build")
    cluster.pending(
        "q/p", pods=8, gpus=1, min_member=8, topology="site", required_level="example.com/rack"
    )
    assert why(cluster) == [
        "It needs 8 GPUs in one rack; the best rack, r1, is 1 short.",
        "q/x holds 1 GPU and is not preemptible.",
    ]


def test_a_rack_that_is_too_small_when_empty_says_so() -> None:
    cluster = racks(cordoned=True).pending(
        "q/p", pods=3, gpus=4, min_member=3, topology="site", required_level="example.com/rack"
    )
    assert why(cluster)[-1] == (
        "Its 3 pods must start in one rack; the best of 2 racks, r1, has room for 1, and for 2 if"
        " nothing ran there: node n2 cordoned."
    )


# ---- pods that must be near others ---------------------------------------------------------------


def near(labels: dict[str, str], **term: Any) -> dict[str, Any]:
    required = {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": "kubernetes.io/hostname",
        **term,
    }
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}


def pod(name: str, *, namespace: str = "q", node: str = "", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kai.scheduler/queue": "q", **labels},
        },
        "spec": {
            "schedulerName": "kai-scheduler",
            "containers": [{"name": "c", "image": "i"}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running" if node else "Pending"},
    }


def with_others(tmp_path: Path, *others: dict[str, Any], **term: Any) -> list[str]:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
    }
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "q"},
        "spec": {"resources": {"gpu": {"quota": 0, "limit": -1}}},
    }
    waits = pod("new")
    waits["spec"]["affinity"] = near({"app": "redis"}, **term)
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([node, queue, waits, *others]))
    return why(kai.load(file), "q/new")


NO_POD = "No pod of namespace q has app=redis, which its podAffinity requires"


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        pytest.param([], f"{NO_POD}; no pod has the label app.", id="no such label"),
        pytest.param(
            [pod("c", node="n1", app="redis-cache")],
            f"{NO_POD}; 1 pod has app=redis-cache.",
            id="a near value",
        ),
        pytest.param(
            [pod("c", node="n1", app="web"), pod("d", node="n1", app="web")],
            f"{NO_POD}; there is app=web (2).",
            id="other values",
        ),
        pytest.param(
            [pod("c", node="n1", namespace="other", app="redis")],
            f"{NO_POD}; other/c has, in another namespace.",
            id="another namespace",
        ),
        pytest.param(
            [{**pod("c", node="n1", app="redis"), "status": {"phase": "Succeeded"}}],
            f"{NO_POD}; no pod has the label app.",
            id="a pod that has ended",
        ),
    ],
)
def test_labels_that_no_pod_has_come_first(
    tmp_path: Path, others: list[dict[str, Any]], sentence: str
) -> None:
    assert with_others(tmp_path, *others)[0] == sentence


def test_a_partner_on_a_node_is_not_missing(tmp_path: Path) -> None:
    assert "podAffinity" not in " ".join(with_others(tmp_path, pod("c", node="n1", app="redis")))


def test_a_partner_on_a_node_that_is_excluded_is_named(tmp_path: Path) -> None:
    second = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n2", "labels": {"kubernetes.io/hostname": "n2"}},
        "spec": {"unschedulable": True},
        "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "10"}},
    }
    assert with_others(tmp_path, second, pod("c", node="n2", app="redis")) == [
        "No node can take the next pod: node n2 cordoned, 1 node not near the pods it must be"
        " near.",
        "It must be near a pod with app=redis (podAffinity, kubernetes.io/hostname): q/c on n2.",
    ]


def test_a_partner_that_waits_is_named(tmp_path: Path) -> None:
    waits = pod("c", app="redis")
    waits["spec"]["nodeSelector"] = {"no": "where"}
    assert with_others(tmp_path, waits)[0] == (
        "It must be near a pod with app=redis (podAffinity); q/c waits itself."
    )


def test_a_partner_that_is_missing_on_a_full_cluster_comes_first(tmp_path: Path) -> None:
    filler = pod("full", node="n1")
    filler["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "8"}}
    assert with_others(tmp_path, filler)[0] == f"{NO_POD}; no pod has the label app."


def test_the_table_of_waiting_groups_says_that_a_partner_is_missing() -> None:
    cluster = kai.Cluster().queue("q").node("n1").pending("q/p")
    snapshot = cluster.to_snapshot()
    [waits] = snapshot["rawObjects"]["pods"]
    waits["spec"]["affinity"] = near({"app": "redis"})
    plan = kai.Scheduler().plan(kai.Cluster.from_snapshot(snapshot))
    assert "No pod with the labels of its podAffinity runs on a node with its topologyKey." in (
        " ".join(str(plan).split())
    )


def test_a_partner_on_a_node_without_the_topology_key_is_not_missing(tmp_path: Path) -> None:
    first = with_others(tmp_path, pod("c", node="n1", app="redis"), topologyKey="zone")[0]
    assert first == (
        "It must be near a pod with app=redis (podAffinity), but the nodes of such pods do not have"
        " the label zone, its topologyKey: q/c on n1."
    )


def test_the_pods_that_repel_it_are_named() -> None:
    cluster = kai.Cluster().queue("q").node("n1", labels={"kubernetes.io/hostname": "n1"})
    snapshot = cluster.running("q/x", node="n1").pending("q/p").to_snapshot()
    for each in snapshot["rawObjects"]["pods"]:
        if each["metadata"]["name"] == "x-0":
            each["metadata"].setdefault("labels", {})["app"] = "redis"
        else:
            terms = near({"app": "redis"})["podAffinity"]
            each["spec"]["affinity"] = {"podAntiAffinity": terms}
    assert why(kai.Cluster.from_snapshot(snapshot)) == [
        "No node can take the next pod: 1 node near pods it must not be near.",
        "It must not be near pods with app=redis (podAntiAffinity, kubernetes.io/hostname): q/x-0"
        " on n1.",
    ]
