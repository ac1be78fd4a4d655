"""The Python API of a scheduling cycle: a Cluster and a Scheduler give a Plan."""
