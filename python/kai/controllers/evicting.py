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

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kai.api.writes import Outcome, Result, Write
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
    """Victims that are evicted together or not at all. `waits_for`: pods without an answer to their
    dry run."""

    removals: list[Removal]
    waits_for: set[str]


@dataclass(frozen=True, slots=True)
class _Trial:
    """A dry run."""

    removal: Removal
    case: _Case


class Evictor:
    """`how`: "delete" or "evict"."""

    def __init__(self, how: orders.How = "delete") -> None:
        self._how = how
        self._leaving: dict[str, Removal] = {}  # by pod

    def __len__(self) -> int:
        """The number of evictions under way."""
        return len(self._leaving)

    def begin(self, removals: Iterable[Removal]) -> Leaving:
        """The victims of a plan."""
        steps = Leaving()
        cases: dict[str, _Case] = {}
        for removal in removals:
            self._leaving[removal.order.pod] = removal
            if self._how == "delete":
                steps.writes.append(self._write(removal))
                continue
            case = cases.setdefault(removal.case, _Case([], set()))
            case.removals.append(removal)
            case.waits_for.add(removal.order.pod)
            trial = removal.order.write(self._how, dry_run=True)
            steps.writes.append(replace(trial, about=_Trial(removal, case)))
        return steps

    def pod_gone(self, pod: str, uid: str) -> None:
        """The pod with this UID is gone, by our eviction or otherwise."""
        removal = self._leaving.get(pod)
        if removal is not None and removal.order.uid == uid:
            del self._leaving[pod]

    def answered(self, write: Write, outcome: Outcome) -> Leaving:
        """The next steps after the answer to a write; none for writes of others."""
        if isinstance(write.about, _Trial):
            return self._tried(write.about, outcome)
        if isinstance(write.about, Removal):
            return self._evicted(write.about, outcome)
        return Leaving()

    def _tried(self, trial: _Trial, outcome: Outcome) -> Leaving:
        steps = Leaving()
        case, removal = trial.case, trial.removal
        if removal.order.pod not in case.waits_for:
            return steps  # another victim of the case may not be evicted
        # The pod is gone, or a new pod has its name: its resources are free in both cases.
        if outcome.result not in (Result.DONE, Result.GONE, Result.CONFLICT):
            why = _why(outcome)
            case.waits_for.clear()
            self._spare(steps, removal, why)
            for each in case.removals:
                self._spare(steps, each, _spared_message(removal, why))
            return steps
        case.waits_for.discard(removal.order.pod)
        if not case.waits_for:
            leaving = (each for each in case.removals if self._is_current(each))
            steps.writes += (self._write(each) for each in leaving)
        return steps

    def _evicted(self, removal: Removal, outcome: Outcome) -> Leaving:
        steps = Leaving()
        if not self._is_current(removal):
            # A watch showed first that the pod is gone; the write names its UID.
            if outcome.result is Result.DONE:
                steps.evicted.append(removal)
            return steps
        if outcome.result is Result.LOST:
            steps.writes.append(self._write(removal))
        elif outcome.result in (Result.DONE, Result.GONE):
            del self._leaving[removal.order.pod]
            steps.evicted.append(removal)
        elif outcome.result is Result.CONFLICT:
            # A new pod has this name: our victim is gone, and the watch will show it.
            del self._leaving[removal.order.pod]
            steps.forget.append(removal.assumption)
        else:
            self._spare(steps, removal, _why(outcome))
        return steps

    def _spare(self, steps: Leaving, removal: Removal, why: str) -> None:
        if self._is_current(removal):
            del self._leaving[removal.order.pod]
            steps.forget.append(removal.assumption)
            steps.spared.append((removal, why))

    def _is_current(self, removal: Removal) -> bool:
        return self._leaving.get(removal.order.pod) is removal

    def _write(self, removal: Removal) -> Write:
        return replace(removal.order.write(self._how), about=removal)


def _why(outcome: Outcome) -> str:
    return outcome.message or "the API server did not answer"


def _spared_message(refused: Removal, why: str) -> str:
    return f"it would be evicted together with pod {refused.order.pod}: {why}"
