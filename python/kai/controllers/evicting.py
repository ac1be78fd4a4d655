"""Victims leave: by a plain DELETE, or by the eviction API, which minds PodDisruptionBudgets.

    evictor = Evictor("evict")
    steps = evictor.begin(removals)                # writes to send
    steps = evictor.answered(write, outcome)       # and what follows from each answer

No I/O. An assumption of the engine stands behind each victim; it ends when a watch shows that the
pod is leaving or gone, or when the API server refuses: then the room will not come free.

With "evict" the victims of one reclaimer are tried dry first. Where one of them may not go, none
goes: the others would leave for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kai.api.writes import Outcome, Result, Write
from kai.controllers.verdicts import Eviction, orders


@dataclass(frozen=True, slots=True)
class Removal:
    """A victim that is about to leave."""

    order: Eviction
    assumption: int

    @property
    def case(self) -> str:
        """What it leaves for: the pod group that takes its room, else its own."""
        return f"{self.order.action} {self.order.waits}"


@dataclass(slots=True)
class Leaving:
    """What follows. `forget`: assumptions that did not come true. `spared`: with the reason."""

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Case:
    """Victims that go together, or not at all. `waits_for`: pods whose dry try has no answer."""

    removals: list[Removal]
    waits_for: set[str]


@dataclass(frozen=True, slots=True)
class _Trial:
    """A dry try."""

    removal: Removal
    case: _Case


class Evictor:
    """`how`: "delete", or "evict"."""

    def __init__(self, how: orders.How = "delete") -> None:
        self._how = how
        self._leaving: dict[str, Removal] = {}  # by pod

    def __len__(self) -> int:
        """How many are under way."""
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
        """The pod of that UID went, by itself or because of us."""
        removal = self._leaving.get(pod)
        if removal is not None and removal.order.uid == uid:
            del self._leaving[pod]

    def answered(self, write: Write, outcome: Outcome) -> Leaving:
        """What follows from the answer to one of its writes; nothing for those of others."""
        if isinstance(write.about, _Trial):
            return self._tried(write.about, outcome)
        if isinstance(write.about, Removal):
            return self._evicted(write.about, outcome)
        return Leaving()

    def _tried(self, trial: _Trial, outcome: Outcome) -> Leaving:
        steps = Leaving()
        case, removal = trial.case, trial.removal
        if removal.order.pod not in case.waits_for:
            return steps  # another victim of the case may not go
        # The pod is gone, or another one has its name: its room is free in any case.
        if outcome.result not in (Result.DONE, Result.GONE, Result.CONFLICT):
            why = _why(outcome)
            case.waits_for.clear()
            self._spare(steps, removal, why)
            for each in case.removals:
                self._spare(steps, each, _together(removal, why))
            return steps
        case.waits_for.discard(removal.order.pod)
        if not case.waits_for:
            leaving = (each for each in case.removals if self._is_current(each))
            steps.writes += (self._write(each) for each in leaving)
        return steps

    def _evicted(self, removal: Removal, outcome: Outcome) -> Leaving:
        steps = Leaving()
        if not self._is_current(removal):
            return steps
        if outcome.result is Result.LOST:
            steps.writes.append(self._write(removal))
        elif outcome.result in (Result.DONE, Result.GONE):
            del self._leaving[removal.order.pod]
            steps.evicted.append(removal)
        elif outcome.result is Result.CONFLICT:
            # Another pod of that name: ours is gone, and the watch will show it.
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


def _together(refused: Removal, why: str) -> str:
    return f"it would be evicted together with pod {refused.order.pod}: {why}"
