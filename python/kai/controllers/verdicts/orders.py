"""The bindings and evictions of a plan, as writes that identify the pod by its UID."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kai.api import keys
from kai.api.resources import new_object
from kai.api.writes import Lane, Write, delete_options
from kai.controllers.verdicts.facts import Event, Seen, split
from kai.engine.outlines import groups_named
from kai.engine.plan import Plan
from kai.engine.values import second

How = Literal["delete", "evict"]
"""A plain DELETE, or the eviction API, which respects PodDisruptionBudgets."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """One pod to evict. `together`: the number of pods of its group with the same reason."""

    pod: str
    uid: str
    action: str
    message: str
    group: str = ""
    for_group: str | None = None
    together: int = 1
    at: str = ""
    """the time stamp for its group; "": none (a stale gang)"""

    def event(self, group_uid: str) -> Event:
        """The event on the pod group (spec 5 A57)."""
        annotations = {
            "num-evicted-pods": str(self.together),
            "evictor-action-type": self.action,
        }
        if self.for_group is not None:
            namespace, own = split(self.for_group)
            annotations["evictor-pod-group-name"] = own
            annotations["evictor-pod-group-namespace"] = namespace
        namespace, own = split(self.group)
        return Event(
            *("PodGroup", namespace, own, group_uid, "Normal", "Evict", self.message),
            annotations=annotations,
        )

    def refusal(self, group: str, group_uid: str, why: str) -> Event:
        """The event on the pod group that waits for the pod's resources."""
        namespace, own = split(group)
        text = f"Pod {self.pod} was not evicted: {why}"
        return Event("PodGroup", namespace, own, group_uid, "Warning", "EvictionRefused", text)

    @property
    def waits(self) -> str:
        """The pod group that takes the pod's resources; its own if none does."""
        return self.for_group or self.group

    def write(self, how: How = "delete", *, dry_run: bool = False) -> Write:
        """The request that deletes this pod, and no other pod of its name.

        `dry_run`: the API server only checks whether it would accept the request.
        """
        namespace, own = split(self.pod)
        options = delete_options(self.uid)
        if dry_run:
            options["dryRun"] = ["All"]
        if how == "delete":
            return Write(Lane.EVICTION, "delete", "Pod", namespace, own, options, about=self)
        metadata = {"name": own, "namespace": namespace}
        body = new_object("Eviction", metadata, api_version="policy/v1", deleteOptions=options)
        return Write(Lane.EVICTION, "create", "Pod", namespace, own, body, "eviction", about=self)


def evictions(plan: Plan, seen: Seen) -> list[Eviction]:
    """The evictions of a plan, in order, without pods that are gone.

    Raises KeyError for a pod whose group in `seen` is missing in the plan.
    """
    found = []
    counts: Counter[tuple[str, str, str | None]] = Counter()
    for each in plan.evictions:
        pod = seen.pod(each.pod)
        if pod is not None:
            found.append((each, pod))
            counts[pod.group, each.action, each.for_group] += 1
    stamps = {}
    for group in groups_named(plan, sorted({pod.group for _, pod in found})):
        last = group.writes.last_eviction
        stamps[group.name] = "" if last is None else second(last)
    return [
        Eviction(
            each.pod,
            pod.uid,
            each.action,
            each.message,
            pod.group,
            each.for_group,
            counts[pod.group, each.action, each.for_group],
            stamps[pod.group],
        )
        for each, pod in found
    ]


def binding(
    pod: str,
    uid: str,
    node: str,
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    about: Any = None,
) -> Write:
    """Binds the pod with this UID. The API server copies the annotations to it, and from Kubernetes
    1.35 on also the labels."""
    namespace, own = split(pod)
    metadata: dict[str, Any] = {"name": own, "namespace": namespace, "uid": uid}
    if annotations:
        metadata["annotations"] = dict(annotations)
    if labels:
        metadata["labels"] = dict(labels)
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = new_object("Binding", metadata, api_version="v1", target=target)
    return Write(Lane.BINDING, "create", "Pod", namespace, own, body, "binding", about=about)


def counted(eviction: Eviction, group_uid: str, node_pool: str) -> dict[str, str]:
    """Labels of `pod_group_evicted_pods_total`."""
    namespace, own = split(eviction.group)
    return {
        "podgroup": own,
        "namespace": namespace,
        "uid": group_uid,
        "nodepool": node_pool,
        "action": eviction.action,
    }


LAST_EVICTION = keys.LAST_EVICTION_ANNOTATION
