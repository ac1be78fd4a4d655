"""Finds the fewest switches that explain a difference from KAI, and why all of them are needed.

    fewest(["queue_depth", "slow_job"], agrees, near=[])     # ("queue_depth", "slow_job")
    why_together(("same_cycle_eviction", "victim_shares"))   # ("same_cycle_eviction and ...",)

A switch changes one decision, and that decision can be the input of another switch. `TOGETHER`
lists the pairs of switches for which this happens in recorded or generated clusters, and why both
are needed. A difference is not explained if it needs switches without a known connection, because
several switches together can hide a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations

__all__ = ["TOGETHER", "fewest", "why_together"]

TOGETHER: Mapping[frozenset[str], str] = {
    frozenset(pair): why
    for *pair, why in (
        (
            "same_cycle_eviction",
            "unrelated_blockers",
            "the first group in a simulated placement gets the place, and only without "
            "same_cycle_eviction can a later search of the cycle take that place back.",
        ),
        (
            "signature_skip",
            "unrelated_blockers",
            "pods of a group that is not skipped are placed, and the allocation of its queue "
            "decides which group comes first in later simulated placements.",
        ),
        (
            "optional_members",
            "unrelated_blockers",
            "the sub-groups that a group requests decide whether it can be placed, and so whether "
            "its queue is compared by it.",
        ),
        (
            "single_victims",
            "unrelated_blockers",
            "a pod that is listed twice counts twice for its queue, and the allocation of a queue "
            "decides which group comes first in later simulated placements.",
        ),
        (
            "same_cycle_eviction",
            "victim_shares",
            "the order of victims decides which group gets a place, and only without "
            "same_cycle_eviction can a later search of the cycle take that place back.",
        ),
        (
            "same_cycle_eviction",
            "single_victims",
            "a pod that is listed twice lowers the computed allocation of its queue; what the "
            "queue gets for that can be evicted only without same_cycle_eviction.",
        ),
        (
            "same_cycle_eviction",
            "signature_skip",
            "only without same_cycle_eviction can a group evict what the cycle placed, and "
            "signature_skip decides whether the group is tried.",
        ),
        (
            "same_cycle_eviction",
            "whole_gangs",
            "only without same_cycle_eviction is a pod that moved in this cycle a victim again, "
            "and whole_gangs decides what the rest of its gang does.",
        ),
        (
            "common_domain",
            "same_cycle_eviction",
            "the start of the search for a domain decides what is placed, and only without "
            "same_cycle_eviction can a later search of the cycle evict it.",
        ),
        (
            "exact_rollback",
            "same_cycle_eviction",
            "pipelined pods that a search evicts still count on shared GPUs, and such pods are "
            "evicted only without same_cycle_eviction.",
        ),
        (
            "device_order",
            "same_cycle_eviction",
            "device_order decides whether a pod counts as moved, and only without "
            "same_cycle_eviction is a pod that moved in this cycle a victim again.",
        ),
        (
            "optional_members",
            "same_cycle_eviction",
            "the sub-groups that a group requests decide what is placed, and only without "
            "same_cycle_eviction can a later search of the cycle evict that.",
        ),
        (
            "min_sub_group",
            "same_cycle_eviction",
            "min_sub_group decides whether a search succeeds for a group, and only without "
            "same_cycle_eviction can a later search of the cycle take back what that group got.",
        ),
        (
            "consolidation_limit",
            "same_cycle_eviction",
            "the limit on moved groups decides which groups move, and only without "
            "same_cycle_eviction is a pod that moved in this cycle a victim again.",
        ),
        (
            "same_cycle_eviction",
            "scenario_filters",
            "only without same_cycle_eviction can pipelined pods be victims, and "
            "scenario_filters decides which sets of victims are skipped.",
        ),
        (
            "protected_minimum",
            "same_cycle_eviction",
            "protected_minimum decides how many pods may be taken from a group that loses some "
            "already, and only without same_cycle_eviction may those be pods of this cycle.",
        ),
        (
            "queue_depth",
            "same_cycle_eviction",
            "queue_depth decides which groups are tried, and only without same_cycle_eviction "
            "can one of them evict what another got in this cycle.",
        ),
        (
            "min_sub_group",
            "optional_members",
            "optional_members chooses the sub-groups that a search makes room for, and "
            "min_sub_group decides whether the group is satisfied with them.",
        ),
        (
            "optional_members",
            "single_victims",
            "optional_members decides for how many pods a search evicts, and a pod can be listed "
            "twice only from one part of a search to the next.",
        ),
        (
            "held_gpus",
            "same_cycle_eviction",
            "held_gpus decides whether a pod is bound or pipelined, and only without "
            "same_cycle_eviction can a later search of the cycle evict it again.",
        ),
        (
            "completed_pods",
            "same_cycle_eviction",
            "completed_pods decides whether a gang starts, and only without same_cycle_eviction "
            "can a later search of the cycle evict what started.",
        ),
        (
            "protected_minimum",
            "victim_shares",
            "victim_shares decides which group loses pods next, and protected_minimum "
            "how many a group may give up.",
        ),
        (
            "scenario_filters",
            "unrelated_blockers",
            "scenario_filters decides which sets of victims are tried, and unrelated_blockers "
            "which of them succeed.",
        ),
    )
}
"""Pairs of switches: one changes the input of the other, and the text states how.

Each pair has a test.
"""

_LARGEST = 3  # the size of the largest sets that are tried one by one


def fewest(
    switches: Sequence[str], agrees: Callable[[tuple[str, ...]], bool], *, near: Collection[str]
) -> tuple[str, ...]:
    """A small set of switches that explains a difference which no single switch explains.

    ``agrees`` runs the case with these switches turned off. ``near`` are the switches that change
    the result when they are turned off alone. The set is empty if not even all switches together
    explain the difference. Otherwise each switch is removed in turn if the others still explain
    it. If more than two are left, pairs and then triples are tried. They are made only from the
    switches that are left or near, because all switches together make thousands of triples.
    """
    left = tuple(switches)
    if len(left) < 2 or not agrees(left):
        return ()
    for switch in switches:
        fewer = tuple(each for each in left if each != switch)
        if agrees(fewer):
            left = fewer
    tried = [each for each in switches if each in left or each in near]
    for size in range(2, min(len(left) - 1, _LARGEST) + 1):
        for chosen in combinations(tried, size):
            if agrees(chosen):
                return chosen
    return left


def why_together(switches: Iterable[str]) -> tuple[str, ...]:
    """Why these switches explain a difference only together: a sentence for each known pair.

    Empty if some of them have no known connection with the rest.
    """
    chosen = sorted(switches)
    connected = set(chosen[:1])
    pairs = [pair for pair in TOGETHER if pair <= set(chosen)]
    for _ in chosen:
        for pair in pairs:
            if not connected.isdisjoint(pair):
                connected |= pair
    if len(chosen) < 2 or connected != set(chosen):
        return ()
    return tuple(f"{' and '.join(sorted(pair))}: {TOGETHER[pair]}" for pair in pairs)
