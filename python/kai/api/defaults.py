"""What exists in a cluster though no file says so.

A hand-written manifest names a priority class that the chart installed, or no queue at all. So
manifests start from these objects, and an object of the same name takes their place. A snapshot
never does: there, what is absent is absent.
"""

from typing import Any

from kai.api import keys

DEFAULT_QUEUE = "default-queue"
DEFAULT_PARENT_QUEUE = "default-parent-queue"

TRAIN = "train"
"""Priority class of a pod group that names none (spec 6 C27)."""
INFERENCE = "inference"
BUILD = "build"

PRIORITIES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""The chart's priority classes (spec 5 A65)."""

SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Those of Kubernetes itself."""


def queues() -> list[dict[str, Any]]:
    """The chart's two queues (spec 5 A64): no quota, no limit, a share of what is left over."""
    return [_queue(DEFAULT_PARENT_QUEUE, None), _queue(DEFAULT_QUEUE, DEFAULT_PARENT_QUEUE)]


def priority_classes() -> list[dict[str, Any]]:
    """The chart's four priority classes and the two of Kubernetes."""
    return [priority_class(name, value) for name, value in (PRIORITIES | SYSTEM_PRIORITIES).items()]


def priority_class(name: str, value: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"priority-class-{name}"}, "value": value}


def _queue(name: str, parent: str | None) -> dict[str, Any]:
    share = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    spec: dict[str, Any] = {"resources": {r: dict(share) for r in ("gpu", keys.CPU, keys.MEMORY)}}
    if parent:
        spec["parentQueue"] = parent
    return {"metadata": {"name": name, "uid": f"queue-{name}"}, "spec": spec}


def scheduler_params() -> dict[str, Any]:
    """KAI's command line settings at their defaults (spec 2 L3).

    A snapshot without the object means these; one *with* it means zero for every member it lacks,
    so whoever changes one has to write down all.
    """
    second = 1_000_000_000
    return {
        "schedulerName": keys.SCHEDULER_NAME,
        "partitionParams": {"NodePoolLabelKey": keys.NODE_POOL_LABEL, "NodePoolLabelValue": ""},
        "maxNumberConsolidationPreemptees": 16,
        "useSchedulingSignatures": True,
        "fullHierarchyFairness": True,
        "allowConsolidatingReclaim": True,
        "numOfStatusRecordingWorkers": 5,
        "globalDefaultStalenessGracePeriod": 60 * second,
        "schedulePeriod": second,
        "stuckInReleasingThreshold": 120 * second,
        "queueLabelKey": keys.QUEUE_LABEL,
    }
