"""The log of a running scheduler: its actions and its problems, in few lines.

reports = Reports(log, clock)
reports.turned(turn)                           # after every turn
reports.answered(write, outcome)               # of every write
await reports.run(watches, election)           # until it is cancelled

A line about a cycle has its number in `cycle`. With `kai run -v` each cycle has a line; otherwise
one line per second lists the pods that were bound and evicted since the last one. Warnings are for
problems that a person should check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kai.api.refusals import refusal
from kai.api.resources import RESOURCES, resource
from kai.api.writes import NOT_LEADING, Outcome, Result, Write
from kai.controllers.planning.lines import Line
from kai.controllers.verdicts.written import is_another
from kai.k8s.answers import Denial, denial
from kai.service.log import Calm, Log
from kai.service.rights import Rights, right_of

if TYPE_CHECKING:
    from kai.controllers.planning.turns import Turn
    from kai.controllers.pods.decisions import Binding
    from kai.k8s.clock import Clock
    from kai.k8s.leases import LeaderElection
    from kai.k8s.watching import Watch

LOOK_EVERY_S = 1.0
LINES_AT_ONCE = 20
"""Lines of one message at once; then as many every 10 s."""
INSTALL_KINDS = "kai install --crds-only | kubectl apply --server-side -f -"
LEASES = resource("Lease")


class Reports:
    """For the event loop."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log, self._clock = log, clock
        self.rights = Rights(log, clock.monotonic)
        self._calm = Calm(log, clock.monotonic)
        self._of_objects = Calm(log, clock.monotonic, at_once=LINES_AT_ONCE)
        self._cycle = self._bound = self._evicted = 0
        self._troubled: frozenset[str] = frozenset()  # kinds whose watches had a problem before
        self._watches_fail = False
        self._absent: tuple[str, ...] = ()  # kinds that the server does not serve
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
        """`cycle`: the cycle of the lines; 0: none. `Rights` logs missing rights."""
        for line in lines:
            if denial(str(line.fields.get("why", ""))) is not None:
                continue
            fields = {"cycle": cycle, **line.fields} if cycle else line.fields
            self._of_objects.write(replace(line, fields=fields))

    def placed(self, *, bound: int = 0, evicted: int = 0) -> None:
        """Counts bound and evicted pods."""
        self._bound += bound
        self._evicted += evicted

    def flush(self) -> None:
        """Logs the pods that are in no line yet."""
        if self._bound or self._evicted:
            placed = {"bound": self._bound, "evicted": self._evicted}
            self._log.info("pods were bound or evicted", cycle=self._cycle, **placed)
            self._bound = self._evicted = 0

    def answered(self, write: Write, outcome: Outcome, took: float = 0.0) -> None:
        """`took`: the seconds since it was sent. kai.service.refusals logs refused writes."""
        if outcome.refusal is not None:
            return
        result, why = outcome.result, outcome.message or f"HTTP status {outcome.status}"
        if result is Result.DONE or is_another(outcome):
            if self.rights and (right := right_of(write)):
                self.rights.is_there(*right, write.namespace, took=took)
        elif result is Result.LOST:
            self._log_write("got no answer; kai checks the result", write, why)
        elif result not in (Result.REFUSED, Result.FAILED) or outcome.reason == NOT_LEADING:
            return
        elif not self._is_denied(why):
            self._log_write("failed", write, why)

    def not_bound(self, binding: Binding, why: str) -> None:
        if denial(why) is None:  # otherwise the line about the write covers it
            fields = {"name": binding.pod, "node": binding.node, "why": why}
            self._calm.warning("a pod cannot be bound", **fields)

    def not_read(self, kind: str, name: str, why: str) -> None:
        if not self._is_denied(why):
            self._calm.warning(f"{kind} cannot be read", name=name, why=why)

    def read(self, kind: str, namespace: str) -> None:
        """An object was read that could not be read before."""
        if self.rights and (row := RESOURCES.get(kind)) is not None:
            self.rights.is_there("get", row.plural, row.group, namespace)

    def lost(self, why: str) -> None:
        """Another process may lead."""
        found = denial(why)
        self._log.warning("no longer leading", why=_short(found) if found else why)

    def _is_denied(self, why: str) -> bool:
        found = denial(why)
        if found is not None:
            self.rights.is_missing(found)
        return found is not None

    def _log_write(self, what: str, write: Write, why: str) -> None:
        path = "/".join(filter(None, (write.kind, write.subresource)))
        name = "/".join(filter(None, (write.namespace, write.name)))
        self._calm.warning(f"{write.verb} {path} {what}", name=name, why=why)

    async def run(self, watches: Mapping[str, Watch], election: LeaderElection | None) -> None:
        """Logs when watches fail and recover, and what becoming the leader waits for."""
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            self.look(watches, election)

    def look(self, watches: Mapping[str, Watch], election: LeaderElection | None) -> None:
        self.flush()
        problems = {kind: watch.problem for kind, watch in watches.items() if watch.problem}
        lasting = sorted(self._troubled & problems.keys())  # other problems may end in a moment
        self._troubled = frozenset(problems)
        if self.rights:
            self._find_rights(watches)
        self._look_for_kinds(watches, lasting)
        others = [
            kind
            for kind in lasting
            if not watches[kind].absent and not self._is_denied(problems[kind])
        ]
        if others and not self._watches_fail:
            self._watches_fail = True
            kinds = ", ".join(others)
            self._log.warning("cannot watch", kinds=kinds, why=problems[others[0]])
        elif self._watches_fail and not any(denial(each) is None for each in problems.values()):
            self._watches_fail = False
            self._log.info("watches continue")
        if election is not None:
            self._look_at(election)

    def _look_for_kinds(self, watches: Mapping[str, Watch], lasting: Sequence[str]) -> None:
        absent = tuple(kind for kind in lasting if watches[kind].absent)
        if set(absent) > set(self._absent):
            names = (f"{resource(kind).plural}.{resource(kind).group}" for kind in absent)
            self._log.warning(f"the cluster has no {', '.join(names)}", fix=INSTALL_KINDS)
        elif self._absent and not absent:
            self._log.info("the cluster has all kinds")
        self._absent = absent

    def _look_at(self, election: LeaderElection) -> None:
        problem, leads = election.problem, election.is_leading()
        if leads and not problem and self.rights:
            for verb in ("create", "get", "update"):
                self.rights.is_there(verb, "leases", LEASES.group, election.namespace)
        if self._is_denied(problem):
            return
        if problem and not leads and problem != self._waits_for:
            found = refusal(problem, inside=True)
            if found is None:
                self._log.info("waiting to lead", why=problem)
            else:
                self._log.warning("waiting to lead", why=found.sentence, fix=found.fix)
        self._waits_for = "" if leads else problem

    def _find_rights(self, watches: Mapping[str, Watch]) -> None:
        """Notes the rights of watches that work again."""
        for kind, watch in watches.items():
            if watch.synced and not watch.problem:
                row = resource(kind)
                for verb in ("list", "watch"):
                    self.rights.is_there(verb, row.plural, row.group)


def _short(found: Denial) -> str:
    return f"may not {found.verb} {found.resource}"
