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
from functools import cached_property
from typing import TYPE_CHECKING

from kai.api import kinds
from kai.api.reading import at
from kai.engine import text
from kai.errors import NotFoundError

if TYPE_CHECKING:
    from kai.engine.plan import Decision, Evict, GroupPlan, Plan, Reason
    from kai.engine.situation import GroupFacts, PodFacts

_NONE = Fraction(0)
_WAITING = frozenset(("unschedulable", "not_ready", "partly_placed", "invalid", "pipelined"))


def waits(group: GroupPlan) -> bool:
    """Whether some pod of the group is still without a place after this cycle."""
    return group.verdict in _WAITING


def why(plan: Plan, group: GroupPlan) -> str:
    """Everything there is to say about one pod group, a sentence per line."""
    case = _Case(plan, group)
    return "\n".join(
        [f"{case.group.name} {case.headline()}", *(f"  {s}" for s in case.sentences())]
    )


def in_short(plan: Plan, group: GroupPlan, account: Account | None = None) -> str:
    """One sentence, the same for all groups that wait for the same."""
    case = _Case(plan, group, account)
    if group.verdict == "pipelined":  # where is with the decisions
        return (
            "It moves." if case.moves() else "It is promised room that others are about to leave."
        )
    sentences = case.sentences()
    said = sentences[0] if sentences else f"It {case.headline()}"
    own_name = rf"(?:PodGroup )?(?<![\w./-]){re.escape(group.name)}(?![\w/-])"
    return re.sub(own_name, "the pod group", said)


# ---- finding the group ---------------------------------------------------------------------------


def find_group(plan: Plan, name: str) -> GroupPlan:
    """A pod group by its name, its owner's, or a pod's, each also without the namespace."""
    groups, situation = plan.pod_groups, plan.situation
    own = [(group, group) for group in groups]
    for names in (own, situation.group_of_pod.items(), situation.groups_of_owners):
        found = {group for each, group in names if name in (each, each.partition("/")[2])}
        found &= groups.keys()
        if len(found) == 1:
            return groups[found.pop()]
        if found:
            listed = text.listing(sorted(found), most=5)
            raise NotFoundError(f"{name!r} is the name of {len(found)} pod groups: {listed}")
    known = dict.fromkeys([*groups, *(owner for owner, _ in situation.groups_of_owners)])
    raise NotFoundError(text.not_found("pod group", name, known))


# ---- everybody -----------------------------------------------------------------------------------


class Account:
    """What a plan leaves to everybody, worked out once, however many groups are asked about."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._room: dict[Fraction, int] = {}

    @cached_property
    def decisions_of(self) -> dict[str, list[Decision]]:
        """By pod group, in order."""
        found: dict[str, list[Decision]] = {}
        for decision in self.plan.decisions:
            group = self.plan.situation.group_of_pod.get(decision.pod, "")
            found.setdefault(group, []).append(decision)
        return found

    @cached_property
    def free_gpus(self) -> list[Fraction]:
        """Per node, what is free after the cycle and promised to nobody.

        Promises are kept out of what is leaving, and out of what is free where that is too little.
        """
        situation = self.plan.situation
        names = dict.fromkeys(node.name for node in situation.nodes)
        idle = dict(zip(names, situation.free_gpus(self.plan.decisions), strict=True))
        leaving = dict.fromkeys(idle, _NONE)  # less what is promised
        goes = {each.pod for each in self.plan.decisions if each.kind == "evict"}
        goes |= {
            kinds.full_name(pod)
            for pod in situation._objects("pods")
            if at(pod, "metadata", "deletionTimestamp")
        }
        for pod in situation.pods:
            if pod.node in leaving and pod.name in goes:
                leaving[pod.node] += pod.gpus
        for decision in self.plan.decisions:
            node = getattr(decision, "node", None)
            if decision.kind == "pipeline" and node in leaving:
                leaving[node] -= Fraction(getattr(decision, "gpus", 0))
        return [max(_NONE, free + min(_NONE, leaving[node])) for node, free in idle.items()]

    def room_for(self, gpus: Fraction) -> int:
        """How many pods with so many GPUs each the nodes could still take."""
        if gpus not in self._room:
            self._room[gpus] = sum(int(free // gpus) for free in self.free_gpus)
        return self._room[gpus]

    @cached_property
    def has(self) -> dict[str, Fraction]:
        """GPUs that queues hold or are promised, without what leaves them."""
        plan, situation = self.plan, self.plan.situation
        has = {name: Fraction(queue.gpu.allocated or 0) for name, queue in plan.queues.items()}
        gpus = {pod.name: pod.gpus for pod in situation.pods}
        # Who moves is promised what it has.
        promised = {each.pod for each in plan.decisions if each.kind == "pipeline"}
        promised -= {each.pod for each in plan.decisions if each.kind == "evict"}
        for name, decisions in self.decisions_of.items():
            group = plan.pod_groups.get(name)
            if not group or group.queue not in has:
                continue
            lost = _lost(group)
            for decision in decisions:
                if decision.kind == "bind" or decision.pod in promised:
                    has[group.queue] += Fraction(getattr(decision, "gpus", 0))
                elif decision.kind == "evict" and decision.pod in lost:
                    has[group.queue] -= gpus.get(decision.pod, _NONE)
        return has

    @cached_property
    def leaves(self) -> list[str]:
        """Queues that pod groups can run in."""
        return sorted(self.plan.queues.keys() - set(self.plan.situation.queue_parents.values()))

    @cached_property
    def above_share(self) -> str:
        """Queues that then have more than their fair share, with the numbers."""
        return text.listing(
            f"{name} ({text.number(self.has[name])} of {text.number(share)})"
            for name in self.leaves
            if (share := self.plan.queues[name].gpu.fair_share) is not None
            and self.has[name] > share
        )


# ---- one group -----------------------------------------------------------------------------------


class _Case:
    """A pod group of a plan, with the facts about it."""

    def __init__(self, plan: Plan, group: GroupPlan, account: Account | None = None) -> None:
        self.plan = plan
        self.account = account or Account(plan)
        self.situation = plan.situation
        self.group = group
        self.facts: GroupFacts | None = plan.situation.groups.get(group.name)

    @property
    def pods(self) -> tuple[PodFacts, ...]:
        return self.facts.pods if self.facts else ()

    @property
    def decisions(self) -> list[Decision]:
        return self.account.decisions_of.get(self.group.name, [])

    @property
    def evicted(self) -> dict[str, Evict]:
        """Its pods that have to make room, with the last that was decided about each."""
        found: dict[str, Evict] = {}
        for decision in self.decisions:
            if decision.kind == "evict":
                found[decision.pod] = decision  # type: ignore[assignment]
        return found

    def moves(self) -> bool:
        """Whether whatever it is promised is for pods that have to leave where they are."""
        promised = {each.pod for each in self.decisions if each.kind == "pipeline"}
        return bool(self.evicted) and promised <= self.evicted.keys()

    def headline(self) -> str:
        verdict = self.group.verdict
        bound, promised = self._nodes("bind"), self._nodes("pipeline")
        evicted = self.evicted
        running = Counter(pod.node for pod in self.pods if pod.node and pod.name not in evicted)
        if verdict == "placed":
            return f"is placed: {_pods_on(bound)}."
        if verdict == "pipelined":
            if self.moves():
                return f"moves: {_pods_on(promised)}."
            return f"is promised room that others are about to leave: {_pods_on(promised)}."
        if verdict == "running":
            if evicted:
                if not running:
                    return f"has to give up all it has: {text.count(len(evicted), 'pod')}."
                total = len(evicted) + sum(running.values())
                verb = "stays" if sum(running.values()) == 1 else "stay"
                return (
                    f"has to give up {len(evicted)} of its {total} pods; "
                    f"{_pods_on(running)} {verb}."
                )
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
            if gone := _lost(self.group):
                parts.append(f"{text.number(len(gone))} evicted")
            return f"has {text.count(len(self.pods), 'pod')}: {', '.join(parts)}; the rest waits."
        if verdict == "not_ready":
            return "waits for its own pods."
        if verdict == "invalid":
            return "cannot be scheduled as it is written."
        return f"waits in queue {self.group.queue}."

    def sentences(self) -> list[str]:
        """Why, most certain first; each sentence once."""
        if not waits(self.group):
            return [said for said in (*self._staleness(), *self._evictions()) if said]
        never = list(self._never())
        said = never + [
            self._sentence(reason)
            for reason in self.group.reasons
            if not never or reason.code not in _SETTLED_BY_NEVER
        ]
        if not any(said):
            said = [tidy(message) for message in self.group.messages]
        if not never and any(reason.code == "not_enough_gpus" for reason in self.group.reasons):
            said.append(self._who_has_more())
        said += self._evictions()
        return list(dict.fromkeys(sentence for sentence in said if sentence))

    def _nodes(self, kind: str) -> Counter[str]:
        return Counter(
            getattr(decision, "node", "") for decision in self.decisions if decision.kind == kind
        )

    # ---- what it has to give up ------------------------------------------------------------------

    def _staleness(self) -> list[str]:
        return [self._sentence(reason) for reason in self.group.reasons if reason.code == "stale"]

    def _evictions(self) -> Iterable[str]:
        """Who makes room for whom: a sentence per action and pod group."""
        causes = Counter((each.action, each.for_group) for each in self.evicted.values())
        for (action, for_group), pods in causes.items():
            if for_group is None:
                yield "Its grace period is over."
            else:
                verb = "makes" if pods == 1 else "make"
                yield f"{text.count(pods, 'pod')} {verb} room for {for_group}: {action}."
        if any(action == "reclaim" for action, _ in causes):
            yield self._above_share()

    def _above_share(self) -> str:
        """Which queue held too many GPUs, its own or one above it; "" if it was not GPUs."""
        for name in self.situation.path_to_root(self.group.queue):
            gpu = self.plan.queues[name].gpu if name in self.plan.queues else None
            if gpu and gpu.fair_share is not None and (gpu.allocated or 0) > gpu.fair_share:
                return (
                    f"Queue {name} held {text.count(gpu.allocated or 0, 'GPU')}; its fair share is "
                    f"{text.number(gpu.fair_share)}."
                )
        return ""

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
        message = tidy(reason.message)
        tell = _TELL.get(reason.code)
        said = tell(self, message) if tell else None
        return _as_sentence(message) if said is None else said

    def _over_limit(self, message: str) -> str | None:
        found = _OVER_LIMIT.fullmatch(message)
        if not found:
            return None
        queue, _, limit, unit, used, asked = found.groups()
        return (
            f"Queue {queue} is at its limit of {_units(limit, unit)}: {used} are in use, and "
            f"this asks for {asked}."
        )

    def _over_quota(self, message: str) -> str | None:
        found = _OVER_QUOTA.match(message)
        if not found:
            return None
        asked, _, queue, quota, unit, used = found.groups()
        return (
            f"Queue {queue} deserves {_units(quota, unit)}, non-preemptible pods hold {used}, "
            f"and this asks for {asked} more without being preemptible. With a priority below "
            "100 it could use what others leave idle."
        )

    def _preemption_delay(self, message: str) -> str | None:
        found = _DELAY.search(message)
        if not found:
            return None
        delay, end = found.groups()
        return f"It may not evict others before {end}: its preemption delay is {delay}."

    def _stale(self, message: str) -> str | None:
        found = _STALE.fullmatch(message)
        if not found:
            return None
        active, least = (int(number) for number in found.groups())
        verb = "runs" if active == 1 else "run"
        return f"It is stale: it needs {text.count(least, 'pod')} to go on, and {active} {verb}."

    def _not_built(self, message: str) -> str | None:
        found = _NOT_BUILT.fullmatch(message)
        return f"It needs {found[1]}, which kai does not have yet." if found else None

    def _queue_does_not_exist(self, message: str) -> str | None:
        close = difflib.get_close_matches(self.group.queue, self.plan.queues, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return f"There is no queue {self.group.queue!r}{hint}"

    def _not_ready(self, message: str) -> str | None:
        found = _NOT_READY.search(message)
        if not found or message.count("Waiting for") > 1:
            return None
        needed, exist, gated = (int(number) for number in found.groups())
        there = f"{text.number(exist)} {'exists' if exist == 1 else 'exist'}"
        but = f", {text.number(gated)} of them behind a scheduling gate" if gated else ""
        return f"It needs {text.count(needed, 'pod')} to start; {there}{but}."

    def _gang_incomplete(self, message: str) -> str | None:
        if found := _SUB_GROUP.match(message):
            placed, needed = int(found[1]), int(found[3])
            refused = self._refused(message)
            return (
                f"Its sub-group {found[2]} has to start with {text.count(needed, 'pod')}, and "
                f"there is room for {text.number(placed) if placed else 'none'}"
                f"{': ' if refused else ''}{refused}."
            )
        found = _GANG.match(message)
        if not found:
            return ""  # the reason after it says the same without the gang
        placed, needed = (int(number) for number in found.groups())
        if crowded := self._short_of_gpus(needed - self._placed()):
            return crowded
        refused = self._refused(message)
        return (
            f"{text.count(needed, 'pod')} have to start together, and there is room for "
            f"{text.number(placed) if placed else 'none'}{': ' if refused else ''}{refused}."
        )

    def _no_node(self, message: str) -> str | None:
        gangs = (_GANG, _SUB_GROUP)
        if any(gang.match(each.message) for each in self.group.reasons for gang in gangs):
            return ""  # said with the gang
        if self.facts is not None and "resources: GPUs" in message:
            missing = self.facts.min_member - self._placed()
            if crowded := self._short_of_gpus(max(1, missing)):
                return crowded
        refused = self._refused(message)
        # Nodes give no reason, or only that of GPUs, for parts that are short (spec 3 E5).
        if not refused or "resources: GPUs" in message:
            sharer = next((pod for pod in self.pods if pod.waits and pod.devices), None)
            if sharer:
                return _no_devices_for(sharer)
        return f"No node can take the next pod: {refused}." if refused else None

    def _refused(self, message: str) -> str:
        """What nodes said no for: "2 nodes short of free CPUs, 1 node cordoned"."""
        counts: Counter[str] = Counter()
        for times, refused in _REFUSED.findall(message):
            counts[_said_of_nodes(refused)] += int(times)
        # KAI counts over all attempts of the cycle; more than there are nodes says nothing.
        if counts.total() > len(self.situation.nodes):
            return ", ".join(f"nodes {said}" for said in sorted(counts))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{text.count(times, 'node')} {said}" for said, times in ranked)

    def _larger_than_any_node(self, message: str) -> str | None:
        found = _LARGEST.search(message)
        if found is None:
            return None
        resource, largest, none = found.group("resource"), found["largest"], found["none"]
        has = f"the largest node has {largest}" if largest else f"no node has any {none}"
        return (
            f"It can never start here: one pod asks for more {resource or none} than that: {has}."
        )

    def _topology_too_small(self, message: str) -> str | None:
        if _DOMAIN_HOLDS.search(message) or message.startswith("node-group(s)"):
            return ""  # said once for all domains
        found = _TOPOLOGY.match(message)
        if found is None:
            return None
        level = found["level"].rpartition("/")[2]
        in_one = f"in one {level}" if level else f"in topology {found['topology']}"
        who = f"Sub-group {found['subgroup']}" if found["subgroup"] else "It"
        held = [
            (int(holds), -number, domain, int(wanted))
            for number, reason in enumerate(self.group.reasons)
            for domain, holds, wanted in _DOMAIN_HOLDS.findall(reason.message)
        ]
        asked = {pod.gpus for pod in self.pods if pod.waits}
        if not held:
            where = found["where"] or ""
            has = f"all of {where} has too little" if where else "there is too little"
            return f"{who} needs more {in_one} than there is: {has} free for it."
        holds, _, domain, wanted = max(held)
        best = f"the best {level}, {domain}," if level else f"the best domain, {domain},"
        if len(asked) == 1 and (each := max(asked)):
            needs = f"{text.count(each * wanted, 'GPU')} {in_one}"
            return f"{who} needs {needs}; {best} is {text.number(each * (wanted - holds))} short."
        return (
            f"{who} needs room for {text.count(wanted, 'pod')} {in_one}; {best} has it for {holds}."
        )

    def _short_of_gpus(self, count: int) -> str:
        """That free GPUs do not suffice for `count` more pods; "" if it is not that simple."""
        asked = {pod.gpus for pod in self.pods if pod.waits}
        if len(asked) != 1 or not (each := asked.pop()) or count < 1:
            return ""
        if self.account.room_for(each) >= count:
            return ""
        free = self.account.free_gpus
        total, most = sum(free, start=_NONE), max(free, default=_NONE)
        needs = f"{text.count(each, 'GPU')} on one node"
        if count > 1:
            needs = f"{count} pods that start together, with {text.count(each, 'GPU')} each"
        if not total:
            return f"It needs {needs}; no GPU is free after this cycle."
        free_now = f"{text.number(total)} {'is' if total == 1 else 'are'} free"
        spread = f", at most {text.number(most)} on one node" if total >= each * count else ""
        return f"It needs {needs}; after this cycle {free_now}{spread}."

    def _who_has_more(self) -> str:
        """Whose GPUs the queue could claim, or that it could not; "" if nobody has any to give."""
        mine, has = self.group.queue, self.account.has
        share = self.plan.queues[mine].gpu.fair_share if mine in has else None
        others = (has[name] for name in self.account.leaves if name != mine)
        if share is None or not any(gpus > 0 for gpus in others):
            return ""
        holds = f"{text.number(has[mine])} of its fair share of {text.count(share, 'GPU')}"
        if has[mine] >= share:
            return f"Queue {mine} has {holds}, and so takes none back from other queues."
        if has[mine] + (asked := self._asked()) > share:
            return (
                f"Queue {mine} then has {holds}: {text.count(asked, 'GPU')} more would be above "
                "it, and so it takes none back from other queues."
            )
        above = self.account.above_share
        return f"Queue {mine} then has {holds}; above theirs: {above}." if above else ""

    def _asked(self) -> Fraction:
        """GPUs of the pods that have to get places next, at the least."""
        asked = sorted(pod.gpus for pod in self.pods if pod.waits)
        missing = (self.facts.min_member if self.facts else 1) - self._placed()
        return sum(asked[: max(1, missing)], start=_NONE)

    def _placed(self) -> int:
        """How many of its pods need no place any more."""
        there = sum(1 for pod in self.pods if pod.node and pod.name not in _lost(self.group))
        return there + sum(self._nodes("bind").values())


def _no_devices_for(pod: PodFacts) -> str:
    part = f"{pod.gpu_memory_mib:,} MiB" if not pod.gpu_fraction else text.number(pod.gpu_fraction)
    if pod.devices == 1:
        return f"No GPU of a node that could take it has {part} left for it."
    return f"No node that could take it has {pod.devices} GPUs with {part} left on each."


def _lost(group: GroupPlan) -> set[str]:
    """Pods of the group that leave without a promise to come back."""
    return {reason.pod for reason in group.reasons if reason.code == "evicted" and reason.pod}


_TELL: dict[str, Callable[[_Case, str], str | None]] = {
    "over_limit": _Case._over_limit,
    "non_preemptible_over_quota": _Case._over_quota,
    "queue_does_not_exist": _Case._queue_does_not_exist,
    "not_built": _Case._not_built,
    "not_ready": _Case._not_ready,
    "gang_incomplete": _Case._gang_incomplete,
    "not_enough_gpus": _Case._no_node,
    "not_enough_resources": _Case._no_node,
    "no_matching_node": _Case._no_node,
    "topology_too_small": _Case._topology_too_small,
    "larger_than_any_node": _Case._larger_than_any_node,
    "preemption_delay": _Case._preemption_delay,
    "stale": _Case._stale,
    "evicted": lambda *_: "",  # said once for all pods
}
"""Each code in other words than KAI's: None where those say it best, "" where another says it."""

_SETTLED_BY_NEVER = frozenset(("gang_incomplete", "not_enough_gpus", "larger_than_any_node"))

# KAI's texts (spec 1 F77, F78; spec 2 D2, M4, M6, P6; spec 3 P14), after tidy().
_OVER_LIMIT = re.compile(
    r"(.+) quota has reached the allowable limit of (GPUs|CPU cores|memory)\. Limit is ([\d.]+) "
    r"(\w+), currently ([\d.]+) \w+ allocated and workload requested ([\d.]+) \w+\.?"
)
_OVER_QUOTA = re.compile(
    r"Non-preemptible workload is over quota\. Workload requested ([\d.]+) ([\w ]+), but (.+) "
    r"quota is ([\d.]+) (\w+), while ([\d.]+) "
)
_NOT_BUILT = re.compile(r"needs (.+), which is not built yet")
_NOT_READY = re.compile(r"Waiting for (\d+) pods, currently (\d+) exist, (\d+) are gated")
_DELAY = re.compile(r"preemption delay window \((\S+)\) and may not .* before (\S+Z)")
_STALE = re.compile(r"Job is stale\. (\d+) pods are active, minMember is (\d+)")
_GANG = re.compile(r"Resources were found for (\d+) pods while (\d+) are required")
_SUB_GROUP = re.compile(
    r"Resources were found for (\d+) pods from all sub-groups while sub-group (.+) requires (\d+) "
)
_REFUSED = re.compile(
    r"(?<![\w.])(\d+) ((?:node\(s\)|node|gpu task|cpu task|non MIG)[^.]*)\.(?: |$)"
)
_TOPOLOGY = re.compile(
    r"topology (?P<topology>\S+), requirement (?P<level>\S*) couldn't be satisfied for job <[^>]+>"
    r"(?:, subgroup (?P<subgroup>[^:]+))?(?:: not enough resources in (?P<where>.+) to allocate)?"
)
_DOMAIN_HOLDS = re.compile(r"node-group (\S+) can allocate only (\d+) of (\d+) required pods")
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
    "node cannot NUMA-align the pod's resources under its Topology Manager policy": (
        "without NUMA zones that can hold it"
    ),
    "node(s) pod number exceeded": "full of pods",
    "node(s) didn't have enough resources: pods": "full of pods",
}


def _said_of_nodes(refused: str) -> str:
    if refused in _NODES_SAID:
        return _NODES_SAID[refused]
    if resource := refused.partition("didn't have enough resources: ")[2]:
        return f"short of free {resource}"
    return f"where {refused.replace('node(s)', 'the node')}"


def _as_sentence(message: str) -> str:
    """What starts in lower case and ends without a full stop, as one."""
    return message and message[0].upper() + message[1:] + ("" if message[-1] in ".!?" else ".")


def _units(number: str, unit: str) -> str:
    """ "1 GPU", "2 GPUs": KAI writes the plural always."""
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}"


def _pods_on(nodes: Counter[str]) -> str:
    where = text.listing((f"{node} ({number})" for node, number in nodes.items()), most=5)
    if len(nodes) == 1:
        where = next(iter(nodes))
    total = text.count(sum(nodes.values()), "pod")
    return f"{total} on {where}" if nodes else total


def tidy(message: str) -> str:
    """KAI's text on one line, without the full stop after a full stop."""
    return " ".join(message.split()).replace(" .", ".").replace("..", ".")
