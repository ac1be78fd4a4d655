"""Virtual time: workloads, their simulation, and artificial clusters.

    timeline = kai.simulate(kai.sim.read("jobs.csv"))
    timeline.plot.queues()

>>> import kai
>>> workload = kai.sim.generate(seed=1, days=2, queues={"vision": 1, "speech": 1})
>>> workload
<made-up-1: 342 jobs on 64 GPUs>

Jobs, queues and nodes come from a file (``read``), from random numbers (``generate``, ``fit``), or
one by one (``Workload.of``). The names in ``__all__`` are imported at their first use, because
simulations need NumPy.

``step`` applies one cycle's plan to a cluster and returns the cluster for the next cycle;
`kai.sim.events` computes the events between the two. `kai.sim.workloads` creates clusters of any
size, which `kai.sim.bench` measures. ``fair_shares`` gives the answers of KAI's fair-share
simulator.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kai.sim import plot as plot
    from kai.sim.fair_share import fair_shares
    from kai.sim.generators import Quantiles, fit, generate
    from kai.sim.metrics import Metrics
    from kai.sim.simulate import Failures, Life, Outage, QueueChange
    from kai.sim.timeline import Timeline
    from kai.sim.traces import read, write_yaml
    from kai.sim.variants import bootstrap, scaled, with_estimates
    from kai.sim.workload import Job, Jobs, NodePool, Queue, Workload
    from kai.sim.world import step

__all__ = [
    "Failures",
    "Job",
    "Jobs",
    "Life",
    "Metrics",
    "NodePool",
    "Outage",
    "Quantiles",
    "Queue",
    "QueueChange",
    "Timeline",
    "Workload",
    "bootstrap",
    "fair_shares",
    "fit",
    "generate",
    "read",
    "scaled",
    "step",
    "with_estimates",
    "write_yaml",
]

_HOME = {
    "kai.sim.fair_share": ("fair_shares",),
    "kai.sim.generators": ("Quantiles", "fit", "generate"),
    "kai.sim.metrics": ("Metrics",),
    "kai.sim.simulate": ("Failures", "Life", "Outage", "QueueChange"),
    "kai.sim.timeline": ("Timeline",),
    "kai.sim.traces": ("read", "write_yaml"),
    "kai.sim.variants": ("bootstrap", "scaled", "with_estimates"),
    "kai.sim.workload": ("Job", "Jobs", "NodePool", "Queue", "Workload"),
    "kai.sim.world": ("step",),
}

if not TYPE_CHECKING:  # # so that a type checker still finds a mistyped name

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for module, names in _HOME.items():
            if name in names:
                value = globals()[name] = getattr(import_module(module), name)
                return value
        if name == "plot":
            return import_module("kai.sim.plot")
        raise AttributeError(f"module 'kai.sim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "plot", *(name for name in globals() if name.startswith("__"))})
