"""The plan of a cluster in which the pods of one group have no scheduling gates.

A cycle checks no node for pods with gates, so what else is in their way shows only without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kai.api.reading import at, mapping
from kai.errors import KaiError

if TYPE_CHECKING:
    from kai.engine.answer import Answer


def plan_of(plan: Answer, pods: Iterable[str]) -> Answer | None:
    """`pods`: "namespace/name". None if none of them has gates, if the objects of the cluster are
    not known, or if the changed cluster cannot be planned."""
    cluster, origin = plan._objects, plan._origin
    if cluster is None or origin is None:
        return None
    found = [cluster._find("Pod", pod) for pod in pods]
    gated = [pod for pod in found if pod is not None and at(pod, "spec", "schedulingGates")]
    if not gated:
        return None
    changed = cluster.copy()
    for pod in gated:
        spec = {**mapping(pod["spec"]), "schedulingGates": []}
        changed.upsert({**pod, "kind": "Pod", "spec": spec})
    try:
        # What no waiting cures needs no search for pods to evict.
        answer: Answer = origin.afresh(0)(changed)
    except KaiError:
        return None
    return answer
