"""Policies written as functions decide like compiled ones, and row by row like with whole
tables."""

import random
from pathlib import Path
from typing import Any

import pytest

import kai

np = pytest.importorskip("numpy")

NOW = "2026-01-01T00:00:00Z"
FGD = Path(__file__).parents[2] / "examples" / "policies" / "fgd.py"
SEEDS = range(40)


def random_cluster(seed: int) -> kai.Cluster:
    """Nodes of several sizes and models, partly used, and waiting pods of every kind."""
    rng = random.Random(seed)
    cluster = kai.Cluster(now=NOW).queue("a", deserved_gpus=6).queue("b", deserved_gpus=6)
    sizes = []
    for i in range(rng.randint(3, 12)):
        sizes.append(rng.choice([0, 1, 2, 4, 8]))
        memory = rng.choice([40960, 81920])
        labels = {"model": rng.choice(["t4", "a100"])}
        cluster.node(
            f"n{i}", gpus=sizes[-1], cpus=rng.choice([8, 32]), labels=labels, gpu_memory_mib=memory
        )
    for i, size in enumerate(sizes):
        if size >= 2 and rng.random() < 0.5:
            group = {"gpu_fraction": rng.choice([0.2, 0.5, 0.7]), "gpu_groups": [f"g{i}"]}
            cluster.running(f"{rng.choice('ab')}/shares{i}", node=f"n{i}", cpus=1, **group)
        if size >= 4 and rng.random() < 0.5:
            cluster.running(
                f"{rng.choice('ab')}/holds{i}", node=f"n{i}", cpus=2, gpus=rng.choice([1, 2])
            )
    for i in range(rng.randint(5, 25)):
        request: dict[str, Any] = rng.choice(
            [
                {"gpus": rng.choice([1, 1, 2, 4])},
                {"gpu_fraction": rng.choice([0.1, 0.25, 0.5, 0.5, 0.9])},
                {"gpu_memory_mib": rng.choice([8000, 30000])},
                {"gpu_fraction": 0.5, "gpu_devices": 2},
                {},
            ]
        )
        if rng.random() < 0.3:
            request["node_selector"] = {"model": "a100"}
        if rng.random() < 0.2:
            request["priority"] = 75
        pods = rng.choice([1, 1, 3])
        cluster.pending(f"{rng.choice('ab')}/w{i}", pods=pods, cpus=rng.choice([1, 4]), **request)
    return cluster


def outcome(cluster: kai.Cluster, *policies: kai.policy.Policy, plugin: bool = False) -> Any:
    config = {"plugins": {"placementpolicy": {"policy": "fgd"}}} if plugin else {}
    plan = kai.Scheduler(config, policies=policies).plan(cluster, now=NOW)
    return plan.to_dict() | {"timing_ms": None, "warnings": None}


@pytest.mark.parametrize("seed", SEEDS)
def test_fgd_in_python_equals_compiled_fgd(seed: int) -> None:
    (fgd,) = kai.policy.load(FGD)
    cluster = random_cluster(seed)
    compiled = outcome(cluster, plugin=True)
    assert outcome(cluster, fgd) == compiled, f"seed {seed}"


def test_fgd_and_packing_differ_on_the_random_clusters() -> None:
    differ = [outcome(random_cluster(s)) != outcome(random_cluster(s), plugin=True) for s in SEEDS]
    assert sum(differ) > len(SEEDS) / 4


def a_score(pod: Any, nodes: Any) -> Any:
    """Depends on every column of the row, and on nothing else."""
    mixed = nodes.cpu_idle_milli * 3 + nodes.memory_idle_bytes // 2**28 * 7 + nodes.kind
    mixed += nodes.gpu_idle_milli @ np.arange(1, nodes.gpu_idle_milli.shape[1] + 1)
    mixed += nodes.pod_gpu_milli * 11 + pod.gpus * 13 + pod.cpu_milli
    card = np.where(nodes.gpu_idle_milli >= nodes.pod_gpu_milli[:, None], mixed[:, None] % 7, -1)
    return mixed % 101, card.argmax(1)


def a_filter(pod: Any, nodes: Any) -> Any:
    return (nodes.gpu_idle_milli.sum(1) + nodes.cpu_idle_milli + pod.gpus) % 5 != 0


@pytest.mark.parametrize("seed", SEEDS)
def test_row_wise_scores_equal_scores_of_the_whole_table(seed: int) -> None:
    cluster = random_cluster(seed)
    by_rows = outcome(cluster, kai.policy.score(a_score), kai.policy.filter(a_filter))
    whole = outcome(
        cluster,
        kai.policy.score(whole_table=True)(a_score),
        kai.policy.filter(whole_table=True)(a_filter),
    )
    assert by_rows == whole, f"seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_row_wise_scores_equal_scores_of_the_whole_table_after_events(seed: int) -> None:
    cluster = random_cluster(seed)
    by_rows = kai.Scheduler(policies=[kai.policy.score(a_score), kai.policy.filter(a_filter)])
    whole = kai.Scheduler(
        policies=[
            kai.policy.score(whole_table=True)(a_score),
            kai.policy.filter(whole_table=True)(a_filter),
        ]
    )
    for i in range(3):
        plan = by_rows.plan(cluster, now=NOW)
        assert plan.decisions == whole.plan(cluster, now=NOW).decisions, f"seed {seed}, event {i}"
        cluster.pending(f"a/more{i}", gpus=1, pods=2).node(f"m{i}", gpus=2).remove(f"n{i}")


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_objects_does_not_matter(seed: int) -> None:
    policies = [*kai.policy.load(FGD), kai.policy.score(a_score)]
    snapshot = random_cluster(seed).to_snapshot()
    first = outcome(kai.Cluster.from_snapshot(snapshot), *policies)
    for objects in snapshot["rawObjects"].values():
        if objects:
            random.Random(seed).shuffle(objects)
    assert outcome(kai.Cluster.from_snapshot(snapshot), *policies) == first, f"seed {seed}"


# ---- orders of pod groups ------------------------------------------------------------------------

LEVELS = (300, 1200)  # seconds, or GPU-seconds


@kai.policy.pod_group_order
def las(groups: Any) -> Any:
    return np.searchsorted(LEVELS, groups.attained_s, side="right")


@kai.policy.pod_group_order
def las_by_gpu_time(groups: Any) -> Any:
    return np.searchsorted(LEVELS, groups.attained_gpu_s, side="right")


@kai.policy.pod_group_order
def srtf(groups: Any) -> Any:
    left = np.maximum(groups.estimate_s - groups.attained_s, 0)
    return np.where(np.isnan(left), 1e18, left)


ORDERS = {"las": las, "2d-las": las_by_gpu_time, "srtf": srtf}


def cluster_with_histories(seed: int) -> kai.Cluster:
    """Groups with estimates, and with service from before; some wait for more pods while they run.

    There is room for a part of what waits.
    """
    rng = random.Random(seed)
    cluster = kai.Cluster(now=NOW).queue("a", deserved_gpus=4).queue("b", deserved_gpus=4)
    cluster.nodes("n", 3, gpus=4, cpus=64)
    for i in range(rng.randint(6, 14)):
        group = f"{rng.choice('ab')}/g{i}"
        created = f"2025-12-31T{rng.randint(20, 22)}:{rng.randint(10, 59)}:00Z"
        request: dict[str, Any] = {"gpus": rng.choice([1, 1, 2, 3]), "created": created}
        request["priority"] = rng.choice([50, 50, 50, 75])
        if i < 4 and rng.random() < 0.6:
            cluster.running(group, node=f"n{rng.randint(1, 3)}", min_member=1, **request)
        if i >= 4 or rng.random() < 0.8:
            cluster.pending(group, pods=rng.choice([1, 1, 2]), min_member=1, **request)
    snapshot = cluster.to_snapshot()
    for group in snapshot["rawObjects"]["podGroups"]:
        notes = group["metadata"].setdefault("annotations", {})
        if rng.random() < 0.6:
            run = rng.choice([10, 299, 300, 700, 1200, 5000])
            until = rng.choice(["2025-12-31T23:00:00Z", "2025-12-31T23:58:00Z"])
            notes["kai.scheduler/attained-service"] = (
                f"run={run} gpu={run * rng.randint(1, 3)} evictions={rng.randint(0, 3)} "
                f"until={until}"
            )
        if rng.random() < 0.5:
            notes["kai.scheduler/last-start-timestamp"] = "2025-12-31T23:50:00Z"
        if rng.random() < 0.7:
            notes["kai.scheduler/run-time-estimate"] = f"{rng.choice([60, 400, 900, 9000])}s"
    return kai.Cluster.from_snapshot(snapshot)


def ordered(seed: int, *policies: kai.policy.Policy, order: str | None = None) -> Any:
    config: dict[str, Any] = {"actions": "allocate"}
    if order is not None:
        levels = ",".join(map(str, LEVELS))
        arguments = {"policy": order, "preempts": "false", "thresholds": levels}
        config["plugins"] = {"joborder": arguments}
    plan = kai.Scheduler(config, policies=policies).plan(cluster_with_histories(seed), now=NOW)
    return plan.to_dict() | {"timing_ms": None, "holds_until": None}


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_in_python_equals_the_compiled_one(order: str) -> None:
    differ = 0
    for seed in SEEDS:
        compiled = ordered(seed, order=order)
        assert ordered(seed, ORDERS[order]) == compiled, f"seed {seed}"
        differ += ordered(seed)["decisions"] != compiled["decisions"]
    assert differ > len(SEEDS) / 5, "the clusters cannot distinguish the order from KAI's"
