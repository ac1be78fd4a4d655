"""Whether a waiting group would start if no other group waited, and which groups come first.

The engine runs the cycle once more for it, as if no other group had waiting pods.
"""

from __future__ import annotations

from kai.engine import text
from kai.engine.situation import GroupFacts, Situation
from kai.engine.values import GroupPlan

ROOM = frozenset(
    (
        "not_enough_gpus",
        "not_enough_resources",
        "gang_incomplete",
        "topology_too_small",
        "no_free_devices",
        "no_matching_node",
        "over_limit",
        "non_preemptible_over_quota",
        "search_budget_spent",
    )
)
"""Reasons of groups that might start if others did not come first."""


def sentence(situation: Situation, group: GroupPlan, facts: GroupFacts) -> str:
    """Who comes first, if nothing else is in the way of the group; else "".

    Nothing is said of groups that request parts of GPUs: which devices they get may depend on pods
    that were tried before them.
    """
    if facts.sharer or not any(reason.code in ROOM for reason in group.reasons):
        return ""
    if not situation.starts_alone(group.name):
        return ""
    starts = "It would start"
    if group.verdict == "partly_placed":
        starts = "More of its pods would start"
    # A list: it calls nothing for each group.
    placed = [
        name
        for name, (bound, promised, evicted) in situation.decided.items()
        if bound + promised > evicted and name != group.name
    ]
    first = sorted(placed)
    if not first:
        return (
            f"{starts} if no other group waited: what they request lowers the fair share of queue "
            f"{group.queue}."
        )
    groups = text.count(len(first), "pod group")
    gets = "comes first and gets places" if len(first) == 1 else "come first and get places"
    return f"{starts} if no other group waited: {groups} {gets} ({text.listing(first)})."
