"""Plans of a changed cluster: whether a waiting group starts there, and what else happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kai.engine.cluster import Cluster
from kai.engine.explain import why
from kai.engine.fixing.changes import Change, Part, printed
from kai.errors import KaiError

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.origin import Origin
    from kai.engine.situation import GroupFacts
    from kai.engine.values import GroupPlan

MOST_SCENARIOS = 400
"""Searches for pods to evict end after so many scenarios more than twice those that the original
plan needed at least: in the largest clusters a search can take minutes. A plan with a search that
ended early proves nothing, so its change counts as one that fails."""
STARTED = frozenset(("placed", "pipelined", "running"))


@dataclass(frozen=True)
class Started:
    """What a plan in which the group starts does. It is read at once: later the plan would have to
    be made again, because the trials share one cluster.

    `headline`: the first sentence about the group. `decided`: as `Situation.decided`.
    """

    headline: str
    decided: Mapping[str, tuple[int, int, int]]


class NoMorePlans(Exception):
    """All plans that may be made were made."""


class Trials:
    """Tries changes for one group; a set of changes is planned once.

    All are tried on one copy of the cluster, which is changed and changed back: then a plan costs
    only what differs. `evicted`: pods that the original plan evicts; `than`: as for `starts_in`.
    A call that needs more plans than were allowed raises NoMorePlans.
    """

    def __init__(self, origin: Origin, group: str, *, evicted: int = 0, than: int = 0) -> None:
        self._cluster, self._group = origin.cluster, group
        self._most, self._than = 0, than
        self._plan = origin.afresh(MOST_SCENARIOS + 2 * evicted)
        self._trial = origin.cluster.copy()
        self._tried: dict[tuple[str, ...], Answer | None] = {}
        self._started: dict[tuple[str, ...], Started] = {}

    @property
    def count(self) -> int:
        return len(self._tried)

    @property
    def is_complete(self) -> bool:
        """Whether all that was tried was tried to its end."""
        return not any(plan is not None and plan.spent_searches for plan in self._tried.values())

    def allow_more(self, plans: int) -> None:
        """Allows so many plans more."""
        self._most += plans

    def can_be_made(self, changes: Sequence[Change]) -> bool:
        """Whether these changes can be made together, in this order."""
        with self._trial.changes_undone():
            return self._made(changes)

    def plan_with(self, changes: Sequence[Change]) -> Answer | None:
        """The plan of the cluster with all these changes, made in this order; None if they cannot
        be made together."""
        key = _key(changes)
        if key not in self._tried:
            if len(self._tried) >= self._most:
                raise NoMorePlans
            plan = self._planned(changes)
            self._tried[key] = plan
            if plan is not None and self._starts_in(plan):
                headline = why(plan, self._group).splitlines()[0]
                self._started[key] = Started(headline, plan.situation.decided)
        return self._tried[key]

    def starts(self, changes: Sequence[Change]) -> bool:
        """Whether the group was proven to start with all these changes."""
        self.plan_with(changes)
        return _key(changes) in self._started

    def started(self, changes: Sequence[Change]) -> Started:
        """Of changes with which it starts."""
        return self._started[_key(changes)]

    def how(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """The commands or YAML that make these changes, a line each."""
        parts: list[str | Part] = []
        with self._trial.changes_undone():
            for change in changes:
                parts += change.how(self._trial)
                change.edit(self._trial)
        return tuple(printed(parts))

    def cluster_with(self, changes: Sequence[Change]) -> Cluster:
        """A copy of the cluster with these changes. Raises KaiError if they cannot be made
        together."""
        changed = self._cluster.copy()
        for change in changes:
            change.edit(changed)
        return changed

    def _starts_in(self, plan: Answer) -> bool:
        return not plan.spent_searches and starts_in(plan, self._group, than=self._than)

    def _planned(self, changes: Sequence[Change]) -> Answer | None:
        at = max((change.at for change in changes if change.at), default=None)
        with self._trial.changes_undone():
            return self._plan(self._trial, at) if self._made(changes) else None

    def _made(self, changes: Sequence[Change]) -> bool:
        try:
            for change in changes:
                change.edit(self._trial)
        except KaiError:
            return False
        return True


def _key(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(change.says for change in changes)


def found_in(plan: Answer, group: str) -> tuple[GroupPlan, GroupFacts] | None:
    """What a plan says about one group; None if a change left it out."""
    try:
        [found] = plan.situation.groups([group])
    except KeyError:
        return None
    return found


def starts_in(plan: Answer, group: str, *, than: int = 0) -> bool:
    """Whether all pods that the group needs are placed, or promised places that others leave, and
    more pods than this number."""
    found = found_in(plan, group)
    if found is None:
        return False
    group_plan, facts = found
    if group_plan.verdict in STARTED and not facts.lost:
        return True
    if group_plan.verdict not in (*STARTED, "partly_placed"):
        return False
    # Some have no place; those that it needs may have one.
    return facts.with_places >= facts.least and facts.with_places > than
