"""Bindings in progress: one request for each pod, and the next steps after its answer.

    ways = Bindings(write_of, preparing)
    ways.add(binding)
    writes = ways.begin(now, binding)        # none while the pod is being prepared
    steps = ways.prepared(now, prepared)     # preparation is complete
    steps = ways.answered(now, binding, outcome)

No I/O. `Bindings` binds pods itself. kai.controllers.bind_requests has a variant that creates
BindRequests; kai.controllers.binder carries these out with the class here.

- A request without an answer may have been applied, or may still be: it can be under way even when
  the object is read (`Steps.look`). The pod's resources therefore stay reserved, and the request is
  sent again *for the same node*, until a fact ends the doubt. Facts are: the pod is on a node (that
  never changes), it is gone or replaced (a UID never comes back), it is being deleted (the API
  server binds no such pod). Elapsed time and the rejection of a later
  try are not such facts.
- A pod whose binding certainly failed is planned again after a wait, which doubles with each
  failure: until then its assumption stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.evicting import Removal
from kai.controllers.one_binding import Binding
from kai.controllers.preparing import Prepared, Preparing
from kai.controllers.progress import under_way
from kai.controllers.verdicts import Event
from kai.controllers.waits import earliest

__all__ = ["Binding", "Bindings", "Steps", "Trouble", "wait_of"]

FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
"""The wait before the next try for a pod that could not be bound."""
STUCK_AFTER = 3
"""After this many failures in a row, others get a pod's resources while it waits."""


@dataclass(slots=True)
class Steps:
    """The next steps.

    `forget`: assumptions that did not come true. `look`: bindings, each with the kind of the object
    to read, for `seen`. `to_check`: bindings that are held back until `checked` confirms them.
    `bound`: bindings that succeeded. `failed`: bindings that did not, each with the reason.
    `refused`: those of them that the API server refused, and may refuse again for the same node.
    `stuck`: those that failed several times in a row: others should get their resources meanwhile.
    `evicted` and `spared`: the same of evictions. `problems`: sentences for the log.
    """

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    look: list[tuple[Binding, str]] = field(default_factory=list)
    to_check: list[Binding] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    refused: list[tuple[Binding, str]] = field(default_factory=list)
    stuck: list[tuple[Binding, str]] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, more: Steps) -> None:
        """Adds further steps."""
        for each in fields(self):
            getattr(self, each.name).extend(getattr(more, each.name))


@dataclass(slots=True)
class Trouble:
    """A pod whose binding failed, or has no clear answer yet.

    `tries`: the number of consecutive tries. `failed`: the binding whose assumption stays until the
    pod is planned again. `in_doubt`: a request that was sent may take effect at any time.
    """

    uid: str
    tries: int = 0
    failed: Binding | None = None
    in_doubt: bool = False
    due: float | None = None  # when it is planned or read again
    why: str = ""

    def wait(self, now: float, free: int = 0) -> None:
        """Sets the time of the next try; the first `free` tries come at once."""
        self.due = now + wait_of(self.tries - free)
        self.tries += 1


def wait_of(failures: int) -> float:
    """The wait in seconds after this many earlier failures."""
    if failures < 0:
        return 0.0
    return float(min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures, 10)))


class Bindings:
    """`write`: the request for a binding. `preparing`: what pods need before it. The requests are
    about pods: a doubtful one is resolved by reading the pod."""

    kind = "Pod"

    def __init__(
        self, write: Callable[[Binding], Write], preparing: Preparing | None = None
    ) -> None:
        self._write = write
        self._preparing = Preparing() if preparing is None else preparing
        self._under_way: dict[str, Binding] = {}  # by pod
        self._troubles: dict[str, Trouble] = {}  # by pod

    def __len__(self) -> int:
        """The number of bindings in progress."""
        return len(self._under_way)

    @property
    def in_doubt(self) -> int:
        """The number of pods that a request without an answer may still bind."""
        return sum(each.in_doubt for each in self._troubles.values())

    def add(self, binding: Binding) -> None:
        """Starts a binding; it replaces an earlier one of the pod."""
        self._under_way[binding.pod] = binding

    def is_current(self, binding: Binding) -> bool:
        """Whether it is in progress: the pod exists, and was not decided again."""
        return self._under_way.get(binding.pod) is binding

    def of(self, pod: str) -> Binding | None:
        """The binding of the pod in progress."""
        return self._under_way.get(pod)

    def lacks(self, binding: Binding) -> str:
        """The pod's needs before its binding that are not provided here, in words; "": none."""
        return self._preparing.lacks(binding)

    def begin(self, now: float, binding: Binding) -> list[Write]:
        """The request; none while the pod is being prepared: `prepared` follows."""
        if not self._preparing.needs(binding):
            return [self._write(binding)]
        self._preparing.begin(now, binding)
        return []

    def prepared(self, now: float, prepared: Prepared) -> Steps:
        """Pods have what they need, or will not get it. Bindings of others are ignored, and so are
        those in `seen`, which is not handled here."""
        steps = Steps()
        steps.writes += map(self._write, filter(self.is_current, prepared.ready))
        steps.to_check += filter(self.is_current, prepared.to_check)
        for binding, why in prepared.failed:
            if self.is_current(binding):
                self.fail(now, steps, binding, why)
        steps.events += (
            under_way(*binding.key, binding.node, waits_for)
            for binding, waits_for in prepared.slow
            if self.is_current(binding)
        )
        return steps

    def take_back(self, binding: Binding) -> None:
        """Undoes the preparation of the pod."""
        self._preparing.drop(binding)

    def keep(self, binding: Binding) -> None:
        """The pod is bound: it keeps what it was given."""
        self._preparing.keep(binding)

    def parks(self, binding: Binding) -> bool:
        """The pod failed a moment ago: the binding is not sent, and its resources stay reserved
        until the pod is planned again."""
        trouble = self._troubles.get(binding.pod)
        if trouble is None or trouble.uid != binding.uid or trouble.due is None or trouble.in_doubt:
            return False
        trouble.failed = binding
        self._under_way.pop(binding.pod, None)
        return True

    def held_back(self) -> list[str]:
        """Pods whose last binding failed a moment ago: they are not bound before a wait ends."""
        return [
            pod
            for pod, trouble in self._troubles.items()
            if trouble.due is not None and not trouble.in_doubt
        ]

    def shown(self, pod: str, uid: str) -> bool:
        """A watch has shown a BindRequest of the pod; returns whether it was created here."""
        del pod, uid
        return False

    def set_aside(self, binding: Binding) -> None:
        """It is postponed, and nothing of it was sent. The preparation of its pod stays, until
        `keep` or `take_back`."""
        del self._under_way[binding.pod]

    def drop(self, binding: Binding) -> None:
        """It is not carried out, and nothing of it was sent."""
        self.set_aside(binding)
        self.take_back(binding)

    def gone(self, pod: str, uid: str) -> bool:
        """The pod with that UID is gone; False: a new pod of its name has a binding in progress."""
        known = self._under_way.get(pod)
        if known is not None and known.uid != uid:
            return False
        if known is not None:
            self.drop(known)
        self.calm(pod, uid)
        return True

    def calm(self, pod: str, uid: str) -> None:
        """The pod has no trouble any more."""
        trouble = self._troubles.get(pod)
        if trouble is not None and trouble.uid == uid:
            del self._troubles[pod]

    def trouble(self, pod: str, uid: str) -> Trouble:
        """The trouble of the pod, created if it has none."""
        trouble = self._troubles.get(pod)
        if trouble is None or trouble.uid != uid:
            trouble = self._troubles[pod] = Trouble(uid)
        return trouble

    def tick(self, now: float, steps: Steps) -> None:
        """Retries what failed or was in doubt, if its time has come."""
        for pod, trouble in self._troubles.items():
            if trouble.due is not None and now >= trouble.due:
                trouble.due = None
                if trouble.failed is not None:
                    steps.forget.append(trouble.failed.assumption)
                    trouble.failed = None
                elif pod in self._under_way:
                    self._look(steps, self._under_way[pod])

    def next_tick(self) -> float | None:
        """The time of the next `tick`."""
        return earliest(each.due for each in self._troubles.values())

    def answered(self, now: float, binding: Binding, outcome: Outcome) -> Steps:
        """The next steps after the answer to its request."""
        steps = Steps()
        if not self.is_current(binding):
            return steps
        result, why = outcome.result, outcome.message or "the API server did not answer"
        if result is Result.DONE:
            self._succeed(steps, binding)
            return steps
        if result is Result.TAKEN_BACK:
            steps.to_check.append(binding)
            return steps
        trouble = self.trouble(binding.pod, binding.uid)
        trouble.in_doubt = trouble.in_doubt or result is Result.LOST
        trouble.why = why
        if trouble.in_doubt:
            trouble.wait(now, free=2)  # after the first try and the second one
            if trouble.tries == 2:
                waits_for = f"an answer of the API server: {why}"
                steps.events.append(under_way(*binding.key, binding.node, waits_for))
            if trouble.due == now:
                trouble.due = None
                self._look(steps, binding)
            if result is Result.REFUSED:
                steps.failed.append((binding, why))
        elif self._is_unclear(result):
            self._look(steps, binding)
        elif result is Result.REPLACED or outcome.reason == NOT_LEADING:
            self._give_up(steps, binding)
        else:
            if _may_be_for_the_node(outcome):
                steps.refused.append((binding, why))
            self.fail(now, steps, binding, why)
        return steps

    def seen(self, now: float, binding: Binding, pod: Mapping[str, Any] | None) -> Steps:
        """The current pod of a binding without a clear answer; None: it is gone."""
        steps = Steps()
        if not self.is_current(binding):
            return steps
        trouble = self.trouble(binding.pod, binding.uid)
        metadata = {} if pod is None else pod.get("metadata", {})
        node = "" if pod is None else pod.get("spec", {}).get("nodeName", "")
        if pod is None or metadata.get("uid") != binding.uid:
            self.fail(now, steps, binding, "")  # a late watch will soon show it
        elif node == binding.node:
            self._succeed(steps, binding)
        elif node or metadata.get("deletionTimestamp"):
            self._give_up(steps, binding)
        elif trouble.in_doubt:
            steps.writes.append(self._write(binding))
        else:
            self.fail(now, steps, binding, trouble.why)
        return steps

    def fail(self, now: float, steps: Steps, binding: Binding, why: str) -> None:
        """It is planned again later; until then its resources stay reserved. Without a reason
        nothing is written about it."""
        self.drop(binding)
        trouble = self.trouble(binding.pod, binding.uid)
        trouble.failed = binding
        trouble.wait(now)
        if why:
            steps.failed.append((binding, why))
        is_refused = any(each is binding for each, _ in steps.refused)
        if why and not is_refused and trouble.tries >= STUCK_AFTER:
            steps.stuck.append((binding, why))

    # ---- inside ----------------------------------------------------------------------------------

    def _is_unclear(self, result: Result) -> bool:
        return result is Result.CONFLICT or result is Result.GONE

    def _look(self, steps: Steps, binding: Binding) -> None:
        steps.look.append((binding, self.kind))

    def _succeed(self, steps: Steps, binding: Binding) -> None:
        self.set_aside(binding)
        self.keep(binding)
        self._troubles.pop(binding.pod, None)
        steps.bound.append(binding)

    def _give_up(self, steps: Steps, binding: Binding) -> None:
        """Nothing is left to do for it, and its resources are free."""
        self.drop(binding)
        self._troubles.pop(binding.pod, None)
        steps.forget.append(binding.assumption)


def _may_be_for_the_node(outcome: Outcome) -> bool:
    """Whether the node may be the cause of a refusal: not if a webhook gave no answer, or if the
    API server does not serve the kind of the request (404)."""
    if outcome.refusal is not None:
        return outcome.refusal.answered
    return outcome.result is Result.REFUSED and outcome.status != 404
