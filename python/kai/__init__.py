"""kai: decides which pod group gets which GPUs, and explains why the others wait.

    import kai

    cluster = kai.load("snapshot.zip")        # or Kubernetes manifests, or kai.Cluster() by hand
    plan = kai.Scheduler().plan(cluster)
    print(plan)                               # decisions, queues, and the groups that wait
    print(plan.why("vision/train"))           # one pod group, in sentences

The names in ``__all__`` are public; every other name may move. Importing kai is almost free: each
name is imported at its first use, and the compiled core at the first plan.
"""

TYPE_CHECKING = False  # true for type checkers; `typing` costs milliseconds
if TYPE_CHECKING:
    from kai import integrations as integrations
    from kai import linting as linting
    from kai import policy as policy
    from kai import queues as queues
    from kai import runtime as runtime
    from kai import settings as settings
    from kai import sim as sim
    from kai import terraform as terraform
    from kai.engine.claims import ClaimAllocation, ExtendedClaim
    from kai.engine.cluster import Cluster, Rejected
    from kai.engine.config import Config, default_config
    from kai.engine.differences import GroupChange, PlanDiff, PodChange, QueueChange
    from kai.engine.fragmentation import Fragmentation, TypicalPod
    from kai.engine.frames import Frames
    from kai.engine.nodes import NodePlan, Nodes
    from kai.engine.objects import NodeOptions, PodOptions, QueueOptions
    from kai.engine.order import Order, QueueTurn, Turn
    from kai.engine.plan import Plan
    from kai.engine.queues import QueuePlan, Queues, QueueShare
    from kai.engine.scheduler import Scheduler, Wake
    from kai.engine.scores import NodeScore, Scores
    from kai.engine.timing import Phase
    from kai.engine.values import (
        Bind,
        Decision,
        Evict,
        GroupPlan,
        NumaZone,
        Pipeline,
        PodPlan,
        Reason,
        Writes,
    )
    from kai.errors import (
        BusyError,
        InvalidClusterError,
        InvalidConfigError,
        InvalidInputError,
        InvalidRequestError,
        KaiError,
        NotFoundError,
        PolicyError,
        RefusedError,
        UnreachableError,
    )
    from kai.integrations import PodSettings, pod_settings
    from kai.linting import lint
    from kai.live.connecting import Live, connect
    from kai.service import run
    from kai.settings import PodRequest
    from kai.sim.comparing import Comparison, Side, Sweep, compare, sweep
    from kai.sim.simulate import simulate
    from kai.snapshot import load, load_all

__version__ = "0.1.0"

__all__ = [
    "Bind",
    "BusyError",
    "ClaimAllocation",
    "Cluster",
    "Comparison",
    "Config",
    "Decision",
    "Evict",
    "ExtendedClaim",
    "Fragmentation",
    "Frames",
    "GroupChange",
    "GroupPlan",
    "InvalidClusterError",
    "InvalidConfigError",
    "InvalidInputError",
    "InvalidRequestError",
    "KaiError",
    "Live",
    "NodeOptions",
    "NodePlan",
    "NodeScore",
    "Nodes",
    "NotFoundError",
    "NumaZone",
    "Order",
    "Phase",
    "Pipeline",
    "Plan",
    "PlanDiff",
    "PodChange",
    "PodOptions",
    "PodPlan",
    "PodRequest",
    "PodSettings",
    "PolicyError",
    "QueueChange",
    "QueueOptions",
    "QueuePlan",
    "QueueShare",
    "QueueTurn",
    "Queues",
    "Reason",
    "RefusedError",
    "Rejected",
    "Scheduler",
    "Scores",
    "Side",
    "Sweep",
    "Turn",
    "TypicalPod",
    "UnreachableError",
    "Wake",
    "Writes",
    "__version__",
    "compare",
    "connect",
    "default_config",
    "lint",
    "load",
    "load_all",
    "pod_settings",
    "run",
    "simulate",
    "sweep",
]

_HOME = {
    "kai.engine.claims": ("ClaimAllocation", "ExtendedClaim"),
    "kai.engine.cluster": ("Cluster", "Rejected"),
    "kai.engine.config": ("Config", "default_config"),
    "kai.engine.differences": ("GroupChange", "PlanDiff", "PodChange", "QueueChange"),
    "kai.engine.fragmentation": ("Fragmentation", "TypicalPod"),
    "kai.engine.frames": ("Frames",),
    "kai.engine.nodes": ("NodePlan", "Nodes"),
    "kai.engine.objects": ("NodeOptions", "PodOptions", "QueueOptions"),
    "kai.engine.order": ("Order", "QueueTurn", "Turn"),
    "kai.engine.plan": ("Plan",),
    "kai.engine.queues": ("QueuePlan", "QueueShare", "Queues"),
    "kai.engine.scheduler": ("Scheduler", "Wake"),
    "kai.engine.scores": ("NodeScore", "Scores"),
    "kai.engine.timing": ("Phase",),
    "kai.engine.values": (
        "Bind",
        "Decision",
        "Evict",
        "GroupPlan",
        "NumaZone",
        "Pipeline",
        "PodPlan",
        "Reason",
        "Writes",
    ),
    "kai.errors": (
        "BusyError",
        "InvalidClusterError",
        "InvalidConfigError",
        "InvalidInputError",
        "InvalidRequestError",
        "KaiError",
        "NotFoundError",
        "PolicyError",
        "RefusedError",
        "UnreachableError",
    ),
    "kai.integrations": ("PodSettings", "pod_settings"),
    "kai.linting": ("lint",),
    "kai.service": ("run",),
    "kai.live.connecting": ("Live", "connect"),
    "kai.settings": ("PodRequest",),
    "kai.sim.comparing": ("Comparison", "Side", "Sweep", "compare", "sweep"),
    "kai.sim.simulate": ("simulate",),
    "kai.snapshot": ("load", "load_all"),
}

# Makes kai.runtime.detect() work after `import kai` alone.
_MODULES = (
    *("integrations", "linting", "policy", "queues"),
    *("runtime", "settings", "sim", "terraform"),
)


if not TYPE_CHECKING:  # # so that a type checker still finds a mistyped name

    def __getattr__(name: str) -> object:
        for module, names in _HOME.items():
            if name in names:
                from importlib import import_module

                value: object = getattr(import_module(module), name)
                globals()[name] = value
                return value
        if name == "_core":
            return _compiled()
        if name in _MODULES:
            from importlib import import_module

            return import_module(f"kai.{name}")
        raise AttributeError(f"module 'kai' has no attribute {name!r}")


def _compiled() -> object:
    """The compiled core. Raises ImportError with installation advice if it is missing."""
    from importlib import import_module

    try:
        return import_module("kai._core")
    except ImportError as error:
        message = f"the compiled core of kai cannot be loaded: run `make build` ({error})"
        raise ImportError(message, name="kai._core", path=error.path) from None


def __dir__() -> list[str]:
    of_python = (name for name in globals() if name.startswith("__"))
    return sorted({*__all__, *_MODULES, *of_python})
