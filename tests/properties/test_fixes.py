"""A fix is true: the changed objects, read and planned again, start the group. Neither one unit
less nor the fix without one of its changes does. Nearly all groups have one."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import generate
import pytest

import kai
from kai.engine.fixing.trials import starts_in

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


@pytest.mark.parametrize("family", ["fairness", "reclaim", "mixed"])
def test_a_smaller_quota_or_limit_does_not_start_it(family: str) -> None:
    for seed in range(SEED, SEED + CLUSTERS):
        for cluster, plan, name in waiting(seed, family):
            than = places(plan, name)
            for fix in plan.fix(name):
                if fix.kinds not in (("quota",), ("limit",)) or "GPUs" not in fix.changes[0]:
                    continue
                words = fix.changes[0].split()
                what, queue = words[2], words[words.index("queue") + 1]
                now, value = (float(words[at].replace(",", "")) for at in (-3, -1))
                if value - 1 <= now:
                    continue
                option = {"quota": "deserved_gpus", "limit": "gpu_limit"}[what]
                less = cluster.copy().update_queue(queue, **{option: value - 1})
                said = f"{family} {seed}: {name}: {fix.changes} less one"
                assert not starts_in(plan_again(less), name, than=than), said
