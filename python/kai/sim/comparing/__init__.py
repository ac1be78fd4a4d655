"""Compares policies on the same jobs and failures, with an interval: `kai.compare` and `kai.sweep`.

done = kai.compare("base.yaml", "variant.yaml", workload="jobs.csv", seeds=20)
print(done)                     # a table, and notes on how to read it
done.verdict                    # "better", "worse" or "cannot tell"

found = kai.sweep({"nodes.a100.count": [40, 50, 60]}, "jobs.csv", executor="processes")
found.to_pandas()
"""

from kai.sim.comparing.comparison import Comparison, compare
from kai.sim.comparing.findings import MetricComparison
from kai.sim.comparing.on_ray import RayExecutor
from kai.sim.comparing.sides import Side
from kai.sim.comparing.sweeping import Sweep, sweep

__all__ = [
    "Comparison",
    "MetricComparison",
    "RayExecutor",
    "Side",
    "Sweep",
    "compare",
    "sweep",
]
