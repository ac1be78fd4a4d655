"""Groups with a topology constraint, from their description to the plan."""

import random

import pytest

import kai
from kai.sim import step

NOW = "2026-01-01T00:00:00Z"


def racks(*idle: int) -> kai.Cluster:
    """One node with this many GPUs in each rack."""
    cluster = kai.Cluster().topology("site", "rack").queue("a")
    for number, gpus in enumerate(idle, 1):
        cluster.node(f"n{number}", gpus=gpus, labels={"rack": f"r{number}"})
    return cluster


def placed(cluster: kai.Cluster, config: object = None) -> dict[str, str]:
    plan = kai.Scheduler(config).plan(cluster, now=NOW)  # type: ignore[arg-type]
    return {each.pod: each.node for each in plan.decisions if isinstance(each, kai.Bind)}


def test_levels_can_be_named_by_alias() -> None:
    cluster = kai.Cluster().topology("site", rack="example.com/rack").queue("a")
    cluster.node("n1", gpus=1, labels={"example.com/rack": "r1"})
    cluster.node("n2", gpus=2, labels={"example.com/rack": "r2"})
    cluster.pending("a/x", pods=2, gpus=1, min_member=2, topology="site", required_level="rack")
    assert placed(cluster) == {"a/x-0": "n2", "a/x-1": "n2"}


def test_a_waiting_group_has_the_best_domain_and_its_shortage() -> None:
    cluster = racks(3, 5, 4)
    cluster.pending("a/x", pods=4, gpus=2, min_member=4, topology="site", required_level="rack")
    plan = kai.Scheduler({"actions": "allocate"}).plan(cluster, now=NOW)
    assert (
        "It needs 8 GPUs in one rack; the best rack, r2, is 4 short, however empty it is."
        in plan.why("a/x")
    )
    [message] = plan.pod_groups["a/x"].messages
    assert "r2" in message


def test_the_best_domain_is_named_where_the_whole_cluster_has_too_little() -> None:
    cluster = racks(3, 5)
    cluster.pending("a/x", pods=4, gpus=2, min_member=4, topology="site", required_level="rack")
    plan = kai.Scheduler({"actions": "allocate"}).plan(cluster, now=NOW)
    assert "the best rack, r2, is 4 short" in plan.why("a/x")
    [message] = plan.pod_groups["a/x"].messages
    assert message.endswith("not enough resources in the cluster to allocate the job.")
    assert all(each.message == message for each in plan.pods.values())


def test_an_unknown_topology_and_level_are_named() -> None:
    cluster = racks(1).pending("a/x", gpus=1, topology="other", required_level="rack")
    assert "Requested topology other does not exist" in str(
        kai.Scheduler().plan(cluster, now=NOW).pod_groups["a/x"].messages
    )
    cluster = racks(1).pending("a/x", gpus=1, topology="site", required_level="row")
    [reason] = kai.Scheduler().plan(cluster, now=NOW).pod_groups["a/x"].reasons
    assert reason.code == "topology_too_small"
    assert "does not contain a level with this name" in reason.message


def test_invalid_topology_requests_are_listed() -> None:
    cluster = racks(1)
    cluster.pending("a/none", gpus=1, topology="site", required_level="rack", max_domains=2)
    cluster.pending(
        "a/less", gpus=1, topology="site", preferred_level="rack", min_domains=3, max_domains=2
    )
    cluster.pending("a/zero", gpus=1, topology="site", preferred_level="rack", min_domains=0)
    found = {each.name: str(each) for each in cluster.rejected}
    assert "preferredTopologyLevel, whose domains it counts" in found["a/none"]
    assert "is 2, less than the 3 that" in found["a/less"]
    assert "is not a number of domains: 1 or more" in found["a/zero"]


def test_pods_are_ranked_by_domain_and_keep_their_rank() -> None:
    cluster = racks(2, 2)
    cluster.pending("a/x", pods=3, gpus=1, min_member=3, topology="site", preferred_level="rack")
    plan = kai.Scheduler().plan(cluster, now=NOW)
    ranks = {each.node: [] for each in plan.decisions}  # type: ignore[union-attr,var-annotated]
    for each in plan.decisions:
        assert isinstance(each, kai.Bind)
        ranks[each.node].append(each.topology_rank)
    assert sorted(ranks["n1"] + ranks["n2"]) == [0, 1, 2]
    assert max(ranks["n1"]) < min(ranks["n2"])
    world = step(cluster.to_snapshot(), plan, now=NOW)
    found = {
        pod["metadata"]["name"]: pod["metadata"]["annotations"]
        for pod in world["rawObjects"]["pods"]
    }
    for each in plan.decisions:
        assert isinstance(each, kai.Bind)
        notes = found[each.pod.rpartition("/")[2]]
        assert notes["kai.scheduler/topology-rank"] == str(each.topology_rank)
        assert notes["kai.scheduler/topology-domain"] == each.topology_domain

    # A new pod gets the next rank, and a replacement of a lost pod gets its rank.
    later = kai.Cluster.from_snapshot(world).pending("a/x", gpus=1)
    [bind] = kai.Scheduler().plan(later, now=NOW).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.topology_rank == 3
    waiting = {pod["metadata"]["name"]: pod for pod in cluster.objects["pods"]}
    world["rawObjects"]["pods"] = [
        pod
        if pod["metadata"]["annotations"]["kai.scheduler/topology-rank"] != "1"
        else waiting[pod["metadata"]["name"]]
        for pod in world["rawObjects"]["pods"]
    ]
    [bind] = kai.Scheduler().plan(kai.Cluster.from_snapshot(world), now=NOW).decisions
    assert isinstance(bind, kai.Bind)
    assert bind.topology_rank == 1


def test_a_pod_without_a_topology_has_no_rank() -> None:
    [bind] = kai.Scheduler().plan(racks(1).pending("a/x", gpus=1), now=NOW).decisions
    assert "topology" not in bind.to_dict()


@pytest.mark.parametrize("seed", range(40))
def test_topology_after_node_events_equals_a_fresh_load(seed: int) -> None:
    draw = random.Random(seed)
    places = [{"zone": f"z{draw.randrange(2)}", "rack": f"r{draw.randrange(3)}"} for _ in range(8)]

    def node(cluster: kai.Cluster, number: int) -> None:
        labels = {key: value for key, value in places[number].items() if draw.random() < 0.9}
        cluster.node(f"n{number}", gpus=4, labels=labels)

    world = kai.Cluster().topology("site", "zone", "rack").queue("a")
    for number in range(5):
        node(world, number)
    for name in "xyz":
        level = draw.choice(["required_level", "preferred_level"])
        pods = draw.randint(1, 5)
        request = {level: draw.choice(["zone", "rack"])}
        world.pending(f"a/{name}", pods=pods, gpus=1, min_member=pods, topology="site", **request)
    scheduler = kai.Scheduler()
    for change in range(4):
        plan = scheduler.plan(world, now=NOW)
        snapshot = step(world.to_snapshot(), plan, now=NOW)
        nodes = snapshot["rawObjects"]["nodes"]
        if change == 0:
            nodes.pop(draw.randrange(len(nodes)))
        elif change == 1:
            nodes[draw.randrange(len(nodes))]["metadata"]["labels"]["rack"] = "elsewhere"
        world = kai.Cluster.from_snapshot(snapshot)
        if change == 2:
            node(world, 7)  # added to a cluster that was planned already
        fresh = world.to_snapshot()
        draw.shuffle(fresh["rawObjects"]["nodes"])
        fresh["rawObjects"]["topologies"].append(fresh["rawObjects"]["topologies"].pop(0))
        again = scheduler.plan(kai.Cluster.from_snapshot(fresh), now=NOW)
        assert scheduler.plan(world, now=NOW) == again
