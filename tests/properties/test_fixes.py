"""A fix is true: the changed objects, read and planned again, start the group. Neither one unit
less nor the fix without one of its changes does. Nearly all groups have one."""

from __future__ import annotations

import contextlib
import copy
import math
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import generate
import pytest

import kai
from kai.engine import requests
from kai.engine.fixing.changes import COSTS
from kai.engine.fixing.fixes import Fix
from kai.engine.fixing.proposals import ladders
from kai.engine.fixing.trials import starts_in
from kai.engine.fixing.waiting import Waiting

Pod = dict[str, Any]

SEED = int(os.environ.get("KAI_SEED", "1"))
CLUSTERS = int(os.environ.get("KAI_CLUSTERS", "3"))  # of each family
NOW = "2026-01-01T12:00:00Z"
FAMILIES = sorted(generate.FAMILIES)
WAITING = ("unschedulable", "not_ready", "invalid", "partly_placed")
MOST_GROUPS = 3  # of a cluster


def waiting(seed: int, family: str) -> Iterator[tuple[kai.Cluster, kai.Plan, str]]:
    snapshot = generate.generate(family, seed)["snapshot"]
    cluster = kai.Cluster.from_snapshot(snapshot, now=NOW)
    plan = kai.Scheduler().plan(cluster)
    names = [name for name, group in plan.pod_groups.items() if group.verdict in WAITING]
    for name in names[:MOST_GROUPS]:
        yield cluster, plan, name


def places(plan: kai.Plan, group: str) -> int:
    """With so many places it starts already; a fix has to give more."""
    [(_, facts)] = plan.situation.groups([group])
    return facts.with_places if starts_in(plan, group) else 0


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cheapest_changes_are_proposed_first(family: str) -> None:
    costs = {kind: random.Random(kind).random() for kind in COSTS}
    for seed in range(SEED, SEED + CLUSTERS):
        for cluster, plan, name in waiting(seed, family):
            proposed = ladders(Waiting(plan, cluster, name), costs)
            found = [costs[ladder.make(ladder.values[0]).kind] for ladder in proposed]
            assert found == sorted(found), f"{family} {seed}: {name}"


def plan_again(cluster: kai.Cluster) -> kai.Plan:
    """By a scheduler and a cluster that have seen no other plan."""
    return kai.Scheduler().plan(kai.Cluster.from_snapshot(cluster.to_snapshot()))


@pytest.mark.parametrize("family", FAMILIES)
def test_fixes_start_the_group(family: str) -> None:
    kinds: Counter[str] = Counter()
    groups, unanswered = 0, []
    for seed in range(SEED, SEED + CLUSTERS):
        for cluster, plan, name in waiting(seed, family):
            before, than = cluster.to_snapshot(), places(plan, name)
            found = plan.fix(name)
            groups += 1
            if not found and not found.starts_already:
                unanswered.append(f"{seed}: {name}")
            for fix in found:
                kinds.update(fix.kinds)
                said = f"{family} {seed}: {name}: {fix.changes}"
                assert starts_in(plan_again(fix.apply(cluster)), name, than=than), said
                for part in without_one(fix):
                    with contextlib.suppress(kai.NotFoundError):  # of what the other one creates
                        after = plan_again(part.apply(cluster))
                        assert not starts_in(after, name, than=than), f"{said}: {part.changes} do"
            assert cluster.to_snapshot() == before, f"{family} {seed}: {name}"
    print(f"{family}: {groups} groups, {len(unanswered)} without a fix {unanswered}: {dict(kinds)}")
    assert len(unanswered) <= 2 + groups // 5, unanswered


def without_one(fix: kai.Fix) -> Iterator[kai.Fix]:
    """The fix without one of its changes, if it has several."""
    for left_out in fix._made if len(fix._made) > 1 else ():
        made = tuple(change for change in fix._made if change is not left_out)
        yield replace(fix, changes=tuple(change.says for change in made), _made=made)


def smaller(cluster: kai.Cluster, fix: kai.Fix) -> Iterator[kai.Cluster]:
    """The cluster with each smaller quota or limit, or with fewer new nodes, the largest first."""
    words = fix.changes[0].split()
    if fix.kinds == ("nodes",):
        for count in range(int(words[1]) - 1, 0, -1):
            yield cluster.copy().add_nodes(count, like=words[-1])
    elif fix.kinds in (("quota",), ("limit",)) and "GPUs" in fix.changes[0]:
        what, queue = words[2], words[words.index("queue") + 1]
        option = {"quota": "deserved_gpus", "limit": "gpu_limit"}[what]
        now, value = (float(words[at].replace(",", "")) for at in (-3, -1))
        while (value := value - 1) > now:
            yield cluster.copy().update_queue(queue, **{option: value})


@pytest.mark.parametrize("family", ["fairness", "reclaim", "preempt", "topology", "mixed"])
def test_the_next_smaller_value_does_not_start_it(family: str) -> None:
    """All smaller values are tried. Some that are smaller still may start it: starting is not
    monotone, and an answer is a value, not the least one."""
    values, with_less = 0, 0
    for seed in range(SEED, SEED + CLUSTERS):
        for cluster, plan, name in waiting(seed, family):
            than = places(plan, name)
            found = plan.fix(name)
            # A search that ended early does not show that less would fail.
            for fix in found if found.is_complete else ():
                starts = [
                    starts_in(plan_again(less), name, than=than) for less in smaller(cluster, fix)
                ]
                assert not any(starts[:1]), f"{family} {seed}: {name}: {fix.changes} less one"
                values += 1
                with_less += any(starts)
    print(f"{family}: {values} answers, {with_less} of them with a smaller value that does it too")
    assert with_less * 10 <= values + 10


# ---- pods that request too much, require labels that no node has, or are missing -----------------


def with_requests(pod: Pod, amounts: dict[str, str], part: str = "containers") -> None:
    for container in pod["spec"][part][:1]:
        resources = container.setdefault("resources", {})
        for name, amount in amounts.items():
            resources.setdefault("requests", {})[name] = amount
            if name in resources.get("limits", {}):
                resources["limits"][name] = amount


def with_many_cpus(pod: Pod, rng: random.Random) -> None:
    with_requests(pod, {"cpu": f"{rng.randint(20_000, 200_000)}m"})


def with_much_memory(pod: Pod, rng: random.Random) -> None:
    with_requests(pod, {"memory": f"{rng.randint(200, 2000)}Gi"})


def with_a_device_of_a_network(pod: Pod, rng: random.Random) -> None:
    with_requests(pod, {RDMA: str(rng.randint(3, 9))})


def with_a_large_init_container(pod: Pod, rng: random.Random) -> None:
    pod["spec"]["initContainers"] = [{"name": "prepare"}]
    with_requests(pod, {"cpu": str(rng.randint(100, 300))}, "initContainers")


def with_much_gpu_memory(pod: Pod, rng: random.Random) -> None:
    without_gpus(pod)["gpu-memory"] = str(rng.randint(30_000, 200_000))


def with_parts_of_many_gpus(pod: Pod, rng: random.Random) -> None:
    annotations = without_gpus(pod)
    annotations["gpu-fraction"] = rng.choice(("0.5", "0.9"))
    annotations["gpu-fraction-num-devices"] = str(rng.randint(5, 12))


def without_gpus(pod: Pod) -> dict[str, str]:
    """Removes all requests for GPUs; returns its annotations."""
    for container in pod["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "1"}}
    annotations: dict[str, str] = pod["metadata"].setdefault("annotations", {})
    for key in ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"):
        annotations.pop(key, None)
    return annotations


def with_an_affinity(pod: Pod, rng: random.Random) -> None:
    unmet = [
        {"key": "gold", "operator": "Exists"},
        {"key": "team", "operator": "In", "values": ["none"]},
        {"key": "kubernetes.io/hostname", "operator": "DoesNotExist"},
    ]
    terms = [{"matchExpressions": rng.sample(unmet, k=rng.randint(1, 2))} for _ in range(2)]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod["spec"]["affinity"] = {"nodeAffinity": required}


def with_a_gate(pod: Pod, rng: random.Random) -> None:
    pod["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]


RDMA = "rdma/ib"
MUTATIONS: dict[str, tuple[Callable[[Pod, random.Random], None], str]] = {
    "cpus": (with_many_cpus, "cpus"),
    "memory": (with_much_memory, "memory"),
    "rdma": (with_a_device_of_a_network, "resources"),
    "init": (with_a_large_init_container, "cpus"),
    "mib": (with_much_gpu_memory, "gpus"),
    "devices": (with_parts_of_many_gpus, "gpus"),
    "affinity": (with_an_affinity, "affinity"),
    "gates": (with_a_gate, "pods"),
}
"""By name: what it does to a pod, and the kind of change that undoes it."""


def mutated(seed: int, family: str, change: str) -> tuple[kai.Cluster, str] | None:
    """A random cluster in which all pods of one group without a node are changed."""
    rng = random.Random(f"{seed} {family} {change}")
    snapshot = copy.deepcopy(generate.generate(family, seed)["snapshot"])
    objects = snapshot["rawObjects"]
    for node in objects["nodes"]:
        for part in ("allocatable", "capacity"):
            node["status"].setdefault(part, {})[RDMA] = "4"
    of_group: dict[str, list[Pod]] = {}
    for pod in objects["pods"]:
        if group := pod["metadata"].get("annotations", {}).get("pod-group-name"):
            of_group.setdefault(f"{pod['metadata']['namespace']}/{group}", []).append(pod)
    waiting = [
        name
        for name, pods in sorted(of_group.items())
        if not any(pod["spec"].get("nodeName") or "resourceClaims" in pod["spec"] for pod in pods)
    ]
    if not waiting:
        return None
    name = rng.choice(waiting)
    same = rng.randint(0, 2**32)
    for pod in of_group[name]:
        MUTATIONS[change][0](pod, random.Random(same))
    return kai.Cluster.from_snapshot(snapshot, now=NOW), name


@pytest.mark.parametrize("change", MUTATIONS)
def test_what_was_changed_is_among_the_fixes(change: str) -> None:
    kinds: Counter[str] = Counter()
    for family in FAMILIES:
        for seed in range(SEED, SEED + math.ceil(CLUSTERS / len(MUTATIONS))):
            if (made := mutated(seed, family, change)) is None:
                continue
            cluster, name = made
            plan = kai.Scheduler().plan(cluster)
            than = places(plan, name)
            for fix in plan.fix(name):
                said = f"{family} {seed}: {name}: {fix.changes}"
                kinds.update(fix.kinds)
                assert starts_in(plan_again(fix.apply(cluster)), name, than=than), said
                for left_out in fix._made if len(fix._made) > 1 else ():
                    less = replace(fix, _made=tuple(e for e in fix._made if e is not left_out))
                    try:
                        changed = less.apply(cluster)
                    except kai.NotFoundError:  # of a pod that the other change creates
                        continue
                    assert not starts_in(plan_again(changed), name, than=than), said
                if more := with_one_unit_more(cluster, name, fix):
                    assert not starts_in(plan_again(more), name, than=than), said
    assert kinds[MUTATIONS[change][1]] > 0, kinds
    print(f"{change}: {dict(kinds)}")


def with_one_unit_more(cluster: kai.Cluster, name: str, fix: Fix) -> kai.Cluster | None:
    """The cluster with the next larger request; None if that is the original request, or for
    another change."""
    [words] = [each.split() for each in fix.changes] if len(fix.changes) == 1 else [[""]]
    resource = {"cpus": "cpu", "memory": "memory", "resources": RDMA}.get(fix.kinds[0])
    if resource is None or words[0] != "request":
        return None
    value = Fraction(words[1].replace(",", ""))
    unit = next(each for each in (Fraction(1), Fraction(1, 10), Fraction(1, 1000)) if value >= each)
    scale = {"GiB": 2**30, "MiB": 2**20}.get(words[2], 1)
    most = (value + unit) * scale
    changed = cluster.copy()
    is_less = False
    for pod in cluster._pods_of(name).values():
        if requests.total(pod, resource) > most and (less := requests.capped(pod, resource, most)):
            is_less = True
            changed.upsert({**less, "kind": "Pod"})
    return changed if is_less else None
