"""The facts about a plan that its pages and explanations need, read from the compiled plan.

They are counted there, so a page takes time in proportion to its own length, however large the
cluster is. Converting a plan to JSON does not compute them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kai.engine.places import Amounts, Domain, Held, Holders, Obstacles, Places, distinct
from kai.engine.protection import Level, Protection
from kai.engine.values import GroupPlan, group_plan_of

if TYPE_CHECKING:
    from kai import _core

MOST_ROWS = 12  # of a table on a page
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """The facts about a pod group and about the decisions on it.

    `least`: pods that must start together. `pods` and `waiting`: requested GPUs of all its pods (0
    for those that have ended), and of those that waited when the cycle began. `sharer`: the first
    of these that requests GPU fractions: the number of devices, and the fraction of each, or MiB.
    `placed`: pods that were on a node and keep a place. `running`, `bound` and `promised`: numbers
    of pods by node. `evicted`: pods that are evicted; `causes`: action, for which group, how many;
    `lost`: those of them without a promise. `moves`: all promises are for evicted pods.
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
    def with_places(self) -> int:
        """How many of its pods have a place after the plan, or are promised one."""
        moved = self.evicted - self.lost  # they are promised a place, and keep the one they had
        return self.placed + sum(self.bound.values()) + sum(self.promised.values()) - moved

    @property
    def missing(self) -> int:
        """How many more of its pods need places before it can start; pods that have ended count
        for its minimum, and need none."""
        without_place = sum(number for _, number in self.waiting) + self.lost
        return min(self.least - self.with_places, without_place)

    @property
    def requests(self) -> list[Fraction]:
        """The different requests of waiting pods."""
        return [gpus for gpus, _ in self.waiting]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the first class of a group's waiting pods requests, and where others hold it.

    `resources`: those that a pod requests, and `requested`: how much of each, in cores, bytes, GPUs
    or devices. `free`: by node that could take a pod if nothing else ran there, what is free after
    the plan. `held`: by node and group, what other groups hold there and keep.
    """

    resources: Sequence[str]
    requested: Sequence[float]
    free: Mapping[str, Sequence[float]]
    held: Mapping[str, Mapping[str, Sequence[float]]]


class Situation:
    """Facts about the cluster of a compiled plan, and about the plan."""

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
        """For each node, the GPUs that are free after the cycle and promised to no pod."""
        return _amounts(self._account[1])

    @cached_property
    def leaving(self) -> Fraction:
        """GPUs that pods are leaving and that are promised to no pod."""
        return exact(self._account[7])

    @cached_property
    def gained(self) -> Mapping[str, Fraction]:
        """GPUs that queues get or are promised, minus GPUs of their evicted pods."""
        return {queue: Fraction(gpus, _NANO) for queue, gpus in self._account[2].items()}

    @property
    def queues_in_use(self) -> int:
        """The number of leaf queues with any GPUs after the cycle."""
        return self._account[3]

    @cached_property
    def queues_above_share(self) -> tuple[int, list[tuple[str, Fraction]]]:
        """The number of these queues above their fair share after the cycle, and the first of them,
        with amounts."""
        rows = self._account[5]
        return self._account[4], [(queue, Fraction(gpus, _NANO)) for queue, gpus in rows]

    @property
    def bare_groups(self) -> list[str]:
        """Groups that consolidation did not move because of a bare pod, the oldest first."""
        return self._account[6]

    def has_owner(self, group: str) -> bool:
        """Whether the group was created for a workload, and not for a pod without an owner."""
        return group in self._owned

    @cached_property
    def _owned(self) -> frozenset[str]:
        return frozenset(
            group for owner, group in self.groups_of_owners if self.group_of_pod.get(owner) != group
        )

    @cached_property
    def _account(self) -> _core._Account:
        return self._compiled.account()

    @cached_property
    def decision_rows(self) -> tuple[list[_core._DecisionRow], int, int]:
        """Decisions by pod group or queue, and the numbers of pods and groups in omitted rows."""
        return self._compiled.decision_rows(MOST_ROWS)

    @cached_property
    def waiting(self) -> list[tuple[list[str], bool]]:
        """Names of waiting groups, together if they have the same reasons.

        And whether they are in different queues.
        """
        return self._compiled.waiting()

    def find_groups(self, name: str) -> list[str]:
        """Groups with that name, or with pods or workloads of that name, with or without
        namespace."""
        return sorted({*self._compiled.find_groups(name)})

    def groups(self, names: Sequence[str]) -> list[tuple[GroupPlan, GroupFacts]]:
        """Without a reason for each evicted pod. Raises KeyError for an unknown name."""
        return [
            (group_plan_of(name, *row), _facts(*facts))
            for name, (row, facts) in zip(
                names, self._compiled.groups(list(names), evictions=False), strict=True
            )
        ]

    def places(self, names: Sequence[str]) -> list[list[Places]]:
        """For each group, where its waiting pods could run, class by class. Raises KeyError for an
        unknown name."""
        return [
            [
                Places(
                    first=row[0],
                    pods=row[1],
                    shared_gpus=exact(row[2]),
                    refusals=row[3],
                    message=row[4],
                    possible=row[5],
                    capacity=_amounts(row[6]),
                    free=_amounts(row[7]),
                    obstacles=_obstacles(row[8]),
                    lacks_partner=row[9],
                    most=row[10],
                    limit=row[11],
                    leaving=exact(row[12]),
                )
                for row in rows
            ]
            for rows in self._compiled.places(list(names))
        ]

    def holders(self, name: str) -> list[Held]:
        """Who holds what the group could use: GPUs first, then what some nodes have too little of.
        Raises KeyError for an unknown name."""
        [resources] = self._compiled.holders([name])
        return [
            Held(
                resource,
                [_holders(resource, *row) for row in rows],
                _amounts(room),
                _amounts(own_room),
                exact(requested),
                nearest,
                exact(free),
            )
            for resource, rows, room, own_room, requested, nearest, free in resources
        ]

    def domains(self, names: Sequence[str]) -> list[Domain | None]:
        """For each group whose pods must run in one domain, the best of these. Raises KeyError for
        an unknown name."""
        return [
            None if row is None else Domain(*row[:5], _obstacles(row[5]), row[6])
            for row in self._compiled.domains(list(names))
        ]

    def protection(self, name: str) -> Protection:
        """What keeps the running pods of a group. Raises KeyError for an unknown name."""
        [row] = self._compiled.protection([name])
        return Protection(*row[:8], levels=[Level(*each) for each in row[8]])

    def possible_nodes(self, name: str) -> list[tuple[str, Fraction, Fraction]]:
        """The nodes that could take the first class of its waiting pods if nothing else ran there:
        name, GPUs that are free after the plan, GPUs in all. Raises KeyError for an unknown name.
        """
        rows = self._compiled.possible_nodes(name)
        return [(node, exact(free), exact(size)) for node, free, size in rows]

    @cached_property
    def rooms(self) -> list[_core._NodeRoom]:
        """What is free on each node after the plan, as in `kai.NodePlan`, as plain rows: that is
        faster where all nodes are compared. The first use runs the cycle once more."""
        return self._compiled.nodes()

    def holdings(self, name: str) -> Holdings:
        """What a waiting group requests, and what others hold of it. Raises KeyError for an unknown
        name."""
        resources, requested, free, held = self._compiled.holdings(name)
        by_node: dict[str, dict[str, Sequence[float]]] = {}
        for node, group, amounts in held:
            by_node.setdefault(node, {})[group] = amounts
        return Holdings(resources, requested, dict(free), by_node)

    def starts_alone(self, name: str) -> bool:
        """Whether the group would start if no other group waited. False if that is not known: a
        plan that was pickled cannot be made again. Raises KeyError for an unknown name."""
        return any(self._compiled.start_alone([name]))

    @cached_property
    def decided(self) -> Mapping[str, tuple[int, int, int]]:
        """By group with decisions: how many pods are bound, promised a place and evicted."""
        return self._compiled.decided()

    def group(self, name: str) -> GroupPlan:
        """One group with all reasons."""
        [(row, _)] = self._compiled.groups([name], evictions=True)
        return group_plan_of(name, *row)

    @cached_property
    def group_of_pod(self) -> Mapping[str, str]:
        return self._compiled.names()[0]

    @cached_property
    def groups_of_owners(self) -> list[tuple[str, str]]:
        """ "namespace/name" of each workload and of the group that was created for it."""
        return self._compiled.names()[1]

    def path_to_root(self, queue: str) -> list[str]:
        """The names of the queue and of those above it, its own first."""
        path: list[str] = []
        name: str | None = queue
        while name is not None and name not in path:
            path.append(name)
            name = self.queue_parents.get(name)
        return path

    @cached_property
    def queue_parents(self) -> dict[str, str | None]:
        return self._compiled.queue_parents()


def sum_of_smallest(amounts: Amounts, most: int) -> Fraction:
    """The sum of this many requests, the smallest first.

    >>> sum_of_smallest(((Fraction(1), 2), (Fraction(4), 2)), 3)
    Fraction(6, 1)
    """
    total = Fraction(0)
    for gpus, number in amounts:
        total += gpus * min(number, most)
        most -= min(number, most)
    return total


def exact(gpus: float) -> Fraction:
    """The fraction that a decimal means: 0.3 is 3/10. Digits after the ninth are cut.

    >>> exact(0.3), 3 * exact(1 / 3) < 1
    (Fraction(3, 10), True)
    """
    return Fraction(math.floor(gpus * _NANO + 1e-3), _NANO)


def _holders(
    resource: str,
    why: str,
    queue: str | None,
    level: str | None,
    groups: int,
    held: float,
    first: str,
    until_ns: int,
    runtime_ns: int,
) -> Holders:
    return Holders(
        why, resource, queue or "", level, groups, exact(held), first, until_ns, runtime_ns
    )


def _obstacles(rows: Iterable[Mapping[str, Any]]) -> list[Obstacles]:
    return [Obstacles(row["nodes"], row["first"], distinct(row["causes"])) for row in rows]


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
