"""Objects that exist in a cluster even if no manifest contains them.

A hand-written manifest may name a priority class that the chart installed, or name no queue at all.
Manifests are therefore read on top of these objects, and an object of the same name replaces the
default. Snapshots are complete: nothing is added to them.
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
"""The priority classes of Kubernetes itself."""


def queues() -> list[dict[str, Any]]:
    """The chart's two queues (spec 5 A64): no quota, no limit, a weight for surplus resources."""
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

    A snapshot without this object means these defaults. In a snapshot *with* it, a missing member
    means zero, so an edited object must list all members.
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
