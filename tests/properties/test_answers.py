"""What an answer says is true of the cluster: "never" is not refuted by pods that end, and a group
for which only the order is in the way starts without the others."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import generate
import pytest

import kai
from kai.verify.objects import World, read_world

SEED = int(os.environ.get("KAI_SEED", "1"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "20"))  # of each family
NOW = "2026-01-01T12:00:00Z"
FAMILIES = sorted(generate.FAMILIES)
SUBSETS = 3
MOST_GROUPS = 4  # of a cluster
WAITING = ("unschedulable", "partly_placed")
STARTED = ("placed", "pipelined", "partly_placed")


def claims(plan: kai.Plan) -> Iterator[str]:
    """Groups without a running pod that cannot start whatever pods end."""
    for name, group in plan.pod_groups.items():
        if group.verdict == "unschedulable":
            first = plan.why(name).splitlines()[1]
            if "It can never start here" in first or "now: " in first:
                yield name


def ended(
    plan: kai.Plan, cluster: kai.Cluster, group: str, rng: random.Random
) -> Iterator[list[str]]:
    """Pods of other groups that end together: all of them, and random subsets."""
    names = [_name(each) for each in cluster.objects["pods"]]
    others = [name for name in names if plan.situation.group_of_pod.get(name) != group]
    yield others
    for _ in range(SUBSETS):
        yield [name for name in others if rng.random() < 0.5]


def _name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def claims_that_hold(family: str, seeds: Iterable[int]) -> int:
    """The number of claims in these clusters; none is refuted."""
    found = 0
    for seed in seeds:
        cluster = kai.Cluster.from_snapshot(generate.generate(family, seed)["snapshot"])
        plan, rng = kai.Scheduler().plan(cluster, now=NOW), random.Random(seed)
        for group in claims(plan):
            found += 1
            for pods in ended(plan, cluster, group, rng):
                changed = cluster.copy()
                for pod in pods:
                    changed.delete("Pod", pod)
                after = kai.Scheduler().plan(changed, now=NOW)
                said = f"{family} {seed}: {group} without {len(pods)} pods"
                assert after.pod_groups[group].verdict not in STARTED, said
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_what_can_never_start_does_not_start_when_others_end(family: str) -> None:
    found = claims_that_hold(family, range(SEED, SEED + CLUSTERS))
    print(f"{family}: {found} claims")


def test_pods_that_have_ended_need_no_gpus() -> None:
    """Clusters in which a gang with a pod that has ended seemed to need five GPUs, or places for
    two pods, one of them ended."""
    claims_that_hold("stalegang", [703086, 2001098])


def test_evicted_pods_of_a_gang_may_start_in_place_of_larger_ones() -> None:
    """A cluster in which a stale gang of three seemed to need places for its two large pods."""
    claims_that_hold("stalegang", [2002935])


def without_other_waiting_pods(
    cluster: kai.Cluster, world: World, plan: kai.Plan, group: str
) -> Iterator[kai.Cluster]:
    """Without all of them, and with those of groups that run in part: without them such a group is
    smaller, and evicted differently. A pod whose BindRequest is carried out has no node yet, but
    waits no longer."""
    group_of = plan.situation.group_of_pod
    running = {group_of.get(pod.key) for pod in world.pods.values() if pod.status == "Running"}
    for kept in ({None, group}, {None, group} | running):
        changed = cluster.copy()
        for pod in world.pods.values():
            if pod.status == "Pending" and group_of.get(pod.key) not in kept:
                changed.delete("Pod", pod.key)
        yield changed


def told_who_comes_first(family: str, seed: int) -> int:
    """How many groups of a cluster are; each starts without the others."""
    snapshot = generate.generate(family, seed)["snapshot"]
    cluster, world = kai.Cluster.from_snapshot(snapshot), read_world(snapshot, now=NOW)
    plan = kai.Scheduler().plan(cluster, now=NOW)
    waiting = [name for name, each in plan.pod_groups.items() if each.verdict in WAITING]
    told = 0
    for group in waiting[:MOST_GROUPS]:
        if "start if no other group waited" in plan.why(group):
            most = max(
                places_in(kai.Scheduler().plan(alone, now=NOW), group)
                for alone in without_other_waiting_pods(cluster, world, plan, group)
            )
            assert most > places_in(plan, group), f"{family} {seed}: {group}"
            told += 1
    return told


@pytest.mark.parametrize("family", FAMILIES)
def test_who_comes_first_is_only_said_to_groups_that_would_start_alone(family: str) -> None:
    told = sum(told_who_comes_first(family, seed) for seed in range(SEED, SEED + CLUSTERS))
    print(f"{family}: {told} groups")


def test_other_waiting_groups_do_not_decide_whose_turn_it_is_in_a_what_if() -> None:
    """A cluster in which they did: evicted pods of their department did not return."""
    assert told_who_comes_first("mixed", 200202)


def test_waiting_pods_of_running_gangs_are_not_others_that_wait() -> None:
    """A cluster in which a running group without its waiting pod was moved as a whole, to places
    that the group in question would have."""
    assert told_who_comes_first("stalegang", 2100927)


def places_in(plan: kai.Plan, group: str) -> int:
    """How many of its pods have places; 0 if fewer than it needs."""
    [(_, facts)] = plan.situation.groups([group])
    return facts.with_places if facts.with_places >= facts.least else 0
