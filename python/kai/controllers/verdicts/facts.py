"""What the writers of verdicts know and say: objects as they are, events, and what has to be sent.

A pod or pod group is named "namespace/name" throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from kai.api.writes import Write


class Condition(NamedTuple):
    """A condition of a pod."""

    status: str
    reason: str = ""
    message: str = ""


def bound_to(node: str) -> Condition:
    """PodBound of a pod that was bound (spec 6 C51)."""
    return Condition("True", "Bound", f"Pod bound successfully to node {node}")


def not_bound(pod: str, node: str, why: str) -> Condition:
    """PodBound of a pod whose binding failed (spec 6 C51)."""
    return Condition("False", "BindingError", f"Failed to bind pod {pod} to node {node}: {why}")


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod as the last watch showed it.

    `scheduled`, `bound`: its conditions PodScheduled and PodBound, None without one. `nominated`:
    `status.nominatedNodeName` where it was kai that wrote it. `marked`: pods of its group get the
    condition PodScheduled=False (`spec.markUnschedulable`). `placed`: it has a node.
    """

    uid: str
    group: str = ""
    scheduled: Condition | None = None
    bound: Condition | None = None
    nominated: str = ""
    marked: bool = True
    placed: bool = False


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A pod group as the last watch showed it.

    `conditions`: its `status.schedulingConditions`. `stamps`: its annotations, of which the three
    times count. `holds`: some pod of it stands on a node, or is on its way to one. `requested`:
    what its pods ask for, as `status.resourcesStatus` says. `preemptible`: spec 5 A16.
    """

    uid: str
    conditions: tuple[Mapping[str, Any], ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict)
    node_pool: str = ""
    holds: bool = False
    requested: Mapping[str, str] = field(default_factory=dict)
    preemptible: bool = True


class Seen(Protocol):
    """The objects as they are; None for one that is not there (any more)."""

    def pod(self, name: str) -> PodSeen | None: ...
    def group(self, name: str) -> GroupSeen | None: ...


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object. `component`: "" for the scheduler, else who it comes from."""

    kind: str
    namespace: str
    name: str
    uid: str
    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    component: str = ""


def binder_event(pod: str, uid: str, condition: Condition) -> Event:
    """The event of a PodBound condition, with the same text."""
    namespace, name = split(pod)
    type: Literal["Normal", "Warning"] = "Normal" if condition.status == "True" else "Warning"
    text = (condition.reason, condition.message)
    return Event("Pod", namespace, name, uid, type, *text, component="binder")


class Ticket(NamedTuple):
    """What a write carries so that its outcome finds its way back."""

    machine: Literal["pod", "group", "stamps"]
    name: str
    number: int


@dataclass(slots=True)
class Decided:
    """What has to be sent now. `wake`: when `due` has to be called, in seconds; None: never."""

    writes: list[Write] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    evicted: list[Mapping[str, str]] = field(default_factory=list)
    """Labels by which `pod_group_evicted_pods_total` grows by one each."""
    wake: float | None = None


def split(name: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, _, own = name.partition("/")
    return namespace, own


class Verdict(NamedTuple):
    """What a plan says of one group. `stale_since`: "" removes the time stamp."""

    name: str
    verdict: str
    message: str = ""
    reasons: tuple[Mapping[str, Any], ...] = ()
    """As `reasons` of a scheduling condition."""
    stale: str = ""
    """The text of the event StaleJob; "": it is not stale."""
    last_start: str | None = None
    stale_since: str | None = None
    attained: str | None = None
    """What it has received, as the annotation of a job order has it."""


class Said(Protocol):
    """What the writers need of a plan (kai.controllers.verdicts.plans)."""

    @property
    def waiting(self) -> Mapping[str, str]:
        """The text of every pod that waits although its group is complete."""

    @property
    def promised(self) -> Mapping[str, str]:
        """The node of every pod that was promised a place, but of those that it evicts."""

    @property
    def bound(self) -> Iterable[str]:
        """The pods that it binds."""

    @property
    def groups(self) -> Iterable[Verdict]:
        """The groups with news, and those that a state is kept of though nothing is said of them
        any more."""
