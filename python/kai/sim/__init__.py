"""Made-up clusters, and virtual time: what a cluster looks like after a plan was carried out.

``step``: one cycle's plan in, the next cycle's world out; `kai.sim.events` makes events of the two.
`kai.sim.workloads` makes clusters of any size, which `kai.sim.bench` measures.
``fair_shares``: the answers of KAI's fair-share simulator.
"""

from kai.sim.fair_share import fair_shares
from kai.sim.world import step

__all__ = ["fair_shares", "step"]
