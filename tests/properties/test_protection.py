"""What `plan.why` answers about running groups of random clusters.

It is compared with the objects, which are read without the engine, and with a plan of the same
cluster in which groups of every queue claim all GPUs: no group is evicted that was said to stay.

`KAI_SEED` is the number of the first cluster and `KAI_CLUSTERS` the number of each family.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from recount import clusters, held_after, sentences

import kai
from kai.verify.evictions import preemptible, priority_of
from kai.verify.objects import GPU, World, duration, parse_time, read_world, spec_of
from kai.verify.queues import path, quota_of

FAMILIES = ("reclaim", "preempt", "consolidation", "subgroups", "fairness", "mixed")
SEED = int(os.environ.get("KAI_SEED", "1000"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "12"))
NOW = "2026-01-01T12:00:00Z"
LAST_START = "kai.scheduler/last-start-timestamp"


def only_run(plan: kai.Plan) -> list[str]:
    """Groups that run, and about which nothing is decided."""
    decided = {plan.situation.group_of_pod.get(each.pod) for each in plan.decisions}
    return [
        name
        for name, group in plan.pod_groups.items()
        if group.verdict == "running" and name not in decided and not group.reasons
    ]


# ---- the objects alone ---------------------------------------------------------------------------


def runtime(world: World, queues: list[str], setting: str) -> timedelta:
    """The first value of the queues, else that of the plugin."""
    for queue in queues:
        if (given := spec_of(world.queues[queue]).get(setting)) is not None:
            return duration(given) or timedelta()
    name = f"default{setting[0].upper()}{setting[1:]}"
    tiers = (world.snapshot.get("config") or {}).get("tiers") or ()
    for plugin in (each for tier in tiers for each in tier["plugins"]):
        if plugin["name"] == "minruntime":
            return duration((plugin.get("arguments") or {}).get(name)) or timedelta()
    return timedelta()


def levels(world: World, own: str) -> list[str]:
    """The queues on the path of a leaf queue that have leaf queues beside them."""
    parents = {spec_of(each).get("parentQueue") for each in world.queues.values()}
    leaves = [name for name in world.queues if name not in parents]
    above = list(path(world, own))
    found = []
    for index, level in enumerate(above):
        rest = above[index + 1 :]
        for leaf in leaves:
            its = list(path(world, leaf))
            if level not in its and (not rest or rest[0] in its):
                found.append(level)
                break
    return found


def share(world: World, plan: kai.Plan, queue: str, held: Counter[str]) -> str:
    """How the queue compares, in the words of the sentences (spec 1 F90)."""
    above_quota = False
    numbers = plan.queues[queue]
    fair_shares = {"cpu": numbers.cpu, "memory": numbers.memory, GPU: numbers.gpu}
    for resource, its in fair_shares.items():
        name = "gpu" if resource == GPU else resource
        quota = quota_of(world, queue, name, "quota")
        limit = quota_of(world, queue, name, "limit")
        if quota is None:
            most = limit
        else:
            above_quota = above_quota or held[resource] > quota
            fair = None if its.fair_share is None else Fraction(its.fair_share)
            most = None if fair is None else max(quota, fair)
            most = limit if most is None else most if limit is None else min(most, limit)
        # A fair share is a double.
        if most is not None and held[resource] > most + Fraction(1, 10**6):
            return "more than its fair share"
    return "more than its quota" if above_quota else "within its quota"


def ends(world: World, group: Any, own: str) -> dict[str, datetime]:
    """When the protection by a minimum run time ends: "preempt", and reclaim by level."""
    start = (group["metadata"].get("annotations") or {}).get(LAST_START)
    if start is None:
        return {}
    above = list(path(world, own))
    found = {"preempt": parse_time(start) + runtime(world, above, "preemptMinRuntime")}
    for index, level in enumerate(above):
        found[level] = parse_time(start) + runtime(world, above[index:], "reclaimMinRuntime")
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_each_sentence_agrees_with_the_objects(family: str) -> None:
    compared = Counter[str]()
    for about, snapshot, cluster in clusters(family, SEED, CLUSTERS):
        plan = kai.Scheduler().plan(cluster, now=NOW)
        world = read_world(snapshot, now=NOW)
        held = held_after(world, plan)
        actions = [each.strip() for each in snapshot["config"]["actions"].split(",")]
        for name in only_run(plan):
            said = sentences(plan, name)
            where = f"{about} {name}\n" + "\n".join(said)
            group = world.groups[name.rpartition("/")[2]]
            if not preemptible(world, group):
                assert said[0].startswith("It is not preemptible: "), where
                compared["not preemptible"] += 1
                continue
            own = str(spec_of(group)["queue"])
            now = parse_time(NOW)
            protected = {each for each, end in ends(world, group, own).items() if end > now}
            preempts = [each for each in said if each.startswith("Pod groups of queue")]
            assert len(preempts) == ("preempt" in actions), where
            for each in preempts:
                rivals = f"of queue {own} with a priority above {priority_of(world, group)} "
                assert rivals in each, where
                assert ("cannot preempt" in each) == ("preempt" in protected), where
            told = {each.split()[1]: each for each in said if each.startswith("Queue ")}
            assert list(told) == (levels(world, own) if "reclaim" in actions else []), where
            for level, sentence in told.items():
                expected = share(world, plan, level, held[level])
                assert expected in sentence, where
                is_kept = expected == "within its quota" or level in protected
                assert ("cannot reclaim" in sentence) == is_kept, where
                if found := re.search(r"holds ([\d.,]+) GPUs?,", sentence):
                    number = Fraction(found[1].replace(",", ""))
                    assert abs(number - held[level][GPU]) < Fraction(1, 100), where
                compared[expected] += 1
                compared["protected"] += level in protected
    assert compared, "no group runs: the test compares nothing"


# ---- plans in which every queue claims all GPUs --------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_no_group_is_evicted_that_was_said_to_stay(family: str) -> None:
    evicted = 0
    for about, snapshot, cluster in clusters(family, SEED, CLUSTERS):
        before = kai.Scheduler().plan(cluster, now=NOW)
        world = read_world(snapshot, now=NOW)
        said = {name: sentences(before, name) for name in only_run(before)}
        parents = {spec_of(each).get("parentQueue") for each in world.queues.values()}
        for queue in sorted(set(world.queues) - parents):
            cluster.pending(f"claims/{queue}", pods=8, gpus=1, queue=queue, priority=99)
        after = kai.Scheduler().plan(cluster, now=NOW)
        promised = {each.pod for each in after.decisions if each.kind == "pipeline"}
        changed = set(_changed(world, before, ("evict",)))
        changed.update(_changed(world, after, ("bind", "pipeline")))
        lost = Counter[tuple[str, str, str]]()
        for each in after.decisions:
            name = after.situation.group_of_pod.get(each.pod, "")
            if each.kind == "evict" and name in said and each.pod not in promised:
                lost[name, each.action, each.for_group or ""] += 1
        for (name, action, for_group), pods in lost.items():
            evicted += 1
            where = f"{about}: {action} of {name} for {for_group}\n" + "\n".join(said[name])
            assert not said[name][0].startswith("It is not preemptible"), where
            if action == "preempt":
                [sentence] = [each for each in said[name] if "preempt it" in each]
            elif action == "reclaim":
                [sentence] = [
                    each
                    for each in said[name]
                    if each.startswith(
                        _beside(
                            world, after.pod_groups[name].queue, after.pod_groups[for_group].queue
                        )
                    )
                ]
            else:
                continue
            if "within its quota" in sentence and sentence.split()[1] in changed:
                continue  # it held another amount when its pods were evicted
            if "cannot" in sentence:
                spare = re.search(r"except (\d+) pods? above its minimum", sentence)
                assert pods <= (0 if spare is None else int(spare[1])), where
    assert evicted > 0, "no group was evicted: the test compares nothing"


def _changed(world: World, plan: kai.Plan, kinds: tuple[str, ...]) -> Iterator[str]:
    """Queues, and those above, about whose pods something is decided."""
    for each in plan.decisions:
        if each.kind in kinds:
            group = plan.pod_groups[plan.situation.group_of_pod[each.pod]]
            yield from path(world, group.queue)


def _beside(world: World, theirs: str, own: str) -> str:
    """The start of the sentence about the queue that is compared."""
    ours = set(path(world, own))
    return f"Queue {[each for each in path(world, theirs) if each not in ours][-1]} "
