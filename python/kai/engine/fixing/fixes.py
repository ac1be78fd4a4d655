"""The smallest changes that start a waiting pod group, proven by plans of the changed cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from kai.api.arguments import WrongTypeError
from kai.engine import text, turn
from kai.engine.cluster import Cluster
from kai.engine.fixing.changes import COSTS, Change, Right
from kai.engine.fixing.ladders import Ladder
from kai.engine.fixing.of_group import first_pods
from kai.engine.fixing.proposals import ladders
from kai.engine.fixing.trials import STARTED, NoMorePlans, Trials, starts_in
from kai.engine.fixing.waiting import Waiting
from kai.errors import InvalidInputError

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.origin import Origin

MOST_FIXES = 5
MOST_PLANS = 48
MOST_ROUNDS = 3

May = Callable[[Right], bool]


@dataclass(frozen=True, repr=False)
class Fix:
    """Changes that start a pod group together; without any one of them it would wait.

    `changes`: orders, such as "raise the quota of GPUs of queue a from 2 to 4". `how`: the commands
    or YAML that make them, a line each. `starts`: its pods by what the plan of the changed cluster
    does with them. `evicted`: the pods that it evicts and the original plan does not, by group.
    `then_wait`: groups that would start without the change, and wait with it. `also_start`: other
    groups that start because of it. `rights`: what the changes need on the API server.
    `needs_an_operator`: the asker may not make all of them.
    """

    changes: tuple[str, ...]
    kinds: tuple[str, ...]
    how: tuple[str, ...]
    starts: str
    evicted: Mapping[str, int]
    then_wait: tuple[str, ...]
    also_start: tuple[str, ...]
    cost: float
    needs_an_operator: bool
    rights: tuple[Right, ...]
    _made: tuple[Change, ...] = field(compare=False)

    def apply(self, cluster: Cluster) -> Cluster:
        """A copy of the cluster with the changes; a change of time sets its `now`.

        Raises InvalidInputError for a fix that was pickled, and NotFoundError for a cluster without
        the objects that it changes.
        """
        if not isinstance(cluster, Cluster):
            raise WrongTypeError(f"apply(): cluster is {cluster!r}: write a kai.Cluster")
        if not self._made:
            raise InvalidInputError("a fix that was pickled has no changes: plan the cluster again")
        changed = cluster.copy()
        for change in self._made:
            change.edit(changed)
            if change.at:
                changed.at(change.at)
        return changed

    def __reduce__(self) -> tuple[Any, ...]:
        """The answer without what changes a cluster: that has parts of the program."""
        values = {each.name: getattr(self, each.name) for each in fields(self)} | {"_made": ()}
        return type(self), tuple(values.values())

    def __deepcopy__(self, memo: object) -> Fix:
        return self  # it never changes

    def __repr__(self) -> str:
        return f"<kai.Fix: {' and '.join(self.changes)}>"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        return {
            "changes": list(self.changes),
            "kinds": list(self.kinds),
            "how": list(self.how),
            "starts": self.starts,
            "evicted": dict(self.evicted),
            "then_wait": list(self.then_wait),
            "also_start": list(self.also_start),
            "cost": self.cost,
            "needs_an_operator": self.needs_an_operator,
        }

    def lines(self) -> list[str]:
        """What to do, what happens then, and how."""
        *others, last = self.changes
        says = f"{', '.join(others)} and {last}" if others else last
        ask = " (ask an operator)" if self.needs_an_operator else ""
        found = [f"{says[0].upper()}{says[1:]}{ask}.", f"  {self.starts}"]
        if self.evicted:
            groups = text.listing(
                f"{text.count(pods, 'pod')} of {group}" for group, pods in self.evicted.items()
            )
            found.append(f"  Evicted for it: {groups}.")
        if self.then_wait:
            found.append(f"  Then these wait: {text.listing(self.then_wait)}.")
        if self.also_start:
            found.append(f"  These start too: {text.listing(self.also_start)}.")
        return [*found, *(f"    {line}" for line in self.how)]


@dataclass(frozen=True, repr=False)
class Fixes(Sequence[Fix]):
    """The proven answers of `kai.Plan.fix`, the cheapest first; it prints as a page.

    `plans`: how many plans were made. `is_complete`: all proposals were tried to the end; otherwise
    a bound on plans, or on the search for pods to evict, may have hidden some.
    """

    group: str
    found: tuple[Fix, ...]
    plans: int
    is_complete: bool
    why_none: str = ""
    starts_already: bool = False
    waits_for: tuple[str, ...] = ()
    """Why the group waits, if there is no fix: a sentence each."""

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<kai.Fixes: {text.count(len(self), 'change')} for {self.group}>"

    def _repr_html_(self) -> str:
        from kai.engine.fixing.page import section

        return section(self)

    def marked(self, may: May) -> Fixes:
        """The same; changes that the asker may not make are marked for an operator."""
        found = (
            replace(fix, needs_an_operator=not all(map(may, fix.rights))) for fix in self.found
        )
        return replace(self, found=tuple(found))

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod_group": self.group,
            "fixes": [each.to_dict() for each in self.found],
            "plans": self.plans,
            "is_complete": self.is_complete,
            "why_none": self.why_none,
            "waits_for": list(self.waits_for),
        }

    def lines(self) -> list[str]:
        if not self.found:
            return [*self.why_none.splitlines(), *(f"  {each}" for each in self.waits_for)]
        number = text.count(len(self.found), "change")
        starts = "starts" if len(self.found) == 1 else "each start"
        lines = [f"{number} that {starts} {self.group}, proven by a plan of the changed cluster:"]
        for place, fix in enumerate(self.found, 1):
            first, *rest = fix.lines()
            lines += [f"{place}. {first}", *(f" {line}" for line in rest)]
        return lines


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
    if most < 1:
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
                    found.setdefault(frozenset(change.says for change in changes), changes)
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
        from kai.engine.explain import why

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
            for pair in self._pairs(self._ladders()):
                if {change.kind for change in pair} != kinds:
                    yield pair

    def _ladders(self) -> list[Ladder]:
        return [ladder for _, ladder in ladders(self._waiting, self._costs)]

    def _fewest(self) -> tuple[Change, ...]:
        """The largest changes for all reasons at once, then without those that it needs not, the
        costliest first, and then each as small as it may be; empty if all together do not start the
        group."""
        changes = {step: step.change for step in self._all_at_once()}
        before: list[Change] = []
        while before != list(changes.values()):  # a smaller change may make another one useless
            before = list(changes.values())
            for step in sorted(changes, key=lambda step: -self._costs[step.change.kind]):
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
        for _ in range(MOST_ROUNDS):
            known = {step.change.says for step in steps}
            proposed = (_Step(each) for _, each in ladders(rest, self._costs))
            more = [each for each in proposed if each.change.says not in known]
            for step in more:
                if self._trials.can_be_made([each.change for each in (*steps, step)]):
                    steps.append(step)
            changes = [step.change for step in steps]
            if self._trials.starts(changes):
                return steps
            plan = self._trials.plan_with(changes)
            if not more or plan is None or self._waiting.name not in plan.pod_groups:
                break
            rest = Waiting(plan, self._trials.cluster_with(changes), self._waiting.name)
        return []

    def _pairs(self, proposed: Sequence[Ladder]) -> Iterator[tuple[Change, ...]]:
        """Two changes: the second follows from the reasons that are left with the first."""
        for ladder_of_first in proposed:
            first = ladder_of_first.make(ladder_of_first.values[-1])
            plan = self._trials.plan_with([first])
            if plan is None or self._waiting.name not in plan.pod_groups:
                continue
            changed = self._trials.cluster_with([first])
            rest = Waiting(plan, changed, self._waiting.name)
            for _, ladder in ladders(rest, self._costs):
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
        plan, name = self._trials.plan_with(changes), self._waiting.name
        assert plan is not None
        evicted, then_wait, also_start = _effects(self._waiting.plan, plan, name)
        rights = [right for change in changes for right in change.rights]
        return Fix(
            changes=tuple(change.says for change in changes),
            kinds=tuple(change.kind for change in changes),
            how=tuple(line for change in changes for line in change.how()),
            starts=_starts(plan, name),
            evicted=evicted,
            then_wait=then_wait,
            also_start=also_start,
            cost=sum(self._costs[change.kind] for change in changes),
            needs_an_operator=False,
            rights=tuple(dict.fromkeys(rights)),
            _made=changes,
        )


def _starts(plan: Answer, name: str) -> str:
    """ "It starts now: 2 pods on n1." """
    from kai.engine.explain import why

    headline = why(plan, name).splitlines()[0]
    return f"Then it {headline.removeprefix(name).strip()}"


def _effects(
    before: Answer, after: Answer, name: str
) -> tuple[dict[str, int], tuple[str, ...], tuple[str, ...]]:
    """How many more pods lose their places, by group; groups that start only before, only after."""
    earlier, later = before.situation.decided, after.situation.decided
    nothing = (0, 0, 0)
    evicted: dict[str, int] = {}
    then_wait, also_start = [], []
    for group in sorted({*earlier, *later} - {name}):
        (placed_before, lost_before), (placed, lost) = (
            (max(0, bound + promised - gone), max(0, gone - promised))
            for bound, promised, gone in (
                decided.get(group, nothing) for decided in (earlier, later)
            )
        )
        if lost > lost_before:
            evicted[group] = lost - lost_before
        if placed_before and not placed:
            then_wait.append(group)
        if placed and not placed_before:
            also_start.append(group)
    return evicted, tuple(then_wait), tuple(also_start)
