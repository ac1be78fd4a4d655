"""The values of a plan: decisions, reasons, results of pod groups and pods. All are frozen."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeVar, get_args

from kai.api import times
from kai.api.arguments import wrong_type
from kai.api.rules import shown
from kai.engine import text
from kai.engine.brief import Brief
from kai.engine.claims import ClaimAllocation, ExtendedClaim
from kai.engine.frozen import Frozen, frozen, thawed
from kai.errors import NotFoundError

Verdict = Literal[
    "placed", "pipelined", "partly_placed", "unschedulable", "not_ready", "running", "invalid"
]
VERDICTS: tuple[str, ...] = get_args(Verdict)
REASON_CODES = (
    "over_limit", "non_preemptible_over_quota", "gang_incomplete", "not_enough_gpus",
    "not_enough_resources", "no_matching_node", "topology_too_small", "larger_than_any_node",
    "config_map_missing", "volume_not_ready", "resource_claim_not_ready",
    "selector_costs_too_much", "no_free_devices", "queue_does_not_exist",
    "queue_not_leaf", "subgroup_does_not_exist", "not_ready", "not_built",
    "completed", "no_pods", "not_considered", "preemption_delay", "search_budget_spent", "evicted",
    "stale",
)  # fmt: skip
"""Every code of a reason (docs/reference/reasons.md)."""


@dataclass(frozen=True, slots=True)
class NumaZone:
    """A NUMA zone of a node, and its amounts of resources: cores, bytes, devices.

    >>> import kai
    >>> kai.NumaZone("0", {"cpu": 8, "nvidia.com/gpu": 1}).to_dict()
    {'zone': '0', 'amount': {'cpu': 8, 'nvidia.com/gpu': 1}}
    """

    zone: str
    amount: Mapping[str, float] = dataclasses.field(hash=False)

    amounts: ClassVar[type] = Frozen

    def to_dict(self) -> dict[str, Any]:
        return {"zone": self.zone, "amount": dict(self.amount)}


@dataclass(frozen=True, slots=True, repr=False)
class _Placement(Brief):
    pod: str
    node: str
    gpus: float = 0
    devices: int | None = None
    portion: float | None = None
    gpu_memory_mib: int | None = None
    gpu_groups: tuple[str, ...] = ()
    numa_zones: tuple[NumaZone, ...] = ()
    claims: tuple[ClaimAllocation, ...] = ()
    extended_claim: ExtendedClaim | None = None
    topology_rank: int | None = None
    topology_domain: str | None = None

    kind: ClassVar[str]
    # Only evictions have both, but `d.action` may be written for every decision.
    action: ClassVar[str | None] = None
    for_group: ClassVar[str | None] = None

    def to_dict(self) -> dict[str, Any]:
        members: dict[str, Any] = {
            "kind": self.kind,
            "pod": self.pod,
            "node": self.node,
            "gpus": self.gpus,
        }
        if self.gpu_groups or self.devices is not None:
            members |= {
                "devices": self.devices,
                "portion": self.portion,
                "gpu_memory_mib": self.gpu_memory_mib,
                "gpu_groups": list(self.gpu_groups),
            }
        if self.numa_zones:
            members["numa_zones"] = [zone.to_dict() for zone in self.numa_zones]
        if self.claims:
            members["claims"] = [claim.to_dict() for claim in self.claims]
        if self.extended_claim is not None:
            members["extended_claim"] = self.extended_claim.to_dict()
        if self.topology_rank is not None:
            members["topology"] = {"rank": self.topology_rank, "domain": self.topology_domain}
        return members


@dataclass(frozen=True, slots=True, repr=False)
class Bind(_Placement):
    """The pod starts on the node now.

    `gpus` is the total amount. The members after it are for a pod that shares devices: the number
    of `devices`, the `portion` or the memory of each, and their names (`gpu_groups`). `numa_zones`
    is where the node is expected to put the pod, with the plugin `numa`. `claims` are the
    allocations of its resource claims, `extended_claim` the devices for its extended resources.
    `topology_rank` and `topology_domain` are the pod's position in its group, if the group has a
    topology constraint. `action` and `for_group` are None: only evictions have them.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpu_fraction=0.5)
    >>> [bind] = kai.Scheduler().plan(cluster).decisions
    >>> bind.pod, bind.node, bind.gpus, bind.devices, bind.portion
    ('a/x-0', 'n1', 0.5, 1, 0.5)
    """

    kind: ClassVar[str] = "bind"


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline(_Placement):
    """The pod is promised a place on the node; other pods release it soon.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1)
    >>> cluster = cluster.releasing("a/goes", gpus=1, node="n1").pending("a/x", gpus=1)
    >>> kai.Scheduler().plan(cluster).decisions
    (Pipeline(pod='a/x-0', node='n1', gpus=1),)
    """

    kind: ClassVar[str] = "pipeline"


@dataclass(frozen=True, slots=True, repr=False)
class Evict(Brief):
    """The pod is evicted: by which action, and for which pod group.

    >>> import kai
    >>> cluster = kai.Cluster().queue("a").node("n1", gpus=1).running("a/low", gpus=1, node="n1")
    >>> cluster = cluster.pending("a/high", gpus=1, priority=90)
    >>> evict = kai.Scheduler().plan(cluster).evictions[0]
    >>> evict.pod, evict.action, evict.for_group
    ('a/low-0', 'preempt', 'a/high')
    """

    pod: str
    action: str
    for_group: str | None = None
    message: str = ""

    kind: ClassVar[str] = "evict"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "pod": self.pod,
            "action": self.action,
            "for": self.for_group,
            "message": self.message,
        }


Decision = Bind | Pipeline | Evict
"""Any decision; also usable with isinstance()."""

DECISION_TYPES = (Bind, Pipeline, Evict, NumaZone)
"""The types that the compiled plan creates for decisions."""


@dataclass(frozen=True, slots=True, repr=False)
class Reason(Brief):
    """Why a pod group, or one of its pods, was not placed.

    `code` is a stable identifier; `message` is KAI's text, if there is one. `facts` are the numbers
    and names in the message: cores, bytes, devices. docs/reference/reasons.md lists both.

    >>> import kai
    >>> plan = kai.Scheduler().plan(
    ...     kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", gpus=2)
    ... )
    >>> reason = plan.pod_groups["a/x"].reasons[0]
    >>> reason.code, reason.pod, reason.facts["refusals"][0]["largest"]
    ('larger_than_any_node', 'a/x-0', 1.0)
    """

    code: str
    message: str
    pod: str | None = None
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "pod": self.pod,
            "facts": thawed(self.facts),
        }


def bounds_of(reason: Reason) -> Iterator[Reason]:
    """The reason; if queues refuse a group, one for each limit and quota that does."""
    yield reason
    for facts in reason.facts.get("also", ()):
        code = "over_limit" if "limit" in facts else "non_preemptible_over_quota"
        yield Reason(code, "", facts=facts)


@dataclass(frozen=True, slots=True, repr=False)
class Writes(Brief):
    """The time stamps that the cycle writes on the pod group; None: no change.

    `stale_since` is "" if the time stamp must be removed: the group has all its pods again.
    `attained_service` is the text of the annotation of that name. It is written only with an order
    of pod groups (a job order, or a policy in Python), when the group loses or gets pods.

    >>> import kai
    >>> cluster = kai.Cluster(now="2026-01-01T00:00:00Z").queue("a").node("n1", gpus=1)
    >>> plan = kai.Scheduler().plan(cluster.pending("a/x", gpus=1))
    >>> plan.pod_groups["a/x"].writes.last_start.isoformat()
    '2026-01-01T00:00:00+00:00'
    """

    last_start: datetime | None = None
    stale_since: datetime | Literal[""] | None = None
    last_eviction: datetime | None = None
    attained_service: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class GroupPlan(Brief):
    """The result of the cycle for one pod group.

    `messages` are the texts of KAI's event and condition, `reasons` the same for programs.

    >>> import kai
    >>> plan = kai.Scheduler().plan(
    ...     kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1)
    ... )
    >>> group = plan.pod_groups["a/x"]
    >>> group.queue, group.verdict, group.reasons[0].code
    ('a', 'partly_placed', 'not_enough_gpus')
    """

    name: str
    queue: str
    verdict: str
    messages: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    writes: Writes = Writes()

    def to_dict(self) -> dict[str, Any]:
        return {
            "queue": self.queue,
            "verdict": self.verdict,
            "messages": list(self.messages),
            "reasons": [reason.to_dict() for reason in self.reasons],
            "writes": {
                field.name: second(value) if isinstance(value, datetime) else value
                for field in dataclasses.fields(Writes)
                for value in [getattr(self.writes, field.name)]
                if field.name != "attained_service" or value is not None
            },
        }


@dataclass(frozen=True, slots=True)
class PodPlan:
    """The result of the cycle for one waiting pod: the text of its condition.

    >>> import kai
    >>> plan = kai.Scheduler().plan(
    ...     kai.Cluster().queue("a").node("n1", gpus=1).pending("a/x", pods=2, gpus=1)
    ... )
    >>> list(plan.pods)
    ['a/x-1']
    """

    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"message": self.message}


Value = TypeVar("Value")
_MOST_SHOWN = 20


class ByName(Mapping[str, Value]):
    """Values by name, sorted by name; the error for an unknown name lists similar names."""

    _noun: ClassVar[str] = "pod"

    def __init__(self, values: Mapping[str, Value]) -> None:
        if not isinstance(values, Mapping):
            raise wrong_type(f"{type(self).__name__}() takes a mapping, not {shown(values)}")
        self._values = {name: values[name] for name in sorted(values)}

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except (KeyError, TypeError):  # a list is no key of a mapping
            raise MissingKey(text.not_found(self._noun, name, self._values)) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return dict(self) == dict(other) if isinstance(other, Mapping) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if len(self) <= _MOST_SHOWN:
            return repr(self._values)
        shown = ", ".join(f"{name!r}: {self[name]!r}" for name in [*self][:_MOST_SHOWN])
        return f"{{{shown}, ... and {len(self) - _MOST_SHOWN:,} more}}"


class MissingKey(NotFoundError, KeyError):
    """A NotFoundError that works with `dict.get` and `in`."""

    __str__ = Exception.__str__


class PodPlans(ByName[PodPlan]):
    """The waiting pods, by "namespace/name"."""

    _noun = "waiting pod"


class GroupPlans(ByName[GroupPlan]):
    """All pod groups, by "namespace/name"."""

    _noun = "pod group"


# ---- from the rows of the compiled plan ----------------------------------------------------------


def zones_of(rows: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[NumaZone, ...]:
    return tuple(
        NumaZone(zone, Frozen({name: plain(amount) for name, amount in amounts.items()}))
        for zone, amounts in rows
    )


def group_plan_of(
    name: str,
    queue: str,
    verdict: str,
    messages: list[str],
    reasons: list[tuple[str, str, str | None, dict[str, Any]]],
    writes: tuple[int | None, int | Literal[""] | None, int | None, str | None],
) -> GroupPlan:
    return GroupPlan(
        name,
        queue,
        verdict,
        tuple(messages),
        tuple(Reason(*reason[:3], frozen(reason[3])) for reason in reasons),
        Writes(*(times.to_datetime(ns) if isinstance(ns, int) else ns for ns in writes)),  # type: ignore[arg-type]
    )


def plain(value: float) -> float:
    """A whole number as an int, so that it prints without decimals."""
    return int(value) if value == int(value) else value


def second(time: datetime) -> str:
    """In the format of KAI's time stamps on objects: whole seconds (spec 5 A22)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
