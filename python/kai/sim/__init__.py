"""Made-up clusters, and virtual time: what a cluster looks like after a plan was carried out.

``step``: one cycle's plan in, the next cycle's world out; `kai.sim.events` makes events of the two.
`kai.sim.workloads` makes clusters of any size, which `kai.sim.bench` measures.
"""

from kai.sim.world import step

__all__ = ["step"]
