"""Without new work a cluster comes to rest: no two pod groups evict each other for ever.

The recorded cases run for 50 cycles by their own rules (`kai.sim.world.step`): an evicted pod
starts again at once and waits. One scheduler plans all cycles, with the changes as events of one
cluster. A cluster is at rest when a cycle evicts no pod and changes nothing: then the next plan is
the same.
"""

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import generate
import pytest

import kai
from kai.sim.events import carry_over
from kai.sim.objects import key_of
from kai.sim.world import step
from kai.verify import Case, default_cases, read_cases
from kai.verify.outcome import not_built
from kai.verify.validate import validate

CYCLES = 50
VALIDATED = 3  # cycles whose plans are checked: checking takes longer than planning
NOW = "2026-01-01T12:00:00Z"

# Clusters that never come to rest if a cycle forgets the promises of the one before, as in KAI, and
# what happens in them.
FORGOTTEN: dict[str, str] = {
    **dict.fromkeys(
        ("random/consolidation-027", "random/mixed-001", "random/mixed-004", "random/mixed-039"),
        "consolidation packs pods that the next cycle spreads again",
    ),
    **dict.fromkeys(
        ("random/mixed-024", "random/mixed-060", "random/large-mixed-77510"),
        "another group takes the room, and the group that it was made for evicts again",
    ),
}


@dataclass(frozen=True)
class Life:
    """The history of a cluster."""

    cycles: int
    rests: bool
    again: tuple[str, ...] = ()  # the evictions of the repeated cycles

    def __str__(self) -> str:
        return f"after {self.cycles} cycles: {', '.join(self.again)}"


def live(
    case: Case, scheduler: kai.Scheduler, compat: Mapping[str, str], *, slowly: bool = False
) -> Life:
    """Up to 50 cycles; `slowly`: pods evicted in every other cycle are gone one cycle later.

    Plans that keep promises break no rule for plans.
    """
    world, now = with_compat(case.data["snapshot"], compat), case.data.get("now") or NOW
    stays = case.data.get("deleteOnEvict") or ()
    cluster = kai.Cluster.from_snapshot(json.dumps(world).encode())
    seen: dict[str, int] = {}
    evicted: list[list[str]] = []
    promised: list[str] = []
    for cycle in range(CYCLES):
        plan = scheduler.plan(cluster, now=now)
        assert not_built(plan) == ()
        if promised and cycle <= VALIDATED and not compat:
            assert broken_rules(world, plan, now) == [], f"{name_of(case)}, cycle {cycle}"
        is_held_up = slowly and cycle % 2 == 0
        after = step(
            world, plan, now=now, delete_on_evict=groups_of(world) if is_held_up else stays
        )
        evicted.append([_described(each) for each in plan.decisions if each.kind == "evict"])
        pods = after["rawObjects"]["pods"]
        if not evicted[-1] and not is_held_up and pods == world["rawObjects"]["pods"]:
            return Life(cycle + 1, rests=True)
        promised = [
            f"{each.pod} {each.node}" for each in plan.decisions if isinstance(each, kai.Pipeline)
        ]
        state = json.dumps([pods, promised, is_held_up], sort_keys=True)
        if state in seen:
            repeats = [text for each in evicted[seen[state] + 1 :] for text in each]
            return Life(cycle + 1, rests=False, again=tuple(repeats))
        seen[state] = cycle
        carry_over(cluster, world, after)
        world = after
    return Life(CYCLES, rests=False, again=tuple(evicted[-1]))


def _described(decision: Any) -> str:
    return f"{decision.action} takes {decision.pod} for {decision.for_group}"


def name_of(case: Case) -> str:
    return f"{case.kind}/{case.id}"  # a generated cluster may have the number of another case


def with_compat(snapshot: Mapping[str, Any], compat: Mapping[str, str]) -> dict[str, Any]:
    config = snapshot.get("config") or {}
    return {**snapshot, "config": {**config, "compat": {**config.get("compat", {}), **compat}}}


def broken_rules(world: Mapping[str, Any], plan: kai.Plan, now: str) -> list[str]:
    """Except gangs with pods that the same plan starts and evicts, with promises or without."""
    evicted = [each.pod for each in plan.decisions if each.kind == "evict"]
    return [
        str(each)
        for each in validate(world, plan, now=now)
        if each.rule != "gang" or not any(pod.startswith(f"{each.about}-") for pod in evicted)
    ]


def groups_of(world: Mapping[str, Any]) -> list[str]:
    return [key_of(group) for group in world["rawObjects"].get("podGroups") or []]


def lives(cases: tuple[Case, ...], *, slowly: bool = False, **compat: str) -> dict[str, Life]:
    scheduler = kai.Scheduler()
    return {name_of(case): live(case, scheduler, compat, slowly=slowly) for case in cases}


@pytest.fixture(scope="module")
def cases() -> tuple[Case, ...]:
    every = read_cases([default_cases()])
    return tuple(case for case in every if case.kind in ("case", "random"))


def test_recorded_clusters_reach_a_steady_state(cases: tuple[Case, ...]) -> None:
    ours = lives(cases)
    assert {case: str(life) for case, life in ours.items() if not life.rests} == {}
    assert sum(life.cycles > 1 for life in ours.values()) > 350


def test_recorded_clusters_with_slow_victims_reach_a_steady_state(cases: tuple[Case, ...]) -> None:
    slow = lives(cases, slowly=True)
    assert {case: str(life) for case, life in slow.items() if not life.rests} == {}


def test_without_promises_clusters_reach_no_steady_state(cases: tuple[Case, ...]) -> None:
    forgotten = tuple(case for case in cases if name_of(case) in FORGOTTEN)
    assert len(forgotten) == len(FORGOTTEN)
    without = lives(forgotten, promises="kai")
    assert [case for case, life in without.items() if life.rests] == []


# ---- generated clusters with few pod slots -------------------------------------------------------

SEED = int(os.environ.get("KAI_SEED", "1000"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "40")) // 8
FAMILIES = ("consolidation", "gpusharing", "mixed", "preempt", "reclaim")
# Clusters in which promised pods took each other's devices: the devices were chosen again.
SHOWN = (("gpusharing", 5013),)


def with_few_slots(family: str, seed: int) -> Case:
    """Its nodes have 2 to 10 pod slots, or as many as they have pods."""
    snapshot = generate.generate(family, seed)["snapshot"]
    draw = random.Random(seed)
    on_nodes = [pod["spec"].get("nodeName") for pod in snapshot["rawObjects"]["pods"]]
    for node in snapshot["rawObjects"]["nodes"]:
        slots = str(max(on_nodes.count(node["metadata"]["name"]), draw.randint(2, 10)))
        for amounts in ("allocatable", "capacity"):
            node["status"].get(amounts, {})["pods"] = slots
    read = {"snapshot": snapshot}.copy
    return Case(f"{family}-{seed}", f"random/{family}", "random", "generated", read)


def test_generated_clusters_with_few_pod_slots_reach_a_steady_state() -> None:
    seeds = [(family, seed) for family in FAMILIES for seed in range(SEED, SEED + CLUSTERS)]
    cases = tuple(with_few_slots(*each) for each in (*SHOWN, *seeds))
    for slowly in (False, True):
        ours = lives(cases, slowly=slowly, unkept_promises="kai")
        assert {case: str(life) for case, life in ours.items() if not life.rests} == {}
