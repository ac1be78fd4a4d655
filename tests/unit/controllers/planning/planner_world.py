"""A planner with a cluster that a test changes, and objects for it."""

from typing import Any, Literal

from fakes import objects
from fakes.objects import Object, queue
from fakes.watches import Watches
from kai.controllers.planning.core import make_core
from kai.controllers.planning.kinds import needed_by
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs, Turn

START_NS = 1_800_000_000_000_000_000


def pod(name: str, group: str = "g", uid: str = "", **more: Any) -> Object:
    return objects.pod(name, group, uid=uid or f"uid-{name}", **more)


class World:
    """A planning thread and its API server."""

    def __init__(
        self,
        options: PlanningOptions | None = None,
        *,
        binding: Literal["direct", "bind-requests"] = "direct",
        **lists: list[dict[str, Any]],
    ) -> None:
        options = options or PlanningOptions(roles=("scheduler",), binding=binding)
        self.core = make_core(options)
        self.changed: list[str] = []
        self.planner = Planner(self.core, options, self.changed.extend)
        self.now_ns = START_NS
        self.watches = Watches(self.core.feed, self.planner.sinks())
        self.event = self.watches.event
        queues = [queue("top"), queue("leaf", "top")]
        for kind in sorted(needed_by(options.roles)):
            self.watches.list(kind, lists.get(kind, queues if kind == "Queue" else []))

    def turn(self, after: float = 0.0, **inputs: Any) -> Turn:
        self.now_ns += int(after * 1e9)
        return self.planner.turn(Inputs(now_ns=self.now_ns, **inputs))


def places(turn: Turn) -> dict[str, str]:
    return {each.pod: each.node for each in turn.bindings}


def victims(turn: Turn) -> list[str]:
    return [each.order.pod for each in turn.removals]
