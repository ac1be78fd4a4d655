"""Why a pod left its node, and events of nodes: codes in a `Timeline`, in their order."""

__all__ = ["EVICTED", "NODE_EVENTS", "SIMULATION_ENDS", "STAY_ENDS"]

STAY_ENDS = (
    "finished",
    "reclaimed",
    "preempted",
    "consolidated",
    "stale",
    "node_gone",
    "simulation_ends",
    "drained",
    "resized",
    "was_leaving",
)
EVICTED = (1, 2, 3, 4, 5, 7, 9)  # codes of ends before the pod's work was done
SIMULATION_ENDS = 6
NODE_EVENTS = ("ordered", "ready", "removed", "cordoned", "uncordoned")
