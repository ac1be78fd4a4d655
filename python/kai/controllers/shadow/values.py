"""Decisions of a plan, actions of another scheduler, and the comparison of the two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

Subject = Literal["bind", "evict"]
Outcome = Literal[
    "same",  # both bind the pod to this node and these devices, or both evict it
    "other_node",  # both bind it, to different nodes
    "other_devices",  # both bind it to this node, beside other pods on its devices
    # The other scheduler binds it; the plan gives that node's resources to another pod first
    "order",
    "extra",  # the other scheduler binds or evicts it; the plan does not
    "missed",  # plans bind or evict it, and nothing happened for a while
    "other_victim",  # for the same pod group, or in the same cycle, both evict different pods
    "not_compared",  # no planned state contains it as it was
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
Cause = Literal[
    "",  # it is the same
    "earlier_state",  # a slightly earlier plan decides the same
    "alike",  # pods of one group with equal requests: any of them may get that place
    "equal_score",  # only the names of the nodes decide
    "switch",  # kai decides the same with these switches of `compat` off
    "left_out",  # the object is invalid for kai, and valid for the other scheduler
    "late",  # the other scheduler decides the same, later
    "not_read",  # the plan does not have something that the pod needs
    "unknown",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A plan's decision about one pod. `action`, `for_group`: of an eviction."""

    kind: Literal["bind", "pipeline", "evict"]
    node: str = ""
    gpu_groups: frozenset[str] = frozenset()
    action: str = ""
    for_group: str = ""


class Again(Protocol):
    """Plans the same objects again; None: not possible any more."""

    def __call__(
        self, *, switches: Sequence[str] = (), new_names: tuple[str, str] | None = None
    ) -> Mapping[str, Chosen] | None:
        """`switches`: those of `compat` that are turned off. `new_names`: two nodes that swap
        names; the decisions use the new names."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """A plan, made at `at` (seconds). `left_out`: invalid pods and pod groups, each with the cause.
    `reason`: for a pod, the code of the reason why its pod group waits, or ""; it may take as long
    as a plan."""

    cycle: int
    at: float
    chosen: Mapping[str, Chosen]
    again: Again
    left_out: Mapping[str, str] = field(default_factory=dict)
    reason: Callable[[str], str] = lambda pod: ""


@dataclass(frozen=True, slots=True)
class Compared:
    """One decision. `ours`, `theirs`: in words. `cycle`: of the plan. `reason`: why the pod waits
    in the plan: the code of the reason, or the cause why it is invalid. `switches`: of the cause
    "switch"; several switches explain it together."""

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
