"""The decisions of a cycle, in one form for both sides of a comparison.

``from_plan`` reads a plan of kai, ``from_record`` a record of KAI. Units are those of kai: cores,
bytes, devices, and ``None`` for unlimited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Eviction", "Outcome", "Placement", "PlanLike", "from_plan", "from_record"]

RESOURCES = ("gpu", "cpu", "memory")
NUMBERS = (
    "deserved",
    "fair_share",
    "limit",
    "allocated",
    "allocated_non_preemptible",
    "request",
    "over_quota_weight",
)
UNLIMITABLE = ("deserved", "fair_share", "limit")
MILLI = 1000.0

_RECORDED_NAMES = {
    "fairShare": "fair_share",
    "allocatedNonPreemptible": "allocated_non_preemptible",
    "overQuotaWeight": "over_quota_weight",
}
_NOT_BUILT = re.compile(r"needs (.+), which is not built yet")


class PlanLike(Protocol):
    """The members of ``kai.Plan`` that are compared."""

    @property
    def decisions(self) -> Sequence[Any]: ...

    @property
    def pod_groups(self) -> Mapping[str, Any]: ...

    @property
    def queues(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Placement:
    """The place of a bound or pipelined pod. A number that was not recorded is ``None``."""

    node: str
    gpus: float | None = None
    devices: int | None = None
    portion: float | None = None
    gpu_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Eviction:
    """The action that evicted a pod, and the pod group it was evicted for."""

    action: str
    preemptor: str | None = None
    preemptor_known: bool = True


Numbers = Mapping[str, Mapping[str, "float | None"]]  # resource -> name -> number


@dataclass(frozen=True)
class Outcome:
    """The decisions of one cycle by pod, the messages of groups and the numbers of queues.

    A pod can have two decisions: a cycle moves it (`evict`, `pipeline`), or binds and evicts it.
    """

    bind: Mapping[str, Placement] = field(default_factory=dict)
    pipeline: Mapping[str, Placement] = field(default_factory=dict)
    evict: Mapping[str, Eviction] = field(default_factory=dict)
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    queues: Mapping[str, Numbers] = field(default_factory=dict)
    not_built: tuple[str, ...] = ()  # features that a pod of this input needs
    evicted_last: Mapping[str, Placement] = field(default_factory=dict)
    """The places of pods that were bound or pipelined, and then evicted. The binds are also in
    `bind`, because their BindRequests are written; the pipelined places are not in `pipeline`."""


def from_plan(plan: PlanLike) -> Outcome:
    bind: dict[str, Placement] = {}
    pipeline: dict[str, Placement] = {}
    evict: dict[str, Eviction] = {}
    evicted_last: dict[str, Placement] = {}
    for decision in plan.decisions:
        pod = decision.pod
        if decision.kind == "evict":
            # A moved pod can be evicted again; KAI's records contain the first eviction.
            evict.setdefault(pod, Eviction(decision.action, decision.for_group))
            place = pipeline.pop(pod, None) or bind.get(pod)
            if place is not None:
                evicted_last[pod] = place
            continue
        evicted_last.pop(pod, None)
        (bind if decision.kind == "bind" else pipeline)[pod] = _placement(decision)
    return Outcome(
        bind=bind,
        pipeline=pipeline,
        evict=evict,
        messages={
            name: tuple(group.messages) for name, group in plan.pod_groups.items() if group.messages
        },
        queues={name: _own_numbers(queue) for name, queue in plan.queues.items()},
        not_built=not_built(plan),
        evicted_last=evicted_last,
    )


def not_built(plan: PlanLike) -> tuple[str, ...]:
    """The sorted names of the missing features in the reasons of pod groups."""
    features = set[str]()
    for group in plan.pod_groups.values():
        for reason in group.reasons:
            if reason.code == "not_built":
                named = _NOT_BUILT.fullmatch(reason.message)
                features.add(named.group(1) if named else reason.message)
    return tuple(sorted(features))


def from_record(record: Mapping[str, Any]) -> Outcome:
    """Reads ``expect`` of ``random/``, and ``observed`` of ``cases/`` and ``large/``."""
    unschedulable = record.get("unschedulable") or {}
    if not isinstance(unschedulable, Mapping):
        unschedulable = dict.fromkeys(unschedulable, ())
    return Outcome(
        bind={pod: _recorded_placement(v) for pod, v in (record.get("bind") or {}).items()},
        pipeline={pod: _recorded_placement(v) for pod, v in (record.get("pipeline") or {}).items()},
        evict={pod: _recorded_eviction(v) for pod, v in (record.get("evict") or {}).items()},
        messages={name: tuple(texts) for name, texts in unschedulable.items()},
        queues={name: recorded_numbers(q) for name, q in (record.get("queues") or {}).items()},
    )


def _placement(decision: Any) -> Placement:
    return Placement(
        node=decision.node,
        gpus=decision.gpus,
        devices=decision.devices,
        portion=decision.portion,
        gpu_groups=tuple(decision.gpu_groups or ()),
    )


def _recorded_placement(value: Mapping[str, Any]) -> Placement:
    portion = value.get("fraction")
    return Placement(
        node=value["node"],
        gpus=value.get("gpus"),
        devices=value.get("devices"),
        portion=float(portion) if portion not in (None, "") else None,
        gpu_groups=tuple(value.get("gpuGroups") or ()),
    )


def _recorded_eviction(value: str | Mapping[str, Any]) -> Eviction:
    if isinstance(value, str):
        return Eviction(value, preemptor_known=False)
    return Eviction(value["action"], value.get("preemptor"))


def _own_numbers(queue: Any) -> dict[str, dict[str, float | None]]:
    """The numbers of one queue of ``kai.Plan.queues``, by resource (gpu, cpu, memory) and name."""
    return {
        resource: {name: getattr(getattr(queue, resource), name) for name in NUMBERS}
        for resource in RESOURCES
    }


def recorded_numbers(queue: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    """The recorded numbers of KAI, in the units and names of kai."""
    found: dict[str, dict[str, float | None]] = {}
    for resource, numbers in queue.items():
        own: dict[str, float | None] = {}
        for name, number in numbers.items():
            name = _RECORDED_NAMES.get(name, name)
            if name in UNLIMITABLE and number == -1:
                own[name] = None
            elif resource == "cpu" and name != "over_quota_weight":
                own[name] = number / MILLI
            else:
                own[name] = float(number)
        found[resource] = own
    return found


def names(items: Iterable[str]) -> str:
    """The items as text: ``a``, ``a and b``, ``a, b and c``; a long list is cut.

    >>> names(["a", "b", "c"])
    'a, b and c'
    """
    known = sorted(items)
    if len(known) > 5:
        known = [*known[:4], f"{len(known) - 4} others"]
    return " and ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)
