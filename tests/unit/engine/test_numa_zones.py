"""The NUMA zones of a plan, in Python."""

from typing import Any

import kai

PLUGINS = ("predicates", "proportion", "nodeavailability", "nodeplacement", "numa")
ALIGNED = {"tiers": [{"plugins": [{"name": name} for name in PLUGINS]}]}


def zones(**allocatable: str) -> dict[str, Any]:
    """A node "n" with two zones of these amounts; names are written with _ for . and __ for /."""
    resources = [
        {"name": name.replace("__", "/").replace("_", "."), "allocatable": n, "available": n}
        for name, n in allocatable.items()
    ]
    return {
        "metadata": {"name": "n"},
        "zones": [
            {"name": f"node-{number}", "type": "Node", "resources": resources} for number in (0, 1)
        ],
        "attributes": [
            {"name": "topologyManagerPolicy", "value": "restricted"},
            {"name": "topologyManagerScope", "value": "pod"},
        ],
    }


def planned(cluster: kai.Cluster, config: dict[str, Any] = ALIGNED) -> kai.Plan:
    return kai.Scheduler(config).plan(cluster, now="2026-01-01T00:00:00Z")


def test_a_decision_has_its_zones_and_their_amounts() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=8, cpus=32)
    cluster.add("NodeResourceTopology", zones(cpu="16", nvidia_com__gpu="4"))
    cluster.pending("a/x", gpus=6)
    plan = planned(cluster)
    [decision] = plan.decisions
    assert decision.to_dict() == {
        "kind": "bind",
        "pod": "a/x-0",
        "node": "n",
        "gpus": 6,
        "numa_zones": [
            {"zone": "node-0", "amount": {"nvidia.com/gpu": 4}},
            {"zone": "node-1", "amount": {"nvidia.com/gpu": 2}},
        ],
    }
    assert [zone.to_dict() for zone in plan.numa_zones_available["n"]] == [
        {"zone": "node-0", "amount": {"cpu": 16, "nvidia.com/gpu": 0}},
        {"zone": "node-1", "amount": {"cpu": 16, "nvidia.com/gpu": 2}},
    ]
    assert len({decision}) == 1  # it can still be a member of a set


def test_without_zones_or_without_the_plugin_decisions_have_no_zones() -> None:
    bare = kai.Cluster().queue("a").node("n", gpus=8).pending("a/x", gpus=6)
    [decision] = planned(bare).decisions
    assert "numa_zones" not in decision.to_dict()
    bare.add("NodeResourceTopology", zones(nvidia_com__gpu="4"))
    plan = planned(bare, {})
    assert "numa_zones" not in plan.decisions[0].to_dict()
    assert plan.numa_zones_available == {}


def test_invalid_zones_are_one_sentence_and_the_rest_is_planned() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=8).pending("a/x", gpus=6)
    cluster.add("NodeResourceTopology", zones(cpu="many"))
    plan = planned(cluster)
    assert [decision.kind for decision in plan.decisions] == ["bind"]
    [rejected] = plan.rejected
    assert (rejected.kind, rejected.name) == ("NodeResourceTopology", "n")
    assert rejected.field == "zones[0].resources[0].allocatable"


def test_a_pod_that_no_node_can_align_has_a_plain_explanation() -> None:
    cluster = kai.Cluster().queue("a").node("n", gpus=8)
    cluster.add("NodeResourceTopology", zones(nvidia_com__gpu="2"))
    cluster.pending("a/x", gpus=5)
    plan = planned(cluster)
    assert plan.pod_groups["a/x"].reasons[0].code == "no_matching_node"
    assert "1 node without NUMA zones that fit it" in plan.why("a/x")
