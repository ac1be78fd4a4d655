"""Which changes may start a waiting group, by the reasons for which it waits.

Each reason has its interventions: the changes that remove it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush

from kai.engine.fixing import of_affinity, of_group, of_nodes, of_queues, of_requests
from kai.engine.fixing.ladders import Ladder
from kai.engine.fixing.waiting import Waiting

Family = Callable[[Waiting], Iterator[Ladder]]

_ALLOWED_NODES = ("selector", "affinity", "toleration", "uncordon", "taint", "label")
_SMALLER = ("gpus", "shares", "profiles", "amounts")
_ROOM = (
    "wait", *_ALLOWED_NODES, "minimum", *_SMALLER, "priority", "quota", "weight", "end", "nodes",
)  # fmt: skip

_FAMILIES: Mapping[str, Family] = {
    "wait": of_group.waits,
    "pods": of_group.pods,
    "queue": of_queues.missing_queues,
    "claim": of_group.claims,
    "config_map": of_group.config_maps,
    "sub_group": of_group.sub_groups,
    "selector": of_group.selectors,
    "affinity": of_affinity.affinities,
    "toleration": of_group.tolerations,
    "topology": of_group.topologies,
    "minimum": of_group.minimums,
    "priority": of_group.priorities,
    "preemptibility": of_group.preemptibilities,
    "gpus": of_requests.gpus,
    "shares": of_requests.shares,
    "profiles": of_requests.profiles,
    "amounts": of_requests.amounts,
    "uncordon": of_nodes.uncordoned,
    "taint": of_nodes.untainted,
    "label": of_nodes.labels,
    "quota": of_queues.quotas,
    "own_quota": of_queues.quotas_of_non_preemptible,
    "limit": of_queues.limits,
    "weight": of_queues.weights,
    "end": of_nodes.ends,
    "nodes": of_nodes.nodes,
}

INTERVENTIONS: Mapping[str, tuple[str, ...]] = {
    "over_limit": ("limit", "minimum", *_SMALLER, "priority"),
    "non_preemptible_over_quota": ("preemptibility", "own_quota", "minimum", *_SMALLER),
    "gang_incomplete": _ROOM,
    "not_enough_gpus": _ROOM,
    "not_enough_resources": _ROOM,
    "no_matching_node": _ROOM,
    "larger_than_any_node": (*_SMALLER, *_ALLOWED_NODES),
    "topology_too_small": ("topology", *_ROOM),
    "config_map_missing": ("config_map",),
    "volume_not_ready": (),
    "resource_claim_not_ready": ("claim",),
    "selector_costs_too_much": (),
    "no_free_devices": ("wait", "priority", "quota", "end", "nodes"),
    "queue_does_not_exist": ("queue",),
    "queue_not_leaf": ("queue",),
    "subgroup_does_not_exist": ("sub_group",),
    "not_ready": ("pods", "minimum"),
    "no_pods": ("pods",),
    "not_considered": ("priority", "quota"),
    "not_built": (),
    "completed": (),
    "preemption_delay": ("wait",),
    "search_budget_spent": ("priority", "end", "nodes"),
    "evicted": ("priority", "quota", "weight", "nodes"),
    "stale": ("minimum", "nodes"),
}
"""For each code of a reason, the families of changes that may remove it. Empty: the cause is
outside of what a plan can try, such as a volume that another component has to bind."""


_KINDS: Mapping[str, tuple[str, ...]] = {
    "config_map": ("pods",),
    "sub_group": ("pods",),
    "shares": ("gpus",),
    "profiles": ("gpus",),
    "amounts": ("cpus", "memory", "resources"),
    "own_quota": ("quota",),
}
"""The kinds of changes of a family, if its name is none of them."""


def ladders(waiting: Waiting, costs: Mapping[str, float]) -> Iterator[Ladder]:
    """All ladders for the reasons of a waiting group, the cheapest kind of change first. Those of a
    family are made when all cheaper ones were taken."""
    names: dict[str, None] = {}
    for reason in waiting.group.reasons:
        names.update(dict.fromkeys(INTERVENTIONS[reason.code]))
    if waiting.facts.lost:
        names.update(dict.fromkeys(INTERVENTIONS["evicted"]))
    if any(not places.possible for places in waiting.places):
        names.update(dict.fromkeys((*_ALLOWED_NODES, *_SMALLER)))
    # By cost, family, and place in the family; a family comes before its ladders.
    heap: list[tuple[float, int, int, str | Ladder]] = [
        (min(costs[kind] for kind in _KINDS.get(name, (name,))), place, -1, name)
        for place, name in enumerate(names)
    ]
    heapify(heap)
    while heap:
        _, place, _, first = heappop(heap)
        if isinstance(first, Ladder):
            yield first
            continue
        for number, ladder in enumerate(_FAMILIES[first](waiting)):
            if ladder.values:
                kind = ladder.make(ladder.values[0]).kind
                heappush(heap, (costs[kind], place, number, ladder))
