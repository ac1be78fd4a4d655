"""After any events a cluster has the same plan as a newly loaded cluster with its objects.

The promises of a scheduler are carried over, as to a scheduler that is restarted.
"""

import copy
import json
import random
from typing import Any

import pytest
import test_numa_zones
from recorded_cases import first_of

import kai
from kai.api import keys, kinds
from kai.verify.cases import Case

NOW = "2026-01-01T00:00:00Z"
AREAS = ("allocate", "fairness", "mixed", "gpusharing", "topology", "subgroups", "second")
PER_AREA = 6
STEPS = 12
KINDS = {listed: kind for kind, listed in kinds.LISTS.items()}


class World:
    """A cluster that gets events, and its objects."""

    def __init__(self, snapshot: dict[str, Any], seed: str) -> None:
        self.random = random.Random(seed)
        self.past = random.Random(f"past {seed}")
        self.cluster = kai.Cluster.from_snapshot(snapshot)
        self.objects = [
            {"kind": KINDS[listed], **each}
            for listed, items in snapshot["rawObjects"].items()
            if listed in KINDS
            for each in items or ()
        ]

    def observed(self) -> dict[str, str]:
        """The node of a pod, or an invalid value."""
        amount = {"nvidia.com/gpu": str(self.random.randint(1, 2))}
        record = [{"zone": f"node-{self.random.randint(0, 2)}", "amount": amount}]
        text = json.dumps(record) if self.random.random() < 0.8 else "nonsense"
        return {keys.NUMA_OBSERVED_ANNOTATION: text}

    def use(self) -> str:
        """The past usage of queues changes."""
        queues = [e["metadata"]["name"] for e in self.objects if e["kind"] == "Queue"]
        parts = (0.0, 0.1, 0.3, 0.9)
        usage = {
            name: {each: self.past.choice(parts) for each in ("gpu", "cpu", "memory")}
            for name in queues
            if self.past.random() < 0.7
        }
        self.cluster.set_usage(usage)
        return f"usage is {usage}"

    def happen(self) -> str:
        """Applies one event, and returns its description."""
        if self.past.random() < 0.15:
            return self.use()
        each = copy.deepcopy(self.random.choice(self.objects))
        if self.random.random() < 0.7:  # most events are about pods
            pods = [each for each in self.objects if each["kind"] == "Pod"]
            each = copy.deepcopy(self.random.choice(pods or self.objects))
        kind, metadata = each["kind"], each["metadata"]
        namespace = metadata.get("namespace")
        name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
        dice = self.random.random()
        if dice < 0.3:
            self.cluster.delete(kind, name)
            return f"{kind} {name} goes"
        if dice < 0.4:
            each["spec"] = 7
        elif dice < 0.7 and kind == "Pod":
            each["status"] = {"phase": self.random.choice(("Succeeded", "Failed", "Pending"))}
        elif dice < 0.75:
            metadata["name"] += "-more"
        elif dice < 0.8 and kind == "Node":
            each["spec"] = {"unschedulable": True}
        elif dice < 0.9 and kind == "Pod":
            metadata["annotations"] = {**metadata.get("annotations", {}), **self.observed()}
        elif kind == "NodeResourceTopology":
            for zone in each["zones"]:
                for resource in zone["resources"]:
                    resource["allocatable"] = str(self.random.randint(0, 9))
        self.cluster.upsert(each)
        return f"{kind} {name} comes: {dice}"


@pytest.mark.parametrize("case", first_of(AREAS, PER_AREA), ids=lambda case: case.id)
@pytest.mark.parametrize("as_kai", [False, True], ids=["default", "as_kai"])
def test_a_plan_after_events_equals_that_of_a_fresh_load(case: Case, as_kai: bool) -> None:
    seed = f"{case.id} {as_kai}"
    play(World(case.data["snapshot"], seed), kai.Scheduler(as_kai=as_kai), seed)


@pytest.mark.parametrize("seed", range(60))
def test_with_numa_zones_a_plan_after_events_equals_that_of_a_fresh_load(seed: int) -> None:
    snapshot = test_numa_zones.World(seed).cluster.to_snapshot()
    scheduler = kai.Scheduler(test_numa_zones.CONFIG)
    play(World(snapshot, f"zones {seed}"), scheduler, f"zones {seed}")


def play(world: World, scheduler: kai.Scheduler, seed: str) -> None:
    events: list[str] = []
    held: list[tuple[kai.Plan, kai.Plan, kai.Cluster]] = []
    for _ in range(STEPS):
        events += [world.happen() for _ in range(world.random.randint(1, 3))]
        memory = scheduler.export_memory(world.cluster)
        plan = scheduler.plan(world.cluster, now=NOW)
        fresh = kai.Cluster.from_snapshot(world.cluster.to_snapshot())
        scheduler.import_memory(fresh, memory)
        expected = scheduler.plan(fresh, now=NOW)
        assert plan == expected, (seed, events)
        assert world.cluster.counts == fresh.counts, (seed, events)
        if world.random.random() < 0.4:
            held.append((scheduler.plan(world.cluster, now=NOW), expected, fresh))
    for plan, expected, fresh in held:  # the cluster has changed since
        # The other one, too: answers name objects, such as gates, only as long as these are known.
        fresh.add("PriorityClass", {"metadata": {"name": "later"}, "value": 1})
        assert plan == expected, (seed, events)
        assert str(plan) == str(expected), (seed, events)
        groups = [*plan.pod_groups][:3]
        assert [*map(plan.why, groups)] == [*map(expected.why, groups)], (seed, events)
