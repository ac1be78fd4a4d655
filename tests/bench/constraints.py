"""Workloads of our own: GPUs in parts, and pods that are choosy about nodes.

halves-500         500 nodes with 8 GPUs, and two waiting pods of half a GPU for each GPU
shapes-5000        5,000 nodes of five pools, and 8 waiting pods for each, of 20 shapes: GPUs,
                   CPUs, memory, node selectors and tolerations differ
anti-affinity-500  20 running pods a node, one of 25 of which says that no other of its service
                   may be near; one more of these waits
too-large-16384    zones of racks of 16 nodes with 8 GPUs, a quarter of them idle, and a gang that
                   is one pod larger than what any zone has left
scattered-16384    the same; every node has one GPU left, and the gang's pods want two
"""

from __future__ import annotations

from collections.abc import Callable

import kai

POOLS = 5
SHAPES = 20


def halves(nodes: int) -> kai.Cluster:
    cluster = kai.Cluster().queue("a", deserved_gpus=8 * nodes).nodes("n", nodes, gpus=8)
    for number in range(16 * nodes):
        cluster.pending(f"a/half-{number:05d}", cpus="100m", gpu_fraction=0.5)
    return cluster


def shapes(nodes: int) -> kai.Cluster:
    cluster = kai.Cluster().queue("a", deserved_gpus=8 * nodes)
    for number in range(nodes):
        pool = number % POOLS
        taints = [{"key": "pool", "value": "spot", "effect": "NoSchedule"}] if pool == 0 else []
        labels = {"pool": f"p{pool}"}
        cluster.node(f"n{number:05d}", gpus=8, cpus=128, labels=labels, taints=taints)
    tolerations = [{"key": "pool", "operator": "Exists"}]
    for number in range(8 * nodes):
        shape = number % SHAPES
        cluster.pending(
            f"a/job-{number:05d}",
            gpus=(1, 1, 1, 0)[shape % 4],
            cpus=1 + shape // 4,
            memory=f"{1 + shape}Gi",
            node_selector={"pool": f"p{shape % POOLS}"},
            tolerations=tolerations if shape % POOLS == 0 else [],
        )
    return cluster


def anti_affinity(nodes: int) -> kai.Cluster:
    cluster = kai.Cluster().queue("a", deserved_gpus=8 * nodes).nodes("n", nodes, gpus=8, cpus=64)
    names = [node["metadata"]["name"] for node in cluster.objects["nodes"]]
    for number, node in enumerate(names):
        others = {"pods": 20, "cpus": 1, "node": node, "labels": {"app": "other"}}
        if number % 25 == 0:
            others["pods"] = 19
            alone = {"labels": {"app": "single"}, "anti_affinity": {"app": "single"}}
            cluster.running(f"a/single-{number:05d}", cpus=1, node=node, **alone)
        cluster.running(f"a/others-{number:05d}", **others)
    waits = {"labels": {"app": "single"}, "anti_affinity": {"app": "single"}}
    return cluster.pending("a/waits", gpus=1, cpus=1, **waits)


def too_large(nodes: int) -> kai.Cluster:
    return _zones(nodes, idle=2).pending(
        "a/gang", pods=nodes // 4 + 1, min_member=nodes // 4 + 1, gpus=1, **IN_ONE_ZONE
    )


def scattered(nodes: int) -> kai.Cluster:
    return _zones(nodes, idle=1).pending("a/gang", pods=8, min_member=8, gpus=2, **IN_ONE_ZONE)


IN_ONE_ZONE = {"topology": "site", "required_level": "zone", "preferred_level": "rack"}


def _zones(nodes: int, idle: int) -> kai.Cluster:
    """Eight zones of racks of 16 nodes with 8 GPUs, all but so many in use."""
    cluster = kai.Cluster().queue("a", deserved_gpus=8 * nodes).topology("site", "zone", "rack")
    for number in range(nodes):
        labels = {"zone": f"z{number * 8 // nodes}", "rack": f"r{number // 16:04d}"}
        cluster.node(f"n{number:05d}", gpus=8, cpus=64, labels=labels)
        cluster.running(f"a/runs-{number:05d}", gpus=8 - idle, node=f"n{number:05d}", priority=100)
    return cluster


WORKLOADS: dict[str, Callable[[int], kai.Cluster]] = {
    "halves": halves,
    "shapes": shapes,
    "anti-affinity": anti_affinity,
    "too-large": too_large,
    "scattered": scattered,
}
