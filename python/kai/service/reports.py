"""What goes wrong between the scheduler and the API server, in sentences and not too many of them.

reports = Reports(log, clock)
reports.answered(write, outcome)               # of every write
await reports.run(watches, election)           # until it is cancelled
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.service.log import Calm, Log

if TYPE_CHECKING:
    from kai.controllers.binding import Binding
    from kai.controllers.grouper import Reference
    from kai.k8s.clock import Clock
    from kai.k8s.leases import LeaderElection
    from kai.k8s.watching import Watch

LOOK_EVERY_S = 1.0


class Reports:
    """For the event loop."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self._calm = Calm(log, clock.monotonic)
        self._troubled: frozenset[str] = frozenset()  # kinds whose watches had a problem before
        self._watches_fail = False
        self._waits_for = ""

    def answered(self, write: Write, outcome: Outcome) -> None:
        result, why = outcome.result, outcome.message or f"HTTP status {outcome.status}"
        if result is Result.LOST:
            self._say("got no answer, so it is looked at", write, why)
        elif result in (Result.REFUSED, Result.FAILED) and outcome.reason != NOT_LEADING:
            self._say("failed", write, why)

    def not_bound(self, binding: Binding, why: str) -> None:
        self._calm.warning("a pod cannot be bound", name=binding.pod, node=binding.node, why=why)

    def not_read(self, binding: Binding, why: str) -> None:
        self._calm.warning("a pod cannot be read", name=binding.pod, why=why)

    def owner_not_read(self, reference: Reference, why: str) -> None:
        about = {"kind": reference.kind, "name": f"{reference.namespace}/{reference.name}"}
        self._calm.warning("an owner cannot be read", **about, why=why)

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
