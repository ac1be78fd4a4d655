"""Removes victims: by a plain DELETE, or by the eviction API, which respects PodDisruptionBudgets.

    evictor = Evictor(courses, results, "evict")
    evictor.begin(removals)                # one course for each victim
    results.spared                         # those that may not be evicted

No I/O. For each victim the engine holds an assumption. It ends when a watch shows that the pod is
being deleted or gone, or when the API server rejects the eviction: then its resources are not
released.

With "evict", the victims of one pod group are first tried with a dry run. If one of them may not be
evicted, none is: evicting the others would achieve nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kai.api.writes import Outcome, Result
from kai.controllers.courses import Courses, Fact, Send
from kai.controllers.pods.course import answer_of
from kai.controllers.pods.decisions import Removal
from kai.controllers.pods.results import Results
from kai.controllers.verdicts import orders


@dataclass(slots=True)
class _Case:
    """Victims that are evicted together or not at all. `untried`: how many have no answer to their
    dry run. `obstacle`: the first that may not be evicted, and why; None: all may be."""

    untried: int = 0
    obstacle: Fact[tuple[Removal, str] | None] = field(default_factory=Fact)


class Evictor:
    """`how`: "delete" or "evict"."""

    def __init__(self, courses: Courses, results: Results, how: orders.How = "delete") -> None:
        self._courses, self._results, self._how = courses, results, how
        self._leaving: dict[str, Removal] = {}  # by pod
        self._tried: dict[str, None] = {}  # of them, pods with a dry run that was not decided

    def __len__(self) -> int:
        """The number of evictions under way."""
        return len(self._leaving)

    def begin(self, removals: Iterable[Removal]) -> None:
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

    def spare(self, removals: Iterable[Removal], why: str) -> None:
        """They are not evicted."""
        for removal in removals:
            self._results.forget.append(removal.assumption)
            self._results.spared.append((removal, why))

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with this UID is gone, by our eviction or otherwise."""
        removal = self._leaving.get(pod)
        if removal is not None and removal.order.uid == uid:
            del self._leaving[pod]

    def lead_again(self) -> None:
        """A new term: evictions that are only tried are not sent any more."""
        for pod in self._tried:
            if pod in self._leaving:
                self._results.forget.append(self._leaving.pop(pod).assumption)

    # ---- courses ---------------------------------------------------------------------------------

    async def _evict_together(self, removal: Removal, case: _Case) -> None:
        self._tried[removal.order.pod] = None
        outcome = await Send(removal.order.write(self._how, dry_run=True))
        case.untried -= 1
        # The pod is gone, or a new pod has its name: its resources are free in both cases.
        if outcome.result not in (Result.DONE, Result.GONE, Result.CONFLICT):
            if not case.obstacle.known:
                self._spare_one(removal, answer_of(outcome))
            case.obstacle.set((removal, answer_of(outcome)))
        elif not case.untried:
            case.obstacle.set(None)
        obstacle = await case.obstacle
        self._tried.pop(removal.order.pod, None)
        if obstacle is None:
            await self._evict(removal)
        else:
            other, why = obstacle
            text = f"it would be evicted together with pod {other.order.pod}: {why}"
            self._spare_one(removal, text)

    async def _evict(self, removal: Removal) -> None:
        outcome = Outcome(Result.LOST)
        while outcome.result is Result.LOST and self._is_current(removal):
            outcome = await Send(removal.order.write(self._how))
        if outcome.result is Result.DONE:
            # A watch may have shown before that the pod is gone.
            self._results.evicted.append(removal)
        elif self._is_current(removal):
            if outcome.result is Result.GONE:
                self._results.evicted.append(removal)
            elif outcome.result is Result.CONFLICT:
                # A new pod has this name: our victim is gone, and the watch will show it.
                self._results.forget.append(removal.assumption)
            else:
                self._spare_one(removal, answer_of(outcome))
        if self._is_current(removal):
            del self._leaving[removal.order.pod]

    def _spare_one(self, removal: Removal, why: str) -> None:
        if self._is_current(removal):
            del self._leaving[removal.order.pod]
            self.spare([removal], why)

    def _is_current(self, removal: Removal) -> bool:
        return self._leaving.get(removal.order.pod) is removal
