"""Decisions of a plan, what another scheduler did, and how the two compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

Subject = Literal["bind", "evict"]
Outcome = Literal[
    "same",  # both bind the pod to this node and these devices, or both evict it
    "other_node",  # both bind it, to different nodes
    "other_devices",  # both bind it to this node, beside other pods on its devices
    "order",  # the other binds it; the plan gives that node's room to another pod first
    "extra",  # the other binds or evicts it; the plan does not
    "missed",  # plans bind or evict it, and nothing happened for a while
    "other_victim",  # both evict for the same pod group, or in the same cycle, different pods
    "not_compared",  # it was never in a state that was planned
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Cause = Literal[
    "",  # it is the same
    "earlier_state",  # a plan of a moment ago decides the same
    "alike",  # pods of one group that ask for the same: any of them may get that place
    "equal_score",  # the names of the nodes alone decide
    "switch",  # so decides kai with these switches of `compat` off
    "left_out",  # the object makes no sense to kai, and does to the other one
    "late",  # the other one decides the same, later
    "not_read",  # kai does not read what the pod needs
    "unknown",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a plan says of one pod. `action`, `for_group`: of an eviction."""

    kind: Literal["bind", "pipeline", "evict"]
    node: str = ""
    gpu_groups: frozenset[str] = frozenset()
    action: str = ""
    for_group: str = ""


class Again(Protocol):
    """Plans the same objects once more; None: that is not possible any more."""

    def __call__(
        self, *, switches: Sequence[str] = (), new_names: tuple[str, str] | None = None
    ) -> Mapping[str, Chosen] | None:
        """`switches`: those of `compat` that are turned off. `new_names`: nodes that take each
        other's names; the decisions are by the new ones."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A plan, made at `at` (seconds). `left_out`: why, by pods and pod groups that make no sense.
    `reason`: by pod, the code of the reason why its pod group waits, or ""; it may take as long as
    a plan."""

    cycle: int
    at: float
    chosen: Mapping[str, Chosen]
    again: Again
    left_out: Mapping[str, str] = field(default_factory=dict)
    reason: Callable[[str], str] = lambda pod: ""


@dataclass(frozen=True, slots=True)
class Compared:
    """One decision. `ours`, `theirs`: in words. `cycle`: of the plan. `reason`: why the pod waits
    in it: the code of the reason, or what makes no sense. `switches`: of the cause "switch";
    several explain it together."""

    at: float
    cycle: int
    subject: Subject
    pod: str
    group: str
    outcome: Outcome
    ours: str
    theirs: str
    cause: Cause = ""
    switches: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_same(self) -> bool:
        return self.outcome == "same"

    def to_dict(self) -> dict[str, object]:
        names = ("at", "cycle", "subject", "pod", "group", "outcome", "ours", "theirs")
        return {
            **{name: getattr(self, name) for name in names},
            **{"reason": self.reason, "cause": self.cause, "switches": list(self.switches)},
        }
