"""Why jobs did not finish: the engine's reasons at the end of a simulation.

    undone.reasons(timeline, compiled, config)   # (("It needs 8 GPUs on one node; ...", ("a",)),)

A simulation computes no reasons while it runs. At its end, its state is planned once more, with
reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kai.engine.answer import Answer
from kai.engine.explain import reasons_to_wait
from kai.sim.stay_ends import SIMULATION_ENDS

if TYPE_CHECKING:
    from kai import _core
    from kai.sim.timeline import Timeline, Undone

__all__ = ["reasons"]

RUNS = "It still runs at the end."
IS_NEXT = "It starts in the cycle after the end."

_NAMESPACE = "sim/"  # of the pod groups of jobs that are not in the first moment


def reasons(timeline: Timeline, compiled: _core.Simulation, config: _core.Config) -> Undone:
    """Of all jobs that have arrived and not ended. Runs a cycle, unless there are none.

    Raises PolicyError if a policy of the configuration fails.
    """
    jobs = timeline.workload.jobs
    open_jobs = np.flatnonzero(timeline.unfinished)
    if not len(open_jobs):
        return ()
    waits = _waits(compiled, config)
    stays = timeline.stays
    running = set(stays["job"][stays["end"] == SIMULATION_ENDS].tolist())
    found: dict[str, list[str]] = {}
    for row in open_jobs.tolist():
        name = jobs.name[row]
        sentence = RUNS
        if row not in running:
            sentence = waits.get(name) or waits.get(_NAMESPACE + name) or IS_NEXT
        found.setdefault(sentence, []).append(name)
    by_size = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return tuple((sentence, tuple(names)) for sentence, names in by_size)


def _waits(compiled: _core.Simulation, config: _core.Config) -> dict[str, str]:
    """The reason of each waiting pod group, by its name."""
    from kai import _core
    from kai.policy.running import causes

    with causes():
        plan = _core.Session(config).plan(compiled.state(), now_ns=compiled.date_ns)
    answer = Answer(plan, input=None, now_ns=compiled.date_ns)
    return {name: sentence for sentence, names in reasons_to_wait(answer) for name in names}
