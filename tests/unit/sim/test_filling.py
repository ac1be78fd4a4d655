"""Filling an empty cluster with a placement policy, and the published figures of FGD."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

import kai
from kai.sim import openb

np = pytest.importorskip("numpy")
filling = pytest.importorskip("kai.sim.filling")

EXPECTED = openb.folder().parent / "openb_expected" / "analysis_allo_discrete.csv"
PUBLISHED = {
    "02-DotProd": "dot-product",
    "03-GpuClustering": "gpu-clustering",
    "04-GpuPacking": "gpu-packing",
    "05-BestFit": "best-fit",
    "06-FGD": "fgd",
}
needs_lists = pytest.mark.skipif(
    not EXPECTED.is_file(), reason=f"no published figures in {EXPECTED}; KAI_DATA names the folder"
)


def small(pods: int = 40) -> object:
    """Two nodes with two GPUs, one with eight; pods with half a GPU and with two."""
    nodes = np.array([[16_000, 65_536, 2, 0], [16_000, 65_536, 2, 0], [64_000, 262_144, 8, 1]])
    rows = [[1_000, 512, 1, 500, 0] if i % 3 else [4_000, 512, 2, 1000, 1] for i in range(pods)]
    return filling.FillCluster(
        node_names=("a", "b", "c"),
        nodes=nodes,
        pod_names=tuple(f"p-{i}" for i in range(pods)),
        pods=np.array(rows),
        constraints=((), (0, 1)),
    )


@pytest.mark.parametrize("policy", filling.POLICIES)
def test_no_node_holds_more_than_it_has(policy: str) -> None:
    cluster = small()
    filled = filling.fill(cluster, policy, seed=3)
    used = np.zeros((3, 3))
    for pod, node in zip(filled.pod, filled.node, strict=True):
        if node >= 0:
            cpu, memory, gpus, milli, constraint = cluster.pods[pod]
            used[node] += (cpu, memory, gpus * milli)
            assert constraint == 0 or node == 2
    assert (used <= cluster.nodes[:, :3] * [1, 1, 1000]).all()
    assert filled.used_milli[-1] == used[:, 2].sum()


def is_within(cluster: object, filled: object) -> bool:
    used = np.zeros((len(cluster.nodes), 3))
    for pod, node in zip(filled.pod, filled.node, strict=True):
        if node >= 0:
            cpu, memory, gpus, milli, _ = cluster.pods[pod]
            used[node] += (cpu, memory, gpus * milli)
    return bool((used <= cluster.nodes[:, :3] * [1, 1, 1000]).all())


def test_a_pod_is_moved_to_make_room_for_another() -> None:
    # Two nodes with one GPU each. One pod fits on both nodes, the other is restricted to the first.
    cluster = filling.FillCluster(
        node_names=("a", "b"),
        nodes=np.array([[8_000, 8_192, 1, 0], [8_000, 8_192, 1, 1]]),
        pod_names=("free", "bound"),
        pods=np.array([[1_000, 512, 1, 600, 0], [1_000, 512, 1, 600, 1]]),
        constraints=((), (1, 0)),
    )

    def placed(seed: int, *, migrate: bool) -> int:
        filled = filling.fill(cluster, "best-fit", seed=seed, demand=0, migrate=migrate)
        return int((filled.node >= 0).sum())

    assert min(placed(seed, migrate=False) for seed in range(20)) == 1, "some order blocks it"
    assert {placed(seed, migrate=True) for seed in range(20)} == {2}


@pytest.mark.parametrize("policy", ["fgd", "least-waste"])
@pytest.mark.parametrize("options", [{"migrate": True}, {"learn_every": 0.1}])
def test_with_migration_no_node_holds_more_than_it_has(
    policy: str, options: dict[str, object]
) -> None:
    cluster = small()
    for seed in range(5):
        filled = filling.fill(cluster, policy, seed=seed, **options)
        assert is_within(cluster, filled)
        request = cluster.pods[filled.pod[filled.node >= 0]]
        assert filled.used_milli[-1] == (request[:, 2] * request[:, 3]).sum()


def test_a_learnt_mix_has_only_arrived_pods() -> None:
    """Different pods at the end of the list do not change the placement of earlier pods."""
    cluster = small()
    first = filling.fill(cluster, "fgd", seed=1, demand=0, learn_every=0.05)
    half = len(first.pod) // 2
    late = first.pod[half:]
    cluster.pods[late, 3] = np.where(cluster.pods[late, 3] == 500, 400, cluster.pods[late, 3])
    again = filling.fill(cluster, "fgd", seed=1, demand=0, learn_every=0.05)
    assert (first.pod == again.pod).all()
    assert (first.node[:half] == again.node[:half]).all()


def test_figures_rise_with_demand_until_the_cluster_is_full() -> None:
    filled = filling.fill(small(), "fgd", seed=1)
    allocated = filled.allocated_percent()
    assert len(allocated) == 131
    assert np.nanmax(allocated) <= 100
    assert (np.diff(allocated[~np.isnan(allocated)]) >= 0).all()
    assert np.nanmin(filled.fragment_percent()) >= 0
    everything = np.ones(40, dtype=bool)
    assert filled.placed_percent(everything) == pytest.approx(100 * np.mean(filled.node >= 0))


def test_a_seed_gives_the_same_filling_again() -> None:
    first, again, other = (filling.fill(small(), "random", seed=seed) for seed in (5, 5, 6))
    assert first.node.tolist() == again.node.tolist()
    assert first.pod.tolist() != other.pod.tolist()


def test_errors_are_one_sentence() -> None:
    with pytest.raises(kai.InvalidInputError, match=r"policy 'worst-fit' is not one of best-fit"):
        filling.fill(small(), "worst-fit")
    cluster = small()
    cluster.pods[3, 3] = 5_000
    with pytest.raises(kai.InvalidInputError, match="a pod has an amount out of range"):
        filling.fill(cluster, "fgd")


def published() -> Iterator[tuple[str, str, int, list[float]]]:
    with Path(EXPECTED).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            figures = [float(row[str(k)]) if row[str(k)] else float("nan") for k in range(131)]
            workload = row["workload"].removeprefix("openb_pod_list_")
            yield workload, row["sc_policy"], int(row["seed"]), figures


@needs_lists
@pytest.mark.parametrize("workload", ["default", "gpuspec33", "multigpu30"])
def test_least_waste_allocates_more_gpus_than_fgd(workload: str) -> None:
    cluster = filling.openb_cluster(workload)
    own, fgd = (
        filling.fill(cluster, policy, seed=42).allocated_percent()
        for policy in ("least-waste", "fgd")
    )
    assert own[100] > fgd[100]
    assert np.nanmax(own) > np.nanmax(fgd) + 0.3


@needs_lists
@pytest.mark.parametrize("workload", ["default", "gpushare100", "multigpu50"])
def test_published_figures_are_reproduced_exactly(workload: str) -> None:
    cluster = filling.openb_cluster(workload)
    assert cluster.gpus == 6212
    runs = 0
    for name, policy, seed, figures in published():
        if name != workload or policy not in PUBLISHED or seed > 44:
            continue
        own = filling.fill(cluster, PUBLISHED[policy], seed=seed).allocated_percent()
        assert np.array_equal(own, figures, equal_nan=True), (policy, seed)
        runs += 1
    assert runs == 15
