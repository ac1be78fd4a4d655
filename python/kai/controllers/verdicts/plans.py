"""Reads the part of a `kai.Plan` that the writers need, limited to the changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Any, NamedTuple

from kai.api import keys
from kai.api.quantities import parse_or_zero
from kai.controllers.amounts import to_text
from kai.controllers.verdicts.facts import Seen, Verdict
from kai.engine.outlines import Outline, groups_named, outlines
from kai.engine.plan import Plan
from kai.engine.queues import QueuePlan
from kai.engine.values import Bind, GroupPlan, Pipeline, Reason, second

MOST_NODES = 5
"""Nodes that a message names."""
WITHOUT_REASON = "Unable to schedule podgroup"
"""KAI's message for a waiting group without a recorded error (spec 2 M3)."""
_WAITS = frozenset({"unschedulable", "partly_placed", "invalid"})
# spec 5 A19
_REASONS = {
    "over_limit": "OverLimit",
    "non_preemptible_over_quota": "NonPreemptibleOverQuota",
    "preemption_delay": "PreemptionDelayNotElapsed",
    "queue_does_not_exist": "QueueDoesNotExist",
    "topology_too_small": "Not enough resources for the workload",
}
_OTHER_REASON = "PodSchedulingErrors"
_NODE_POOL = re.compile(r"^Node-Pool '[^']*': ")  # of groups with schedulingBackoff (spec 5 A17)


class Avoided(NamedTuple):
    """The nodes that refused a pod of a group, by the name of the group and of its pods."""

    by_groups: Mapping[str, Sequence[str]]
    by_pods: Mapping[str, Sequence[str]]


class PlanVerdicts:
    """The verdicts of one plan; an implementation of `VerdictSource`.

    `last`: the previous plan's verdicts on waiting groups; it is updated. `known`: the groups with
    a state in the writers. `changed`: the groups that changed since, or have a pod that did; None:
    all may have.
    """

    def __init__(
        self,
        plan: Plan,
        seen: Seen,
        *,
        last: dict[str, tuple[str, str, str]],
        known: Collection[str] = (),
        changed: Iterable[str] | None = None,
    ) -> None:
        self._plan, self._seen = plan, seen
        self.waiting: Mapping[str, str] = {name: pod.message for name, pod in plan.pods.items()}
        self.promised: dict[str, str] = {}
        self.bound: list[str] = []
        evicted = set()
        for decision in plan.decisions:
            if isinstance(decision, Bind):
                self.bound.append(decision.pod)
            elif isinstance(decision, Pipeline):
                self.promised[decision.pod] = decision.node
            else:
                evicted.add(decision.pod)
        for pod in evicted & self.promised.keys():
            del self.promised[pod]  # a pod that moves: its successor has another name or UID
        names = self._changed_groups(last, known, changed)
        self.groups = [self._verdict(group) for group in groups_named(plan, names)]

    def add(self, pods: Mapping[str, str], groups: Mapping[str, str]) -> None:
        """Adds pods and groups that are missing in the plan, with their problems."""
        self.waiting = {**self.waiting, **pods}
        self.groups += [
            Verdict(name, "invalid", text, ({"reason": _OTHER_REASON, "message": text},))
            for name, text in groups.items()
        ]

    def avoid(self, avoided: Avoided) -> None:
        """Adds to the messages of waiting groups and pods which nodes they avoid for now. The
        plan's message counts these nodes as excluded by the pod itself."""
        self.waiting = {
            name: text + _avoids(avoided.by_pods.get(name)) for name, text in self.waiting.items()
        }
        self.groups = [
            each._replace(message=each.message + _avoids(avoided.by_groups.get(each.name)))
            if each.message
            else each
            for each in self.groups
        ]

    def start_later(self, groups: Collection[str]) -> None:
        """None of their bindings is sent now: a later plan sets the time of their start."""
        self.groups = [
            each._replace(last_start=None) if each.name in groups else each for each in self.groups
        ]

    def _changed_groups(
        self,
        last: dict[str, tuple[str, str, str]],
        known: Collection[str],
        changed: Iterable[str] | None,
    ) -> list[str]:
        wanted = None if changed is None else set(changed)
        names = []
        before = dict(last)
        last.clear()
        looked_at = None if wanted is None else wanted.union(known)
        for each in outlines(self._plan, looked_at):
            is_changed = (
                wanted is None
                or each.name in wanted
                or (each.name in known and _has_no_verdict(each))
            )
            if each.reason or each.verdict in _WAITS:
                outcome = last[each.name] = (each.verdict, each.reason, each.message)
                is_changed = is_changed or before.get(each.name) != outcome
            if is_changed or each.bound or each.evicted:
                names.append(each.name)
        return names

    def _verdict(self, group: GroupPlan) -> Verdict:
        about_stale = next((each for each in group.reasons if each.code == "stale"), None)
        stale = "" if about_stale is None else about_stale.message
        message = "\n".join(each for each in group.messages if each != stale)
        if group.verdict == "unschedulable" and not message:
            message = WITHOUT_REASON
        waits = group.verdict in _WAITS and bool(message)
        text = _NODE_POOL.sub("", message)
        since = _text(group.writes.stale_since)
        if about_stale is not None and _all_leave(about_stale):
            # Its last pods are being deleted, so nothing of it would have to be removed later.
            stale, since = "", None if since else since
        verdict: str = group.verdict
        if verdict == "partly_placed" and any(each.code == "not_ready" for each in group.reasons):
            verdict = "not_ready"  # the other pods wait for more pods of their sub-group
        return Verdict(
            group.name,
            verdict,
            message,
            tuple(self._reasons(group, text)) if waits else (),
            stale,
            _text(group.writes.last_start),
            since,
            group.writes.attained_service,
        )

    def _reasons(self, group: GroupPlan, text: str) -> Iterable[Mapping[str, Any]]:
        """One entry for each of KAI's errors in the text."""
        for name in (*_REASONS.values(), _OTHER_REASON):
            if text.startswith(f"{name}: "):  # it is the only one
                message = text.removeprefix(f"{name}: ").removesuffix(".")
                about = [each for each in group.reasons if _REASONS.get(each.code) == name]
                yield self._entry(group, name, message, about[0] if about else None)
                return
        for each in group.reasons:
            if each.pod is None and each.message in text:
                name = _REASONS.get(each.code, _OTHER_REASON)
                yield self._entry(group, name, each.message, each)

    def _entry(
        self, group: GroupPlan, name: str, message: str, reason: Reason | None
    ) -> Mapping[str, Any]:
        entry: dict[str, Any] = {"reason": name, "message": message}
        if reason is not None and reason.code in ("over_limit", "non_preemptible_over_quota"):
            entry["details"] = {"queueDetails": self._queue_details(group, reason)}
        return entry

    def _queue_details(self, group: GroupPlan, reason: Reason) -> dict[str, Any]:
        """The numbers of the blocking queue (spec 5 A20), as far as the plan has them."""
        name = str(reason.facts["queue"])
        details: dict[str, Any] = {"name": name}
        queue = self._plan.queues.get(name)
        if queue is not None:
            details["queueRequestedResources"] = _amounts(queue, "request")
            details["queueDeservedResources"] = _amounts(queue, "deserved")
            details["queueAllocatedNonPreemptibleResources"] = _amounts(
                queue, "allocated_non_preemptible"
            )
            details["queueAllocatedResources"] = _amounts(queue, "allocated")
            details["queueResourceLimits"] = _amounts(queue, "limit")
        seen = self._seen.group(group.name)
        if seen is not None and seen.requested:
            requested = _written(
                *(parse_or_zero(seen.requested.get(each, "")) for each in _COUNTED)
            )
            preemptible = seen.preemptible and reason.code != "non_preemptible_over_quota"
            kept = _written(Fraction(0), Fraction(0), Fraction(0)) if preemptible else requested
            details["podGroupRequestedResources"] = requested
            details["podGroupRequestedNonPreemptibleResources"] = kept
        return details


def _all_leave(stale: Reason) -> bool:
    return all(each["active"] == each["leaving"] for each in stale.facts["pod_sets"])


def _has_no_verdict(each: Outline) -> bool:
    """Whether the group has no verdict, so that an earlier one may need a correction."""
    return not each.reason and each.verdict not in _WAITS


_COUNTED = (keys.CPU, keys.MEMORY, keys.NVIDIA_GPU)


def _amounts(queue: QueuePlan, name: str) -> dict[str, str]:
    shares = (getattr(each, name) for each in (queue.cpu, queue.memory, queue.gpu))
    return _written(*(None if each is None else Fraction(each) for each in shares))


def _written(*amounts: Fraction | None) -> dict[str, str]:
    """CPU, memory and GPUs as KAI writes them there (spec 1 F81).

    Bytes are written in full, and unlimited is -1. For GPUs unlimited is 0; amounts of one or more
    are cut to whole GPUs, and smaller amounts have two decimals.
    """
    cpu, memory, gpu = amounts
    if gpu is not None:
        gpu = Fraction(int(gpu)) if gpu >= 1 else Fraction(round(gpu * 100), 100)
    return {
        keys.CPU: "-1m" if cpu is None else to_text(Fraction(round(cpu * 1000), 1000)),
        keys.MEMORY: "-1" if memory is None else str(round(memory)),
        keys.NVIDIA_GPU: "0" if gpu is None else to_text(gpu),
    }


def _text(value: datetime | str | None) -> str | None:
    return second(value) if isinstance(value, datetime) else value


def _avoids(nodes: Sequence[str] | None) -> str:
    if not nodes:
        return ""
    more = f" and {len(nodes) - MOST_NODES} more" if len(nodes) > MOST_NODES else ""
    named = ", ".join(nodes[:MOST_NODES])
    return f" Nodes that refused a pod of this pod group are avoided for now: {named}{more}."
