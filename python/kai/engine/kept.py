"""A plan that needs no compiled one: what pickling keeps of it, and what it is read from again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kai.engine.values import DECISION_TYPES

if TYPE_CHECKING:
    from kai import _core

_MEMBERS = (
    *("claims", "decision_columns", "group_columns", "nodes", "numa_zones_available", "order"),
    *("pod_groups", "pods", "queues", "score_keys", "situation", "spent_searches", "timing_ns"),
    "topology_ranks",
)


@dataclass(frozen=True)
class KeptPlan:
    """The answers of a compiled plan, in plain values."""

    warnings: list[str]
    rejected: list[tuple[str, str, str, str]]
    rows: list[Any]
    json: str
    members: dict[str, Any]

    @classmethod
    def of(cls, plan: _core.Plan | KeptPlan, stamp: str) -> KeptPlan:
        if isinstance(plan, KeptPlan):
            return plan
        return cls(
            warnings=list(plan.warnings),
            rejected=plan.rejected,
            rows=plan.decisions(0, plan.decision_count, DECISION_TYPES),
            json=plan.to_json(stamp),
            members={name: getattr(plan, name)() for name in _MEMBERS},
        )

    def as_compiled(self) -> _core.Plan:
        """Itself: it answers what a compiled plan does."""
        return cast("_core.Plan", self)

    @property
    def decision_count(self) -> int:
        return len(self.rows)

    def decisions(self, start: int, stop: int, types: tuple[type, ...]) -> list[Any]:
        return self.rows[start:stop]

    def to_json(self, stamp: str) -> str:
        return self.json

    def __getattr__(self, name: str) -> Any:
        if name in _MEMBERS:
            return lambda: self.members[name]
        raise AttributeError(name)
