"""Virtual time: what a cluster looks like after a plan was carried out.

``step`` is the whole of it for now: one cycle's plan in, the next cycle's world out.
"""

from kai.sim.world import step

__all__ = ["step"]
