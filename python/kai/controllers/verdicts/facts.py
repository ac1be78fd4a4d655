"""Input and output of the verdict writers: current objects, events, and writes to send.

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
    """The condition PodBound of a bound pod (spec 6 C51)."""
    return Condition("True", "Bound", f"Pod bound successfully to node {node}")


def not_bound(pod: str, node: str, why: str) -> Condition:
    """The condition PodBound of a pod whose binding failed (spec 6 C51)."""
    return Condition("False", "BindingError", f"Failed to bind pod {pod} to node {node}: {why}")


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod as the last watch showed it.

    `scheduled`, `bound`: its conditions PodScheduled and PodBound, None without one. `nominated`:
    `status.nominatedNodeName`, if kai wrote it. `marked`: pods of its group get the condition
    PodScheduled=False (`spec.markUnschedulable`). `placed`: it has a node.
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

    `conditions`: its `status.schedulingConditions`. `stamps`: its annotations; three time stamps of
    these are used. `holds`: some pod of it is on a node, or on its way to one. `requested`: the
    requests of its pods, from `status.resourcesStatus`. `preemptible`: spec 5 A16.
    """

    uid: str
    conditions: tuple[Mapping[str, Any], ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict)
    node_pool: str = ""
    holds: bool = False
    requested: Mapping[str, str] = field(default_factory=dict)
    preemptible: bool = True


class Seen(Protocol):
    """The current objects; None if an object does not exist (any more)."""

    def pod(self, name: str) -> PodSeen | None: ...
    def group(self, name: str) -> GroupSeen | None: ...


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object. `component`: its source; "" for the scheduler."""

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
    """Attached to a write, so that its outcome reaches the right object."""

    machine: Literal["pod", "group", "stamps"]
    name: str
    number: int


@dataclass(slots=True)
class Decided:
    """The writes and events to send now. `wake`: the time for `due`, in seconds; None: never."""

    writes: list[Write] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    evicted: list[Mapping[str, str]] = field(default_factory=list)
    """Label sets for which `pod_group_evicted_pods_total` increases by one each."""
    wake: float | None = None


def split(name: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, _, own = name.partition("/")
    return namespace, own


class Verdict(NamedTuple):
    """A plan's verdict on one group. `stale_since`: "" removes the time stamp."""

    name: str
    verdict: str
    message: str = ""
    reasons: tuple[Mapping[str, Any], ...] = ()
    """`reasons` of a scheduling condition."""
    stale: str = ""
    """The text of the event StaleJob; "": it is not stale."""
    last_start: str | None = None
    stale_since: str | None = None
    attained: str | None = None
    """What the group has received, in the format of a job order's annotation."""


class VerdictSource(Protocol):
    """The part of a plan that the writers need (kai.controllers.verdicts.plans)."""

    @property
    def waiting(self) -> Mapping[str, str]:
        """The message of every waiting pod whose group is complete."""

    @property
    def promised(self) -> Mapping[str, str]:
        """The node of every pod with a promised place, except pods that the plan evicts."""

    @property
    def bound(self) -> Iterable[str]:
        """The pods that the plan binds."""

    @property
    def groups(self) -> Iterable[Verdict]:
        """The changed groups, and the groups that have a state although the plan has no verdict
        on them any more."""
