"""Finds why two decisions differ: plans the same state again, with one change.

    compared = explained(case, switches)

Costs up to one plan for each switch, so it runs on another thread than the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kai.controllers.shadow.comparison import Case, agrees
from kai.controllers.shadow.values import Chosen, Compared, Planned

NOT_READ = frozenset(
    ("config_map_missing", "not_built", "resource_claim_not_ready", "volume_not_ready")
)
"""Reason codes of pod groups that need something that the plan does not have."""


def explained(case: Case, switches: Sequence[str]) -> Compared:
    """The comparison with its cause. `switches`: those that are on."""
    compared, plan = case.compared, case.plan
    if plan is None or compared.cause or compared.is_same:
        return compared
    if compared.pod not in plan.chosen:
        compared = replace(compared, reason=plan.reason(compared.pod))
    for name in (compared.pod, compared.group):
        if name in plan.left_out:
            return replace(compared, cause="left_out", reason=plan.left_out[name])
    if compared.reason in NOT_READ:
        return replace(compared, cause="not_read")
    if _is_tie(case, plan):
        return replace(compared, cause="equal_score")
    explains = _fewest(switches, lambda chosen: _agrees_with(case, plan, chosen))
    if explains:
        return replace(compared, cause="switch", switches=explains)
    return replace(compared, cause="unknown")


def _is_tie(case: Case, plan: Planned) -> bool:
    """Whether the pod is placed as by the other scheduler once the two nodes swap names."""
    ours = plan.chosen.get(case.compared.pod)
    if case.compared.outcome != "other_node" or ours is None:
        return False
    chosen = plan.again(new_names=(ours.node, case.node))
    # After the swap, the other scheduler's node has the name of the plan's node.
    return chosen is not None and agrees(
        chosen, case.serial, case.compared.pod, ours.node, case.groups, case.devices
    )


def _agrees_with(case: Case, plan: Planned, switches: tuple[str, ...]) -> bool:
    """Whether a plan with these switches off agrees with the other scheduler."""
    chosen = plan.again(switches=switches)
    if chosen is None:
        return False
    compared, pod = case.compared, case.compared.pod
    if compared.subject == "bind" and compared.outcome != "missed":
        return agrees(chosen, case.serial, pod, case.node, case.groups, case.devices)
    decided = chosen.get(pod)
    if compared.outcome != "missed":
        return decided is not None and decided.kind == "evict"
    if compared.subject == "bind":
        return decided is None or decided.kind != "bind"
    return not _evicts_for(chosen, plan.chosen.get(pod))


def _evicts_for(chosen: Mapping[str, Chosen], wanted: Chosen | None) -> bool:
    return wanted is not None and any(
        (each.kind, each.action, each.for_group) == ("evict", wanted.action, wanted.for_group)
        for each in chosen.values()
    )


def _fewest(
    switches: Sequence[str], explains: Callable[[tuple[str, ...]], bool]
) -> tuple[str, ...]:
    """A smallest set of switches that explains the difference; empty: even all together do not."""
    every = tuple(switches)
    if not every or not explains(every):
        return ()
    for each in every:
        if explains((each,)):
            return (each,)
    left = every
    for each in every:
        fewer = tuple(other for other in left if other != each)
        if explains(fewer):
            left = fewer
    return left
