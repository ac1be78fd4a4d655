"""Checks how much a queue may reclaim from other queues (spec 1 F84-F93).

It checks a finished search: its victims in the order of their evictions, and the places that its
group gained. The numbers of queues are those at the start of the plan; the allocations include the
decisions before the search.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kai.verify.objects import (
    GPU,
    PodView,
    Violation,
    World,
    device_memory_mib,
    group_tree,
    key_of,
    plain,
    spec_of,
)
from kai.verify.queues import QUEUE_RESOURCES, ROUNDING, gpus_of_slices, path, queue_amounts

__all__ = ["Amounts", "Claim", "Numbers", "copy_amounts", "numbers_of", "saturation_multiplier"]

Amounts = Mapping[str, Mapping[str, Fraction]]  # queue -> resource -> amount
Numbers = Mapping[str, Mapping[str, Mapping[str, "Fraction | None"]]]  # queue -> resource -> name
Placed = tuple[PodView, str]  # a pod and its node

_NAMES = ("deserved", "fair_share", "limit", "allocated", "allocated_non_preemptible")


@dataclass(frozen=True)
class Loss:
    """The pods of one group that are evicted in one step (spec 1 F89)."""

    queue: str
    group: str
    amount: Mapping[str, Fraction]
    involved: frozenset[str]


@dataclass
class Claim:
    """One search by reclaim: its victims, and the group it searched for."""

    world: World
    numbers: Numbers
    allocated: Amounts  # when the search began
    group: str
    queue: str
    gained: Sequence[Placed]
    victims: Sequence[Placed]
    moved: frozenset[str]  # victims that do not count as lost
    multiplier: float = 1.0

    def violations(self) -> Iterator[Violation]:
        request = self._requested()
        losses = list(self._losses())
        yield from self._may_not_start(request)
        yield from self._unprotected(request, losses)
        yield from self._too_saturated(request, losses)

    def _requested(self) -> dict[str, Fraction]:
        """The request of the gained pods (spec 1 F27).

        GPU memory becomes a number of GPUs by the memory of the smallest device.
        """
        sizes = [
            size for node in self.world.nodes.values() if (size := device_memory_mib(node)) > 100
        ]
        total: dict[str, Fraction] = defaultdict(Fraction)
        for pod, node in self.gained:
            amounts = queue_amounts(self.world, pod, node)
            if pod.request.memory_mib is not None:
                requested = Fraction(pod.request.memory_mib * pod.request.devices)
                amounts[GPU] = requested / min(sizes) if sizes else Fraction(0)
            for resource, amount in amounts.items():
                total[resource] += amount
        return total

    def _losses(self) -> Iterator[Loss]:
        """Each elastic pod by itself, then all pods of a group's minima together (spec 1 F89)."""
        by_group: dict[str, list[Placed]] = {}
        for placed in self.victims:
            by_group.setdefault(placed[0].group, []).append(placed)
        for name, pods in by_group.items():
            group = self.world.groups.get(name)
            if group is None:
                continue
            minima = {leaf.name: leaf.needed for leaf in group_tree(group).leaves()}
            core: list[Placed] = []
            pieces: list[list[Placed]] = []
            seen: Counter[str] = Counter()
            for placed in pods:
                subgroup = placed[0].subgroup
                seen[subgroup] += 1
                if seen[subgroup] <= minima.get(subgroup, 0):
                    core.append(placed)
                else:
                    pieces.append([placed])
            for piece in [*pieces, core]:
                lost = [placed for placed in piece if placed[0].key not in self.moved]
                if lost:
                    yield self._loss(spec_of(group).get("queue") or "", key_of(group), lost)

    def _loss(self, queue: str, group: str, lost: Sequence[Placed]) -> Loss:
        amount: dict[str, Fraction] = defaultdict(Fraction)
        involved = set[str]()
        for pod, node in lost:
            for resource, number in queue_amounts(self.world, pod, node).items():
                amount[resource] += number
                # MIG slices are in the amount, but do not make GPUs involved (spec 1 F91).
                if number > (gpus_of_slices(self.world, pod) if resource == GPU else 0):
                    involved.add(resource)
        return Loss(queue, group, amount, frozenset(involved))

    # --- the rules ---

    def _may_not_start(self, request: Mapping[str, Fraction]) -> Iterator[Violation]:
        """The queue including the request must stay within its fair share (spec 1 F84)."""
        for resource in QUEUE_RESOURCES:
            have = self.allocated[self.queue][resource] + request.get(resource, Fraction(0))
            share = self.numbers[self.queue][resource]["fair_share"]
            if share is not None and _above(have, share):
                text = (
                    f"reclaim for group {self.group}: queue {self.queue} would have {plain(have)} "
                    f"{resource}, its fair share is {plain(share)}"
                )
                yield Violation("reclaim", self.group, text)

    def _unprotected(
        self, request: Mapping[str, Fraction], losses: Sequence[Loss]
    ) -> Iterator[Violation]:
        """Before each loss the victim queue must exceed its protected amount (spec 1 F90)."""
        left = copy_amounts(self.allocated)
        for loss in losses:
            reclaimer, victim = self._leveled(loss.queue)
            if victim not in self.numbers or reclaimer not in self.numbers:
                continue
            in_quota = all(
                not _above(
                    self.allocated[reclaimer][resource] + request.get(resource, Fraction(0)),
                    self.numbers[reclaimer][resource]["deserved"],
                )
                for resource in QUEUE_RESOURCES
            )
            bounds = [_allocatable] + [_deserved] * in_quota
            if not any(
                _above(left[victim][resource], bound(self.numbers[victim][resource]))
                for bound in bounds
                for resource in QUEUE_RESOURCES
            ):
                text = (
                    f"reclaim for group {self.group} takes from group {loss.group}, although queue "
                    f"{victim} is not past its {'quota' if in_quota else 'fair share'} any more"
                )
                yield Violation("reclaim", loss.group, text)
            self._take(loss, left)

    def _too_saturated(
        self, request: Mapping[str, Fraction], losses: Sequence[Loss]
    ) -> Iterator[Violation]:
        """At each level the reclaimer must stay less saturated than its victims (spec 1 F92)."""
        left = copy_amounts(self.allocated)
        involved: dict[str, set[str]] = defaultdict(set)
        for loss in losses:
            self._take(loss, left)
            for above in path(self.world, loss.queue):
                involved[above] |= loss.involved
        requested = {resource for resource, number in request.items() if number > 0}
        for level in path(self.world, self.queue):
            for sibling in involved:
                if sibling == level or self._parent(sibling) != self._parent(level):
                    continue
                for resource in sorted(involved[sibling] | requested):
                    have = left[level][resource] + request.get(resource, Fraction(0))
                    theirs = self.numbers[sibling][resource]["fair_share"]
                    mine = _saturation(have, self.numbers[level][resource]["fair_share"])
                    other = _saturation(left[sibling][resource], theirs)
                    if mine > 1 + ROUNDING and theirs and mine * self.multiplier >= other:
                        text = (
                            f"reclaim for group {self.group} takes {resource} from queue {sibling} "
                            f"until {level} is the more saturated one"
                        )
                        yield Violation("reclaim", self.group, text)

    def _take(self, loss: Loss, left: dict[str, dict[str, Fraction]]) -> None:
        for above in path(self.world, loss.queue):
            for resource, number in loss.amount.items():
                left[above][resource] -= number

    def _parent(self, queue: str) -> str:
        return ([*path(self.world, queue)][1:2] or [""])[0]

    def _leveled(self, victim: str) -> tuple[str, str]:
        """The two queues directly below the lowest common ancestor (spec 1 F88)."""
        mine = [*path(self.world, self.queue)][::-1]
        theirs = [*path(self.world, victim)][::-1]
        for left, right in zip(mine, theirs, strict=False):
            if left != right:
                return left, right
        return self.queue, victim


# --- numbers -------------------------------------------------------------------------------------


def numbers_of(queues: Mapping[str, Any]) -> Numbers:
    """The queue numbers of a plan; each has the exact value of its printed form."""
    return {
        queue: {
            resource: {name: _exact(getattr(getattr(shares, resource), name)) for name in _NAMES}
            for resource in QUEUE_RESOURCES
        }
        for queue, shares in queues.items()
    }


def copy_amounts(amounts: Amounts) -> dict[str, dict[str, Fraction]]:
    copy: dict[str, dict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for queue, resources in amounts.items():
        copy[queue] = defaultdict(Fraction, resources)
    return copy


def saturation_multiplier(arguments: Mapping[str, str]) -> float:
    """The multiplier (spec 1 F93). KAI spells the name of the argument this way."""
    try:
        return max(1.0, float(arguments.get("relcaimerSaturationMultiplier") or 1))
    except ValueError:
        return 1.0


def _exact(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def _above(amount: Fraction, bound: Fraction | None) -> bool:
    return bound is not None and amount > bound + ROUNDING


def _deserved(numbers: Mapping[str, Fraction | None]) -> Fraction | None:
    return numbers["deserved"]


def _allocatable(numbers: Mapping[str, Fraction | None]) -> Fraction | None:
    """The amount that a queue may use before it borrows (spec 1 F34)."""
    deserved, limit, share = numbers["deserved"], numbers["limit"], numbers["fair_share"]
    if deserved is None or share is None:
        return limit
    most = max(deserved, share)
    return most if limit is None else min(most, limit)


def _saturation(amount: Fraction, share: Fraction | None) -> float:
    if share is None:
        return 0.0
    if share == 0:
        return math.inf if amount > ROUNDING else 0.0
    return float(amount / share)
