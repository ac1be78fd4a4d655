"""Why a pod group waits, in sentences for people, and what would help where that is certain.

The engine says why with a code and with KAI's text; the numbers come from the queues of the plan
and from the objects it was made from. Nothing is guessed: where the facts do not decide what would
help, the explanation ends with what is known.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from kai.engine import text
from kai.errors import NotFoundError

if TYPE_CHECKING:
    from kai.engine.plan import GroupPlan, Plan, Reason
    from kai.engine.situation import GroupFacts, Situation

_WAITING = frozenset(("unschedulable", "not_ready", "partly_placed", "invalid", "pipelined"))


def waits(group: GroupPlan) -> bool:
    """Whether some pod of the group is still without a place after this cycle."""
    return group.verdict in _WAITING


def why(plan: Plan, situation: Situation, name: str) -> str:
    """Everything there is to say about one pod group."""
    group = _resolve(plan, situation, name)
    facts = situation.groups.get(group.name)
    lines = [f"{group.name} {_headline(plan, situation, group, facts)}"]
    lines += [f"  {line}" for line in _because(plan, group, facts)]
    lines += [f"  {line}" for line in _what_helps(plan, situation, group, facts)]
    return "\n".join(lines)


def in_short(plan: Plan, situation: Situation, group: GroupPlan) -> str:
    """One or two sentences, the same for all groups that wait for the same."""
    facts = situation.groups.get(group.name)
    if group.verdict == "pipelined":
        return f"{_headline(plan, situation, group, facts)}"
    certain = _what_helps(plan, situation, group, facts)
    reasons = _because(plan, group, facts)
    never = [line for line in certain if "never" in line]
    return (never or reasons or [_headline(plan, situation, group, facts)])[0]


# ---- finding the group ---------------------------------------------------------------------------


def _resolve(plan: Plan, situation: Situation, name: str) -> GroupPlan:
    """A pod group by its name, by that of one of its pods, or by either without the namespace."""
    groups = plan.pod_groups
    if name in groups:
        return groups[name]
    of_pod = situation.group_of_pod.get(name)
    if of_pod is not None and of_pod in groups:
        return groups[of_pod]
    if "/" not in name:
        found = {each for each in groups if each.rpartition("/")[2] == name}
        found |= {
            group
            for pod, group in situation.group_of_pod.items()
            if pod.rpartition("/")[2] == name and group in groups
        }
        if len(found) == 1:
            return groups[found.pop()]
        if found:
            names = text.listing(sorted(found), most=5)
            raise NotFoundError(f"{name!r} is the name of {len(found)} pod groups: {names}")
    known = dict.fromkeys(groups) | dict.fromkeys(situation.group_of_pod)
    raise NotFoundError(text.not_found("pod group or pod", name, known))


# ---- the parts of an explanation -----------------------------------------------------------------


def _headline(plan: Plan, situation: Situation, group: GroupPlan, facts: GroupFacts | None) -> str:
    mine = {pod.name for pod in facts.pods} if facts else set()
    placed: dict[str, Counter[str]] = {"bind": Counter(), "pipeline": Counter()}
    for decision in plan.decisions:
        if decision.pod in mine and decision.kind in placed:
            placed[decision.kind][getattr(decision, "node", "")] += 1
    bound, promised = placed["bind"], placed["pipeline"]
    if group.verdict == "placed":
        return f"is placed: {_pods_on(bound)}."
    if group.verdict == "running":
        running = Counter(pod.node or "" for pod in (facts.pods if facts else ()) if pod.node)
        return f"runs: {_pods_on(running)}." if running else "runs."
    if group.verdict == "pipelined":
        return f"waits for pods to leave: it is promised room for {_pods_on(promised)}."
    if group.verdict == "partly_placed":
        total = len(facts.pods) if facts else 0
        has = sum(bound.values()) + sum(promised.values())
        running_now = sum(1 for pod in (facts.pods if facts else ()) if pod.node)
        return (
            f"gets {text.count(has, 'pod')} placed now"
            + (f", {text.number(running_now)} already run" if running_now else "")
            + (f"; it has {text.number(total)}." if total else ".")
        )
    if group.verdict == "not_ready":
        return "waits for its own pods."
    if group.verdict == "invalid":
        return "cannot be scheduled as it is written."
    return f"waits in queue {group.queue}."


def _pods_on(nodes: Counter[str]) -> str:
    where = text.listing((f"{node} ({number})" for node, number in nodes.items()), most=5)
    if len(nodes) == 1:
        where = next(iter(nodes))
    total = text.count(sum(nodes.values()), "pod")
    return f"{total} on {where}" if nodes else total


def _because(plan: Plan, group: GroupPlan, facts: GroupFacts | None) -> list[str]:
    """One sentence per distinct reason, in the order of the plan."""
    if group.verdict in ("placed", "running"):
        return []
    said = [_sentence(reason, facts) for reason in group.reasons]
    said = said or [_tidy(message) for message in group.messages]
    return list(dict.fromkeys(sentence for sentence in said if sentence))


def _sentence(reason: Reason, facts: GroupFacts | None) -> str:
    message = _tidy(reason.message)
    if reason.code == "not_ready" and message:
        return message
    return message or reason.code.replace("_", " ")


def _what_helps(
    plan: Plan, situation: Situation, group: GroupPlan, facts: GroupFacts | None
) -> list[str]:
    """What is certain to be in the way, whatever else happens."""
    if facts is None or group.verdict not in ("unschedulable", "partly_placed"):
        return []
    waiting = [pod for pod in facts.pods if pod.phase == "Pending" and pod.node is None]
    if not waiting:
        return []
    return [
        line
        for line in (
            _too_big_for_any_node(situation, max(pod.gpus for pod in waiting)),
            _gang_too_big_for_cluster(situation, facts),
            _limit_on_the_way(plan, situation, group, facts),
        )
        if line
    ]


def _too_big_for_any_node(situation: Situation, gpus: Fraction) -> str:
    largest = max((node.gpus for node in situation.nodes), default=Fraction(0))
    if gpus <= largest:
        return ""
    has = f"the largest node has {text.number(largest)}" if largest else "no node has one"
    return f"It can never start here: one pod asks for {text.count(gpus, 'GPU')}, and {has}."


def _gang_too_big_for_cluster(situation: Situation, facts: GroupFacts) -> str:
    requests = sorted(pod.gpus for pod in facts.pods)[: facts.min_member]
    needed, total = sum(requests), sum(node.gpus for node in situation.nodes)
    if facts.min_member < 2 or needed <= total:
        return ""
    return (
        f"It can never start here: {facts.min_member} pods have to start together and need "
        f"{text.count(needed, 'GPU')}, and the cluster has {text.number(total)}."
    )


def _limit_on_the_way(plan: Plan, situation: Situation, group: GroupPlan, facts: GroupFacts) -> str:
    """A queue, its own or one above, whose limit is below what the group needs at the least."""
    needed = sum(sorted(pod.gpus for pod in facts.pods)[: max(1, facts.min_member)])
    seen = set()
    name: str | None = group.queue
    while name is not None and name in plan.queues and name not in seen:
        seen.add(name)
        limit = plan.queues[name].gpu.limit
        if limit is not None and limit < needed:
            return (
                f"It can never start in this queue: it needs {text.count(needed, 'GPU')} at the "
                f"least, and the limit of queue {name} is {text.number(limit)}."
            )
        name = situation.queue_parents.get(name)
    return ""


def _tidy(message: str) -> str:
    """KAI's text on one line, without the full stop after a full stop."""
    return " ".join(message.split()).replace(" .", ".").replace("..", ".")
