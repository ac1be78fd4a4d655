"""kai: who gets which GPU, and why the others wait.

    import kai

    cluster = kai.load("snapshot.zip")        # or Kubernetes manifests, or kai.Cluster() by hand
    plan = kai.Scheduler().plan(cluster)
    print(plan)                               # decisions, queues, and who waits
    print(plan.why("vision/train"))           # one pod group, in sentences

The names listed in ``__all__`` are the public ones; everything else may move. Importing kai costs
next to nothing: each name is imported by its first use, and the compiled core by the first plan.
"""

TYPE_CHECKING = False  # what type checkers take for true; `typing` itself would cost milliseconds
if TYPE_CHECKING:
    from kai.engine.claims import ClaimAllocation, ExtendedClaim
    from kai.engine.cluster import Cluster, Rejected
    from kai.engine.config import Config, default_config
    from kai.engine.plan import Plan
    from kai.engine.queues import QueuePlan, Queues, QueueShare
    from kai.engine.scheduler import Scheduler, Wake
    from kai.engine.values import (
        Bind,
        Decision,
        Evict,
        GroupPlan,
        NumaZone,
        Pipeline,
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
    )
    from kai.integrations import PodSettings, pod_settings
    from kai.linting import lint
    from kai.settings import PodRequest
    from kai.snapshot import load, load_all

__version__ = "0.1.0"

__all__ = [
    "Bind",
    "BusyError",
    "ClaimAllocation",
    "Cluster",
    "Config",
    "Decision",
    "Evict",
    "ExtendedClaim",
    "GroupPlan",
    "InvalidClusterError",
    "InvalidConfigError",
    "InvalidInputError",
    "InvalidRequestError",
    "KaiError",
    "NotFoundError",
    "NumaZone",
    "Pipeline",
    "Plan",
    "PodRequest",
    "PodSettings",
    "QueuePlan",
    "QueueShare",
    "Queues",
    "Reason",
    "Rejected",
    "Scheduler",
    "Wake",
    "Writes",
    "__version__",
    "default_config",
    "lint",
    "load",
    "load_all",
    "pod_settings",
]

_HOME = {
    "kai.engine.claims": ("ClaimAllocation", "ExtendedClaim"),
    "kai.engine.cluster": ("Cluster", "Rejected"),
    "kai.engine.config": ("Config", "default_config"),
    "kai.engine.plan": ("Plan",),
    "kai.engine.queues": ("QueuePlan", "QueueShare", "Queues"),
    "kai.engine.scheduler": ("Scheduler", "Wake"),
    "kai.engine.values": (
        "Bind",
        "Decision",
        "Evict",
        "GroupPlan",
        "NumaZone",
        "Pipeline",
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
    ),
    "kai.integrations": ("PodSettings", "pod_settings"),
    "kai.linting": ("lint",),
    "kai.settings": ("PodRequest",),
    "kai.snapshot": ("load", "load_all"),
}

# kai.runtime.detect() works without an import of its own.
_MODULES = ("integrations", "linting", "queues", "runtime", "settings", "terraform")


def __getattr__(name: str) -> object:
    for module, names in _HOME.items():
        if name in names:
            from importlib import import_module

            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"kai.{name}")
    raise AttributeError(f"module 'kai' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
