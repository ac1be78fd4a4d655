"""What the event loop passes to a turn of the planner, and what it gets back: plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api.writes import Outcome, Write
from kai.controllers.courses import Ask
from kai.controllers.grouper import Assignment, Decided, Reference, Rules
from kai.controllers.planning.figures import Shares
from kai.controllers.planning.lines import Line
from kai.controllers.pods.bind_requests import Request, Target
from kai.controllers.pods.decisions import Binding, Removal
from kai.controllers.status import Sums
from kai.controllers.unshown import Accepted
from kai.controllers.verdicts import Event
from kai.engine.plan import Plan
from kai.engine.usage import Rows
from kai.k8s.server_time import ALWAYS


@dataclass(frozen=True, slots=True)
class Inputs:
    """Facts that the event loop passes to a turn.

    `now_ns`, `shift_ns`, `trusted_ns`: as in kai.k8s.server_time.Moment. `plans`: this process may
    decide. `ends`: it is ending: nothing new is decided, and the results of earlier decisions are
    written. `forgotten`: assumptions that did not come true. `looked_at`: pods that were read after
    a write without a clear answer, as JSON. `read`: those of `Turn.unshown`, each with its object
    as JSON; None: it does not exist. `owners`: objects that the grouper requested; None: missing,
    False: no right to read it. `rules`: how pods are grouped, if that has changed. `serves_claims`:
    the server has the API of resource claims. `answers`: to writes of earlier turns. `to_check`:
    bindings that were held back and may be outdated. `requests`: BindRequests whose pods and nodes
    must be checked. `bound`, `failed`, `refused`, `stuck`, `evicted`, `spared`: as in
    kai.controllers.pods.results. `bound_at`: the API server's time of each of `bound`, in
    seconds. `usage`: past usage of queues, if it was fetched again. `held_back`: pods whose last
    binding failed and that are not bound before a wait ends. `questions`: functions of the latest
    plan, which must be quick.
    """

    now_ns: int
    shift_ns: int = 0
    trusted_ns: tuple[int, int] = ALWAYS
    plans: bool = True
    ends: bool = False
    forgotten: Sequence[int] = ()
    looked_at: Sequence[bytes] = ()
    read: Sequence[tuple[Accepted, bytes | None]] = ()
    owners: Sequence[tuple[Reference, Mapping[str, Any] | bool | None]] = ()
    rules: Rules | None = None
    serves_claims: bool = True
    answers: Sequence[tuple[Write, Outcome]] = ()
    to_check: Sequence[Ask] = ()
    requests: Sequence[Request] = ()
    bound: Sequence[Binding] = ()
    bound_at: Sequence[float] = ()
    failed: Sequence[tuple[Binding, str]] = ()
    refused: Sequence[tuple[Binding, str]] = ()
    stuck: Sequence[tuple[Binding, str]] = ()
    evicted: Sequence[Removal] = ()
    spared: Sequence[tuple[Removal, str]] = ()
    usage: Rows | None = None
    held_back: Collection[str] = ()
    questions: Sequence[Callable[[Plan], Any]] = ()

    @property
    def now_s(self) -> float:
        """The time for waits: it goes on evenly when the time of day steps."""
        return (self.now_ns - self.shift_ns) / 1e9


@dataclass(slots=True)
class Turn:
    """The result of one turn.

    `writes` and `events`: about pods, pod groups and queues. `to_check` is that of the inputs, and
    `broken` has the assumptions that do not hold any more. `targets`: the pods and nodes of the
    BindRequests in the inputs. `gone`, `gpu_users` and `is_scaling_up`: as in `_core.Drained`.
    `unshown`: accepted writes that no watch has shown in time; their objects must be read.
    `without_effect`: those of them that the server does not have. `shown` and `relisted`: as in
    `_core.Drained`. `told`: the results of the questions; empty if nothing is planned. `lines`: for
    the log. `wake_ns`: the time of the next turn if nothing else
    happens.

    For metrics: `timing_ms` by phase, `waiting` groups, the seconds that newly bound pods have
    waited, the fair shares of queues if they were read, also `queue_sums`, and the number of
    objects that needed no write, by the name of KAI's controller.
    """

    cycle: int = 0
    planned: bool = False
    bindings: list[Binding] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    grouped: Decided = field(default_factory=Decided)
    writes: list[Write] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    evicted: list[Mapping[str, str]] = field(default_factory=list)
    synced: frozenset[str] = frozenset()
    to_check: Sequence[Ask] = ()
    broken: Sequence[int] = ()
    targets: Sequence[tuple[Request, Target]] = ()
    gone: Sequence[tuple[str, str, str]] = ()
    gpu_users: Sequence[tuple[Any, ...]] = ()
    is_scaling_up: bool = False
    unshown: Sequence[Accepted] = ()
    without_effect: list[Accepted] = field(default_factory=list)
    shown: Sequence[tuple[str, str, int]] = ()
    relisted: Sequence[tuple[str, int, int, int, list[str]]] = ()
    told: Sequence[Any] = ()
    lines: list[Line] = field(default_factory=list)
    timing_ms: dict[str, float] = field(default_factory=dict)
    waiting: int = 0
    waited: list[float] = field(default_factory=list)
    shares: Shares | None = None
    queue_sums: Mapping[str, Sums] = field(default_factory=dict)
    right: Counter[str] = field(default_factory=Counter)
    wake_ns: int | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The knowledge of a scheduler that is in no list of objects.

    `memory`: as in Scheduler.export_memory. `groups`: pod groups in the plan that are not created
    yet, by name. `assigned`: by pod, its pod group, if the pod does not name one yet. `cycle`: the
    number of plans so far. `ages` and `usage`: as in `_core.Cluster`.
    """

    memory: str
    groups: Mapping[str, Mapping[str, Any]]
    assigned: Mapping[str, Assignment]
    cycle: int
    ages: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    usage: Rows = field(default_factory=dict)
