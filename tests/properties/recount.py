"""What queues, groups and nodes hold once a plan is carried out, counted from the objects and the
decisions without the engine."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import generate

import kai
from kai.verify.evictions import ACTIVE_ALLOCATED
from kai.verify.objects import GPU, PodView, World, spec_of
from kai.verify.queues import path, queue_amounts

Amounts = dict[str, Counter[str]]
"""By queue and resource, also of the queues above."""


def clusters(
    family: str, seed: int, count: int
) -> Iterator[tuple[str, dict[str, Any], kai.Cluster]]:
    """Generated clusters: a name for messages, the snapshot, and the cluster."""
    for each in range(seed, seed + count):
        snapshot = generate.generate(family, each)["snapshot"]
        yield f"{family} {each}", snapshot, kai.Cluster.from_snapshot(snapshot)


def sentences(plan: kai.Plan, name: str) -> list[str]:
    """The lines about a group below the first."""
    return [line.strip() for line in plan.why(name).splitlines()[1:]]


def nodes_after(world: World, plan: kai.Plan) -> dict[str, str]:
    """The nodes of pods of known groups once the plan is carried out, by pod."""
    nodes = nodes_before(world)
    for each in plan.decisions:
        if each.kind == "evict":
            nodes.pop(each.pod, None)
    for each in plan.decisions:
        if each.kind != "evict":
            nodes[each.pod] = each.node
    return nodes


def nodes_before(world: World) -> dict[str, str]:
    return {
        pod.key: pod.node
        for pod in world.pods.values()
        if pod.status in ACTIVE_ALLOCATED and pod.group in world.groups
    }


def is_counted(world: World, pod: PodView) -> bool:
    """Queues do not count pods of a sub-group that their group does not have (spec 2 M9)."""
    parts = {str(each["name"]) for each in spec_of(world.groups[pod.group]).get("subGroups") or ()}
    return pod.subgroup in (parts or {"default"})


def held_after(world: World, plan: kai.Plan) -> Amounts:
    """What queues hold once the plan is carried out."""
    return held_with(world, nodes_after(world, plan))


def held_with(world: World, nodes: dict[str, str]) -> Amounts:
    held: Amounts = {name: Counter() for name in world.queues}
    for key, node in nodes.items():
        pod = world.pods[key]
        if not is_counted(world, pod):
            continue
        for queue in path(world, spec_of(world.groups[pod.group]).get("queue") or ""):
            held[queue].update(queue_amounts(world, pod, node))
    return held


def gpus_of_groups(world: World, nodes: dict[str, str]) -> dict[str, Fraction]:
    """GPUs that groups hold, by "namespace/name"."""
    held: dict[str, Fraction] = {}
    for key, node in nodes.items():
        pod = world.pods[key]
        name = f"{key.partition('/')[0]}/{pod.group}"
        held[name] = held.get(name, Fraction(0)) + queue_amounts(world, pod, node)[GPU]
    return held
