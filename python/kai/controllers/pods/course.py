"""The course of one decision for one pod: what it reserves, and how it ends.

    class Claims:                                # a Reserver
        what = "resource claims"
        def needs(self, binding): ...
        def step(self, course, pod): return ClaimsOfPod(course, pod)

    class ClaimsOfPod:                           # a Step
        async def reserve(self): ...             # raises Refused
        async def unreserve(self): ...           # only if the pod is not bound
        def leave(self): ...                     # nothing is undone: another process may lead
        def keep(self): ...                      # the pod is bound

A step is registered before its first write. What it undoes it learns from the API server: a write
that was sent may have taken effect or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from kai.api.writes import NOT_LEADING, Outcome
from kai.controllers.courses import Course, Fact, Until
from kai.controllers.pods.decisions import Binding

Pod = Mapping[str, Any]

FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
"""The wait before the next try for a pod that could not be bound."""
STUCK_AFTER = 3
"""After this many failures in a row, others get a pod's resources while it waits."""


def wait_of(failures: int) -> float:
    """The wait in seconds after this many earlier failures."""
    if failures < 0:
        return 0.0
    return float(min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures, 10)))


class Refused(Exception):
    """The pod is not bound this time. `why`: ""; nothing is written about it. `by_node`: the API
    server refused the binding, and may do so again for this node. `on_pod`: the pod shows why."""

    def __init__(self, why: str, *, by_node: bool = False, on_pod: bool = True) -> None:
        super().__init__(why)
        self.why, self.by_node, self.on_pod = why, by_node, on_pod


class GivenUp(Exception):
    """Nothing is left to do for the binding, and its resources are free."""


class NotWaiting(Exception):
    """The pod is gone, is bound, or is being deleted. `pod`: as it was read."""

    def __init__(self, pod: Pod | None) -> None:
        super().__init__()
        self.pod = pod


class NotLeading(Exception):
    """Another process may lead now: nothing is undone."""


class Step(Protocol):
    """One kind of thing for one pod."""

    async def reserve(self) -> None:
        """Raises Refused."""
        ...

    async def unreserve(self) -> None:
        """Undoes everything that `reserve` has done, or has begun. Raises NotLeading."""
        ...

    def leave(self) -> None:
        """Nothing is undone, because another process may lead: this one drops what it knows."""
        ...

    def keep(self) -> None:
        """The pod is bound."""
        ...

    @property
    def waits_for(self) -> str:
        """What `reserve` waits for now: a noun, for people."""
        ...


class Reserver(Protocol):
    """Reserves one kind of thing for pods; `what` is its name in words."""

    what: str

    def needs(self, binding: Binding) -> bool:
        """Whether the binding needs something of this kind."""
        ...

    def step(self, course: PodCourse, pod: Pod) -> Step:
        """`pod`: as it was read; the step keeps no more of it than it needs."""
        ...


class Stage(Enum):
    BEGINS = "begins"  # waits for its turn, its pod group, or its pod
    RESERVES = "reserves"  # one step after the other, until the request is sent
    BINDS = "binds"  # the request is under way, or in doubt
    BOUND = "bound"  # the request was accepted
    PARKED = "parked"  # it failed; its resources stay reserved until the pod is planned again
    ENDS = "ends"  # it is over, or is being undone


class PodCourse(Course):
    """`steps`: those that have begun, in their order. `pod`: as read, in JSON, for later steps:
    with thousands of waiting pods that uses a tenth of the memory. `is_reserved`: all steps are
    done. `lost`: why something of it was lost. `has_changed`: its node changed since the decision.
    `is_gone`: its pod is gone. `over`: once nothing of it is under way."""

    def __init__(self, binding: Binding) -> None:
        self.binding = binding
        self.stage = Stage.BEGINS
        self.steps: list[Step] = []
        self.pod = ""
        self.is_reserved = self.has_changed = False
        self.is_gone = False
        self.lost = ""
        self.over: Fact[None] = Fact()

    @property
    def pods(self) -> Sequence[tuple[str, str]]:
        """The pod, which waits for the writes of its steps (kai.api.writes)."""
        return self.binding.pods

    def lose_lead(self) -> None:
        """Another process may lead now, or may have led. Once the request was sent, its answer
        counts."""
        if self.stage in (Stage.BEGINS, Stage.RESERVES):
            self.courses.overtake(self, NotLeading())

    def fail(self, why: str) -> None:
        """It loses what a step has reserved, or will not get it. Once the request was sent, that is
        too late; before, while it waits in a lane, it fails when the request is given back."""
        self.is_reserved, self.lost = False, why
        if self.stage is Stage.RESERVES:
            self.courses.overtake(self, Refused(why))


@dataclass(slots=True)
class Trouble:
    """A pod whose binding failed, or has no clear answer yet.

    `tries`: the number of consecutive tries. `in_doubt`: a request that was sent may take effect at
    any time. `due`: when it is planned or read again.
    """

    uid: str
    tries: int = 0
    in_doubt: bool = False
    due: float | None = None
    why: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.due is not None and not self.in_doubt

    @property
    def is_stuck(self) -> bool:
        return self.tries >= STUCK_AFTER

    async def rest(self, now: float, free: int = 0) -> None:
        """Until the next try; the first `free` tries come at once."""
        self.begin_to_rest(now, free)
        await self.end_of_rest()

    def begin_to_rest(self, now: float, free: int = 0) -> None:
        self.due = now + wait_of(self.tries - free)
        self.tries += 1

    async def end_of_rest(self) -> None:
        due = self.due
        if due is not None:
            await Until(due)
            if self.due == due:
                self.due = None


class Troubles:
    """By pod."""

    def __init__(self) -> None:
        self._of: dict[str, Trouble] = {}

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return sum(each.in_doubt for each in self._of.values())

    def get(self, pod: str, uid: str) -> Trouble:
        """The trouble of the pod, created if it has none."""
        trouble = self._of.get(pod)
        if trouble is None or trouble.uid != uid:
            trouble = self._of[pod] = Trouble(uid)
        return trouble

    def end_doubt(self, pod: str, uid: str) -> None:
        """The last request certainly had an effect; what comes of it is not known."""
        trouble = self._of.get(pod)
        if trouble is not None and trouble.uid == uid and trouble.in_doubt:
            trouble.in_doubt, trouble.due = False, None

    def end(self, pod: str, uid: str) -> None:
        """The pod has no trouble any more."""
        trouble = self._of.get(pod)
        if trouble is not None and trouble.uid == uid:
            del self._of[pod]

    def is_waiting(self, binding: Binding) -> bool:
        """Whether the pod failed a moment ago, and is planned again later."""
        trouble = self._of.get(binding.pod)
        return trouble is not None and trouble.uid == binding.uid and trouble.is_waiting

    def waiting(self) -> list[str]:
        """Pods whose last binding failed a moment ago: they are not bound before a wait ends."""
        return [pod for pod, each in self._of.items() if each.is_waiting]


def answer_of(outcome: Outcome) -> str:
    """The answer in words."""
    return outcome.message or "the API server did not answer"


def check_lease(outcome: Outcome) -> None:
    """Raises NotLeading."""
    if outcome.reason == NOT_LEADING:
        raise NotLeading
