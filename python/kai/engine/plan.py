"""What a cycle decided: plain frozen values, made from the compiled plan when asked for.

>>> import kai
>>> plan = kai.Scheduler().plan(
...     kai.Cluster()
...     .queue("vision", deserved_gpus=2)
...     .node("n1", gpus=8)
...     .pending("vision/train", pods=2, gpus=1, min_member=2),
...     now="2026-01-01T00:00:00Z",
... )
>>> plan.decisions
(Bind(pod='vision/train-0', node='n1', gpus=1), Bind(pod='vision/train-1', node='n1', gpus=1))
>>> plan.pod_groups["vision/train"].verdict
'placed'
>>> plan.queues["vision"].gpu.fair_share
2
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from kai.api import times
from kai.engine import explain, report, text
from kai.engine.brief import Brief
from kai.engine.claims import ClaimAllocation, ExtendedClaim, claims_of
from kai.engine.cluster import Rejected
from kai.engine.situation import Situation
from kai.errors import NotFoundError

if TYPE_CHECKING:
    import pandas

    from kai import _core

Verdict = Literal[
    "placed", "pipelined", "partly_placed", "unschedulable", "not_ready", "running", "invalid"
]


@dataclass(frozen=True, slots=True)
class NumaZone:
    """A NUMA zone of a node, and how much of each resource: cores, bytes, devices."""

    zone: str
    amount: Mapping[str, float] = dataclasses.field(hash=False)

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

    `gpus` is the sum it takes. The members after it are for a pod that shares devices with others:
    on how many `devices`, which `portion` or how much memory of each, and which (`gpu_groups`).
    `numa_zones` is where the node is expected to put the pod, with the plugin `numa`.
    `claims` says what each of its resource claims holds, `extended_claim` which devices it gets
    for resources that it asks for by number. `topology_rank` and `topology_domain` say where the
    pod stands among those of its group, if that asks for a topology.
    """

    kind: ClassVar[str] = "bind"


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline(_Placement):
    """The pod is promised a place on the node, which others are about to leave."""

    kind: ClassVar[str] = "pipeline"


@dataclass(frozen=True, slots=True, repr=False)
class Evict(Brief):
    """The pod has to make room: which action decided so, and for which pod group."""

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
"""Any of them; isinstance() knows it too."""


@dataclass(frozen=True, slots=True, repr=False)
class Reason(Brief):
    """Why a pod group, or one pod of it, was not placed.

    `code` is a stable word; `message` is KAI's text where it has one. `facts` are the numbers and
    names that the message speaks of: cores, bytes, devices. docs/reference/reasons.md lists both.
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
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Writes(Brief):
    """The time stamps that the cycle writes on the pod group; None for one it leaves alone.

    `stale_since` is "" when the time stamp has to go: the group has all its pods again.
    """

    last_start: datetime | None = None
    stale_since: datetime | Literal[""] | None = None
    last_eviction: datetime | None = None


@dataclass(frozen=True, slots=True, repr=False)
class GroupPlan(Brief):
    """What the cycle says about one pod group.

    `messages` are the texts of KAI's event and condition, `reasons` the same for programs.
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
                field.name: _second(getattr(self.writes, field.name))
                for field in dataclasses.fields(Writes)
            },
        }


@dataclass(frozen=True, slots=True)
class PodPlan:
    """What the cycle says about one waiting pod: the text of its condition."""

    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"message": self.message}


@dataclass(frozen=True, slots=True)
class QueueShare:
    """One resource of one queue at the start of the cycle. None is unlimited."""

    deserved: float | None
    fair_share: float | None
    limit: float | None
    allocated: float | None
    allocated_non_preemptible: float | None
    request: float | None
    over_quota_weight: float | None

    def to_dict(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """The numbers of one queue: GPUs in devices, CPU in cores, memory in bytes."""

    name: str
    gpu: QueueShare
    cpu: QueueShare
    memory: QueueShare

    def to_dict(self) -> dict[str, Any]:
        return {
            "gpu": self.gpu.to_dict(),
            "cpu": self.cpu.to_dict(),
            "memory": self.memory.to_dict(),
        }


Value = TypeVar("Value")


class _ByName(Mapping[str, Value]):
    """Values in the order of their names; a name that is not there gets close ones offered."""

    _noun: ClassVar[str] = "pod"

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = {name: values[name] for name in sorted(values)}

    def __getitem__(self, name: str) -> Value:
        try:
            return self._values[name]
        except KeyError:
            raise _MissingKey(text.not_found(self._noun, name, self._values)) from None

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
        return repr(self._values)


class _MissingKey(NotFoundError, KeyError):
    """A NotFoundError that `dict.get` and `in` understand."""

    __str__ = Exception.__str__


class PodPlans(_ByName[PodPlan]):
    """The waiting pods, by "namespace/name"."""

    _noun = "waiting pod"


class GroupPlans(_ByName[GroupPlan]):
    """All pod groups, by "namespace/name"."""

    _noun = "pod group"


class Queues(_ByName[QueuePlan]):
    """The queues with their numbers at the start of the cycle, by name."""

    _noun = "queue"

    def to_pandas(self) -> pandas.DataFrame:
        """One row per queue and resource; unlimited is infinity. Needs pandas."""
        try:
            import pandas
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "to_pandas() needs pandas: pip install 'kai-sched[notebook]'"
            ) from None
        rows = [
            {"queue": queue.name, "resource": resource}
            | {
                name: float("inf") if value is None else value
                for name, value in getattr(queue, resource).to_dict().items()
            }
            for queue in self.values()
            for resource in ("gpu", "cpu", "memory")
        ]
        columns = ["queue", "resource", *(field.name for field in dataclasses.fields(QueueShare))]
        table = pandas.DataFrame(rows, columns=columns)
        by_queue: pandas.DataFrame = table.set_index(["queue", "resource"])
        return by_queue

    def __repr__(self) -> str:
        return text.to_text("", report.queue_tables(self)) or "no queues"

    def _repr_html_(self) -> str:
        return text.to_html("", report.queue_tables(self))


class Plan:
    """The answer to one cycle. Printed, it is a page for people; `to_dict` is for programs."""

    situation: Situation
    """The facts it was made from; for `kai.engine.report` and `explain`."""

    def __init__(
        self,
        compiled: _core.Plan,
        *,
        input: str | None,
        now_ns: int,
        rejected: tuple[Rejected, ...] = (),
        warnings: tuple[str, ...] = (),
        situation: Situation | None = None,
    ) -> None:
        self._compiled = compiled
        self._now_ns = now_ns
        self.situation = situation or Situation(b"")
        self.input = input
        self.rejected = rejected
        self.warnings = warnings

    @property
    def now(self) -> datetime:
        """The time of the cycle."""
        return times.to_datetime(self._now_ns)

    @property
    def now_text(self) -> str:
        """The same as RFC 3339, to the nanosecond."""
        return times.to_text(self._now_ns)

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """What has to happen, in that order; a pod that moves is evicted and then pipelined."""
        claims = self._compiled.claims()
        ranks = self._compiled.topology_ranks()
        decisions = (_decision(*row) for row in self._compiled.decisions())
        if not claims and not ranks:
            return tuple(decisions)

        def more(pod: str) -> dict[str, Any]:
            members = claims_of(claims[pod]) if pod in claims else {}
            if pod in ranks:
                members["topology_rank"], members["topology_domain"] = ranks[pod]
            return members

        return tuple(
            dataclasses.replace(each, **more(each.pod)) if isinstance(each, Bind) else each
            for each in decisions
        )

    @cached_property
    def pod_groups(self) -> GroupPlans:
        """What became of every pod group, by "namespace/name"."""
        return GroupPlans(
            {name: _group_plan(name, *row) for name, row in self._compiled.pod_groups().items()}
        )

    @cached_property
    def pods(self) -> PodPlans:
        """The message of every waiting pod's condition, by "namespace/name"."""
        return PodPlans({name: PodPlan(said) for name, said in self._compiled.pods().items()})

    @cached_property
    def queues(self) -> Queues:
        """The numbers of every queue; none when the configuration leaves `proportion` out."""
        return Queues(
            {
                name: QueuePlan(
                    name, *(_queue_share(rows[each]) for each in ("gpu", "cpu", "memory"))
                )
                for name, rows in self._compiled.queues().items()
            }
        )

    @cached_property
    def numa_zones_available(self) -> dict[str, tuple[NumaZone, ...]]:
        """What the decisions leave of the NUMA zones of nodes, once who has to leave is gone.

        By node, with the plugin `numa`; zones in the order of their numbers.
        """
        rows = self._compiled.numa_zones_available()
        return {node: _zones(zones) for node, zones in rows.items()}

    @cached_property
    def spent_searches(self) -> dict[str, int]:
        """Searches for victims that a budget ended, and how many sets of pods each had tried.

        By "action namespace/group", with the generator's name where only its share was spent; -1
        where the action had ended before. The same in
        ``scenarioSearchBudgets.maxScenarios.searches`` gives this plan again, on any machine.
        """
        return self._compiled.spent_searches()

    @cached_property
    def score_keys(self) -> int:
        """How many different places nodes had in the orders in which they were searched.

        The fewer, the faster; 0 where the cycle was too small for an order to be made.
        """
        return self._compiled.score_keys()

    @cached_property
    def timing_ms(self) -> dict[str, float]:
        """How long each stage took; `total` includes `load`."""
        return {stage: ns / 1e6 for stage, ns in self._compiled.timing_ns().items()}

    def why(self, name: str) -> str:
        """Why a pod group waits, or that it does not, a sentence per line.

        The name is "namespace/name" of the pod group, of its workload or of one of its pods; the
        namespace may be left out where the name says enough. Raises NotFoundError.
        """
        return explain.why(self, self.find_group(name))

    def find_group(self, name: str) -> GroupPlan:
        """The pod group that `why` would speak about."""
        return explain.find_group(self, name)

    def to_dict(self) -> dict[str, Any]:
        """What ``kai plan --json`` prints (docs/reference/plan.md)."""
        return {
            "input": self.input,
            "now": self.now_text,
            "decisions": [decision.to_dict() for decision in self.decisions],
            "pod_groups": {name: group.to_dict() for name, group in self.pod_groups.items()},
            "pods": {name: pod.to_dict() for name, pod in self.pods.items()},
            "queues": {name: queue.to_dict() for name, queue in self.queues.items()},
            "rejected": [dataclasses.asdict(each) for each in self.rejected],
            "spent_searches": self.spent_searches,
            "score_keys": self.score_keys,
            "timing_ms": self.timing_ms,
        }

    def to_json(self) -> str:
        """`to_dict` on one line. Equal input, equal bytes, except for `timing_ms`."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __eq__(self, other: object) -> bool:
        """Whether both decide and say the same, wherever they came from and however fast."""
        if not isinstance(other, Plan):
            return NotImplemented
        return self._said() == other._said()

    __hash__ = None  # type: ignore[assignment]

    def _said(self) -> tuple[object, ...]:
        return (
            self._now_ns,
            self.decisions,
            self.pod_groups,
            self.pods,
            self.queues,
            self.rejected,
        )

    def __repr__(self) -> str:
        name = f" {self.input}" if self.input else ""
        return f"<kai.Plan{name} at {self.now_text}: {report.summary(self)}>"

    def __str__(self) -> str:
        return text.to_text(report.title(self), report.tables_of(self))

    def _repr_html_(self) -> str:
        return text.to_html(report.title(self), report.tables_of(self))


def _decision(
    kind: str,
    pod: str,
    node: str | None,
    gpus: float | None,
    devices: int | None,
    portion: float | None,
    gpu_memory_mib: int | None,
    gpu_groups: tuple[str, ...],
    action: str | None,
    for_group: str | None,
    message: str | None,
    numa_zones: Sequence[tuple[str, Mapping[str, float]]] = (),
) -> Decision:
    if kind == "evict":
        return Evict(pod, action or "", for_group, message or "")
    make = Bind if kind == "bind" else Pipeline
    # Whole devices, or none.
    if not gpu_groups and gpu_memory_mib is None and portion in (None, 1):
        return make(pod, node or "", _plain(gpus or 0), numa_zones=_zones(numa_zones))
    return make(
        pod,
        node or "",
        _plain(gpus or 0),
        devices,
        None if portion is None else _plain(portion),
        gpu_memory_mib,
        tuple(gpu_groups),
        _zones(numa_zones),
    )


def _zones(rows: Sequence[tuple[str, Mapping[str, float]]]) -> tuple[NumaZone, ...]:
    return tuple(
        NumaZone(zone, {name: _plain(amount) for name, amount in amounts.items()})
        for zone, amounts in rows
    )


def _group_plan(
    name: str,
    queue: str,
    verdict: str,
    messages: list[str],
    reasons: list[tuple[str, str, str | None, dict[str, Any]]],
    writes: tuple[int | None, int | Literal[""] | None, int | None],
) -> GroupPlan:
    return GroupPlan(
        name,
        queue,
        verdict,
        tuple(messages),
        tuple(Reason(*reason) for reason in reasons),
        Writes(*(times.to_datetime(ns) if isinstance(ns, int) else ns for ns in writes)),  # type: ignore[arg-type]
    )


def _queue_share(row: tuple[float | None, ...]) -> QueueShare:
    return QueueShare(*(None if value is None else _plain(value) for value in row))


def _plain(value: float) -> float:
    """A whole number as an int, so that it prints as one."""
    return int(value) if value == int(value) else value


def _second(time: datetime | Literal[""] | None) -> str | None:
    """As KAI writes time stamps on objects: whole seconds (spec 5 A22)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(time, datetime) else time
