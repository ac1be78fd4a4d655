"""The facts behind a plan that its pages and explanations need, read from the compiled plan.

They are counted there: what a page has to say takes as long as the page, however large the cluster
is. A plan that is turned into JSON never pays for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from kai.engine.values import GroupPlan, group_plan_of

if TYPE_CHECKING:
    from kai import _core

MOST_ROWS = 12  # of a table on a page
_NANO = 10**9

Amounts = tuple[tuple[Fraction, int], ...]
"""How many GPUs, and how many pods or nodes have or ask for as many; the smallest first."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What there is to know of a pod group and of what was decided about it.

    `least` pods have to start together. `pods` and `waiting` say how many GPUs its pods ask for:
    all, and those that waited as the cycle began. `sharer` is the first of these that asks for
    parts of devices: how many, which part of each, or how many MiB. `placed` pods stood on a node
    and keep a place. `running`, `bound` and `promised` count pods by node. `evicted` pods have to
    leave where they are, `causes` say why: action, for which group, how many; `lost` of them are
    promised nothing. `moves`: whatever is promised is for pods that have to leave.
    """

    least: int
    pods: Amounts
    waiting: Amounts
    sharer: tuple[int, Fraction, int] | None
    placed: int
    running: Mapping[str, int]
    bound: Mapping[str, int]
    promised: Mapping[str, int]
    evicted: int
    lost: int
    causes: Sequence[tuple[str, str | None, int]]
    moves: bool

    @property
    def pod_count(self) -> int:
        return sum(number for _, number in self.pods)

    @property
    def asked(self) -> list[Fraction]:
        """The different amounts that waiting pods ask for."""
        return [gpus for gpus, _ in self.waiting]


class Situation:
    """Facts about the cluster of a compiled plan, and about the plan in its terms."""

    def __init__(self, compiled: _core.Plan) -> None:
        self._compiled = compiled

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Decisions by kind, `pod_groups`, and how many of these are `waiting`."""
        return self._compiled.counts()

    @cached_property
    def capacity(self) -> Amounts:
        """GPUs of nodes."""
        return _amounts(self._account[0])

    @cached_property
    def free(self) -> Amounts:
        """Of nodes, the GPUs that are free after the cycle and promised to no pod."""
        return _amounts(self._account[1])

    @cached_property
    def gained(self) -> Mapping[str, Fraction]:
        """GPUs that queues get or are promised beside what they hold, less what leaves them."""
        return {queue: Fraction(gpus, _NANO) for queue, gpus in self._account[2].items()}

    @property
    def queues_in_use(self) -> int:
        """How many queues that groups can run in then have any GPUs."""
        return self._account[3]

    @cached_property
    def queues_above_share(self) -> tuple[int, list[tuple[str, Fraction]]]:
        """How many of these then have more than their fair share, and the first, with what."""
        rows = self._account[5]
        return self._account[4], [(queue, Fraction(gpus, _NANO)) for queue, gpus in rows]

    @cached_property
    def _account(self) -> _core._Account:
        return self._compiled.account()

    @cached_property
    def decision_rows(self) -> tuple[list[_core._DecisionRow], int, int]:
        """Decisions by pod group or queue; and pods and groups of rows that are left out."""
        return self._compiled.decision_rows(MOST_ROWS)

    @cached_property
    def waiting(self) -> list[tuple[list[str], bool]]:
        """Names of groups that wait, those together that have the same reasons.

        And whether they are of different queues.
        """
        return self._compiled.waiting()

    def find_groups(self, name: str) -> list[str]:
        """Groups of that name, or of pods or workloads that have it, with or without namespace."""
        return sorted({*self._compiled.find_groups(name)})

    def groups(self, names: Sequence[str]) -> list[tuple[GroupPlan, GroupFacts]]:
        """Without a reason for each pod that leaves. Raises KeyError for an unknown name."""
        return [
            (group_plan_of(name, *row), _facts(*story))
            for name, (row, story) in zip(
                names, self._compiled.groups(list(names), evictions=False), strict=True
            )
        ]

    def group(self, name: str) -> GroupPlan:
        """The whole of one."""
        [(row, _)] = self._compiled.groups([name], evictions=True)
        return group_plan_of(name, *row)

    @cached_property
    def group_of_pod(self) -> Mapping[str, str]:
        return self._compiled.names()[0]

    @cached_property
    def groups_of_owners(self) -> list[tuple[str, str]]:
        """ "namespace/name" of a workload and of a group that was made for it."""
        return self._compiled.names()[1]

    def path_to_root(self, queue: str) -> list[str]:
        """The queue and those above it, its own first."""
        path: list[str] = []
        name: str | None = queue
        while name is not None and name not in path:
            path.append(name)
            name = self.queue_parents.get(name)
        return path

    @cached_property
    def queue_parents(self) -> dict[str, str | None]:
        return self._compiled.queue_parents()


def exact(gpus: float) -> Fraction:
    """As people write it: 0.3 is 3/10. What has more than nine digits is cut.

    >>> exact(0.3), 3 * exact(1 / 3) < 1
    (Fraction(3, 10), True)
    """
    return Fraction(math.floor(gpus * _NANO + 1e-3), _NANO)


def _amounts(rows: Iterable[tuple[float, int]]) -> Amounts:
    return tuple((exact(gpus), number) for gpus, number in rows)


def _facts(
    least: int,
    pods: list[tuple[float, int]],
    waiting: list[tuple[float, int]],
    sharer: tuple[int, float, int] | None,
    placed: int,
    running: list[tuple[str, int]],
    bound: list[tuple[str, int]],
    promised: list[tuple[str, int]],
    evicted: int,
    lost: int,
    causes: list[tuple[str, str | None, int]],
    moves: bool,
) -> GroupFacts:
    return GroupFacts(
        least,
        _amounts(pods),
        _amounts(waiting),
        None if sharer is None else (sharer[0], exact(sharer[1]), sharer[2]),
        placed,
        dict(running),
        dict(bound),
        dict(promised),
        evicted,
        lost,
        causes,
        moves,
    )
