"""A plan without a compiled one: the data that pickling stores, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from kai.engine.situation import MOST_ROWS
from kai.engine.values import DECISION_TYPES
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai import _core

_MEMBERS = (
    "account", "claims", "counts", "decided", "decision_columns", "group_columns",
    "measured", "names", "nodes", "numa_zones_available", "order", "pod_groups", "pods",
    "queue_parents", "queues", "score_keys", "spent_searches", "timing_ns", "topology_ranks",
    "waiting",
)  # fmt: skip


@dataclass(frozen=True)
class KeptPlan:
    """The answers of a compiled plan, in plain values."""

    warnings: list[str]
    rejected: list[tuple[str, str, str, str]]
    rows: list[Any]
    json: str
    page: tuple[list[Any], int, int]
    groups_by_name: dict[str, Any]
    places_by_name: dict[str, Any]
    holders_by_name: dict[str, Any]
    domains_by_name: dict[str, Any]
    protection_by_name: dict[str, Any]
    all_outlines: list[Any]
    members: dict[str, Any]

    @classmethod
    def of(cls, plan: _core.Plan | KeptPlan, stamp: str) -> KeptPlan:
        if isinstance(plan, KeptPlan):
            return plan
        members = {name: getattr(plan, name)() for name in _MEMBERS}
        names = list(members["pod_groups"])
        waiting = [name for names, _ in members["waiting"] for name in names]
        return cls(
            warnings=list(plan.warnings),
            rejected=plan.rejected,
            rows=plan.decisions(0, plan.decision_count, DECISION_TYPES),
            json=plan.to_json(stamp),
            page=plan.decision_rows(MOST_ROWS),
            groups_by_name=dict(zip(names, plan.groups(names, evictions=True), strict=True)),
            places_by_name=dict(zip(waiting, plan.places(waiting), strict=True)),
            holders_by_name=dict(zip(waiting, plan.holders(waiting), strict=True)),
            domains_by_name=dict(zip(waiting, plan.domains(waiting), strict=True)),
            protection_by_name=dict(zip(names, plan.protection(names), strict=True)),
            all_outlines=plan.outlines(None),
            members=members,
        )

    def as_compiled(self) -> _core.Plan:
        """Itself: it has the methods of a compiled plan."""
        return cast("_core.Plan", self)

    @property
    def decision_count(self) -> int:
        return len(self.rows)

    def decisions(self, start: int, stop: int, types: tuple[type, ...]) -> list[Any]:
        return self.rows[start:stop]

    def to_json(self, stamp: str) -> str:
        return self.json

    def decision_rows(self, most: int) -> tuple[list[Any], int, int]:
        return self.page

    def groups(self, names: list[str], *, evictions: bool) -> list[Any]:
        return [self.groups_by_name[name] for name in names]

    def places(self, names: list[str]) -> list[Any]:
        return [self.places_by_name.get(name, []) for name in names]

    def holders(self, names: list[str]) -> list[Any]:
        return [self.holders_by_name.get(name, []) for name in names]

    def domains(self, names: list[str]) -> list[Any]:
        return [self.domains_by_name.get(name) for name in names]

    def protection(self, names: list[str]) -> list[Any]:
        return [self.protection_by_name[name] for name in names]

    def start_alone(self, names: list[str]) -> list[bool]:
        return []  # not known: each answer runs the cycle once more

    def outlines(self, names: list[str] | None) -> list[Any]:
        if names is None:
            return self.all_outlines
        return [row for row in self.all_outlines if row[0] in names or not _is_unchanged(*row)]

    def find_pods(self, name: str) -> list[tuple[str, str, str | None]]:
        raise InvalidInputError(
            "a plan that was pickled has no scores of nodes: plan the cluster again"
        )

    def find_groups(self, name: str) -> list[str]:
        own = ((group, group) for group in self.groups_by_name)
        pods, owners = self.members["names"]
        for kind in (own, pods.items(), owners):
            if found := {group for each, group in kind if name in (each, each.partition("/")[2])}:
                return list(found)
        return []

    def __getattr__(self, name: str) -> Any:
        if name in _MEMBERS:
            return lambda: self.members[name]
        raise AttributeError(name)


def _is_unchanged(name: str, verdict: str, reason: str, message: str, *decided: int) -> bool:
    """Whether the group runs, and the plan has no reason and no decision for it."""
    return verdict == "running" and not reason and not any(decided)
