"""The scores of nodes for one pod: the node of the plan has the highest sum."""

import json
import pickle
import random

import numpy as np
import pytest

import kai

NOW = "2026-01-01T00:00:00Z"


def three_nodes() -> kai.Cluster:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=8)
    cluster.running("a/old", pods=4, gpus=1, node="n2").running("a/full", gpus=8, node="n3")
    return cluster.pending("a/x", pods=2, gpus=1)


def plan_of(cluster: kai.Cluster, **options: object) -> kai.Plan:
    return kai.Scheduler(**options).plan(cluster)  # type: ignore[arg-type]


def random_cluster(draw: random.Random) -> kai.Cluster:
    cluster = kai.Cluster(now=NOW).queue("a").queue("b")
    nodes = draw.randint(2, 8)
    for i in range(nodes):
        cluster.node(f"n{i}", gpus=draw.choice((0, 2, 4, 8)), cpus=draw.choice((16, 32)))
    for i in range(draw.randint(0, 6)):
        gpus, node = draw.randint(0, 2), f"n{draw.randrange(nodes)}"
        cluster.running(f"a/old{i}", gpus=gpus, cpus=draw.randint(1, 4), node=node)
    for i in range(draw.randint(1, 6)):
        asked = draw.choice(({"gpus": draw.randint(0, 4)}, {"gpu_fraction": 0.5}))
        cluster.pending(f"b/{i}", pods=draw.randint(1, 3), cpus=draw.randint(1, 8), **asked)
    return cluster


@pytest.mark.parametrize("seed", range(30))
def test_the_first_of_the_highest_sums_is_the_node_of_the_plan(seed: int) -> None:
    draw = random.Random(seed)
    strategy = draw.choice(("binpack", "spread"))
    config = {"plugins": {"nodeplacement": {"gpu": strategy, "cpu": strategy}}}
    plan = plan_of(random_cluster(draw), config=config)
    placed = [each for each in plan.decisions if not isinstance(each, kai.Evict)]
    for each in placed[:6]:
        scores = plan.scores(each.pod)
        assert scores.moment == "placement"
        highest = max(row.sum for row in scores.values())
        first = min(node for node, row in scores.items() if row.sum == highest)
        assert (first, scores.chosen) == (each.node, each.node)
        for row in scores.values():
            total = 0.0
            for plugin in scores.plugins:
                total += row.by_plugin[plugin]
            assert row.sum == total


@pytest.mark.parametrize("seed", range(15))
def test_before_the_plan_nodeplacement_follows_its_formula(seed: int) -> None:  # spec 3 W3
    draw = random.Random(seed)
    cluster = kai.Cluster(now=NOW).queue("a")
    free = {}
    for i in range(draw.randint(2, 6)):
        used = draw.randint(0, 7)
        cluster.node(f"n{i}", gpus=8)
        free[f"n{i}"] = 8 - used
        for j in range(used):
            cluster.running(f"a/n{i}-{j}", gpus=1, node=f"n{i}")
    scores = plan_of(cluster.pending("a/x", pods=3, gpus=1)).scores("a/x-1", at="start")
    least, most = min(free.values()), max(free.values())
    for node, row in scores.items():
        packed = 9.0 if least == most else 9 * (1 - (free[node] - least) / (most - least))
        assert row.by_plugin["nodeplacement"] == pytest.approx(packed)
    assert [*scores] == sorted(free, key=lambda node: (free[node], node))


def test_rows_are_nodes_and_columns_are_plugins() -> None:
    scores = plan_of(three_nodes()).scores("a/x-0")
    assert [*scores] == ["n2", "n1"], "n3 is full"
    assert scores.searched == 3
    assert scores.sum == {"n2": 1004.5, "n1": 1000}
    assert scores["n2"].by_plugin["nodeplacement"] == 4.5  # 9 * (1 - 4 / 8)
    assert scores["n2"].now
    assert scores.difference("n1", "n2") == {"nodeplacement": -4.5}
    assert scores.get("n3") is None
    with pytest.raises(kai.NotFoundError, match=r"node 'n3' has no scores: .* does not fit there"):
        scores["n3"]


def test_at_the_start_no_pod_has_been_placed() -> None:
    plan = plan_of(three_nodes())
    assert plan.scores("a/x-1").sum["n2"] == 1005.625  # 9 * (1 - 3 / 8), after x-0
    first = plan.scores("a/x-1", at="start")
    assert (first.sum["n2"], first.moment, first.chosen) == (1004.5, "start", "n2")
    with pytest.raises(kai.InvalidInputError, match="at: expected 'placement' or 'start'"):
        plan.scores("a/x-1", at="end")  # type: ignore[arg-type]


def test_a_pod_that_waits_has_the_scores_of_the_start() -> None:
    cluster = three_nodes().queue("none", gpu_limit=0).pending("none/y", gpus=1)
    plan = plan_of(cluster.pending("a/huge", gpus=9))
    scores = plan.scores("none/y-0")
    assert (scores.moment, scores.chosen, [*scores]) == ("start", None, ["n2", "n1"])
    assert str(scores).startswith("none/y-0 gets no place in this plan; before the plan, 2 of 3")
    huge = plan.scores("a/huge-0")
    assert (len(huge), huge.searched) == (0, 3)
    assert " ".join(str(huge).split()) == (
        "a/huge-0 gets no place in this plan; before the plan, no node that was searched can run it"
    )
    with pytest.raises(kai.InvalidInputError, match="pod a/huge-0 gets no place in this plan, so"):
        plan.scores("a/huge-0", at="placement")


def test_in_a_topology_domain_only_its_nodes_are_searched() -> None:
    cluster = kai.Cluster(now=NOW).topology("site", rack="example.com/rack").queue("a")
    for i in range(4):
        cluster.node(f"n{i}", gpus=2, labels={"example.com/rack": f"r{i // 2}"})
    cluster.running("a/old", gpus=1, node="n3")
    cluster.pending("a/x", pods=3, gpus=1, min_member=3, topology="site", required_level="rack")
    cluster.pending("a/y", gpus=2, topology="site", preferred_level="rack")
    plan = plan_of(cluster)
    required = plan.scores("a/x-0")
    assert (required.searched, {*required}) == (2, {"n2", "n3"})
    assert len(plan.scores("a/x-0", at="start")) == 4
    preferred = plan.scores("a/y-0")
    assert preferred["n0"].by_plugin["topology"] > 0  # spec 4 S1


def test_a_kept_promise_searches_one_node() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 2, gpus=1)
    cluster.running("a/low", gpus=1, priority=10, node="n2").running("a/top", gpus=1, node="n1")
    cluster.pending("a/high", gpus=1, priority=90)
    scheduler = kai.Scheduler()
    first = scheduler.plan(cluster)
    node = first.scores("high-0").chosen
    assert not first.scores("high-0")[str(node)].now, "a victim has to leave first"
    evicted = first.evictions[0].pod
    second = scheduler.plan(cluster.delete("Pod", evicted))
    kept = second.scores("high-0")
    assert (kept.searched, [*kept], kept.chosen) == (1, [node], node)


def test_functions_are_columns_of_their_own() -> None:
    @kai.policy.score
    def few_gpus(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> np.ndarray:
        return -1.0 * nodes.gpus

    @kai.policy.score
    def nodeavailability(pod: kai.policy.Pod, nodes: kai.policy.Nodes) -> np.ndarray:
        return nodes.gpus * 0.5

    cluster = kai.Cluster(now=NOW).queue("a").node("large", gpus=8).node("small", gpus=2)
    scores = plan_of(cluster.pending("a/x", gpus=1), policies=[few_gpus, nodeavailability]).scores(
        "a/x-0"
    )
    assert scores.plugins[-2:] == ("few_gpus", "nodeavailability 2")
    assert scores["large"].by_plugin["few_gpus"] == -8
    assert scores["large"].by_plugin["nodeavailability 2"] == 4
    assert scores.sum == {"small": 999, "large": 996}
    assert scores.chosen == "small"


def test_a_plan_keeps_its_scores_when_its_cluster_goes_on() -> None:
    cluster, scheduler = three_nodes(), kai.Scheduler()
    plan = scheduler.plan(cluster)
    before = plan.scores("a/x-1").to_dict()
    scheduler.plan(cluster.delete("Node", "n1").remove("a/old"))
    assert plan.scores("a/x-1").to_dict() == before
    assert plan.free_gpus["n1"] == 8  # the plan is made again
    assert plan.scores("a/x-1").to_dict() == before
    follows = scheduler.plan(cluster)
    assert follows.scores("a/x-1").to_dict() != before


def test_pods_that_need_no_node_are_refused_by_name() -> None:
    cluster = three_nodes().releasing("a/goes", gpus=1, node="n1").queue("b").pending("b/x")
    plan = plan_of(cluster.pending("b/one"))
    for name, message in {
        "a/old-0": "pod a/old-0 already runs on n2, and the plan does not move it",
        "a/goes-0": "pod a/goes-0 is being deleted on n1",
    }.items():
        with pytest.raises(kai.InvalidInputError, match=message):
            plan.scores(name)
    for name, message in {
        "a/xx-0": "there is no pod 'a/xx-0'; did you mean 'a/x-0'",
        "x-0": "'x-0' is the name of 2 pods: a/x-0, b/x-0",
        "a/x": "'a/x' is a pod group: name one of its pods, a/x-0, a/x-1",
    }.items():
        with pytest.raises(kai.NotFoundError, match=message):
            plan.scores(name)
    assert plan.scores("b/one").pod == "b/one-0", "the only pod of its group"


def test_a_pod_that_was_left_out_has_its_reason() -> None:
    broken = {"metadata": {"namespace": "a", "name": "bad"}, "spec": {"containers": 3}}
    plan = plan_of(three_nodes().add("Pod", broken))
    with pytest.raises(kai.NotFoundError, match="Pod a/bad was left out of the plan: spec"):
        plan.scores("a/bad")


def test_a_pickled_plan_has_no_scores() -> None:
    plan = pickle.loads(pickle.dumps(plan_of(three_nodes())))
    with pytest.raises(kai.InvalidInputError, match="pickled has no scores of nodes: plan the"):
        plan.scores("a/x-0")


def test_scores_as_tables() -> None:
    scores = plan_of(three_nodes()).scores("a/x-0")
    frame = scores.to_pandas()
    assert list(frame.index) == ["n2", "n1"]
    assert list(frame.columns) == [*scores.plugins, "sum", "now"]
    assert frame.loc["n2", "sum"] == 1004.5
    table = scores.to_arrow()
    assert table.column_names == ["node", *scores.plugins, "sum", "now"]
    assert table.column("sum").to_pylist() == [1004.5, 1000]
    assert json.loads(json.dumps(scores.to_dict()))["nodes"][0] == {
        "node": "n2",
        "sum": 1004.5,
        "now": True,
        "scores": dict(scores["n2"].by_plugin),
    }
    assert pickle.loads(pickle.dumps(scores)) == scores


def test_the_page_shows_what_differs() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 14, gpus=8).pending("a/x")
    cluster.node("plain").running("a/old", pods=2, gpus=1, node="n07")
    plan = plan_of(cluster.pending("a/gpu", gpus=1))
    assert str(plan.scores("gpu-0")).splitlines()[2:] == [
        "Scores",
        "  node          nodeplacement    sum",
        "  n07 (chosen)              9  1,009",
        *(f"  n{i:02}                       0  1,000" for i in (1, 2, 3, 4, 5, 6, 8, 9, 10)),
        "  and 4 more nodes; each node also has 1,000 from nodeavailability",
    ]
    tie = kai.Cluster(now=NOW).queue("a").nodes("n", 2).pending("a/x")
    assert "2 nodes have the highest sum: the first name decides" in str(plan_of(tie).scores("x-0"))
    assert "<table" in plan.scores("x-0")._repr_html_()


def test_the_chosen_node_is_always_shown() -> None:
    cluster = kai.Cluster(now=NOW).queue("a").nodes("n", 3, gpus=1)
    scores = plan_of(cluster.pending("a/x", pods=3, gpus=1)).scores("a/x-2", at="start")
    assert scores.chosen == "n3"
    assert [row[0] for row in scores.table(most=2).rows] == ["n1", "n3 (chosen)"]
