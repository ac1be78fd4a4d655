"""Removes victims: by a plain DELETE, or by the eviction API, which respects PodDisruptionBudgets.

    evictor = Evictor("evict")
    steps = evictor.begin(removals)                # writes to send
    steps = evictor.answered(write, outcome)       # the next steps after each answer

No I/O. For each victim the engine holds an assumption. It ends when a watch shows that the pod is
being deleted or gone, or when the API server rejects the eviction: then its resources are not
released.

With "evict", the victims of one pod group are first tried with a dry run. If one of them may not be
evicted, none is: evicting the others would achieve nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kai.api.writes import Outcome, Result, Write
from kai.controllers.courses import Courses, Fact, Send
from kai.controllers.verdicts import Eviction, orders


@dataclass(frozen=True, slots=True)
class Removal:
    """A victim that is about to be evicted."""

    order: Eviction
    assumption: int

    @property
    def case(self) -> str:
        """The cause of the eviction: the pod group that takes its resources, otherwise its own."""
        return f"{self.order.action} {self.order.waits}"


@dataclass(slots=True)
class Leaving:
    """The next steps. `forget`: assumptions that did not come true. `spared`: with the reason."""

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Case:
    """Victims that are evicted together or not at all. `untried`: how many have no answer to their
    dry run. `obstacle`: the first that may not be evicted, and why; None: all may be."""

    untried: int = 0
    obstacle: Fact[tuple[Removal, str] | None] = field(default_factory=Fact)


class Evictor:
    """`how`: "delete" or "evict"."""

    def __init__(self, how: orders.How = "delete") -> None:
        self._how = how
        self._leaving: dict[str, Removal] = {}  # by pod
        self._courses = Courses()
        self._steps = Leaving()

    def __len__(self) -> int:
        """The number of evictions under way."""
        return len(self._leaving)

    def begin(self, removals: Iterable[Removal]) -> Leaving:
        """The victims of a plan."""
        cases: defaultdict[str, _Case] = defaultdict(_Case)
        chosen = list(removals)
        for removal in chosen:
            self._leaving[removal.order.pod] = removal
            cases[removal.case].untried += 1
        for removal in chosen:
            if self._how == "delete":
                self._courses.start(self._evict(removal))
            else:
                self._courses.start(self._evict_together(removal, cases[removal.case]))
        return self._take()

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with this UID is gone, by our eviction or otherwise."""
        removal = self._leaving.get(pod)
        if removal is not None and removal.order.uid == uid:
            del self._leaving[pod]

    def answered(self, write: Write, outcome: Outcome) -> Leaving:
        """The next steps after the answer to a write; none for writes of others."""
        if isinstance(write.about, Send):
            self._courses.answer(write.about, outcome)
        return self._take()

    # ---- courses ---------------------------------------------------------------------------------

    async def _evict_together(self, removal: Removal, case: _Case) -> None:
        outcome = await Send(removal.order.write(self._how, dry_run=True))
        case.untried -= 1
        # The pod is gone, or a new pod has its name: its resources are free in both cases.
        if outcome.result not in (Result.DONE, Result.GONE, Result.CONFLICT):
            if not case.obstacle.known:
                self._spare(removal, _why(outcome))
            case.obstacle.set((removal, _why(outcome)))
        elif not case.untried:
            case.obstacle.set(None)
        obstacle = await case.obstacle
        if obstacle is None:
            await self._evict(removal)
        else:
            self._spare(removal, _spared_message(*obstacle))

    async def _evict(self, removal: Removal) -> None:
        outcome = Outcome(Result.LOST)
        while outcome.result is Result.LOST and self._is_current(removal):
            outcome = await Send(removal.order.write(self._how))
        if outcome.result is Result.DONE:
            self._steps.evicted.append(
                removal
            )  # a watch may have shown before that the pod is gone
        elif self._is_current(removal):
            if outcome.result is Result.GONE:
                self._steps.evicted.append(removal)
            elif outcome.result is Result.CONFLICT:
                # A new pod has this name: our victim is gone, and the watch will show it.
                self._steps.forget.append(removal.assumption)
            else:
                self._spare(removal, _why(outcome))
        if self._is_current(removal):
            del self._leaving[removal.order.pod]

    def _spare(self, removal: Removal, why: str) -> None:
        if self._is_current(removal):
            del self._leaving[removal.order.pod]
            self._steps.forget.append(removal.assumption)
            self._steps.spared.append((removal, why))

    def _is_current(self, removal: Removal) -> bool:
        return self._leaving.get(removal.order.pod) is removal

    def _take(self) -> Leaving:
        steps, self._steps = self._steps, Leaving()
        steps.writes += (replace(each.write, about=each) for each in self._courses.take())
        return steps


def _why(outcome: Outcome) -> str:
    return outcome.message or "the API server did not answer"


def _spared_message(refused: Removal, why: str) -> str:
    return f"it would be evicted together with pod {refused.order.pod}: {why}"
