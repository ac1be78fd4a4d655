"""Explains why a pod group waits, in sentences, and what would help if that is certain.

The engine returns reasons as codes with facts. More numbers come from the plan's queues and from
its cluster. Nothing is guessed: if the facts do not decide, the explanation ends with what is
known.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from kai.api import keys, times
from kai.api.visible import visible
from kai.engine import hints, partners, text, turn, ungated
from kai.engine.amounts import RESOURCE_NAMES, SIZES, amount, part
from kai.engine.answer import Answer
from kai.engine.left_out import LeftOut
from kai.engine.places import (
    OF_REFUSALS,
    Amounts,
    Domain,
    Held,
    Holders,
    Obstacles,
    Places,
    counted,
    short_of,
)
from kai.engine.situation import GroupFacts, exact, sum_of_smallest
from kai.engine.text import tidy
from kai.engine.values import GroupPlan, Reason, bounds_of
from kai.errors import NotFoundError

Facts = Mapping[str, Any]
"""The facts of a reason, by name (docs/reference/reasons.md)."""

MayName = Callable[[str], bool]
"""Whether an explanation may name another pod group, "namespace/name"."""

_NONE = Fraction(0)
_MOST_HOLDERS = 3
_MOST_CAUSES = 6
_HAS_SHARE = "; its queue has its fair share."
_WOULD_EXCEED = "; with it its queue would exceed its fair share."
_OF_A_QUEUE = (_HAS_SHARE, _WOULD_EXCEED)
"""Ends of sentences that depend on the queue without its name."""
_WAITING = frozenset(("unschedulable", "not_ready", "partly_placed", "invalid", "pipelined"))


def why(plan: Answer, name: str, may_name: MayName = lambda group: True) -> str:
    """The full explanation of one pod group, one sentence per line.

    `may_name`: other groups that it must not name appear as a number and their queue. Raises
    NotFoundError as `find_group`.
    """
    [case] = _cases(plan, [name_of_group(plan, name)], may_name)
    lines = [f"{case.group.name} {case.headline()}", *(f"  {s}" for s in case.sentences())]
    return "\n".join(map(visible, lines))


def isolations(plan: Answer, name: str) -> list[str]:
    """What keeps the pods of a group to their shares of GPUs (kai.api.isolations), mostly one; []:
    they have no share, or it is not known. Raises NotFoundError as `find_group`."""
    [case] = _cases(plan, [name_of_group(plan, name)])
    return list(case.isolations)


def reasons_to_wait(plan: Answer) -> list[tuple[str, list[str]]]:
    """Each reason in one sentence, and the groups that wait for it, by name.

    Groups with equal facts are explained once.
    """
    situation = plan.situation
    rows: dict[str, list[str]] = {}
    each_alone: list[str] = []
    left_out = {each.name for each in plan.rejected if each.kind == "PodGroup"}
    firsts = _cases(plan, [names[0] for names, _ in situation.waiting], in_short=True)
    for (names, spans_queues), case in zip(situation.waiting, firsts, strict=True):
        group, sentence = case.group, _in_short(case)
        if spans_queues:  # what its queue has says nothing about the others
            sentence = _without_end(sentence, _OF_A_QUEUE)
        of_queue = spans_queues and re.search(_whole(group.queue), sentence)
        # That a PodGroup was left out is no reason of the engine.
        is_alone = _is_of_its_own(sentence, group) or not left_out.isdisjoint(names)
        if len(names) > 1 and (of_queue or is_alone):
            each_alone += names
        else:
            rows.setdefault(sentence, []).extend(names)
    for case in _cases(plan, each_alone, in_short=True):
        rows.setdefault(_in_short(case), []).append(case.group.name)
    return sorted(
        ((sentence, sorted(names)) for sentence, names in rows.items()), key=lambda row: row[1]
    )


def _in_short(case: _Case) -> str:
    """One sentence, the same for all groups with the same reason."""
    group = case.group
    if group.verdict == "pipelined":  # the decisions list its nodes
        if case.facts.moves:
            return "It moves."
        return "It is promised a place that other pods are leaving."
    sentences = case.sentences()
    sentence = sentences[0] if sentences else f"It {case.headline()}"
    if group.name not in sentence:
        return sentence
    short = re.sub(rf"(?:PodGroup )?{_whole(group.name)}", "the pod group", sentence)
    return short[:1].upper() + short[1:]


def _without_end(sentence: str, ends: Iterable[str]) -> str:
    """The sentence without the first of these ends that it has."""
    for end in ends:
        if sentence.endswith(end):
            return f"{sentence.removesuffix(end)}."
    return sentence


def _whole(name: str) -> str:
    """A pattern for the name as a whole word."""
    return rf"(?<![\w./-]){re.escape(name)}(?![\w/-])"


def _is_of_its_own(sentence: str, group: GroupPlan) -> bool:
    """Whether the sentence may differ between groups with the same reasons."""
    names = (group.name, *(reason.pod for reason in group.reasons if reason.pod))
    return any(name in sentence for name in names) or sentence in map(tidy, group.messages)


# ---- finding the group ---------------------------------------------------------------------------


def find_group(plan: Answer, name: str) -> GroupPlan:
    """A pod group by its name, its owner's, or a pod's, each with or without the namespace."""
    return plan.situation.group(name_of_group(plan, name))


def name_of_group(plan: Answer, name: str) -> str:
    """ "namespace/name" of the same group. Raises NotFoundError if there is none, or several."""
    found = plan.situation.find_groups(name)
    if len(found) == 1:
        return found[0]
    if found:
        waiting = [
            each.name for each, _ in plan.situation.groups(found) if each.verdict in _WAITING
        ]
        of_these = "; these wait" if waiting else ""
        listed = text.listing(waiting or found, most=5)
        raise NotFoundError(f"{name!r} is the name of {len(found)} pod groups{of_these}: {listed}")
    owners = (owner for owner, _ in plan.situation.groups_of_owners)
    known = dict.fromkeys([*plan.pod_groups, *owners])
    raise NotFoundError(text.not_found("pod group", name, known))


# ---- all groups ----------------------------------------------------------------------------------


class Room:
    """GPUs of some nodes, and what a plan leaves free of them: `capacity` and `free` as in
    `Situation`. `others`: how many nodes it leaves out. `leaving`: GPUs that pods are leaving."""

    def __init__(
        self, capacity: Amounts, free: Amounts, others: int = 0, *, leaving: Fraction = _NONE
    ) -> None:
        self._capacity, self._free, self.others, self.leaving = capacity, free, others, leaving
        self._room: dict[Fraction, int] = {}

    def room_for(self, gpus: Fraction) -> int:
        """How many more pods with this number of GPUs each fit on the nodes."""
        if gpus not in self._room:
            self._room[gpus] = sum(nodes * int(each // gpus) for each, nodes in self._free)
        return self._room[gpus]

    def most_of(self, gpus: Fraction) -> int:
        """The same for empty nodes."""
        return sum(nodes * int(each // gpus) for each, nodes in self._capacity)

    @cached_property
    def free_gpus(self) -> Fraction:
        """On all nodes, after the cycle and promised to no pod."""
        return _sum(self._free)

    @cached_property
    def most_free(self) -> Fraction:
        """The same for the node with the most."""
        return max((gpus for gpus, _ in self._free), default=_NONE)

    @cached_property
    def all_gpus(self) -> Fraction:
        return _sum(self._capacity)

    @cached_property
    def largest_node(self) -> Fraction:
        return max((gpus for gpus, _ in self._capacity), default=_NONE)

    @cached_property
    def nodes(self) -> int:
        return sum(nodes for _, nodes in self._capacity)


class Account:
    """The resources that a plan leaves for all groups, computed once for all explanations."""

    def __init__(self, plan: Answer) -> None:
        self.plan = plan
        self.room = Room(
            plan.situation.capacity, plan.situation.free, leaving=plan.situation.leaving
        )

    @cached_property
    def left_out(self) -> LeftOut:
        return LeftOut(self.plan.rejected)

    def has(self, queue: str) -> Fraction:
        """GPUs that a queue uses or is promised, without those of pods that are evicted."""
        allocated = self.plan.queues[queue].gpu.allocated or 0
        return exact(allocated) + self._gained.get(queue, _NONE)

    @cached_property
    def _gained(self) -> dict[str, Fraction]:
        """`Situation.gained`, also of the queues above."""
        gained: dict[str, Fraction] = {}
        for leaf, gpus in self.plan.situation.gained.items():
            for queue in self.plan.situation.path_to_root(leaf):
                gained[queue] = gained.get(queue, _NONE) + gpus
        return gained

    @cached_property
    def above_share(self) -> str:
        """Queues above their fair share after the cycle, with the numbers."""
        total, first = self.plan.situation.queues_above_share
        shown = [
            f"{name} ({text.number(gpus)} of {text.number(self.plan.queues[name].gpu.fair_share)})"
            for name, gpus in first
        ]
        return text.listing_of(shown, total)


def _sum(amounts: Amounts) -> Fraction:
    return sum((gpus * number for gpus, number in amounts), start=_NONE)


# ---- one group -----------------------------------------------------------------------------------


def _cases(
    plan: Answer,
    names: list[str],
    may_name: MayName = lambda group: True,
    *,
    in_short: bool = False,
) -> list[_Case]:
    account, situation = Account(plan), plan.situation
    parts = zip(
        situation.groups(names), situation.places(names), situation.domains(names), strict=True
    )
    return [
        _Case(account, group, facts, places, domain, may_name, in_short=in_short)
        for (group, facts), places, domain in parts
    ]


class _Case:
    """A pod group of a plan, with the facts about it. `places`: where its waiting pods could run,
    class by class. `domain`: the best one, if they must run in one. `in_short`: the first sentence
    is enough, without what a page with queues and decisions shows already."""

    def __init__(
        self,
        account: Account,
        group: GroupPlan,
        facts: GroupFacts,
        places: list[Places],
        domain: Domain | None,
        may_name: MayName,
        *,
        in_short: bool = False,
    ) -> None:
        self.may_name = may_name
        self.plan = account.plan
        self.account = account
        self.situation = account.plan.situation
        self.group = group
        self.facts = facts
        self.places = places
        self.domain = domain
        self.in_short = in_short

    @cached_property
    def room(self) -> Room:
        """Of the nodes that could take its pods; of all nodes if these are of several classes."""
        if len(self.places) != 1:
            return self.account.room
        [places] = self.places
        others = sum(each.nodes for each in places.others)
        return Room(places.capacity, places.free, others, leaving=places.leaving)

    def headline(self) -> str:
        verdict = self.group.verdict
        bound, promised, running = self.facts.bound, self.facts.promised, self.facts.running
        evicted = self.facts.evicted
        if verdict == "placed":
            return f"is placed: {_pods_on(bound)}."
        if verdict == "pipelined":
            if self.facts.moves:
                return f"moves: {_pods_on(promised)}."
            return f"is promised a place that other pods are leaving: {_pods_on(promised)}."
        if verdict == "running":
            if evicted:
                if not running:
                    return f"loses all its pods: {text.count(evicted, 'pod')}."
                total = evicted + sum(running.values())
                verb = "stays" if sum(running.values()) == 1 else "stay"
                return f"loses {evicted} of its {total} pods; {_pods_on(running)} {verb}."
            if any(reason.code == "completed" for reason in self.group.reasons):
                return "has finished: all its pods have ended."
            if not running:  # the node of its pods was not given
                return f"has {text.count(self.facts.pod_count, 'pod')} on no node of this plan."
            return f"runs: {_pods_on(running)}."
        if verdict == "partly_placed":
            parts = [
                f"{text.number(sum(nodes.values()))} {state}"
                for nodes, state in (
                    (running, "running"),
                    (bound, "placed now"),
                    (promised, "promised a place that other pods are leaving"),
                )
                if nodes
            ]
            if gone := self.facts.lost:
                parts.append(f"{text.number(gone)} evicted")
            pods = text.count(self.facts.pod_count, "pod")
            kept = sum(sum(nodes.values()) for nodes in (running, bound, promised))
            rest = "; the rest waits" if kept < self.facts.pod_count else ""
            return f"has {pods}: {', '.join(parts)}{rest}."
        if verdict == "not_ready" and self._own_left_out:
            return "waits until its PodGroup is corrected."
        if verdict == "not_ready":
            return "waits until it has enough pods."
        if verdict == "invalid":
            return "cannot be scheduled until it is corrected."
        return f"waits in queue {self.group.queue}."

    def sentences(self) -> list[str]:
        """The reasons, most certain first; each sentence once. If it does not wait, then what keeps
        it to its share."""
        is_waiting = self.in_short or self.group.verdict in _WAITING
        return [*self._reasons(), *(() if is_waiting else self.isolations.values())]

    @cached_property
    def isolations(self) -> Mapping[str, str]:
        """What keeps its pods to their shares, with a sentence; {}: they share no GPU, or it is not
        known."""
        has_part = any(gpus.denominator != 1 for gpus, _ in self.facts.pods)
        if not has_part and self.facts.sharer is None:
            return {}
        return hints.isolations(self._pods, self.plan._objects)

    def _reasons(self) -> list[str]:
        if self.group.verdict not in _WAITING:
            parts = (self._staleness(), self._evictions(), self._protection(), [self._own_left_out])
            return [found for part in parts for found in part if found]
        if self.in_short and self._own_left_out:
            return [self._own_left_out]
        nowhere = self._nowhere()
        never = nowhere or list(self._never())
        settled = _SETTLED_BY_PLACES if nowhere else _SETTLED_BY_NEVER if never else frozenset()
        reasons = self._other_reasons(never, settled)
        found = [*self._left_out(), self._partner(), *never, *map(self._sentence, reasons)]
        if not any(found):
            found = [tidy(message) for message in self.group.messages]
        if not self.in_short:
            found += self._left_out_beside()
        if nowhere and not self.in_short:
            found += self._hints()
        if self.group.verdict == "not_ready" and not self.in_short:
            found += self._beside_gates()
        lacks_gpus = any(map(self._is_about_gpus, self.group.reasons))
        if not never and lacks_gpus and self.in_short and any(found):
            [first, *_] = filter(None, found)
            return [first.removesuffix(".") + self._share_in_short()]
        if not never:
            found += self._about_others(lacks_gpus=lacks_gpus)
        found += self._evictions()
        return list(dict.fromkeys(sentence for sentence in found if sentence))

    def _hints(self) -> Iterable[str]:
        yield from hints.about_labels(self.places, self.plan._objects)
        yield from hints.about_names(self.places, self.plan._objects)

    def _beside_gates(self) -> Iterable[str]:
        """What would be in the way of its pods without their scheduling gates, if no waiting cures
        it."""
        plan = None if self._own_left_out else ungated.plan_of(self.plan, self._pods)
        for case in _cases(plan, [self.group.name], self.may_name) if plan is not None else ():
            nowhere = case._nowhere()
            yield from (*case._left_out(), case._partner(), *(nowhere or case._never()))
            if nowhere:
                yield from case._hints()

    def _other_reasons(self, never: list[str], settled: frozenset[str]) -> list[Reason]:
        """The reasons that are not said otherwise. `settled`: codes that `never` explains."""
        if self._own_left_out:  # its pods have no subgroups without it
            settled |= _OF_ITS_POD_GROUP
        reasons = [
            bound
            for each in self.group.reasons
            if each.code not in settled
            for bound in bounds_of(each)
            if not self._repeats_limit(bound, never)
        ]
        # Without its delay it might evict what it waits for.
        return sorted(reasons, key=lambda reason: reason.code != "preemption_delay")

    @cached_property
    def _own_left_out(self) -> str:
        return self.account.left_out.sentence("PodGroup", self.group.name)

    def _left_out(self) -> Iterable[str]:
        """The objects that it needs and that were left out of the plan."""
        left_out = self.account.left_out
        yield self._own_left_out
        for reason in self.group.reasons:
            if reason.code == "queue_does_not_exist":
                yield from left_out.queues(reason.facts["queue"], self.plan._objects)
            if "topology" in reason.facts:
                yield left_out.sentence("Topology", reason.facts["topology"])
        for places in self.places:
            if places.is_refused:
                yield from left_out.needed_by(places.first, self.plan._objects)

    def _left_out_beside(self) -> Iterable[str]:
        """Objects that were left out and may matter: its pods, and its priority class."""
        left_out = self.account.left_out
        if self.group.verdict == "not_ready" and not self._own_left_out:
            owners = (
                owner
                for owner, group in self.situation.groups_of_owners
                if group == self.group.name
            )
            yield from left_out.pods_of({self.group.name, *owners})
        yield left_out.priority_of(self.group.name, self.plan._objects)

    def _is_about_gpus(self, reason: Reason) -> bool:
        """Whether nodes that have GPUs, or the best domain, have too few free ones."""
        if reason.code == "topology_too_small" and self.domain is not None:
            return self.domain.lacks_only_gpus or self.domain.lacks_gpus
        if reason.code == "no_matching_node" and self.facts.sharer:
            return not reason.facts["refusals"]  # parts of GPUs are missing (spec 3 E5)
        if reason.code != "not_enough_gpus":
            return False
        found = [each for each in reason.facts["refusals"] if self._lacks_gpus([each])]
        return not found or any(each["nodes"] > self._without_gpus for each in found)

    def _about_others(self, *, lacks_gpus: bool) -> Iterable[str]:
        """The groups that come first, or else those that hold what it lacks."""
        if self.in_short:
            return
        scarce = [each for each in self._scarce if lacks_gpus or each.resource != "gpu"]
        yield from map(self._nearest, scarce)
        yield self._partners()
        yield from self._devices()
        first = turn.sentence(self.situation, self.group, self.facts)
        yield first
        if lacks_gpus:
            yield self._borrowers()
        if first:
            return
        for held in scarce:
            yield from self._holders(held)
        if lacks_gpus:
            yield self._not_moved()

    @cached_property
    def _scarce(self) -> list[Held]:
        """GPUs, and other resources that nodes refuse it for, each with its holders."""
        lacked = {
            refusal["resource"]
            for reason in self.group.reasons
            for refusal in reason.facts.get("refusals", ())
            if refusal["cause"] == "shortage"
        } | {"gpu"}
        if self.domain is not None:
            lacked.update(resource for resource, *_ in self.domain.lacks)
        return [each for each in self.situation.holders(self.group.name) if each.resource in lacked]

    def _nearest(self, held: Held) -> str:
        """What it needs of a resource other than GPUs, and the node that has nearly as much."""
        if held.nearest is None:
            return ""
        subject = "It needs" if self.facts.pod_count == 1 else "Each pod needs"
        wanted = amount(held.resource, float(held.requested))
        free = part(held.resource, float(held.free))
        if held.free >= held.requested:  # for one pod, not for all
            return f"{subject} {wanted}; node {held.nearest} has the most free: {free}."
        return f"{subject} {wanted}; node {held.nearest} comes nearest, with {free} free."

    def _repeats_limit(self, reason: Reason, never: list[str]) -> bool:
        """Whether the sentences about what no waiting will change name the limit already."""
        if reason.code != "over_limit":
            return False
        named = [each for each in never if _limit_of(reason.facts) in each]
        if reason.facts["resource"] != "gpu":
            return bool(named) and self._is_above_alone(reason)
        return any(" GPU" in each for each in named)

    def _is_above_alone(self, reason: Reason) -> bool:
        """Whether its least request alone is above this limit of a resource other than GPUs."""
        if reason.code != "over_limit" or reason.facts["resource"] == "gpu":
            return False
        # Of several kinds of pods, others may request less than those that were tried.
        is_least = len(self.places) == 1 or self.facts.least >= self.facts.pod_count
        requested: float = reason.facts["requested"]
        return is_least and requested > reason.facts["limit"]

    def _share_in_short(self) -> str:
        """The end of a sentence about too few GPUs: what the fair share of its queue decides."""
        share = self._fair_share
        if share is None or self._may_reclaim or not self._others_have_gpus:
            return "."
        return _HAS_SHARE if self.account.has(self.group.queue) >= share else _WOULD_EXCEED

    # ---- what it has to give up ------------------------------------------------------------------

    def _staleness(self) -> list[str]:
        return [self._sentence(reason) for reason in self.group.reasons if reason.code == "stale"]

    def _evictions(self) -> Iterable[str]:
        """Which groups make room for which: a sentence for each action and pod group."""
        for action, for_group, pods in self.facts.causes:
            if for_group is None:
                yield "Its grace period is over."
            else:
                verb = "makes" if pods == 1 else "make"
                named = self._named([for_group])
                yield f"{text.count(pods, 'pod')} {verb} room for {named}: {action}."
        if any(action == "reclaim" for action, *_ in self.facts.causes):
            yield self._above_share()

    def _named(self, groups: Sequence[str]) -> str:
        """Other groups by their names or, if it may not name some of them, by their queues."""
        if all(self.may_name(each) for each in groups):
            return text.listing(groups, most=3)
        queues = Counter(each.queue for each, _ in self.situation.groups(groups))
        return text.listing(text.of_queue(number, queue) for queue, number in queues.items())

    def _protection(self) -> Iterable[str]:
        """What keeps its pods, and which groups can evict them, if it only runs."""
        if self.group.verdict != "running" or self.facts.evicted or self.group.reasons:
            return ()
        if not self.facts.running:
            return ()
        found = self.situation.protection(self.group.name)
        now_ns = times.to_ns(self.plan.now_text)
        return found.sentences(self.group.queue, now_ns, self._siblings_below_share)

    def _siblings_below_share(self, queue: str) -> str:
        """Queues with the same parent that hold fewer GPUs than their fair share, with the
        numbers."""
        parents = self.situation.queue_parents
        below = []
        for name, share in self.plan.queues.items():
            if name == queue or parents.get(name) != parents.get(queue):
                continue
            has, fair = self.account.has(name), share.gpu.fair_share
            if fair is not None and has < exact(fair):
                below.append(f"{name} ({text.number(has)} of {text.number(fair)})")
        return text.listing(below, most=_MOST_HOLDERS)

    def _above_share(self) -> str:
        """The queue with too many GPUs, its own or one above it; "" if the cause was not GPUs."""
        for name in self.situation.path_to_root(self.group.queue):
            gpu = self.plan.queues[name].gpu if name in self.plan.queues else None
            if gpu and gpu.fair_share is not None and (gpu.allocated or 0) > gpu.fair_share:
                return (
                    f"Queue {name} held {text.count(gpu.allocated or 0, 'GPU')}; its fair share is "
                    f"{text.number(gpu.fair_share)}."
                )
        return ""

    # ---- what no waiting will change -------------------------------------------------------------

    def _partner(self) -> str:
        """That no pod has the labels that its pods must be near."""
        alone = next((each for each in self.places if each.lacks_partner), None)
        if alone is None or self.group.verdict not in ("unschedulable", "partly_placed"):
            return ""
        cluster = None if self.in_short else self.plan._objects
        return partners.sentence(alone.first, cluster, self.may_name)

    def _devices(self) -> Iterable[str]:
        """The devices of nodes that have none for its claims."""
        nodes = dict.fromkeys(
            refusal["node"]
            for reason in self.group.reasons
            for refusal in reason.facts.get("refusals", ())
            if refusal["cause"] == "no_devices"
        )
        if not nodes:
            return ()
        return hints.about_devices(self.places[0].first, list(nodes)[:3], self.plan._objects)

    def _partners(self) -> str:
        """Where the pods are that its pods must be near, if nodes refuse it for that."""
        causes = (
            refusal["cause"]
            for reason in self.group.reasons
            for refusal in reason.facts.get("refusals", ())
        )
        found = set(causes) & {"pod_affinity", "pod_anti_affinity"}
        if not found or any(each.lacks_partner for each in self.places):
            return ""
        first, objects = self.places[0].first, self.plan._objects
        return " ".join(
            filter(
                None,
                (partners.where(first, objects, self.may_name, kind) for kind in sorted(found)),
            )
        )

    def _never(self) -> Iterable[str]:
        waiting = self.facts.requests
        if not waiting or self.group.verdict != "unschedulable":
            return
        least = sum_of_smallest(self.facts.pods, max(1, self.facts.least))
        needed = text.count(least, "GPU")
        if too_small := self._too_small_for_all(least):
            yield too_small
        limits = [
            f"{_limit_of({'queue': name})}{text.number(limit)}"
            for name in self.situation.path_to_root(self.group.queue)
            if name in self.plan.queues
            and (limit := self.plan.queues[name].gpu.limit) is not None
            and limit < least
        ]
        if limits:
            needs = f"it needs at least {needed}"
            if self._shares_claims:
                needs = (
                    f"its pods count as {needed}, as queues count the GPUs of a claim for each "
                    "pod that uses it"
                )
            yield f"It can never start in this queue: {needs}, but {' and '.join(limits)}."
        yield from self._above_other_limits()

    def _above_other_limits(self) -> Iterable[str]:
        """The same for CPUs and memory: a sentence for each."""
        above: dict[str, list[Facts]] = {}
        for reason in self.group.reasons:
            for bound in bounds_of(reason):
                if self._is_above_alone(bound):
                    above.setdefault(bound.facts["resource"], []).append(bound.facts)
        for resource, found in above.items():
            needs = amount(resource, found[0]["requested"])
            limits = " and ".join(
                f"{_limit_of(each)}{part(resource, each['limit'])}" for each in found
            )
            yield f"It can never start in this queue: it needs at least {needs}, but {limits}."

    def _no_nodes(self) -> str:
        left_out = self.account.left_out.first_of("Node")
        if not left_out or self.in_short:
            return "There are no nodes."
        return f"There are no nodes: {left_out}"

    def _nowhere(self) -> list[str]:
        """Why no node could take pods that it needs to start or, if it has these, more of its pods,
        in sentences; none if some node could."""
        if self.group.verdict not in ("unschedulable", "partly_placed"):
            return []
        if not self.account.room.nodes:
            return [self._no_nodes()]
        needed = max(1, self.facts.missing)
        blocked = [each for each in self.places if each.is_refused or each.is_nowhere]
        others = sum(each.pods for each in self.places if each not in blocked)
        if not blocked or others >= needed:
            return []
        blocked.sort(key=lambda each: not each.is_refused)
        now = any(each.may_pass for each in blocked)
        subject = "It" if self.group.verdict == "unschedulable" else "The rest"
        start = f"{subject} can never start here"
        if now:
            start = f"No node can take {'it' if needed == 1 else 'its pods'} now"
        found = []
        for each in blocked:
            if each.is_refused and not each.is_too_large:
                found.append(_as_sentence(tidy(each.message)))
            if each.is_nowhere:
                why, *besides = each.why_nowhere(shares_gpus=self.facts.sharer is not None)
                if not now and why == each.excluded():
                    why = f"no node is suitable ({why})"
                found += [f"{start}: {why}.", *(_as_sentence(other) for other in besides)]
        return list(dict.fromkeys(found))[:_MOST_CAUSES]

    def _too_small_for_all(self, least: Fraction) -> str:
        """Why the pods that must start together do not fit on the nodes that could take one of
        them, however empty these are; "" if they do, or may share devices."""
        if self._shares_claims:
            return ""
        room = self.room
        why = self._too_large_for(least, room.all_gpus, room.most_of)
        if not why:
            return self._too_many_for_all()
        # Nodes with a cordon, a taint or a bad state may take pods again, with at most these GPUs.
        whole, passing = self.account.room, sum(each.nodes for each in self._known if each.may_pass)
        most_gpus = min(whole.all_gpus, room.all_gpus + passing * whole.largest_node)

        def most_of(gpus: Fraction) -> int:
            later = passing * int(whole.largest_node // gpus)
            return min(whole.most_of(gpus), room.most_of(gpus) + later)

        if passing and not self._too_large_for(least, most_gpus, most_of):
            return f"It cannot start now: {why} ({self.places[0].excluded()})."
        return f"It can never start here: {why}."

    def _too_many_for_all(self) -> str:
        """The same for CPUs, memory and other resources."""
        if len(self.places) != 1 or any(each.may_pass for each in self.places[0].obstacles):
            return ""
        # Pods that are evicted in this plan may be smaller, and start in the place of others.
        places, missing = self.places[0], self.facts.missing - self.facts.lost
        if places.limit is None or places.most >= missing or not places.possible:
            return ""
        resource, each = places.limit
        return (
            f"It can never start here: {text.count(missing, 'pod')} that must start together need "
            f"{amount(resource, each)} each, and empty nodes have room for "
            f"{text.number(places.most)}."
        )

    def _too_large_for(
        self, least: Fraction, gpus: Fraction, most_of: Callable[[Fraction], int]
    ) -> str:
        """What exceeds this number of GPUs, or of places for pods with as many GPUs each, without a
        full stop; "" if nothing does."""
        room, least_pods = self.room, self.facts.least
        pods = f"{text.count(least_pods, 'pod')} that must start together"
        if least > gpus:
            where = f"the cluster has {text.number(room.all_gpus)}"
            if room.others:
                nodes = "only node" if room.nodes == 1 else f"{text.number(room.nodes)} nodes"
                verb = "has" if room.nodes == 1 else "have"
                where = f"the {nodes} that could take one {verb} {text.number(room.all_gpus)}"
            return f"{pods} need {text.count(least, 'GPU')}, but {where}"
        requests = [gpus for gpus, _ in self.facts.pods]
        if len(requests) == 1 and (each := requests[0]) and most_of(each) < least_pods:
            return (
                f"{pods} need {text.count(each, 'GPU')} each, and empty nodes have room for "
                f"{text.number(room.most_of(each))}"
            )
        return ""

    # ---- the engine's reasons --------------------------------------------------------------------

    def _sentence(self, reason: Reason) -> str:
        write = _SENTENCES.get(reason.code)
        sentence = write(self, reason.facts) if write else None
        return _as_sentence(tidy(reason.message)) if sentence is None else sentence

    def _over_limit(self, facts: Facts) -> str:
        resource = facts["resource"]
        limit, used, requested = (facts[name] for name in ("limit", "allocated", "requested"))
        if self.in_short and used >= limit:
            return f"Queue {facts['queue']} has reached its limit of {amount(resource, limit)}."
        in_use = part(resource, used)
        verb = "is" if in_use.partition(" ")[0] == "1" else "are"
        return (
            f"Queue {facts['queue']} has a limit of {amount(resource, limit)}: "
            f"{in_use} {verb} in use, and this request is "
            f"for {part(resource, requested)} more."
        )

    def _over_quota(self, facts: Facts) -> str:
        hint = (
            f" If it were preemptible ({keys.PREEMPTIBILITY_LABEL}: preemptible), it could use more"
            " than the queue deserves."
        )
        if self.in_short or facts is not self._last_quota:
            hint = ""
        resource = facts["resource"]
        quota, used, requested = (facts[name] for name in ("deserved", "allocated", "requested"))
        return (
            f"Queue {facts['queue']} deserves {amount(resource, quota)}, its non-preemptible pods "
            f"hold {part(resource, used)}, and this non-preemptible request is for "
            f"{part(resource, requested)} more.{hint}"
        )

    @cached_property
    def _last_quota(self) -> Facts | None:
        bounds = (bound.facts for each in self.group.reasons for bound in bounds_of(each))
        return next(reversed([each for each in bounds if "deserved" in each]), None)

    def _preemption_delay(self, facts: Facts) -> str:
        if times := facts.get("unkept_promises"):
            lost = "once" if times == 1 else f"{times} times in a row"
            return (
                f"It may not evict other pods before {facts['until']}: pods were evicted for it "
                f"{lost}, and it lost their room again."
            )
        return (
            f"It may not evict other pods before {facts['until']}: its preemption delay is "
            f"{facts['delay']}."
        )

    def _stale(self, facts: Facts) -> str | None:
        if len(facts["pod_sets"]) != 1:
            return None
        [pods] = facts["pod_sets"]
        verb = "runs" if pods["active"] == 1 else "run"
        needed = text.count(pods["minimum"], "pod")
        return f"It is stale: it needs {needed} to continue, but {pods['active']} {verb}."

    def _not_built(self, facts: Facts) -> str:
        return f"It needs {facts['feature']}, which kai does not have yet."

    def _queue_does_not_exist(self, facts: Facts) -> str:
        if ("Queue", facts["queue"]) in self.account.left_out:
            return ""  # with what was left out
        close = difflib.get_close_matches(facts["queue"], self.plan.queues, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        return f"There is no queue {facts['queue']!r}{hint}"

    def _not_ready(self, facts: Facts) -> str | None:
        short = []
        for pods in facts["pod_sets"]:
            exist, gated = pods["exist"], pods["gated"]
            there = f"{text.number(exist)} {'exists' if exist == 1 else 'exist'}"
            which = "" if exist == 1 else "all " if gated == exist else f"{gated} of them "
            but = f", {which}with {self._gates}" if gated else ""
            subject = f"Its subgroup {pods['subgroup']}" if pods["subgroup"] else "It"
            short.append(
                f"{subject} needs {text.count(pods['minimum'], 'pod')} to start; {there}{but}."
            )
        return " ".join(short) or None

    @cached_property
    def _gates(self) -> str:
        """The scheduling gates of its pods, with their names if these are known."""
        gates = [] if self.in_short else hints.gates_of(self._pods, self.plan._objects)
        noun = "gate" if len(gates) == 1 else "gates"
        return f"the scheduling {noun} {text.listing(gates)}" if gates else "a scheduling gate"

    @property
    def _pods(self) -> list[str]:
        groups = self.situation.group_of_pod
        return sorted(pod for pod, group in groups.items() if group == self.group.name)

    def _gang_incomplete(self, facts: Facts) -> str | None:
        if self.facts.missing <= 0 and not facts["subgroup"]:  # it was promised what it needs later
            return self._next_pod(facts)
        placed, needed = facts["found"], facts["minimum"]
        refused = self._refused(facts["refusals"])
        room = f"{text.number(placed) if placed else 'none'}{': ' if refused else ''}{refused}"
        pods = text.count(needed, "pod")
        if facts["subgroup"]:
            return (
                f"Its subgroup {facts['subgroup']} must start with {pods}, but there is room "
                f"for {room}."
            )
        if self.domain is not None and self.domain.room < needed:
            return self.domain.sentence(needed)
        missing = needed - self.facts.with_places
        is_about_gpus = not self._shares_claims or self._lacks_gpus(facts["refusals"])
        if is_about_gpus and (crowded := self._short_of_gpus(missing)):
            return crowded
        return f"{pods} must start together, but there is room for {room}."

    def _no_node(self, facts: Facts) -> str | None:
        if any(each.code == "gang_incomplete" for each in self.group.reasons):
            return ""  # explained with the gang
        return self._next_pod(facts)

    def _no_free_devices(self, facts: Facts) -> str | None:
        causes = {each["cause"] for each in facts["refusals"]}
        if causes & {"claim_expression", "claim_elsewhere", "deleted_claims"}:
            return None
        return self._no_node(facts)

    def _next_pod(self, facts: Facts) -> str | None:
        lacks_gpus = self._lacks_gpus(facts["refusals"])
        if lacks_gpus and (crowded := self._short_of_gpus(max(1, self.facts.missing))):
            return crowded
        refused = self._refused(facts["refusals"])
        # Nodes report no reason, or only GPUs, if fractions are missing (spec 3 E5).
        if self.facts.sharer and (lacks_gpus or not self._refused_now(facts["refusals"])):
            return _no_devices_for(*self.facts.sharer) + self._others()
        return f"No node can take the next pod: {refused}." if refused else None

    @staticmethod
    def _lacks_gpus(refusals: list[Facts]) -> bool:
        return any(
            each.get("resource") == "gpu" or each["cause"] == "claimed_gpus" for each in refusals
        )

    @property
    def _shares_claims(self) -> bool:
        return any(each.shares_claims for each in self.places)

    def _refused(self, refusals: list[Facts]) -> str:
        """Why nodes refuse: "2 nodes short of free CPUs, 1 node cordoned"."""
        rows = [
            *self._refused_now(refusals),
            *((each.phrase, each.nodes, each.first) for each in self._known),
        ]
        # KAI counts over all attempts of the cycle; a count above the number of nodes tells
        # nothing.
        if sum(nodes for _, nodes, _ in rows) > self.account.room.nodes:
            return ", ".join(f"nodes {phrase}" for phrase in sorted({row[0] for row in rows}))
        return ", ".join(counted(rows))

    @property
    def _known(self) -> list[Obstacles]:
        """Nodes that could not take its pods, whatever runs there."""
        return self.places[0].others if len(self.places) == 1 else []

    def _refused_now(self, refusals: list[Facts]) -> list[tuple[str, int, str]]:
        """Phrases and numbers of nodes, without what keeps pods off these nodes for good."""
        always = {cause["cause"] for each in self._known for cause in each.causes} - {"shortage"}
        rows = []
        for each in refusals:
            phrase = _refusal_phrase(each)
            if each["cause"] in always or not phrase:  # "": of the pod, before any node
                continue
            # A node without any GPU is not short of free ones.
            nodes = each["nodes"] - (self._without_gpus if self._lacks_gpus([each]) else 0)
            if nodes > 0:
                rows.append((phrase, nodes, ""))
        return rows

    @property
    def _without_gpus(self) -> int:
        """Nodes without any GPU that lack nothing else, if others could take it."""
        if len(self.places) != 1 or not self.places[0].possible:
            return 0
        return sum(each.nodes for each in self.places[0].obstacles if each.is_without_gpus)

    def _larger_than_any_node(self, facts: Facts) -> str | None:
        found = [each for each in facts["refusals"] if each["cause"] == "larger_than_any_node"]
        if not found:
            return None
        resource, largest = found[0]["resource"], found[0]["largest"]
        name = RESOURCE_NAMES.get(resource, resource)
        has = f"the largest node has {part(resource, largest)}"
        if not largest:
            has = f"no node has any {name}"
        return f"It can never start here: one pod requests more {name} than any node has: {has}."

    def _topology_too_small(self, facts: Facts) -> str | None:
        if "within" not in facts:
            # Domains are explained once for all of them; the rest in KAI's words.
            return "" if "domain" in facts or facts.keys() == {"resource"} else None
        level = (facts["level"] or "").rpartition("/")[2]
        in_one = f"in one {level}" if level else f"in topology {facts['topology']}"
        subject = f"Subgroup {facts['subgroup']}" if facts["subgroup"] else "It"
        held = [
            (each.facts["holds"], -number, each.facts["domain"], each.facts["wanted"])
            for number, each in enumerate(self.group.reasons)
            if "domain" in each.facts
        ]
        requests, least = self.facts.requests, self.facts.least
        near = None if facts["subgroup"] else self.domain
        if near is not None and near.room < least and not near.lacks_only_gpus:
            return near.sentence(least)
        if not held:
            has = f"{facts['within'] or 'the cluster'} as a whole has too little"
            if facts["within"] is None:
                has = "there is too little"
                free, needed = self.account.room.free_gpus, self._requested()
                if free < needed:
                    return (
                        f"{subject} needs {text.count(needed, 'GPU')} {in_one}; the whole cluster "
                        f"has {text.number(free)} free."
                    )
            return f"{subject} does not fit {in_one}: {has} free."
        holds, _, domain, wanted = max(held)
        best = f"the best {level}, {domain}," if level else f"the best domain, {domain},"
        if len(requests) == 1 and (each := requests[0]):
            needs = f"{text.count(each * wanted, 'GPU')} {in_one}"
            short, always = each * (wanted - holds), ""
            if near is not None and near.name == domain and near.most < wanted:
                empty = each * (wanted - near.most)
                always = f", and {text.number(empty)} if nothing ran there"
                if empty == short:
                    always = ", however empty it is"
            return f"{subject} needs {needs}; {best} is {text.number(short)} short{always}."
        pods = text.count(wanted, "pod")
        return f"{subject} needs room for {pods} {in_one}; {best} has room for {holds}."

    def _short_of_gpus(self, count: int) -> str:
        """A sentence if free GPUs do not suffice for `count` more pods; "" if the case is not that
        simple."""
        each, room = self._single_request(count), self.room
        shared = not each and self._shared_request()
        if shared:
            each, count = shared, 1
        if not each or room.room_for(each) >= count:
            return ""
        total, most = room.free_gpus, room.most_free
        needs = f"{text.count(each, 'GPU')} on one node"
        if shared:
            needs += ", which its pods share through a claim"
        elif count > 1:
            needs = f"{count} pods that start together, with {text.count(each, 'GPU')} each"
        where = others = ""
        if room.others:
            nodes = "only node" if room.nodes == 1 else f"{text.number(room.nodes)} nodes"
            where = f" on the {nodes} that could take it"
            others = self._others()
        soon = ""
        if room.leaving and not self.in_short:
            soon = f", {text.number(room.leaving)} will be when pods have left"
        if not total:
            return f"It needs {needs}; no GPU is free{where} after this cycle{soon}.{others}"
        free_now = f"{text.number(total)} {'is' if total == 1 else 'are'} free{where}"
        spread = f", at most {text.number(most)} on one node" if total >= each * count else ""
        if spread and count > 1:
            fitting = room.room_for(each)
            spread += f" (room for {text.count(fitting, 'pod') if fitting else 'no pod'})"
        return f"It needs {needs}; after this cycle {free_now}{spread}{soon}.{others}"

    def _others(self) -> str:
        """A sentence about nodes that could not take its pods, after another one."""
        if self.in_short or len(self.places) != 1 or not self.places[0].others:
            return ""
        return f" Others cannot: {self.places[0].excluded()}."

    def _single_request(self, count: int) -> Fraction:
        """The GPUs that each waiting pod requests, if that decides how many of them fit on a node;
        otherwise 0."""
        requests = self.facts.requests
        # Parts of several devices are not one device, and pods may share the devices of a claim.
        shares = count > 1 and self._shares_claims
        if len(requests) != 1 or count < 1 or self.facts.sharer or shares:
            return _NONE
        return requests[0]

    def _shared_request(self) -> Fraction:
        """The GPUs that all its waiting pods share, if they request no others; otherwise 0."""
        requests = self.facts.requests
        if len(self.places) != 1 or requests != [self.places[0].shared_gpus]:
            return _NONE
        return requests[0]

    def _borrowers(self) -> str:
        """The queues whose GPUs this queue could reclaim, or that it may not; "" if no queue has
        any to give."""
        mine, share = self.group.queue, self._fair_share
        if share is None:
            return ""
        if not self._others_have_gpus:
            return ""
        has = self.account.has(mine)
        holds = f"{text.count(has, 'GPU')} and a fair share of {text.number(share)}"
        if has >= share:
            return f"Queue {mine} has {holds}, so it cannot reclaim GPUs from other queues."
        if not self._may_reclaim:
            return (
                f"After this cycle queue {mine} has {holds}: "
                f"{text.count(self._requested(), 'GPU')} more would exceed it, so it cannot reclaim"
                " GPUs from other queues."
            )
        above = self.account.above_share
        if not above:
            return ""
        return f"After this cycle queue {mine} has {holds}; queues above their fair share: {above}."

    def _holders(self, held: Held) -> Iterable[str]:
        """Who holds what it could use, and why they are not evicted for it. What other queues hold
        matters only if its queue may reclaim it."""
        mine = self.group.queue
        holders = [
            dataclasses.replace(each, why="within_share") if self._stays_for_all(each) else each
            for each in held.holders
        ]
        leaving = [each for each in holders if each.why == "may_leave"]
        room = held.room
        if not self._may_reclaim or holders != held.holders:
            leaving = [each for each in leaving if each.queue == mine]
            room = held.own_room
        if not self._may_reclaim:
            holders = [each for each in holders if each.queue in (mine, "")]
        for each in holders[:_MOST_HOLDERS]:
            yield each.sentence(mine, named=self.may_name(each.first))
        others_leave = any(each.why == "may_leave" and each.queue != mine for each in holders)
        if not others_leave or room is held.room:
            yield self._evictions_leave(held, leaving, Room((), room))

    def _stays_for_all(self, holders: Holders) -> bool:
        """Whether these would lose pods to one pod of the group, which the engine asks, but not to
        those that must start together: with these, its queue has more than it deserves."""
        if holders.why != "may_leave" or holders.queue == self.group.queue:
            return False
        parents, queues = self.situation.queue_parents, self.plan.queues
        path = self.situation.path_to_root(self.group.queue)
        theirs = holders.level or ""
        own = next((each for each in path if parents.get(each) == parents.get(theirs)), "")
        if theirs not in queues or own not in queues:
            return False
        share, deserved = queues[theirs], queues[own].gpu.deserved
        for each, has in (
            (share.gpu, self.account.has(theirs)),
            (share.cpu, share.cpu.allocated or 0),
            (share.memory, share.memory.allocated or 0),
        ):
            if each.fair_share is not None and has > each.fair_share:
                return False
        return deserved is not None and self.account.has(own) + self._requested() > deserved

    def _evictions_leave(self, held: Held, leaving: list[Holders], room: Room) -> str:
        """What is short if all these leave; "" if that is enough, or the case is not that simple.
        `room`: of the nodes without them."""
        count = max(1, self.facts.missing)
        each = self._single_request(count) if held.resource == "gpu" else held.requested
        if not leaving or not each or room.room_for(each) >= count:
            return ""
        if held.resource != "gpu" and len(self.places) != 1:
            return ""
        subjects = (each.subject(named=self.may_name(each.first)) for each in leaving)
        names = text.listing(subjects, most=_MOST_HOLDERS)
        start = f"Evictions do not suffice: without {names}"
        if count > 1:
            places = text.number(room.room_for(each))
            return f"{start}, there would be room for {places} of its {count} pods."
        most, resource = room.most_free, held.resource
        few = "little" if resource in SIZES else "few"
        return (
            f"{start}, at most {amount(resource, float(most))} would be free on one node: "
            f"{part(resource, float(each - most))} too {few}."
        )

    def _search_budget_spent(self, facts: Facts) -> str | None:
        for search, scenarios in self.plan.spent_searches.items():
            action, _, group = search.partition(" ")
            if group.partition(" ")[0] == self.group.name:
                tried = f"after {text.count(scenarios, 'scenario')}"
                if scenarios < 0:
                    tried = "before it began"
                return f"The search of {action} for pods to evict reached its budget {tried}."
        return None

    @cached_property
    def _fair_share(self) -> Fraction | None:
        """GPUs of its queue; None: unlimited, or unknown."""
        mine = self.group.queue
        share = self.plan.queues[mine].gpu.fair_share if mine in self.plan.queues else None
        return None if share is None else exact(share)

    @property
    def _others_have_gpus(self) -> bool:
        """Whether queues besides its own have any GPUs after the cycle."""
        return self.situation.queues_in_use > (self.account.has(self.group.queue) > 0)

    @cached_property
    def _may_reclaim(self) -> bool:
        """Whether what it requests would leave its queue within its fair share."""
        share = self._fair_share
        return share is None or self.account.has(self.group.queue) + self._requested() <= share

    def _not_moved(self) -> str:
        """The groups that consolidation would not move to make room, if GPUs are free in too small
        parts; "" if there are none."""
        bare = self.situation.bare_groups
        requested = self._requested()
        if not bare or not requested or self.account.room.free_gpus < requested:
            return ""
        owned = [group for group in bare if self.situation.has_owner(group)]
        without = [group for group in bare if group not in owned]
        sentences = []
        if without:
            its = "its" if len(without) == 1 else "their"
            sentences.append(
                f"Consolidation does not move {self._named(without)}: no controller would "
                f"create {its} bare pods again."
            )
        if owned:
            owner = "its owner creates" if len(owned) == 1 else "their owners create"
            sentences.append(
                f"Consolidation does not move {self._named(owned)}: {owner} no evicted "
                f"pod again (a Job with backoffLimit 0, or {keys.MOVABLE_ANNOTATION}: false)."
            )
        return " ".join(sentences)

    def _requested(self) -> Fraction:
        """The least number of GPUs of the pods that need places next."""
        return sum_of_smallest(self.facts.waiting, max(1, self.facts.missing))


def _limit_of(facts: Facts) -> str:
    """The start of a phrase, before the limit."""
    return f"the limit of queue {facts['queue']} is "


def _no_devices_for(devices: int, fraction: Fraction, memory_mib: int) -> str:
    part = text.number(fraction) if fraction else f"{memory_mib:,} MiB"
    if devices == 1:
        return f"No GPU of a suitable node has {part} left."
    return f"No suitable node has {devices} GPUs with {part} left on each."


_SENTENCES: dict[str, Callable[[_Case, Facts], str | None]] = {
    "over_limit": _Case._over_limit,
    "non_preemptible_over_quota": _Case._over_quota,
    "queue_does_not_exist": _Case._queue_does_not_exist,
    "not_built": _Case._not_built,
    "not_ready": _Case._not_ready,
    "gang_incomplete": _Case._gang_incomplete,
    "not_enough_gpus": _Case._no_node,
    "not_enough_resources": _Case._no_node,
    "no_matching_node": _Case._no_node,
    "no_free_devices": _Case._no_free_devices,
    "topology_too_small": _Case._topology_too_small,
    "larger_than_any_node": _Case._larger_than_any_node,
    "preemption_delay": _Case._preemption_delay,
    "search_budget_spent": _Case._search_budget_spent,
    "stale": _Case._stale,
    "evicted": lambda *_: "",  # explained once for all pods
}
"""A sentence for each code instead of KAI's; None: KAI's text is used, "": another sentence covers
it."""

_OF_ITS_POD_GROUP = frozenset(("subgroup_does_not_exist", "no_pods"))
_SETTLED_BY_NEVER = frozenset(("gang_incomplete", "not_enough_gpus", "larger_than_any_node"))
_SETTLED_BY_PLACES = _SETTLED_BY_NEVER | {"no_matching_node", "not_enough_resources"}


def _refusal_phrase(refusal: Facts) -> str:
    """ "cordoned", after "2 nodes"; "" if there is nothing to report."""
    if refusal["cause"] != "shortage":
        return OF_REFUSALS.get(refusal["cause"], "")
    return short_of(refusal["resource"])


def _as_sentence(message: str) -> str:
    """A message that starts in lower case and has no full stop, as a sentence."""
    return message and message[0].upper() + message[1:] + ("" if message[-1] in ".!?" else ".")


def _pods_on(nodes: Mapping[str, int]) -> str:
    where = text.listing((f"{node} ({number})" for node, number in nodes.items()), most=5)
    if len(nodes) == 1:
        where = next(iter(nodes))
    total = text.count(sum(nodes.values()), "pod")
    return f"{total} on {where}" if nodes else total
