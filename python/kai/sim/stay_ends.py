"""Why a pod left its node: the codes of the column ``end`` of ``Timeline.stays``."""

__all__ = ["EVICTED", "STAY_ENDS"]

STAY_ENDS = (
    "finished",
    "reclaimed",
    "preempted",
    "consolidated",
    "stale",
    "node_gone",
    "simulation_ends",
)
EVICTED = (1, 2, 3, 4, 5)  # codes of ends before the pod's work was done
