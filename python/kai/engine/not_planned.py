"""Pods and workloads that are in no pod group of a plan, and why.

why_not_planned(plan, "ml/train")      # "ml/train-0 has ended: Succeeded."
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kai.api.reading import at, objects
from kai.engine import text

if TYPE_CHECKING:
    from kai.engine.answer import Answer
    from kai.engine.cluster import Cluster

Manifest = Mapping[str, Any]


def why_not_planned(plan: Answer, name: str) -> str | None:
    """Why the pod of this name, or the workload and its pods, are in no pod group.

    The namespace may be omitted. None: the name is that of a pod group, or the objects of the plan
    do not have it.
    """
    if plan.situation.find_groups(name):
        return None
    if waits := plan.elsewhere.of(name):
        return waits
    cluster = plan._objects
    if cluster is None:
        return None
    for workload, why in cluster._without_pods.items():
        if _is_named(workload.rpartition(" ")[2], name):
            return f"{workload} has no pods to plan: {why}."
    return _of_pods(cluster, name, plan.elsewhere.scheduler)


def _of_pods(cluster: Cluster, name: str, scheduler: str) -> str | None:
    """For the first cause of these pods."""
    causes: dict[str, list[str]] = {}
    for key, pod in cluster._all("Pod").items():
        if _is_of(key, pod, name):
            phase = at(pod, "status", "phase")
            named = str(at(pod, "spec", "schedulerName") or "default-scheduler")
            if phase in ("Succeeded", "Failed"):
                causes.setdefault(f"ended: {phase}", []).append(key)
            elif named != scheduler:
                why = f"not planned: schedulerName is {named}, and this plan is for {scheduler}"
                causes.setdefault(why, []).append(key)
    for cause, pods in causes.items():
        one, several = ("has", "have") if cause.startswith("ended") else ("is", "are")
        return f"{text.listing(pods)} {one if len(pods) == 1 else several} {cause}."
    return None


def _is_of(key: str, pod: Manifest, name: str) -> bool:
    """Whether the pod has this name, or its owner has it or a name that begins with it."""
    if _is_named(key, name):
        return True
    namespace, _, _ = key.rpartition("/")
    return any(
        _is_named(owner, name) or (each.get("kind") == "ReplicaSet" and _is_named(made, name))
        for each in objects(at(pod, "metadata", "ownerReferences"))
        for owner in [f"{namespace}/{each.get('name')}"]
        for made in [owner.rpartition("-")[0]]
    )


def _is_named(key: str, name: str) -> bool:
    """Whether "namespace/name" is this name, with or without the namespace."""
    return name in (key, key.rpartition("/")[2])
