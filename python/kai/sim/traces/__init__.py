"""Workloads from files: public traces, Slurm's accounting, and YAML written by hand.

    workload = read("philly_jobs.csv")       # the format is detected from the content
    workload.source                          # the origin of its cluster and queues
    workload.problems                        # rows that were left out, and why

`read_throughputs` reads Gavel's table of job speeds on each GPU model. Needs NumPy.
"""

from kai.sim.traces.gavel import Throughputs, read_throughputs
from kai.sim.traces.reading import (
    FORMATS,
    read,
    read_all,
    read_arrivals,
    read_cluster,
    write_yaml,
)

__all__ = [
    "FORMATS",
    "Throughputs",
    "read",
    "read_all",
    "read_arrivals",
    "read_cluster",
    "read_throughputs",
    "write_yaml",
]
