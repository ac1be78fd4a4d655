"""The log of a running scheduler: what it does, and what goes wrong, in not too many lines.

reports = Reports(log, clock)
reports.turned(turn)                           # after every turn
reports.answered(write, outcome)               # of every write
await reports.run(watches, election)           # until it is cancelled

A line about a cycle has its number in `cycle`. With `kai run -v` each cycle has a line; without,
one line a second has the pods that were bound and evicted since the last one. Warnings are for what
a person has to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.service.log import Calm, Line, Log

if TYPE_CHECKING:
    from kai.controllers.bindings import Binding
    from kai.controllers.grouper import Reference
    from kai.k8s.clock import Clock
    from kai.k8s.leases import LeaderElection
    from kai.k8s.watching import Watch
    from kai.service.planner import Turn

LOOK_EVERY_S = 1.0
LINES_AT_ONCE = 20
"""Of one message; then as many every 10 s."""


class Reports:
    """For the event loop."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self._calm = Calm(log, clock.monotonic)
        self._of_objects = Calm(log, clock.monotonic, at_once=LINES_AT_ONCE)
        self._cycle = self._bound = self._evicted = 0
        self._troubled: frozenset[str] = frozenset()  # kinds whose watches had a problem before
        self._watches_fail = False
        self._waits_for = ""

    def turned(self, turn: Turn) -> None:
        if turn.planned:
            self._cycle = turn.cycle
            self._log.debug(
                "planned",
                cycle=turn.cycle,
                binds=len(turn.bindings),
                evicts=len(turn.removals),
                waiting=turn.waiting,
                groups=len(turn.grouped.groups),
                writes=len(turn.writes),
                events=len(turn.events),
                **{
                    name: round(turn.timing_ms.get(stage, 0.0), 2)
                    for name, stage in (
                        ("ms", "total"),
                        ("open_ms", "open"),
                        ("plan_ms", "plan_total"),
                    )
                },
            )
        self.lines(turn.lines, turn.cycle)

    def lines(self, lines: Iterable[Line], cycle: int = 0) -> None:
        """`cycle`: the one that they belong to; 0: none."""
        for line in lines:
            fields = {"cycle": cycle, **line.fields} if cycle else line.fields
            self._of_objects.write(replace(line, fields=fields))

    def placed(self, *, bound: int = 0, evicted: int = 0) -> None:
        """So many pods were."""
        self._bound += bound
        self._evicted += evicted

    def flush(self) -> None:
        """Writes the pods that no line has yet."""
        if self._bound or self._evicted:
            placed = {"bound": self._bound, "evicted": self._evicted}
            self._log.info("pods were bound or evicted", cycle=self._cycle, **placed)
            self._bound = self._evicted = 0

    def answered(self, write: Write, outcome: Outcome) -> None:
        result, why = outcome.result, outcome.message or f"HTTP status {outcome.status}"
        if result is Result.LOST:
            self._say("got no answer, so it is looked at", write, why)
        elif result in (Result.REFUSED, Result.FAILED) and outcome.reason != NOT_LEADING:
            self._say("failed", write, why)

    def not_bound(self, binding: Binding, why: str) -> None:
        self._calm.warning("a pod cannot be bound", name=binding.pod, node=binding.node, why=why)

    def no_owner(self, reference: Reference, why: str) -> None:
        name = "/".join(filter(None, (reference.namespace, reference.name)))
        self._calm.warning("an owner cannot be read", kind=reference.kind, name=name, why=why)

    def not_read(self, binding: Binding, kind: str, why: str) -> None:
        where = {"name": binding.node} if kind == "Node" else {"name": binding.pod}
        self._calm.warning(f"a {kind} cannot be read", **where, why=why)

    def _say(self, what: str, write: Write, why: str) -> None:
        path = "/".join(filter(None, (write.kind, write.subresource)))
        name = "/".join(filter(None, (write.namespace, write.name)))
        self._calm.warning(f"{write.verb} {path} {what}", name=name, why=why)

    async def run(self, watches: Mapping[str, Watch], election: LeaderElection | None) -> None:
        """Says when watches do not get on, and when they do again, and what leading waits for."""
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            self.look(watches, election)

    def look(self, watches: Mapping[str, Watch], election: LeaderElection | None) -> None:
        self.flush()
        problems = {kind: watch.problem for kind, watch in watches.items() if watch.problem}
        lasting = sorted(self._troubled & problems.keys())  # others may be over in a moment
        self._troubled = frozenset(problems)
        if lasting and not self._watches_fail:
            self._watches_fail = True
            kinds = ", ".join(lasting)
            self._log.warning("cannot watch", kinds=kinds, why=problems[lasting[0]])
        elif self._watches_fail and not problems:
            self._watches_fail = False
            self._log.info("watches go on")
        problem = "" if election is None or election.is_leading() else election.problem
        if problem and problem != self._waits_for:
            self._log.info("waiting to lead", why=problem)
        self._waits_for = problem
