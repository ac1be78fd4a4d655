"""The PodGroup of an owner and its pods, as KAI's grouper would make it (spec 6 C27).

The owner's labels, then those of the pod, say the queue and the priority; its annotations say where
in a topology the group has to be; its gang says how many pods start together, and in which parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import defaults, keys
from kai.api.reading import annotations_of, at, first_text, labels_of, text
from kai.grouping import segments
from kai.grouping.gangs import Gang
from kai.grouping.owners import Manifest, Owner


def pod_group(
    name: str, owner: Owner, pod: Manifest, gang: Gang, classes: frozenset[str]
) -> dict[str, Any]:
    """The manifest of a group of this name.

    pod: the oldest of the group, for what the owner does not say. classes: the PriorityClasses that
    exist; a name that is not among them is as if it were not there.
    """
    kind, namespace, owner_name = owner.key
    described = f"name: {owner_name}\nuid: {owner.uid}\nkind: {kind}\n"
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "annotations": {keys.TOP_OWNER_ANNOTATION: described},
    }
    kept = {key: _said(key, owner.labels, labels_of(pod)) for key in _KEPT_LABELS}
    if kept := {key: said for key, said in kept.items() if said}:
        metadata["labels"] = kept
    for key in _KEPT_ANNOTATIONS:
        if said := text(owner.annotations.get(key)):
            metadata["annotations"][key] = said
    if created := first_text(
        at(owner.manifest, "metadata", "creationTimestamp"),
        at(pod, "metadata", "creationTimestamp"),
    ):
        metadata["creationTimestamp"] = created

    spec: dict[str, Any] = {
        "queue": _queue(owner, pod),
        "minMember": gang.min_member,
        "priorityClassName": _priority_class(owner, pod, classes),
    }
    for member, key in (
        ("preemptionDelay", keys.PREEMPTION_DELAY_ANNOTATION),
        ("stalenessGracePeriod", keys.STALENESS_ANNOTATION),
    ):
        if said := _said(key, owner.annotations, annotations_of(pod)):
            spec[member] = said
    preemptibility = _said(keys.PREEMPTIBILITY_LABEL, owner.labels, labels_of(pod)).lower()
    if preemptibility in ("preemptible", "non-preemptible"):
        spec["preemptibility"] = preemptibility
    said_of_nodes = (text(owner.annotations.get(key)) for key in keys.TOPOLOGY)
    if constraint := segments.constraint_of(*said_of_nodes):
        spec["topologyConstraint"] = constraint  # spec 4 C2
    if gang.sub_groups:
        spec["subGroups"] = list(gang.sub_groups)
    return {"metadata": metadata, "spec": spec}


_KEPT_LABELS = (keys.NODE_POOL_LABEL, keys.QUEUE_LABEL)
_KEPT_ANNOTATIONS = (
    keys.MIN_DOMAINS_ANNOTATION,
    keys.MAX_DOMAINS_ANNOTATION,
    keys.BALANCED_DOMAINS_ANNOTATION,
)


def _said(key: str, *places: Mapping[str, Any]) -> str:
    """What the first of these labels or annotations says."""
    return first_text(*(place.get(key) for place in places))


def _queue(owner: Owner, pod: Manifest) -> str:
    if said := _said(keys.QUEUE_LABEL, owner.labels, labels_of(pod)):
        return said
    project = _said(keys.PROJECT_LABEL, owner.labels, labels_of(pod))
    if not project:
        return defaults.DEFAULT_QUEUE
    pool = text(labels_of(pod).get(keys.NODE_POOL_LABEL))
    return f"{project}-{pool}" if pool else project


def _priority_class(owner: Owner, pod: Manifest, classes: frozenset[str]) -> str:
    """The first class named that exists; else the one of the owner's kind."""
    named = (
        owner.labels.get(keys.PRIORITY_CLASS_LABEL),
        labels_of(pod).get(keys.PRIORITY_CLASS_LABEL),
        at(pod, "spec", "priorityClassName"),
    )
    return next((text(said) for said in named if text(said) in classes), owner.priority_class)
