"""Bindings on their way: one request for each pod, and what follows from its answer.

    ways = Bindings(write_of, preparing)
    ways.add(binding)
    writes = ways.begin(now, binding)        # none while the pod gets what it needs first
    steps = ways.prepared(now, prepared)     # and now it has that
    steps = ways.answered(now, binding, outcome)

Nothing here does I/O. `Bindings` binds pods itself. kai.controllers.bind_requests has a kind of it
that creates BindRequests; kai.controllers.binder carries these out with the kind here.

- A request without an answer may have been carried out, or may be carried out yet: it can still be
  on its way when the object is read (`Steps.look`). So the pod's room stays taken, and the request
  is sent again *for the same node*, until a fact ends the doubt. Facts are: the pod is on a node
  (that never changes), it is gone or another one (a UID never comes back), it is being deleted (the
  API server binds no such pod). Neither time nor a refusal of a later try is one.
- A pod whose binding failed for certain is planned again after a wait, which doubles with each
  failure: until then its assumption stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.evicting import Removal
from kai.controllers.one_binding import Binding
from kai.controllers.preparing import Prepared, Preparing
from kai.controllers.verdicts import Event
from kai.controllers.waits import earliest

__all__ = ["Binding", "Bindings", "Steps", "Trouble", "wait_of"]

FIRST_WAIT_S, MOST_WAIT_S = 1.0, 30.0
"""Before the next try for a pod that could not be bound."""


@dataclass(slots=True)
class Steps:
    """What follows.

    `forget`: assumptions that did not come true. `look`: bindings, each with the kind of the object
    to read, which goes to `seen`. `ask`: bindings that are held back until `checked` says which of
    them hold still. `bound`: bindings that succeeded. `failed`: bindings that did not, each with
    the reason. `evicted` and `spared`: the same of evictions. `problems`: sentences for the log.
    """

    writes: list[Write] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    look: list[tuple[Binding, str]] = field(default_factory=list)
    ask: list[Binding] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    failed: list[tuple[Binding, str]] = field(default_factory=list)
    evicted: list[Removal] = field(default_factory=list)
    spared: list[tuple[Removal, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, more: Steps) -> None:
        """What follows as well."""
        for each in fields(self):
            getattr(self, each.name).extend(getattr(more, each.name))


@dataclass(slots=True)
class Trouble:
    """A pod whose binding failed, or of which no clear answer has come.

    `tries`: how many in a row. `failed`: the binding whose assumption stands until the pod is
    planned again. `in_doubt`: a request that was sent may take effect at any time.
    """

    uid: str
    tries: int = 0
    failed: Binding | None = None
    in_doubt: bool = False
    due: float | None = None  # when it is planned or read again
    why: str = ""

    def wait(self, now: float, free: int = 0) -> None:
        """Until the next try; the first `free` tries come at once."""
        self.due = now + wait_of(self.tries - free)
        self.tries += 1


def wait_of(failures: int) -> float:
    """In seconds, after so many failures before this one."""
    if failures < 0:
        return 0.0
    return float(min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(failures, 10)))


class Bindings:
    """`write`: the request for a binding. `preparing`: what pods need before it. Requests about
    pods: what is read is the pod."""

    kind = "Pod"

    def __init__(
        self, write: Callable[[Binding], Write], preparing: Preparing | None = None
    ) -> None:
        self._write = write
        self._preparing = Preparing() if preparing is None else preparing
        self._under_way: dict[str, Binding] = {}  # by pod
        self._troubles: dict[str, Trouble] = {}  # by pod

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    @property
    def in_doubt(self) -> int:
        """Pods that a request may still bind, though no answer came."""
        return sum(each.in_doubt for each in self._troubles.values())

    def add(self, binding: Binding) -> None:
        """From now on it is under way, in the place of an earlier one of the pod."""
        self._under_way[binding.pod] = binding

    def is_current(self, binding: Binding) -> bool:
        """It is under way: the pod is there, and was not decided anew."""
        return self._under_way.get(binding.pod) is binding

    def of(self, pod: str) -> Binding | None:
        """The binding of the pod that is under way."""
        return self._under_way.get(pod)

    def lacks(self, binding: Binding) -> str:
        """What the pod needs before its binding and nothing here gives, in words; "": nothing."""
        return self._preparing.lacks(binding)

    def begin(self, now: float, binding: Binding) -> list[Write]:
        """The request; none while the pod gets what it needs: `prepared` follows."""
        if not self._preparing.needs(binding):
            return [self._write(binding)]
        self._preparing.begin(now, binding)
        return []

    def prepared(self, now: float, prepared: Prepared) -> Steps:
        """Pods have what they need, or do not get it. Bindings of others are ignored, and so are
        those of `seen`, which is not decided here."""
        steps = Steps()
        steps.writes += map(self._write, filter(self.is_current, prepared.ready))
        steps.ask += filter(self.is_current, prepared.ask)
        for binding, why in prepared.failed:
            if self.is_current(binding):
                self.fail(now, steps, binding, why)
        return steps

    def take_back(self, binding: Binding) -> None:
        """What the pod was given before its binding is not needed."""
        self._preparing.drop(binding)

    def keep(self, binding: Binding) -> None:
        """The pod is bound: it keeps what it was given."""
        self._preparing.keep(binding)

    def parks(self, binding: Binding) -> bool:
        """The pod failed a moment ago: the binding is not sent, and its room is kept until the pod
        is planned again."""
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
        """A watch has shown a BindRequest of the pod; whether it was created here."""
        del pod, uid
        return False

    def set_aside(self, binding: Binding) -> None:
        """It is not carried out for now, and nothing of it was sent. What its pod was given stays,
        until `keep` or `take_back`."""
        del self._under_way[binding.pod]

    def drop(self, binding: Binding) -> None:
        """It is not carried out, and nothing of it was sent."""
        self.set_aside(binding)
        self.take_back(binding)

    def gone(self, pod: str, uid: str) -> bool:
        """The pod of that UID went; False: another one of its name is on its way."""
        known = self._under_way.get(pod)
        if known is not None and known.uid != uid:
            return False
        if known is not None:
            self.drop(known)
        self.calm(pod, uid)
        return True

    def calm(self, pod: str, uid: str) -> None:
        """Nothing is wrong with the pod any more."""
        trouble = self._troubles.get(pod)
        if trouble is not None and trouble.uid == uid:
            del self._troubles[pod]

    def trouble(self, pod: str, uid: str) -> Trouble:
        """That of the pod, made anew if it has none."""
        trouble = self._troubles.get(pod)
        if trouble is None or trouble.uid != uid:
            trouble = self._troubles[pod] = Trouble(uid)
        return trouble

    def tick(self, now: float, steps: Steps) -> None:
        """What failed or was in doubt is tried again when its time has come."""
        for pod, trouble in self._troubles.items():
            if trouble.due is not None and now >= trouble.due:
                trouble.due = None
                if trouble.failed is not None:
                    steps.forget.append(trouble.failed.assumption)
                    trouble.failed = None
                elif pod in self._under_way:
                    self._look(steps, self._under_way[pod])

    def next_tick(self) -> float | None:
        """When `tick` has something to do."""
        return earliest(each.due for each in self._troubles.values())

    def answered(self, now: float, binding: Binding, outcome: Outcome) -> Steps:
        """What follows from the answer to its request."""
        steps = Steps()
        if not self.is_current(binding):
            return steps
        result, why = outcome.result, outcome.message or "the API server did not answer"
        if result is Result.DONE:
            self._succeed(steps, binding)
            return steps
        if result is Result.TAKEN_BACK:
            steps.ask.append(binding)
            return steps
        trouble = self.trouble(binding.pod, binding.uid)
        trouble.in_doubt = trouble.in_doubt or result is Result.LOST
        trouble.why = why
        if trouble.in_doubt:
            trouble.wait(now, free=2)  # after the first try, and after the one that follows
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
            self.fail(now, steps, binding, why)
        return steps

    def seen(self, now: float, binding: Binding, pod: Mapping[str, Any] | None) -> Steps:
        """The pod of a binding without a clear answer, as it is now; None: it is gone."""
        steps = Steps()
        if not self.is_current(binding):
            return steps
        trouble = self.trouble(binding.pod, binding.uid)
        metadata = {} if pod is None else pod.get("metadata", {})
        node = "" if pod is None else pod.get("spec", {}).get("nodeName", "")
        if pod is None or metadata.get("uid") != binding.uid:
            self.fail(now, steps, binding, "")  # a watch that is behind shows it any moment
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
        """It is planned again after a while; until then its room is its own. Without a reason
        nothing is said about it."""
        self.drop(binding)
        trouble = self.trouble(binding.pod, binding.uid)
        trouble.failed = binding
        trouble.wait(now)
        if why:
            steps.failed.append((binding, why))

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
        """There is nothing left to do for it, and its room is free."""
        self.drop(binding)
        self._troubles.pop(binding.pod, None)
        steps.forget.append(binding.assumption)
