"""Checks the rules that every search for victims must keep.

The decisions of a plan are replayed in their order. The decisions of one search follow each other:
first its evictions, then the pipelined places of the waiting group and of the moved pods::

    evict    a/run-0   by reclaim for b/job
    evict    a/run-1   by reclaim for b/job
    pipeline b/job-0                            gained
    pipeline a/run-1                            moved: it is not lost

The allocation of a queue at any moment follows from the numbers at the start of the plan and from
the pods placed and evicted since then. This module does not depend on how victims are searched for.
It only checks which pods may not be evicted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from kai.verify.objects import (
    ACTIVE_ALLOCATED,
    ACTIVE_USED,
    ALLOCATED,
    GroupNode,
    Json,
    PodView,
    Violation,
    World,
    annotations_of,
    duration,
    group_tree,
    key_of,
    parse_time,
    preemptible,
    priority_of,
    satisfied,
    spec_of,
)
from kai.verify.queues import QUEUE_RESOURCES, path, queue_amounts
from kai.verify.reclaim import Claim, copy_amounts, numbers_of, saturation_multiplier

__all__ = ["check_evictions"]

SEARCHES = ("reclaim", "preempt", "consolidation")
STALE = "stalegangeviction"
LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
DEFAULT_GRACE = timedelta(seconds=60)
DEFAULT_MOST_MOVED = 16


def check_evictions(
    world: World, plan: Any, *, now: datetime | None, as_kai: bool = False
) -> list[Violation]:
    """Every rule about victims that the decisions break.

    ``as_kai`` leaves out two rules that KAI itself breaks: the limit on what queues may lose (KAI
    evicts some pods twice), and that the waiting group gets a place for the evictions.
    """
    replay = _Replay(world, plan, now, as_kai)
    for decision in plan.decisions:
        if decision.pod in world.pods:
            replay.decide(decision)
    replay.finish()
    return replay.violations


@dataclass
class _Search:
    """The decisions of one search for victims, and the allocations when it began."""

    action: str
    group: str  # namespace/name of the waiting group
    allocated: dict[str, dict[str, Fraction]]
    used: dict[str, Counter[str]]  # group -> sub-group -> number of its active-used pods
    victims: list[str] = field(default_factory=list)
    lost_at: dict[str, str] = field(default_factory=dict)  # victim -> node it was on
    moved: set[str] = field(default_factory=set)
    gained: list[str] = field(default_factory=list)


class _Replay:
    """The state of the cluster while the decisions are carried out."""

    def __init__(self, world: World, plan: Any, now: datetime | None, as_kai: bool) -> None:
        self.world, self.now, self.as_kai = world, now, as_kai
        self.numbers = numbers_of(getattr(plan, "queues", None) or {})
        self.violations: list[Violation] = []
        self.status = {key: pod.status for key, pod in world.pods.items()}
        self.node = {key: pod.node for key, pod in world.pods.items()}
        self.allocated = self._start()
        self.search: _Search | None = None
        self.stale: dict[str, list[str]] = {}  # group -> its pods that are evicted as stale
        self.params: Mapping[str, Any] | None = world.snapshot.get("schedulerParams")
        self.parents = {spec_of(queue).get("parentQueue") for queue in world.queues.values()}
        self.members: dict[str, list[PodView]] = defaultdict(list)
        for pod in world.pods.values():
            self.members[pod.group].append(pod)

    def report(self, rule: str, about: str, text: str) -> None:
        self.violations.append(Violation(rule, about, text))

    # --- decisions ---

    def decide(self, decision: Any) -> None:
        pod = self.world.pods[decision.pod]
        if decision.kind != "evict":
            self._place(pod, decision)
        elif decision.action in SEARCHES:
            self._take(pod, decision)
        else:
            self._close()
            group = self.world.groups.get(pod.group)
            if decision.action == STALE and group is not None:
                if pod.group not in self.stale:
                    self._check_stale(group)
                self.stale.setdefault(pod.group, []).append(pod.key)
            self._leave(pod)

    def finish(self) -> None:
        self._close()
        for name in self.stale:
            # A moved pod that is pipelined does not count: it does not run at its new place yet.
            left = [pod.key for pod in self.members[name] if self.status[pod.key] in ALLOCATED]
            if left:
                title = key_of(self.world.groups[name])
                text = f"group {title} is evicted as stale, but pod {left[0]} stays"
                self.report("stale", title, text)

    def _place(self, pod: PodView, decision: Any) -> None:
        search = self.search
        if search is not None and decision.kind == "pipeline":
            if pod.key in search.lost_at:
                search.moved.add(pod.key)
            elif pod.group == search.group.rpartition("/")[2] and not self._has_gained(search):
                search.gained.append(pod.key)
        if decision.node not in self.world.nodes or self.status[pod.key] in ACTIVE_ALLOCATED:
            return
        self.status[pod.key] = "Binding" if decision.kind == "bind" else "Pipelined"
        self.node[pod.key] = decision.node
        self._count(pod, 1)

    def _take(self, pod: PodView, decision: Any) -> None:
        for_group = decision.for_group or ""
        if self.search is None or (self.search.action, self.search.group) != (
            decision.action,
            for_group,
        ):
            self._close()
            self.search = _Search(
                decision.action, for_group, copy_amounts(self.allocated), self._used()
            )
        if pod.key not in self.search.lost_at:
            self.search.victims.append(pod.key)
            self.search.lost_at[pod.key] = self.node[pod.key]
        self._leave(pod)

    def _leave(self, pod: PodView) -> None:
        if self.status[pod.key] in ACTIVE_ALLOCATED:
            self._count(pod, -1)
            self.status[pod.key] = "Releasing"

    def _has_gained(self, search: _Search) -> bool:
        """Whether the search has placed its whole target: a gang, or one more pod or sub-group.

        Later places of the same group come from an action that needed no victims.
        """
        name = search.group.rpartition("/")[2]
        if not search.gained or name not in self.world.groups:
            return False
        counts = Counter(
            pod.subgroup for pod in self.members[name] if self.status[pod.key] in ACTIVE_ALLOCATED
        )
        touched = {self.world.pods[key].subgroup for key in search.gained}
        return all(
            satisfied(subset, counts)
            for subset in group_tree(self.world.groups[name]).sets()
            if any(leaf.name in touched for leaf in subset.leaves())
        )

    def _count(self, pod: PodView, sign: int) -> None:
        group = self.world.groups.get(pod.group)
        if group is None:
            return
        amounts = queue_amounts(self.world, pod, self.node[pod.key])
        for queue in path(self.world, spec_of(group).get("queue") or ""):
            for resource, amount in amounts.items():
                self.allocated[queue][resource] += sign * amount

    def _start(self) -> dict[str, dict[str, Fraction]]:
        found: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
        for queue, resources in self.numbers.items():
            for resource in QUEUE_RESOURCES:
                found[queue][resource] = resources[resource]["allocated"] or Fraction(0)
        return found

    def _used(self) -> dict[str, Counter[str]]:
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for pod in self.world.pods.values():
            if self.status[pod.key] in ACTIVE_USED:
                used[pod.group][pod.subgroup] += 1
        return used

    # --- one search ---

    def _close(self) -> None:
        search, self.search = self.search, None
        if search is None:
            return
        group = self.world.groups.get(search.group.rpartition("/")[2])
        if group is None or key_of(group) != search.group:
            text = f"{search.action} evicts for group {search.group}, which is not in the cluster"
            self.report("victim", search.group, text)
            return
        if not search.gained and not self.as_kai:
            text = f"{search.action} evicts for group {search.group}, and that group gets nothing"
            self.report("victim", search.group, text)
        self._check_delay(search, group)
        by_group: dict[str, list[PodView]] = {}
        for key in search.victims:
            by_group.setdefault(self.world.pods[key].group, []).append(self.world.pods[key])
        for name, pods in by_group.items():
            victim = self.world.groups.get(name)
            if victim is None:
                self.report("victim", pods[0].key, f"pod {pods[0].key} has no pod group")
                continue
            self._check_victim(search, group, victim)
            if search.action != "consolidation":
                self._check_runtime(search, group, victim, pods)
        if search.action == "consolidation":
            self._check_moves(search, group, len(by_group))
        elif search.action == "reclaim" and self.numbers and not self.as_kai:
            self._check_reclaim(search, group)

    def _check_delay(self, search: _Search, group: Json) -> None:
        """A group must not evict pods within its preemption delay (spec 2 D1)."""
        delay = duration(spec_of(group).get("preemptionDelay") or "0")
        created = group["metadata"].get("creationTimestamp")
        if not delay or delay < timedelta() or self.now is None:
            return
        times = [parse_time(created)] if created else []
        times += filter(None, [_time_of(group, LAST_EVICTION)])
        if times and self.now < max(times) + delay:
            text = f"group {search.group} is within its preemption delay: it must not evict pods"
            self.report("victim", search.group, text)

    def _check_victim(self, search: _Search, group: Json, victim: Json) -> None:
        title, world = key_of(victim), self.world
        own, theirs = spec_of(group).get("queue"), spec_of(victim).get("queue")

        def objects(text: str) -> None:
            self.report("victim", title, f"{search.action} takes from group {title}, {text}")

        if not preemptible(world, victim):
            objects("which cannot be preempted")
        if victim is group:
            objects("for which it searches")
        if search.action == "reclaim" and own == theirs:
            objects(f"which is in the same queue as {search.group}")
        if search.action == "preempt":
            if own != theirs:
                objects(f"which is in queue {theirs}, not in {own}")
            elif priority_of(world, victim) >= priority_of(world, group):
                objects(f"which has no lower priority than {search.group}")
        if search.action == "consolidation" and not preemptible(world, group):
            objects(f"but {search.group} cannot be preempted itself")
        if theirs not in world.queues or theirs in self.parents:
            objects(f"whose queue {theirs} can run nothing")

    def _check_moves(self, search: _Search, group: Json, groups: int) -> None:
        """Consolidation must place all victims again and keep its limit of groups (spec 2 R2)."""
        for key in search.victims:
            if key not in search.moved:
                text = f"consolidation for group {search.group} loses pod {key}"
                self.report("victim", key, text)
        params = self.params
        most = DEFAULT_MOST_MOVED
        if params is not None:
            most = int(params.get("maxNumberConsolidationPreemptees") or 0)
        if most >= 0 and groups > most + self.as_kai:
            text = (
                f"consolidation for group {search.group} moves {groups} groups, of at most {most}"
            )
            self.report("victim", search.group, text)

    # --- minimum run time (spec 1 F102-F106) ---

    def _check_runtime(
        self, search: _Search, group: Json, victim: Json, pods: list[PodView]
    ) -> None:
        started = _time_of(victim, LAST_START)
        arguments = _plugin(self.world, "minruntime")
        if started is None or self.now is None or arguments is None:
            return
        runtime = _runtime(self.world, search.action, group, victim, arguments)
        if self.now >= started + runtime:
            return
        title, name = key_of(victim), victim["metadata"]["name"]
        known = Counter(pod.subgroup for pod in self.members[name])
        leaves = list(group_tree(victim).leaves())
        if not any(leaf.needed < known[leaf.name] for leaf in leaves):
            text = f"{search.action} takes from group {title}, which runs for less than {runtime}"
            self.report("runtime", title, text)
            return
        taken = Counter(pod.subgroup for pod in pods)
        for leaf in leaves:
            left = search.used[name][leaf.name] - taken[leaf.name]
            if taken[leaf.name] and left < leaf.needed:
                text = (
                    f"{search.action} leaves {left} of {leaf.needed} pods to group {title}, which "
                    f"runs for less than {runtime}"
                )
                self.report("runtime", title, text)

    def _check_reclaim(self, search: _Search, group: Json) -> None:
        queue = spec_of(group).get("queue") or ""
        if queue not in self.numbers:
            return
        keeps = self.params is None or bool(self.params.get("allowConsolidatingReclaim"))
        claim = Claim(
            self.world,
            self.numbers,
            search.allocated,
            search.group,
            queue,
            gained=[(self.world.pods[key], self.node[key]) for key in search.gained],
            victims=[(self.world.pods[key], search.lost_at[key]) for key in search.victims],
            moved=frozenset(search.moved if keeps else ()),
            multiplier=saturation_multiplier(_plugin(self.world, "proportion") or {}),
        )
        self.violations += claim.violations()

    # --- stale gangs (spec 2 D4-D6) ---

    def _check_stale(self, group: Json) -> None:
        title, name = key_of(group), group["metadata"]["name"]
        tree, members = group_tree(group), self.members[name]
        used = Counter(pod.subgroup for pod in members if self.status[pod.key] in ACTIVE_USED)
        ended = any(self.status[pod.key] == "Succeeded" for pod in members)
        if ended or self._has_minimum(tree, used):
            why = "a pod of it has succeeded" if ended else "it has its minimum"
            self.report("stale", title, f"group {title} is evicted as stale, but {why}")
            return
        grace = _grace(group, self.params)
        since = _time_of(group, STALE_SINCE) or self.now
        if grace < timedelta() or (
            self.now is not None and since is not None and self.now - since < grace
        ):
            text = f"group {title} is evicted as stale within its grace period"
            self.report("stale", title, text)

    def _has_minimum(self, tree: GroupNode, used: Counter[str]) -> bool:
        if self.as_kai:  # KAI checks every sub-group and ignores minSubGroup (spec 2 W2)
            return all(used[leaf.name] >= leaf.needed for leaf in tree.leaves())
        return satisfied(tree, used)


# --- configuration -------------------------------------------------------------------------------


def _plugin(world: World, name: str) -> Mapping[str, str] | None:
    """The arguments of a plugin; ``None`` if it does not run."""
    tiers = (world.snapshot.get("config") or {}).get("tiers")
    if tiers is None:
        return {}
    for tier in tiers:
        for plugin in tier.get("plugins") or []:
            if plugin.get("name") == name:
                return plugin.get("arguments") or {}
    return None


def _runtime(
    world: World, action: str, group: Json, victim: Json, arguments: Mapping[str, str]
) -> timedelta:
    """The time that a victim may run before this action can evict it (spec 1 F105)."""
    own = [*path(world, spec_of(group).get("queue") or "")]
    theirs = [*path(world, spec_of(victim).get("queue") or "")]
    field_name, default = "preemptMinRuntime", "defaultPreemptMinRuntime"
    start = theirs
    if action == "reclaim":
        field_name, default = "reclaimMinRuntime", "defaultReclaimMinRuntime"
        if arguments.get("reclaimResolveMethod") != "queue":
            shared = [queue for queue in theirs if queue in own]
            # Start below the lowest common ancestor of the two queues. If they are in different
            # trees, use only the root of the victim's queue.
            start = theirs[max(0, theirs.index(shared[0]) - 1) :] if shared else theirs[-1:]
    for queue in start:
        given = spec_of(world.queues[queue]).get(field_name)
        if given is not None:
            return duration(given) or timedelta()
    found = duration(arguments.get(default) or "0")
    return max(found or timedelta(), timedelta())


def _grace(group: Json, params: Mapping[str, Any] | None) -> timedelta:
    given = duration(spec_of(group).get("stalenessGracePeriod"))
    if given is not None:
        return given
    if params is None:
        return DEFAULT_GRACE
    return timedelta(microseconds=(params.get("globalDefaultStalenessGracePeriod") or 0) / 1000)


def _time_of(group: Json, annotation: str) -> datetime | None:
    try:
        return parse_time(annotations_of(group)[annotation])
    except (KeyError, ValueError):
        return None
