"""Runs a shadow beside a recorded KAI, in virtual time: no server, no clock."""

from recordings import Recording
from virtual import Moment, moments, ns_of, with_uids

from fakes.watches import Watches
from kai.controllers.planning.kinds import WATCHED
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.turns import Inputs
from kai.controllers.shadow import Compared
from kai.controllers.shadow.planner import ShadowPlanner, ShadowTurn

PERIOD_MS = 20
PHASES_MS = range(0, 1000, 100)


class Player:
    """Plans the objects from the watches as `kai run` does, at least `PERIOD_MS` apart."""

    def __init__(self) -> None:
        self.compared: list[Compared] = []
        self._planner = ShadowPlanner(PlanningOptions(roles=("scheduler",)))
        self._watches = Watches(self._planner.feed, self._planner.sinks())
        for kind in WATCHED:
            self._watches.list(kind)

    def play(self, recording: Recording, phase_ms: int) -> None:
        planned_ms, wake_ms = -PERIOD_MS, None
        now_ms = 0
        for moment in moments(recording, phase_ms):
            due_ms = max(now_ms, planned_ms + PERIOD_MS)
            while due_ms < moment.at_ms:
                wake_ms, planned_ms = self._turn(due_ms), due_ms
                if wake_ms is None:
                    break
                due_ms = max(wake_ms, planned_ms + PERIOD_MS)
            self._take(moment)
            now_ms = moment.at_ms
        self._turn(now_ms + PERIOD_MS)

    def _take(self, moment: Moment) -> None:
        found = moment.after or moment.before
        if found is None:
            return
        what = "MODIFIED" if moment.before else "ADDED"
        if moment.after is None:
            what = "DELETED"
        self._watches.event(what, moment.kind, found)

    def _turn(self, at_ms: int) -> int | None:
        """The time of the next turn if nothing else happens."""
        turn: ShadowTurn = self._planner.turn(Inputs(now_ns=ns_of(at_ms)))
        self.compared += [self._planner.explained(case) for case in turn.cases]
        return None if turn.wake_ns is None else -(-(turn.wake_ns - ns_of(0)) // 10**6)


def played(recording: Recording) -> list[Compared]:
    """Starts at the fraction of a second that fits KAI's actions best."""
    best: list[Compared] | None = None
    recording = with_uids(recording)
    for phase_ms in PHASES_MS:
        player = Player()
        player.play(recording, phase_ms)
        if best is None or _unlike(player.compared) < _unlike(best):
            best = player.compared
        if not _unlike(best):
            break
    assert best is not None
    return best


def _unlike(found: list[Compared]) -> int:
    return sum(not each.is_same for each in found)
