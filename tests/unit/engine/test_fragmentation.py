"""F of plans and clusters, against its definition."""

import pickle
import random

import pytest

import kai

NOW = "2026-01-01T00:00:00Z"


def slow_fragment(
    cpus: float, idle: list[float], mix: list[tuple[int, float, float, int]]
) -> tuple[float, int]:
    """The definition, pod by pod: a sum over the mix, and the sum of weights."""
    total, weights = 0.0, 0
    for devices, portion, cores, weight in mix:
        usable = [part for part in idle if part >= portion - 1e-9]
        fits = devices > 0 and len(usable) >= devices and cpus >= cores
        total += weight * (sum(idle) - (sum(usable) if fits else 0))
        weights += weight
    return total, weights


def idle_of(node: kai.NodePlan) -> list[float]:
    return [*node.free_parts, *[1.0] * int(node.free_gpus)]


def random_cluster(draw: random.Random) -> kai.Cluster:
    cluster = kai.Cluster(now=NOW).queue("a")
    for i in range(draw.randint(1, 4)):
        cluster.node(f"n{i}", gpus=draw.choice((0, 1, 2, 4, 8)), cpus=draw.choice((4, 8, 32)))
    for i in range(draw.randint(1, 8)):
        request = draw.choice(({"gpus": draw.choice((0, 1, 2, 8))}, {"gpu_fraction": 0.3}))
        request = {**request, "cpus": draw.choice((1, 2, 8)), "pods": draw.randint(1, 4)}
        cluster.pending(f"a/{i}", **request)
    return cluster


@pytest.mark.parametrize("seed", range(40))
def test_plans_have_the_fragmentation_of_the_definition(seed: int) -> None:
    plan = kai.Scheduler().plan(random_cluster(random.Random(seed)))
    found = plan.fragmentation
    mix = [(pod.devices, pod.portion, pod.cpus, pod.weight) for pod in found.mix]
    whole = 0.0
    for name, node in plan.nodes.items():
        total, weights = slow_fragment(node.free_cpus, idle_of(node), mix)
        assert found.by_node[name] == pytest.approx(total / weights, abs=1e-8)
        whole += total / weights
    assert found.gpus == pytest.approx(whole, abs=1e-7)
    assert found.idle_gpus == pytest.approx(sum(sum(idle_of(n)) for n in plan.nodes.values()))
    assert 0 <= found.share <= 1


def test_the_example_of_the_page() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n", gpus=2, cpus=32)
    cluster.pending("a/seven-tenths", gpu_fraction=0.7)
    found = kai.Scheduler().plan(cluster).fragmentation.against("0.5 1 3, 2 1 1")
    assert (found.gpus, found.idle_gpus) == (0.55, 1.3)
    assert found.share == pytest.approx(0.423, abs=1e-3)
    assert "cannot use 0.55 of 1.3 idle GPUs (42 %)" in str(found)


def test_a_cluster_is_measured_before_and_a_plan_after_its_decisions() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n", gpus=8, cpus=64)
    cluster.pending("a/x", gpus=3).pending("a/y", gpus=3)
    plan = kai.Scheduler().plan(cluster)
    assert cluster.fragmentation().idle_gpus == 8
    assert cluster.fragmentation().gpus == 0
    assert (plan.fragmentation.idle_gpus, plan.fragmentation.gpus) == (2, 2)
    assert plan.fragmentation.mix == (kai.TypicalPod(3, weight=2),)


def test_the_nodes_are_measured_against_other_typical_pods() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n", gpus=8, cpus=64).pending("a/x", gpus=6)
    found = kai.Scheduler().plan(cluster).fragmentation
    assert found.gpus == 2
    given = found.against([kai.TypicalPod(2, weight=3), kai.TypicalPod(1, 0.5)])
    assert (given.gpus, given.idle_gpus) == (0, 2)
    assert found.against("2 1 1, 4 1 1").gpus == 1
    assert found.against("2 65 1").gpus == 2, "CPUs are too few"


def test_pods_that_are_bound_to_labels_cannot_use_other_nodes() -> None:
    cluster = kai.Cluster(now=NOW).queue("a")
    cluster.node("n", gpus=2, cpus=64, labels={"model": "a"})
    cluster.node("m", gpus=4, cpus=64, labels={"model": "b"})
    cluster.pending("a/x", gpus=8, node_selector={"model": "b"}).pending("a/y", gpus=1)
    found = cluster.fragmentation()
    assert [pod.weight for pod in found.mix] == [1, 1]
    assert found.by_node == {"m": 2, "n": 1}


def test_unschedulable_nodes_do_not_count() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=8).pending("a/x", gpus=16)
    cluster.cordon("n1")
    assert cluster.fragmentation().by_node == {"n2": 8}


def test_without_pods_mix_and_fragmentation_are_empty() -> None:
    found = kai.Scheduler().plan(kai.Cluster(now=NOW).queue("a").node("n", gpus=8)).fragmentation
    assert (found.gpus, found.idle_gpus, found.share, found.mix) == (0, 8, 0, ())


def test_a_pickled_plan_keeps_its_fragmentation() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").node("n", gpus=8).pending("a/x", gpus=3)
    plan = kai.Scheduler().plan(cluster)
    kept = pickle.loads(pickle.dumps(plan))
    assert kept.fragmentation == plan.fragmentation
    assert kept.fragmentation.against("8 1 1").gpus == 5
    assert "fragmentation" not in plan.to_dict()
    assert plan.fragmentation.to_dict() == {
        "gpus": plan.fragmentation.gpus,
        "idle_gpus": 5,
        "share": plan.fragmentation.share,
        "mix": [{"devices": 3, "portion": 1, "cpus": 0, "weight": 1}],
    }


@pytest.mark.parametrize(
    ("mix", "message"),
    [
        ("", "typical pods: '': expected GPUs, CPUs and weight, as in 0.5 4 30"),
        ("1 2", "typical pods: '1 2': expected GPUs, CPUs and weight, as in 0.5 4 30"),
        ("1 2 x", "typical pods: '1 2 x': expected GPUs, CPUs and weight, as in 0.5 4 30"),
        ("1.5 2 1", "typical pods: '1.5 2 1': GPUs are a whole number or less than 1"),
        ("-1 2 1", "typical pod: devices: expected a whole number from 0 to 1000, not -1"),
        ("inf 2 1", "typical pods: 'inf 2 1': GPUs are a whole number or less than 1"),
        ("1 nan 1", "typical pod: cpus: expected a number from 0 to 1000000, not nan"),
        ("1 1 0", "typical pod: weight: expected a whole number from 1 to 1000000000, not 0"),
        ([], "typical pods: expected at least one"),
        (["1 2 3"], "typical pods: expected kai.TypicalPod, not '1 2 3'"),
    ],
)
def test_an_invalid_mix_raises_one_sentence(mix: object, message: str) -> None:
    with pytest.raises(kai.InvalidInputError) as refused:
        kai.Cluster().node("n", gpus=1).fragmentation(mix)  # type: ignore[arg-type]
    assert str(refused.value) == message
