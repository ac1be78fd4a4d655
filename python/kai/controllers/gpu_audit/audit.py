"""Which uses of devices become events: two measurements in a row beyond the share, and at most one
event of a pod in ten minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from kai.controllers.gpu_audit.uses import AuditRules, PodUse
from kai.controllers.verdicts.facts import Event
from kai.engine.text import listing, size

EXCEEDED, NOT_GIVEN, OUTSIDE, KEPT = (
    "GpuShareExceeded",
    "GpuNotGiven",
    "GpuUsedOutsidePods",
    "GpuShareKept",
)
"""The reasons of events. OUTSIDE is about the node, the others about a pod."""
IN_A_ROW = 2
_GIB = 1 << 30

Key = tuple[str, str]
"""The UID of a pod and a device."""


@dataclass(frozen=True, slots=True)
class Before:
    """What earlier measurements found. in_a_row: how often a pod has been over on a device. told:
    when the last event of a pod was written. open: pods whose last event is about overuse; by UID,
    the namespace and the name."""

    in_a_row: Mapping[Key, int] = field(default_factory=dict)
    told: Mapping[str, float] = field(default_factory=dict)
    open: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Audited:
    """events: to write now. over: the uses that have been beyond the share for long enough."""

    before: Before
    events: tuple[Event, ...]
    over: tuple[PodUse, ...]


def audit(before: Before, uses: Sequence[PodUse], *, now: float, rules: AuditRules) -> Audited:
    """The result of one more measurement; `now` in seconds of a clock that only grows.

    Processes outside of pods, and pods that the API server does not have, count for the node.
    """
    in_a_row = {
        (each.uid, each.device): before.in_a_row.get((each.uid, each.device), 0) + 1
        for each in uses
        if each.is_over
    }
    over = tuple(each for each in uses if in_a_row.get((each.uid, each.device), 0) >= IN_A_ROW)
    told = {uid: at for uid, at in before.told.items() if now - at < rules.again_s}
    still, events = dict(before.open), []
    of_pods: dict[str, list[PodUse]] = {}
    for each in over:
        of_pods.setdefault(each.uid if each.name else "", []).append(each)
    for uid, its in of_pods.items():
        if uid not in told:
            told[uid] = now
            events.append(_event_of(its, rules) if uid else _event_of_node(its, rules))
            if uid:
                still[uid] = its[0].namespace, its[0].name
    back = [uid for uid in still if all(key[0] != uid for key in in_a_row)]
    there = {each.uid for each in uses}
    for uid in back:
        namespace, name = still.pop(uid)
        if uid in there:
            text = "it uses no more memory of GPUs than its share"
            events.append(_event(namespace, name, uid, "Normal", KEPT, text))
    return Audited(Before(in_a_row, told, still), tuple(events), over)


def _event_of(uses: Sequence[PodUse], rules: AuditRules) -> Event:
    first = uses[0]
    reason = EXCEEDED if any(each.share for each in uses) else NOT_GIVEN
    text = "; ".join(_sentence(each, rules) for each in uses)
    return _event(first.namespace, first.name, first.uid, "Warning", reason, text)


def _sentence(use: PodUse, rules: AuditRules) -> str:
    uses = f"uses {_amount(use.used)} of {use.device} ({size(use.total)})"
    if not use.share:
        return f"{uses}, and was given nothing of it"
    share = f"its share is {_amount(use.share)}"
    if rules.tolerance:
        each = "its process" if len(use.processes) == 1 else f"each of its {_processes(use)}"
        share += f", and {size(rules.tolerance)} more for {each}"
    if use.counted is None:
        return f"{uses}, {share}; no guard is in force"
    guarded = sum(each.counted is not None for each in use.processes)
    counts = f"{_amount(use.counted.used)} in {guarded} of {_processes(use)}"
    return f"{uses}, {share}; its guard counts {counts}"


def _event_of_node(uses: Sequence[PodUse], rules: AuditRules) -> Event:
    sentences = []
    for use in uses:
        what = f"of pod {use.uid}, which the API server does not have," if use.uid else "of no pod"
        names = listing(f"{each.name} (process {each.pid})" for each in use.processes)
        verb = "uses" if len(use.processes) == 1 else "use"
        sentences.append(f"{names} {what} {verb} {_amount(use.used)} of {use.device}")
    return Event("Node", "", rules.node, rules.node, "Warning", OUTSIDE, "; ".join(sentences))


def _event(
    namespace: str,
    name: str,
    uid: str,
    type: Literal["Normal", "Warning"],
    reason: str,
    text: str,
) -> Event:
    return Event("Pod", namespace, name, uid, type, reason, text, component="gpu-auditor")


def _processes(use: PodUse) -> str:
    number = len(use.processes)
    return f"{number} process" if number == 1 else f"{number} processes"


def _amount(used: int | None) -> str:
    """To tenths of a GiB, so that equal events are counted together."""
    if used is None:
        return "an unknown part"
    return size(used >> 20 << 20 if used < _GIB else round(used / _GIB, 1) * _GIB)
