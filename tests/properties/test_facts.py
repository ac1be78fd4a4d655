"""Each number in what `plan.why` answers about a waiting group is that of the objects and the
decisions, counted without the engine.

`KAI_SEED` is the number of the first cluster and `KAI_CLUSTERS` the number of each family.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property

import generate
import pytest
from recount import (
    Amounts,
    clusters,
    gpus_of_groups,
    held_after,
    held_with,
    nodes_after,
    nodes_before,
    sentences,
)

import kai
from kai.verify.objects import GPU, World, read_world
from kai.verify.queues import quota_of

SEED = int(os.environ.get("KAI_SEED", "1"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "12"))
NOW = "2026-01-01T12:00:00Z"
WAITING = ("unschedulable", "partly_placed")
RESOURCES = {"GPU": "gpu", "CPU": "cpu", "B": "memory"}
NEAR = Fraction(1, 100)  # numbers are printed with two decimals


class Facts:
    """Of one plan. Each method gets the parts of a sentence, and returns pairs of what it says and
    what is."""

    def __init__(self, world: World, plan: kai.Plan) -> None:
        self.world, self.plan = world, plan

    @cached_property
    def after(self) -> dict[str, str]:
        return nodes_after(self.world, self.plan)

    def most_of(self, groups: list[str]) -> Fraction:
        """What the groups hold at most, before or after: a sentence may leave out nodes that could
        not take the pods in question."""
        before, after = self.of_groups
        return sum((max(before.get(each, 0), after.get(each, 0)) for each in groups), Fraction(0))

    @cached_property
    def of_groups(self) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
        """GPUs that groups hold, before and after."""
        before = gpus_of_groups(self.world, nodes_before(self.world))
        return before, gpus_of_groups(self.world, self.after)

    @cached_property
    def of_queues(self) -> Amounts:
        """What queues hold, after."""
        return held_after(self.world, self.plan)

    @cached_property
    def free(self) -> dict[str, Fraction]:
        """Whole GPUs that no pod has, by node: a pod that leaves has them until it has ended, and
        promised pods first get those of pods that leave."""
        free = {
            name: Fraction((node["status"].get("allocatable") or {}).get("nvidia.com/gpu", "0"))
            for name, node in self.world.nodes.items()
        }
        leaving = self.leaving
        for pod in self.world.pods.values():
            if pod.node in free and pod.status != "Succeeded":
                free[pod.node] -= pod.request.amounts.get(GPU, 0)
        for each in self.plan.decisions:
            if each.kind == "bind":
                free[each.node] -= self.world.pods[each.pod].request.amounts.get(GPU, 0)
        return {name: max(Fraction(0), free[name] + min(leaving[name], 0)) for name in free}

    @cached_property
    def leaving(self) -> dict[str, Fraction]:
        """GPUs of pods that leave, minus those of promised pods, by node."""
        leaving = dict.fromkeys(self.world.nodes, Fraction(0))
        evicted = {each.pod for each in self.plan.decisions if each.kind == "evict"}
        for pod in self.world.pods.values():
            if pod.node in leaving and (pod.status == "Releasing" or pod.key in evicted):
                leaving[pod.node] += pod.request.amounts.get(GPU, 0)
        for each in self.plan.decisions:
            if each.kind == "pipeline":
                leaving[each.node] -= self.world.pods[each.pod].request.amounts.get(GPU, 0)
        return leaving

    # ---- the sentences ---------------------------------------------------------------------------

    def limit(self, queue: str, limit: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(limit), quota_of(self.world, queue, "gpu", "limit")

    def limits(self, resource: str, queue: str, limit: str) -> Iterator[tuple[Fraction, Fraction]]:
        """Amounts of memory have a unit, and are rounded."""
        found = quota_of(self.world, queue, RESOURCES[resource], "limit")
        if resource != "B":
            assert found is not None
            yield number(limit), found

    def quota(self, queue: str, quota: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(quota), quota_of(self.world, queue, "gpu", "quota")

    def has(self, queue: str, gpus: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(gpus), Fraction(self.of_queues[queue][GPU])

    def held(self, queue: str, gpus: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        held = held_with(self.world, nodes_before(self.world))
        yield number(gpus), Fraction(held[queue][GPU])

    def above(self, rows: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        held = self.of_queues
        for queue, gpus, share in re.findall(r"([\w-]+) \(([\d.,]+) of ([\d.,]+)\)", rows):
            yield number(gpus), Fraction(held[queue][GPU])
            assert number(gpus) > number(share)

    def holder(self, group: str, gpus: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(gpus), min(number(gpus), self.most_of([group]))

    def holders(
        self, count: str, named: str, gpus: str
    ) -> Iterator[tuple[Fraction, Fraction | None]]:
        groups = named.split(", ")
        if len(groups) == int(count):
            yield number(gpus), min(number(gpus), self.most_of(groups))

    def first(self, group: str, count: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        """Other groups that get more places than they lose."""
        gains = Counter[str]()
        for each in self.plan.decisions:
            pod = self.world.pods[each.pod]
            name = f"{each.pod.partition('/')[0]}/{pod.group}"
            if name != group:
                gains[name] += -1 if each.kind == "evict" else 1
        yield number(count), Fraction(sum(gain > 0 for gain in gains.values()))

    def none_free(self) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield Fraction(0), sum(self.free.values(), Fraction(0))

    def left(self, gpus: str) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(gpus), sum((max(each, 0) for each in self.leaving.values()), Fraction(0))

    def all_free(
        self, gpus: str, at_most: str | None
    ) -> Iterator[tuple[Fraction, Fraction | None]]:
        yield number(gpus), sum(self.free.values(), Fraction(0))
        if at_most:
            yield number(at_most), max(self.free.values())


Check = Callable[..., Iterator[tuple[Fraction, Fraction | None]]]
SENTENCES: dict[str, Check] = {
    r"Queue (\S+) has a limit of ([\d.,]+) GPUs?: ": Facts.limit,
    r"at least [\d.,]+ (?:[KMGT]i)?(GPU|CPU|B)s?, but the limit of queue (\S+) is ([\d.,]+)": (
        Facts.limits
    ),
    r"Queue (\S+) deserves ([\d.,]+) GPUs?, its": Facts.quota,
    r"[qQ]ueue (\S+) has ([\d.,]+) GPUs? and a fair share": Facts.has,
    r"Queue (\S+) held ([\d.,]+) GPUs?; its fair share": Facts.held,
    r"queues above their fair share: (.*)": Facts.above,
    r"^(\S+/\S+) holds ([\d.,]+) GPUs?\b": Facts.holder,
    r"^(\d+) pod groups of queue \S+ \((.*)\) hold ([\d.,]+) GPUs?\b": Facts.holders,
    r": (\d+) pod groups? comes? first and gets? places": Facts.first,
}
ON_WHOLE_GPUS: dict[str, Check] = {
    r"; no GPU is free after this cycle[.,]": Facts.none_free,
    r"; no GPU is free after this cycle, ([\d.,]+) will be when pods have left\.": Facts.left,
    r"; after this cycle ([\d.,]+) (?:is|are) free(?:, at most ([\d.,]+) on one node)?[.,;]": (
        Facts.all_free
    ),
}


def number(text: str) -> Fraction:
    return Fraction(text.replace(",", "").rstrip("."))


def is_whole(world: World) -> bool:
    """No pod has a part of a GPU, and no node has slices: then GPUs add up."""
    return not any(pod.request.devices for pod in world.pods.values()) and not any(
        name.startswith("nvidia.com/mig-")
        for node in world.nodes.values()
        for name in node["status"].get("allocatable") or ()
    )


@pytest.mark.parametrize("family", sorted(generate.FAMILIES))
def test_numbers_are_those_of_the_objects(family: str) -> None:
    compared = Counter[str]()
    for about, snapshot, cluster in clusters(family, SEED, CLUSTERS):
        plan = kai.Scheduler().plan(cluster, now=NOW)
        world = read_world(snapshot, now=NOW)
        facts = Facts(world, plan)
        checks = {**SENTENCES, **(ON_WHOLE_GPUS if is_whole(world) else {})}
        for name, group in plan.pod_groups.items():
            if group.verdict not in WAITING:
                continue
            said = sentences(plan, name)
            for pattern, check in checks.items():
                before = [name] if check is Facts.first else []
                for sentence in said:
                    for parts in re.finditer(pattern, sentence):
                        for told, found in check(facts, *before, *parts.groups()):
                            where = f"{about} {name}: {told} is {found}: {sentence}"
                            assert found is not None, where
                            assert abs(told - found) <= NEAR, where
                            compared[pattern] += 1
    print(f"{family}: {sum(compared.values())} numbers, {dict(compared)}")
    assert compared
