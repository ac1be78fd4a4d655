"""Why a pod group waits, in sentences for people, and what would help where that is certain.

The engine says why with a code and with KAI's text; the numbers come from the queues of the plan
and from the objects it was made from. Nothing is guessed: where the facts do not decide, the
explanation ends with what is known.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from kai.engine import text
from kai.errors import NotFoundError

if TYPE_CHECKING:
    from kai.engine.plan import GroupPlan, Plan, Reason
    from kai.engine.situation import GroupFacts, PodFacts, Situation

_NONE = Fraction(0)
_WAITING = frozenset(("unschedulable", "not_ready", "partly_placed", "invalid", "pipelined"))


def waits(group: GroupPlan) -> bool:
    """Whether some pod of the group is still without a place after this cycle."""
    return group.verdict in _WAITING


def why(plan: Plan, situation: Situation, name: str) -> str:
    """Everything there is to say about one pod group, a sentence per line."""
    case = _Case(plan, situation, _resolve(plan, situation, name))
    return "\n".join(
        [f"{case.group.name} {case.headline()}", *(f"  {s}" for s in case.sentences())]
    )


def in_short(plan: Plan, situation: Situation, group: GroupPlan) -> str:
    """One sentence, the same for all groups that wait for the same."""
    case = _Case(plan, situation, group)
    if group.verdict == "pipelined":
        return case.headline()
    return next(iter(case.sentences()), case.headline())


# ---- finding the group ---------------------------------------------------------------------------


def _resolve(plan: Plan, situation: Situation, name: str) -> GroupPlan:
    """A pod group by its name, its owner's, or a pod's, each also without the namespace."""
    groups = plan.pod_groups
    for kind in (dict.fromkeys(groups), situation.group_of_pod, situation.group_of_owner):
        names: dict[str, str] = {each: group or each for each, group in kind.items()}
        found = {group for each, group in names.items() if name in (each, each.partition("/")[2])}
        found &= groups.keys()
        if len(found) == 1:
            return groups[found.pop()]
        if found:
            listed = text.listing(sorted(found), most=5)
            raise NotFoundError(f"{name!r} is the name of {len(found)} pod groups: {listed}")
    known = {**dict.fromkeys(groups), **situation.group_of_owner}
    raise NotFoundError(text.not_found("pod group", name, known))


# ---- one group -----------------------------------------------------------------------------------


class _Case:
    """A pod group of a plan, with the facts about it."""

    def __init__(self, plan: Plan, situation: Situation, group: GroupPlan) -> None:
        self.plan = plan
        self.situation = situation
        self.group = group
        self.facts: GroupFacts | None = situation.groups.get(group.name)

    @property
    def pods(self) -> tuple[PodFacts, ...]:
        return self.facts.pods if self.facts else ()

    def headline(self) -> str:
        verdict = self.group.verdict
        bound, promised = self._nodes("bind"), self._nodes("pipeline")
        running = Counter(pod.node for pod in self.pods if pod.node)
        if verdict == "placed":
            return f"is placed: {_pods_on(bound)}."
        if verdict == "pipelined":
            return f"is promised room that others are about to leave: {_pods_on(promised)}."
        if verdict == "running":
            ended = any(reason.code == "completed" for reason in self.group.reasons)
            return "is done: all its pods have ended." if ended else f"runs: {_pods_on(running)}."
        if verdict == "partly_placed":
            parts = [
                f"{text.number(sum(nodes.values()))} {state}"
                for nodes, state in (
                    (running, "running"),
                    (bound, "placed now"),
                    (promised, "promised room that others are about to leave"),
                )
                if nodes
            ]
            return f"has {text.count(len(self.pods), 'pod')}: {', '.join(parts)}; the rest waits."
        if verdict == "not_ready":
            return "waits for its own pods."
        if verdict == "invalid":
            return "cannot be scheduled as it is written."
        return f"waits in queue {self.group.queue}."

    def sentences(self) -> list[str]:
        """Why, most certain first; each sentence once."""
        if not waits(self.group):
            return []
        never = list(self._never())
        said = never + [
            self._sentence(reason)
            for reason in self.group.reasons
            if not never or reason.code not in _SETTLED_BY_NEVER
        ]
        if not any(said):
            said = [tidy(message) for message in self.group.messages]
        return list(dict.fromkeys(sentence for sentence in said if sentence))

    def _nodes(self, kind: str) -> Counter[str]:
        mine = {pod.name for pod in self.pods}
        return Counter(
            getattr(decision, "node", "")
            for decision in self.plan.decisions
            if decision.kind == kind and decision.pod in mine
        )

    # ---- what no waiting will change -------------------------------------------------------------

    def _never(self) -> Iterable[str]:
        waiting = [pod.gpus for pod in self.pods if pod.waits]
        if self.facts is None or not waiting or self.group.verdict != "unschedulable":
            return
        gpus = [node.gpus for node in self.situation.nodes]
        largest = max(gpus, default=_NONE)
        if max(waiting) > largest:
            has = f"the largest node has {text.number(largest)}" if largest else "no node has one"
            asked = text.count(max(waiting), "GPU")
            yield f"It can never start here: one pod asks for {asked}, and {has}."
            return
        least = sum(sorted(pod.gpus for pod in self.pods)[: max(1, self.facts.min_member)])
        needed = text.count(least, "GPU")
        if least > sum(gpus):
            yield (
                f"It can never start here: {self.facts.min_member} pods that have to start "
                f"together need {needed}, and the cluster has {text.number(sum(gpus))}."
            )
            return
        for name in self.situation.path_to_root(self.group.queue):
            limit = self.plan.queues[name].gpu.limit if name in self.plan.queues else None
            if limit is not None and limit < least:
                yield (
                    f"It can never start in this queue: it needs {needed} at the least, and the "
                    f"limit of queue {name} is {text.number(limit)}."
                )
                return

    # ---- the engine's reasons --------------------------------------------------------------------

    def _sentence(self, reason: Reason) -> str:
        tell = _TELL.get(reason.code)
        return (tell(self, tidy(reason.message)) if tell else "") or tidy(reason.message)

    def _over_limit(self, message: str) -> str:
        found = _OVER_LIMIT.fullmatch(message)
        if not found:
            return ""
        queue, _, limit, unit, used, asked = found.groups()
        return (
            f"Queue {queue} is at its limit of {limit} {unit}: {used} are in use, and this asks "
            f"for {asked}."
        )

    def _over_quota(self, message: str) -> str:
        found = _OVER_QUOTA.match(message)
        if not found:
            return ""
        asked, _, queue, quota, unit, used = found.groups()
        return (
            f"Queue {queue} deserves {quota} {unit}, non-preemptible pods hold {used}, and this "
            f"asks for {asked} more without being preemptible. With a priority below 100 it "
            "could use what others leave idle."
        )

    def _queue_does_not_exist(self, message: str) -> str:
        close = difflib.get_close_matches(self.group.queue, self.plan.queues, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return f"There is no queue {self.group.queue!r}{hint}"

    def _not_ready(self, message: str) -> str:
        found = _NOT_READY.search(message)
        if not found or message.count("Waiting for") > 1:
            return ""
        needed, exist, gated = (int(number) for number in found.groups())
        but = f", {text.number(gated)} of them gated" if gated else ""
        there = "is" if exist == 1 else "are"
        return (
            f"It needs {text.count(needed, 'pod')} to start, and there {there} "
            f"{text.number(exist)}{but}."
        )

    def _gang_incomplete(self, message: str) -> str:
        found = _GANG.match(message)
        if not found:
            return ""
        placed, needed = (int(number) for number in found.groups())
        if crowded := self._short_of_gpus(needed - self._placed()):
            return crowded
        return (
            f"{text.count(needed, 'pod')} have to start together, and there is room for "
            f"{text.number(placed)}."
        )

    def _no_node(self, message: str) -> str:
        if self.facts is not None and "resources: GPUs" in message:
            missing = self.facts.min_member - self._placed()
            if crowded := self._short_of_gpus(max(1, missing)):
                return crowded
        counts = _REFUSED.findall(message)
        if not counts:
            return ""
        known = len(self.situation.nodes)
        # KAI counts over all attempts of the cycle; more than there are nodes says nothing.
        countable = sum(int(times) for times, _ in counts) <= known
        parts = [
            f"{text.count(int(times), 'node') if countable else 'nodes'} {_said_of_nodes(refused)}"
            for times, refused in counts
        ]
        return f"No node can take the next pod: {', '.join(parts)}."

    def _larger_than_any_node(self, message: str) -> str:
        found = _LARGEST.search(message)
        if found is None:
            return ""
        resource, largest, none = found.group("resource"), found["largest"], found["none"]
        has = f"the largest node has {largest}" if largest else f"no node has any {none}"
        return (
            f"It can never start here: one pod asks for more {resource or none} than that: {has}."
        )

    def _short_of_gpus(self, count: int) -> str:
        """That free GPUs do not suffice for `count` more pods; "" if it is not that simple."""
        asked = {pod.gpus for pod in self.pods if pod.waits}
        if len(asked) != 1 or not (each := asked.pop()) or count < 1:
            return ""
        free = self.situation.free_gpus(self.plan.decisions)
        if sum(max(_NONE, node) // each for node in free) >= count:
            return ""
        total, most = sum(max(_NONE, node) for node in free), max(free, default=_NONE)
        needs = f"{text.count(each, 'GPU')} on one node"
        if count > 1:
            needs = f"{count} pods that start together, with {text.count(each, 'GPU')} each"
        found = f"after this cycle {text.number(total)} are free"
        spread = f", at most {text.number(most)} on one node" if total >= each * count else ""
        return f"It needs {needs}; {found if total else 'no GPU is free after this cycle'}{spread}."

    def _placed(self) -> int:
        """How many of its pods need no place any more."""
        return sum(1 for pod in self.pods if pod.node) + sum(self._nodes("bind").values())


_TELL: dict[str, Callable[[_Case, str], str]] = {
    "over_limit": _Case._over_limit,
    "non_preemptible_over_quota": _Case._over_quota,
    "queue_does_not_exist": _Case._queue_does_not_exist,
    "not_ready": _Case._not_ready,
    "gang_incomplete": _Case._gang_incomplete,
    "not_enough_gpus": _Case._no_node,
    "not_enough_resources": _Case._no_node,
    "no_matching_node": _Case._no_node,
    "larger_than_any_node": _Case._larger_than_any_node,
}
"""How to say each code in other words than KAI's; "" where those say it best."""

_SETTLED_BY_NEVER = frozenset(("gang_incomplete", "not_enough_gpus", "larger_than_any_node"))

# KAI's texts (spec 1 F77, F78; spec 2 M4, M6, P6; spec 3 P14), after tidy().
_OVER_LIMIT = re.compile(
    r"(.+) quota has reached the allowable limit of (GPUs|CPU cores|memory)\. Limit is ([\d.]+) "
    r"(\w+), currently ([\d.]+) \w+ allocated and workload requested ([\d.]+) \w+\.?"
)
_OVER_QUOTA = re.compile(
    r"Non-preemptible workload is over quota\. Workload requested ([\d.]+) ([\w ]+), but (.+) "
    r"quota is ([\d.]+) (\w+), while ([\d.]+) "
)
_NOT_READY = re.compile(r"Waiting for (\d+) pods, currently (\d+) exist, (\d+) are gated")
_GANG = re.compile(r"Resources were found for (\d+) pods while (\d+) are required")
_REFUSED = re.compile(
    r"(?<![\w.])(\d+) ((?:node\(s\)|node|gpu task|cpu task|non MIG)[^.]*)\.(?: |$)"
)
_LARGEST = re.compile(
    r"Max (?P<resource>\S+) resources available in a single node .* is topped at "
    r"(?P<largest>[\d.]+)|No node in the .* node-pool has (?P<none>\S+) resources"
)

_NODES_SAID = {
    "node(s) didn't have enough resources: GPUs": "short of free GPUs",
    "node(s) didn't have enough resources: CPU cores": "short of free CPUs",
    "node(s) didn't have enough resources: memory": "short of free memory",
    "node is unschedulable": "cordoned",
    "node has NotReady condition": "not ready",
    "node(s) had untolerated taint(s)": "with a taint it does not tolerate",
    "node(s) didn't match Pod's node affinity/selector": "outside its node selector or affinity",
    "node(s) didn't match pod affinity rules": "far from the pods it has to be near",
    "node(s) didn't match pod anti-affinity rules": "near pods it must not be near",
    "node(s) didn't satisfy existing pods anti-affinity rules": "near pods that do not want it",
    "node(s) pod number exceeded": "full of pods",
}


def _said_of_nodes(refused: str) -> str:
    if refused in _NODES_SAID:
        return _NODES_SAID[refused]
    if resource := refused.partition("didn't have enough resources: ")[2]:
        return f"short of free {resource}"
    return f"where {refused.replace('node(s)', 'the node')}"


def _pods_on(nodes: Counter[str]) -> str:
    where = text.listing((f"{node} ({number})" for node, number in nodes.items()), most=5)
    if len(nodes) == 1:
        where = next(iter(nodes))
    total = text.count(sum(nodes.values()), "pod")
    return f"{total} on {where}" if nodes else total


def tidy(message: str) -> str:
    """KAI's text on one line, without the full stop after a full stop."""
    return " ".join(message.split()).replace(" .", ".").replace("..", ".")
