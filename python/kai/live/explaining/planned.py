"""What a plan says about one pod: the decision, the reasons of its group, and its queues.

verdict_of(plan, "team/train-0", "team/train").why
queues_of(plan, "team/train", "vision", parents.get)      # its queue, and those above
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kai.engine.explain import MayName, why
from kai.engine.left_out import why_rejected
from kai.engine.values import Evict, GroupPlan

if TYPE_CHECKING:
    from kai.engine.plan import Plan


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """A queue, and its GPUs now; None is unlimited. `exists`: False for a name without a queue."""

    name: str
    exists: bool
    deserved: float | None = None
    limit: float | None = None
    fair_share: float | None = None
    allocated: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of the next cycle. `decision`: bind, pipeline, evict, or "". `group`: None: the
    pod is in none. `why`: sentences. `left_out`: invalid objects."""

    decision: str = ""
    node: str = ""
    group: GroupPlan | None = None
    why: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def verdict_of(
    plan: Plan, name: str, group_name: str, may_name: MayName = lambda group: True
) -> Verdict:
    """`may_name`: as in `kai.engine.explain.why`."""
    decision, node = "", ""
    for each in plan.decisions:
        if each.pod == name:
            decision = decision or each.kind
            node = node or ("" if isinstance(each, Evict) else each.node)
    known = plan.situation.find_groups(group_name) if group_name else []
    group = plan.situation.group(group_name) if group_name in known else None
    sentences = why(plan, group_name, may_name).splitlines() if group is not None else []
    mine = [each for each in plan.rejected if each.name in (name, group_name)]
    prefix = f"Pod {name}: "
    return Verdict(
        decision,
        node,
        group,
        tuple(each.strip() for each in sentences),
        tuple(each.strip() for each in why_rejected(mine).splitlines()),
        tuple(each.removeprefix(prefix) for each in plan.warnings if each.startswith(prefix)),
    )


def queues_of(
    plan: Plan, group_name: str, named: str, parent_of: Callable[[str], str | None]
) -> tuple[QueueFacts, ...]:
    """The queue of a group, then its parent, and so on. `named`: its queue if the plan does not
    have the group. `parent_of`: "" for a queue without a parent, None for one that does not
    exist."""
    found = list[QueueFacts]()
    known = plan.situation.find_groups(group_name) if group_name else []
    name = (plan.situation.group(group_name).queue if group_name in known else "") or named
    while name and all(each.name != name for each in found):
        parent, share = parent_of(name), plan.queues.get(name)
        if parent is None:
            return (*found, QueueFacts(name, exists=False))
        if share is None:
            found.append(QueueFacts(name, exists=True))
        else:
            gpu = share.gpu
            amounts = (gpu.deserved, gpu.limit, gpu.fair_share, gpu.allocated)
            found.append(QueueFacts(name, True, *amounts))
        name = parent
    return tuple(found)
