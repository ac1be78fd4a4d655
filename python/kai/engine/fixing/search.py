"""The search for the smallest changes that start a waiting pod group: each is proven by a plan of
the changed cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kai.engine import turn
from kai.engine.explain import why
from kai.engine.fixing.changes import COSTS, OF_REQUESTS, Change
from kai.engine.fixing.fixes import Fix, Fixes
from kai.engine.fixing.ladders import Ladder
from kai.engine.fixing.of_group import first_pods
from kai.engine.fixing.proposals import ladders
from kai.engine.fixing.trials import STARTED, NoMorePlans, Trials, found_in, starts_in
from kai.engine.fixing.waiting import Waiting
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.origin import Origin
    from kai.engine.values import Reason

MOST_FIXES = 5
MOST_PLANS = 48
MOST_ROUNDS = 10
"""Of reasons that are left with the changes for earlier ones: three limits of each of three queues
show one after the other."""
ROUNDS_IN_ANY_CASE = 3

_NUMBER = re.compile(r"(?<!\S)\d[\d,.]*(?!\S)")

Decided = Mapping[str, tuple[int, int, int]]


def fixes_of(
    plan: Answer,
    origin: Origin,
    group: str,
    *,
    most: int = MOST_FIXES,
    costs: Mapping[str, float] | None = None,
) -> Fixes:
    """At most this many fixes for one pod group of the plan.

    Raises InvalidInputError for an unknown kind in `costs`, and for `most` below 1.
    """
    for kind, cost in (costs or {}).items():
        if kind not in COSTS:
            raise InvalidInputError(
                f"there is no kind of change {kind!r}; there is {', '.join(COSTS)}"
            )
        if not math.isfinite(cost):
            raise InvalidInputError(f"the cost of {kind} is {cost}: write a number")
    if type(most) is not int or most < 1:  # True is an int
        raise InvalidInputError(f"most is {most!r}: write a whole number of at least 1")
    waiting = Waiting(plan, origin.cluster, group)
    if waiting.group.verdict in STARTED and not waiting.facts.lost:
        why_none = f"{group} does not wait: nothing has to change."
        return Fixes(group, (), 0, True, why_none, starts_already=True)
    if waiting.facts.with_places >= waiting.facts.pod_count > 0:
        why_none = f"All pods of {group} have a place or are promised one: nothing has to change."
        return Fixes(group, (), 0, True, why_none, starts_already=True)
    than = waiting.facts.with_places if starts_in(plan, group) else 0
    evicted = plan.situation.counts["evict"]
    trials = Trials(origin, group, evicted=evicted, than=than)
    return _Search(waiting, trials, {**COSTS, **(costs or {})}).run(most)


class _Step:
    """The largest change of a ladder."""

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.change = ladder.make(ladder.values[-1])


class _Search:
    def __init__(self, waiting: Waiting, trials: Trials, costs: Mapping[str, float]) -> None:
        self._waiting, self._trials, self._costs = waiting, trials, costs
        self._is_complete = True

    def run(self, most: int) -> Fixes:
        found: dict[frozenset[str], tuple[Change, ...]] = {}
        for search in (self._singles, self._several):
            self._trials.allow_more(MOST_PLANS)
            try:
                for changes in search():
                    found.setdefault(frozenset(map(_without_numbers, changes)), changes)
                    if len(found) >= most:
                        break
            except NoMorePlans:
                self._is_complete = False
            if found:
                break
        group = self._waiting.name
        fixes = tuple(sorted(map(self._fix, found.values()), key=lambda fix: fix.cost))
        is_complete = self._is_complete and self._trials.is_complete
        made = Fixes(group, fixes, self._trials.count, is_complete)
        if fixes:
            return made
        why_none = self._why_none(is_complete=is_complete)
        sentences = (line.strip() for line in why(self._waiting.plan, group).splitlines()[1:])
        waits_for = tuple(each for each in sentences if each not in why_none)
        return replace(made, why_none=why_none, waits_for=waits_for)

    def _singles(self) -> Iterator[tuple[Change, ...]]:
        """Single changes that start the group, the cheapest kind first."""
        for ladder in self._ladders():
            smallest = ladder.smallest(lambda change: self._trials.starts([change]))
            if smallest is not None:
                yield (smallest,)

    def _several(self) -> Iterator[tuple[Change, ...]]:
        """The fewest of all changes for all reasons that start the group, and other pairs."""
        fewest = self._fewest()
        if fewest:
            yield fewest
        if len(fewest) <= 2:
            kinds = {change.kind for change in fewest}
            for pair in self._pairs([*self._ladders()]):
                if {change.kind for change in pair} != kinds:
                    yield pair

    def _ladders(self) -> Iterator[Ladder]:
        return ladders(self._waiting, self._costs)

    def _fewest(self) -> tuple[Change, ...]:
        """The largest changes for all reasons at once, then without those that it needs not, the
        costliest first, and then each as small as it may be; empty if all together do not start the
        group."""
        changes = {step: step.change for step in self._all_at_once()}
        before: list[Change] = []
        while before != list(changes.values()):  # a smaller change may make another one useless
            before = list(changes.values())
            # Of a kind that was proposed again for what was left, the later is the larger change.
            latest_first = reversed(list(changes))
            for step in sorted(latest_first, key=lambda step: -self._costs[step.change.kind]):
                fewer = [change for each, change in changes.items() if each is not step]
                if self._trials.starts(fewer):
                    del changes[step]
            for step in changes:
                starts = partial(self._starts_instead, changes, step)
                changes[step] = step.ladder.smallest(starts) or changes[step]
        found = tuple(changes.values())
        return found if self._are_all_needed(found) else ()

    def _starts_instead(self, changes: Mapping[_Step, Change], step: _Step, change: Change) -> bool:
        """Whether the group starts if a step makes another change."""
        return self._trials.starts(list({**changes, step: change}.values()))

    def _all_at_once(self) -> list[_Step]:
        """The largest change of each ladder; then those for the reasons that are left with them."""
        steps: list[_Step] = []
        rest = self._waiting
        before: tuple[Reason, ...] = ()
        for place in range(MOST_ROUNDS):
            known = {step.change.says for step in steps}
            # A request is as small as it may be by now. A smaller one would be a change of the
            # changed pods, and could not be made without the first.
            final = {step.change.kind for step in steps} & OF_REQUESTS
            proposed = (_Step(each) for each in ladders(rest, self._costs))
            more = [
                each
                for each in proposed
                if each.change.says not in known and each.change.kind not in final
            ]
            for step in more:
                if self._trials.can_be_made([each.change for each in (*steps, step)]):
                    steps.append(step)
            changes = [step.change for step in steps]
            if self._trials.starts(changes):
                return steps
            plan = self._trials.plan_with(changes)
            found = found_in(plan, self._waiting.name) if plan is not None else None
            if not more or plan is None or found is None:
                break
            reasons = found[0].reasons
            if place >= ROUNDS_IN_ANY_CASE and _are_the_same(reasons, before):
                break
            before = reasons
            rest = Waiting(plan, self._trials.cluster_with(changes), self._waiting.name)
        return []

    def _pairs(self, proposed: Sequence[Ladder]) -> Iterator[tuple[Change, ...]]:
        """Two changes: the second follows from the reasons that are left with the first."""
        for ladder_of_first in proposed:
            first = ladder_of_first.make(ladder_of_first.values[-1])
            plan = self._trials.plan_with([first])
            if plan is None or found_in(plan, self._waiting.name) is None:
                continue
            changed = self._trials.cluster_with([first])
            rest = Waiting(plan, changed, self._waiting.name)
            # At once: after another trial the facts of this one would cost a plan.
            for ladder in [*ladders(rest, self._costs)]:
                if ladder.make(ladder.values[0]).kind == first.kind:
                    continue
                second = ladder.smallest(partial(self._starts_after, first))
                if second is None or self._trials.starts([second]):
                    continue
                # The first was as large as it gets: a smaller one may do.
                smaller = ladder_of_first.smallest(partial(self._starts_before, second))
                pair = (smaller or first, second)
                if self._are_all_needed(pair):
                    yield pair

    def _are_all_needed(self, changes: Sequence[Change]) -> bool:
        """Whether it was proven that the group waits without any one of these changes."""
        return all(
            self._fails([*changes[:place], *changes[place + 1 :]]) for place in range(len(changes))
        )

    def _fails(self, changes: Sequence[Change]) -> bool:
        """Whether it was proven that these changes do not start the group. A plan whose search
        ended early proves nothing."""
        if self._trials.starts(changes):
            return False
        plan = self._trials.plan_with(changes)
        return plan is None or not plan.spent_searches

    def _why_none(self, *, is_complete: bool) -> str:
        group = self._waiting.name
        if is_complete:
            none = f"None of the changes that kai can try starts {group}, alone or together."
        else:
            none = (
                f"None of the changes that kai tried starts {group}; trying more of them, or "
                "searching longer for pods to evict, was too much work."
            )
        first = turn.sentence(self._waiting.situation, self._waiting.group, self._waiting.facts)
        more = " ".join(filter(None, (first, first_pods(self._waiting))))
        return f"{none} {more}".strip()

    def _starts_after(self, first: Change, second: Change) -> bool:
        return self._trials.starts([first, second])

    def _starts_before(self, second: Change, first: Change) -> bool:
        return self._trials.starts([first, second])

    def _fix(self, changes: tuple[Change, ...]) -> Fix:
        name = self._waiting.name
        started = self._trials.started(changes)
        # Pods are created last, because they are printed as they are by then.
        changes = tuple(sorted(changes, key=lambda change: change.kind == "pods"))
        effects = _effects(self._waiting.situation.decided, started.decided, name)
        rights = [right for change in changes for right in change.rights]
        return Fix(
            changes=tuple(change.says for change in changes),
            kinds=tuple(change.kind for change in changes),
            how=self._trials.how(changes),
            starts=f"Then it {started.headline.removeprefix(name).strip()}",
            evicted=effects.evicted,
            moved=effects.moved,
            then_wait=effects.then_wait,
            also_start=effects.also_start,
            cost=sum(self._costs[change.kind] for change in changes),
            needs_an_operator=False,
            rights=tuple(dict.fromkeys(rights)),
            _made=changes,
        )


def _without_numbers(change: Change) -> str:
    """Two sets of changes that differ in numbers are one answer: the search made one of them from
    the other end."""
    return _NUMBER.sub("", change.says)


def _are_the_same(reasons: Sequence[Reason], others: Sequence[Reason]) -> bool:
    """Whether they are the same but for the amounts that are requested."""

    def known(every: Sequence[Reason]) -> list[object]:
        return [(each.code, {**each.facts, "requested": None}) for each in every]

    return known(reasons) == known(others)


@dataclass(frozen=True)
class _Effects:
    """What a plan does beside starting the group, and the original plan does not."""

    evicted: dict[str, int]
    moved: dict[str, int]
    then_wait: tuple[str, ...]
    also_start: tuple[str, ...]


def _effects(earlier: Decided, later: Decided, name: str) -> _Effects:
    """`earlier` and `later`: `Situation.decided` of the plans. `name`: the group that starts."""
    nothing = (0, 0, 0)
    evicted: dict[str, int] = {}
    moved: dict[str, int] = {}
    then_wait, also_start = [], []
    for group in sorted({*earlier, *later} - {name}):
        (placed_before, lost_before, moved_before), (placed, lost, moves) = (
            (max(0, bound + promised - gone), max(0, gone - promised), min(promised, gone))
            for bound, promised, gone in (
                decided.get(group, nothing) for decided in (earlier, later)
            )
        )
        if lost > lost_before:
            evicted[group] = lost - lost_before
        if moves > moved_before:
            moved[group] = moves - moved_before
        if placed_before and not placed:
            then_wait.append(group)
        if placed and not placed_before:
            also_start.append(group)
    return _Effects(evicted, moved, tuple(then_wait), tuple(also_start))
