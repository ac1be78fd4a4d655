"""The planner: a function from watch events and answers to decisions and writes, turn by turn.

from kai.controllers.planning.core import make_core
from kai.controllers.planning.planner import Planner
from kai.controllers.planning.turns import Inputs

planner = Planner(make_core(options), options)
turn = planner.turn(Inputs(now_ns=now_ns))        # turn.bindings, turn.writes, turn.wake_ns
"""
