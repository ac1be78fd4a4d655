"""The first plan waits for all kinds that decisions depend on."""

import pytest

from fakes.watches import Watches
from kai.controllers.planning.core import make_core, not_used
from kai.controllers.planning.kinds import WATCHED, needed_by, watched_by
from kai.controllers.planning.options import PlanningOptions
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs


@pytest.mark.parametrize("late", WATCHED)
def test_no_plan_is_made_before_all_kinds_are_listed(late: str) -> None:
    """Without topologies a gang would be spread over racks, without BindRequests a pod would be
    bound twice. A kind that the cluster lacks counts as an empty list."""
    options = PlanningOptions(roles=("scheduler",), config={"plugins": {"numa": True}})
    core = make_core(options)
    planner = Planner(core, options)
    watches = Watches(core.feed)
    for kind in WATCHED:
        if kind != late:
            watches.list(kind)
    assert not planner.turn(Inputs(now_ns=1)).planned
    watches.list(late)
    assert planner.turn(Inputs(now_ns=2)).planned


def test_numa_zones_are_read_only_with_their_plugin() -> None:
    zones = "NodeResourceTopology"
    assert zones in not_used(PlanningOptions())
    assert zones not in not_used(PlanningOptions(config={"plugins": {"numa": True}}))
    assert zones not in watched_by(["scheduler"], not_used(PlanningOptions()))
    assert needed_by(["scheduler"], not_used(PlanningOptions())) == set(WATCHED) - {zones}
