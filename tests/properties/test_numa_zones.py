"""In every plan, no NUMA zone gives more than it has, and zone policies hold.

Small random clusters, with zones of GPUs, pods that run in some of them, and pods that wait. The
test recomputes the plan's zones from its decisions alone.
"""

import json
import random
from collections import Counter
from typing import Any

import pytest

import kai

PLUGINS = (
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "nodeavailability",
    "resourcetype",
    "nodeplacement",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
    "numa",
)
CONFIG = {
    "actions": "allocate, consolidation, reclaim, preempt",
    "tiers": [{"plugins": [{"name": name} for name in PLUGINS]}],
}
GPU = "nvidia.com/gpu"
BARE = "reports no zones"


class World:
    """A random cluster, and the zones of its running pods."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.policy: dict[str, str] = {}
        self.capacity: dict[tuple[str, str], int] = {}  # by node and zone
        self.zones_of: dict[str, tuple[str, Counter[str]]] = {}  # by running pod
        self.gpus: dict[str, int] = {}
        self.cluster = kai.Cluster(name=f"seed {seed}")
        for queue in "ab":
            self.cluster.queue(queue, deserved_gpus=draw.randrange(8))
        for node in ("n1", "n2", "n3"):
            self._add_node(node, draw)
        for number in range(draw.randrange(8)):
            self._add_pod(f"{draw.choice('ab')}/run{number}", draw, waits=False)
        for number in range(1 + draw.randrange(5)):
            self._add_pod(f"{draw.choice('ab')}/wait{number}", draw, waits=True)

    def _add_node(self, node: str, draw: random.Random) -> None:
        count, each = draw.choice([(1, 4), (2, 2), (2, 4), (4, 1), (4, 2)])
        self.policy[node] = draw.choice(["single-numa-node", "restricted", "best-effort", BARE])
        self.cluster.node(node, gpus=count * each)
        if self.policy[node] == BARE:
            return
        amount = {"name": GPU, "allocatable": str(each), "available": str(each)}
        names = [f"node-{number}" for number in range(count)]
        self.capacity.update({(node, name): each for name in names})
        self.cluster.add(
            "NodeResourceTopology",
            {
                "metadata": {"name": node},
                "zones": [{"name": name, "type": "Node", "resources": [amount]} for name in names],
                "attributes": [{"name": "topologyManagerPolicy", "value": self.policy[node]}],
            },
        )

    def _add_pod(self, name: str, draw: random.Random, *, waits: bool) -> None:
        gpus = draw.choice([1, 1, 2, 2, 3, 4])
        options: dict[str, Any] = {"gpus": gpus, "priority": draw.choice([10, 50, 75])}
        self.gpus[f"{name}-0"] = gpus
        if waits:
            self.cluster.pending(name, **options)
            return
        node = draw.choice(sorted(self.policy))
        left = {
            zone: amount - sum(taken[zone] for at, taken in self.zones_of.values() if at == node)
            for (at_node, zone), amount in self.capacity.items()
            if at_node == node
        }
        taken: Counter[str] = Counter()
        for zone, amount in left.items():
            taken[zone] += min(amount, gpus - taken.total())
        if taken.total() < gpus:
            return
        taken = +taken
        record = [{"zone": zone, "amount": {GPU: str(n)}} for zone, n in taken.items()]
        key = draw.choice(["observed", "predicted"])
        notes = {f"kai.scheduler/numa-placement-{key}": json.dumps(record)}
        self.cluster.running(name, node=node, annotations=notes, **options)
        self.zones_of[f"{name}-0"] = (node, taken)


@pytest.mark.parametrize("as_kai", [False, True], ids=["default", "as-kai"])
@pytest.mark.parametrize("seed", range(150))
def test_zones_are_not_over_committed_and_policies_hold(seed: int, as_kai: bool) -> None:
    world = World(seed)
    scheduler = kai.Scheduler(CONFIG, as_kai=as_kai)
    plan = scheduler.plan(world.cluster, now="2026-01-01T00:00:00Z")
    zones_of = dict(world.zones_of)
    for decision in plan.decisions:
        if isinstance(decision, kai.Evict):
            zones_of.pop(decision.pod, None)
            continue
        taken = Counter({zone.zone: int(zone.amount[GPU]) for zone in decision.numa_zones})
        assert decision.pod not in zones_of
        zones_of[decision.pod] = (decision.node, taken)
        aligned = world.policy[decision.node] != BARE
        assert taken.total() == (world.gpus[decision.pod] if aligned else 0)
        if world.policy[decision.node] == "single-numa-node":
            assert len(taken) == 1
    used: Counter[tuple[str, str]] = Counter()
    for node, taken in zones_of.values():
        used.update({(node, zone): amount for zone, amount in taken.items()})
    assert {place: n for place, n in used.items() if n > world.capacity[place]} == {}
    left = {
        (node, zone.zone): zone.amount[GPU]
        for node, zones in plan.numa_zones_available.items()
        for zone in zones
    }
    assert left == {place: amount - used[place] for place, amount in world.capacity.items()}


def test_the_random_worlds_have_all_kinds_of_decisions() -> None:
    scheduler = kai.Scheduler(CONFIG)
    kinds = Counter(
        decision.kind
        for seed in range(60)
        for decision in scheduler.plan(World(seed).cluster, now="2026-01-01T00:00:00Z").decisions
    )
    assert min(kinds[kind] for kind in ("bind", "pipeline", "evict")) >= 5
