"""Pod groups for the pods that have none, as KAI's grouper would make them (spec 6 §6.4).

Every pod has a top owner: itself, or what its owner references lead to. The owner's kind says
whether all its pods are one group (a Job, a StatefulSet) or each its own (a Deployment), and how
many have to start together; its labels, then those of the pod, say the queue and the priority.

KAI names a group pg-<owner>-<uid>. Hand-written objects have no uid, and then the name is
pg-<owner>; only when two groups would get the same name, each gets five more letters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import defaults, keys, kinds
from kai.api.reading import annotations_of, at, first_text, labels_of, text

Manifest = Mapping[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name


@dataclass(frozen=True, slots=True)
class Owner:
    """The object a group is named after: known from the input, or from a reference alone."""

    key: Key
    uid: str  # "" when the object was written by hand
    manifest: Manifest
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]
    priority_class: str = defaults.TRAIN  # when neither it nor its pods name one

    @property
    def group_name(self) -> str:
        return f"pg-{self.key[2]}" + (f"-{self.uid}" if self.uid else "")


@dataclass(frozen=True, slots=True)
class Problem:
    """A pod that cannot be grouped, and why."""

    pod: Manifest
    field: str
    message: str


@dataclass(slots=True)
class Grouped:
    """New pod groups, the group name of every pod that needs one, and pods without one."""

    pod_groups: list[dict[str, Any]] = field(default_factory=list)
    group_of_pod: dict[str, str] = field(default_factory=dict)  # by "namespace/name"
    problems: list[Problem] = field(default_factory=list)
    owners: list[Key] = field(default_factory=list)  # of the new groups


def group(
    pods: Iterable[Manifest],
    workloads: Mapping[Key, Manifest],
    existing_groups: Iterable[Manifest],
    priority_classes: Iterable[str],
) -> Grouped:
    """Groups the pods of kai-scheduler that belong to no pod group of the input."""
    existing = {kinds.full_name(each).rpartition("/")[2] for each in existing_groups}
    classes = frozenset(priority_classes)
    result = Grouped()
    named: dict[tuple[str, str], list[tuple[Owner, Manifest]]] = {}  # namespace, annotation
    owned: dict[Key, list[tuple[Owner, Manifest]]] = {}
    for pod in pods:
        if at(pod, "spec", "schedulerName") != keys.SCHEDULER_NAME:
            continue
        owner = _owner(pod, workloads)
        given = text(annotations_of(pod).get(keys.POD_GROUP_ANNOTATION))
        if given in existing:
            continue
        if given:
            # The group was not part of what somebody saved: made again, without its minimum.
            named.setdefault((at(pod, "metadata", "namespace"), given), []).append((owner, pod))
        elif _skips_grouper(pod, owner):
            if at(pod, "status", "phase") == "Pending" and not at(pod, "spec", "nodeName"):
                where = f"metadata.annotations[{keys.SKIP_GROUPER_ANNOTATION}]"
                said = "asks that no pod group be made for it, and it names none"
                result.problems.append(Problem(pod, where, said))
        else:
            owned.setdefault(owner.key, []).append((owner, pod))

    for (_, name), members in sorted(named.items()):
        _make(result, name, members, classes)
    wanted = Counter(members[0][0].group_name for members in owned.values())
    for key, members in sorted(owned.items()):
        owner = members[0][0]
        name = owner.group_name
        if owner.uid and name in existing:  # KAI made it, and its pods lost the annotation
            _assign(result, name, members)
            continue
        if wanted[name] > 1 or name in existing:
            name += "-" + hashlib.sha256("/".join(key).encode()).hexdigest()[:5]
        _make(result, name, members, classes)
    return result


def _make(
    result: Grouped,
    name: str,
    members: list[tuple[Owner, Manifest]],
    classes: frozenset[str],
) -> None:
    if all(at(pod, "status", "phase") in ("Succeeded", "Failed") for _, pod in members):
        return
    owner, first = min(members, key=lambda member: _age(member[1]))
    try:
        result.pod_groups.append(_pod_group(name, owner, first, classes))
    except ValueError as error:
        where = f"metadata.annotations[{keys.BATCH_MIN_MEMBER_ANNOTATION}]"
        result.problems += [Problem(pod, where, str(error)) for _, pod in members]
    else:
        result.owners.append(owner.key)
        _assign(result, name, members)


def _assign(result: Grouped, name: str, members: Iterable[tuple[Owner, Manifest]]) -> None:
    for _, pod in members:
        result.group_of_pod[kinds.full_name(pod)] = name


def _owner(pod: Manifest, workloads: Mapping[Key, Manifest]) -> Owner:
    """What the pod is grouped by: where its first owner references end, or itself (C25-C28)."""
    namespace = text(at(pod, "metadata", "namespace"))
    key: Key = ("Pod", namespace, text(at(pod, "metadata", "name")))
    chain = [_as_owner(key, text(at(pod, "metadata", "uid")), pod)]
    while len(chain) < 10 and (reference := _first_owner(chain[-1].manifest)):
        key = (text(reference.get("kind")), namespace, text(reference.get("name")))
        found = workloads.get(key, {})
        uid = first_text(at(found, "metadata", "uid"), reference.get("uid"))
        chain.append(_as_owner(key, uid, found))
    top = chain[-1]
    kind = top.key[0]
    if kind == "CronJob" and len(chain) > 2:
        return chain[-2]  # each run is a group of its own
    if kind == "Deployment" or (
        kind == "ReplicaSet" and keys.POD_TEMPLATE_HASH_LABEL in labels_of(pod)
    ):
        # Each pod is a group of its own, with what the Deployment says.
        said = (
            {**labels_of(pod), **top.labels},
            {**annotations_of(pod), **top.annotations},
        )
        return Owner(chain[0].key, chain[0].uid, pod, *said, defaults.INFERENCE)
    return top


def _as_owner(key: Key, uid: str, manifest: Manifest) -> Owner:
    said = (dict(labels_of(manifest)), dict(annotations_of(manifest)))
    return Owner(key, uid, manifest, *said, _PRIORITY_OF_KIND.get(key[0], defaults.TRAIN))


_PRIORITY_OF_KIND = {"Notebook": "build", "Service": defaults.INFERENCE}


def _first_owner(manifest: Manifest) -> Manifest | None:
    references = at(manifest, "metadata", "ownerReferences")
    first = references[0] if isinstance(references, list) and references else None
    return first if isinstance(first, Mapping) else None


def _pod_group(name: str, owner: Owner, pod: Manifest, classes: frozenset[str]) -> dict[str, Any]:
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
    if created := first_text(
        at(owner.manifest, "metadata", "creationTimestamp"),
        at(pod, "metadata", "creationTimestamp"),
    ):
        metadata["creationTimestamp"] = created

    spec: dict[str, Any] = {
        "queue": _queue(owner, pod),
        "minMember": _min_member(owner),
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
    if topology := {
        member: said
        for member, key in (
            ("topology", keys.TOPOLOGY_ANNOTATION),
            ("requiredTopologyLevel", keys.TOPOLOGY_REQUIRED_ANNOTATION),
            ("preferredTopologyLevel", keys.TOPOLOGY_PREFERRED_ANNOTATION),
        )
        if (said := text(owner.annotations.get(key)))
    }:
        spec["topologyConstraint"] = topology
    return {"metadata": metadata, "spec": spec}


_KEPT_LABELS = (keys.NODE_POOL_LABEL, keys.QUEUE_LABEL)


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


def _min_member(owner: Owner) -> int:
    """1, but a Job may say how many of its pods have to start together."""
    said = owner.annotations.get(keys.BATCH_MIN_MEMBER_ANNOTATION)
    from_cron = (_first_owner(owner.manifest) or {}).get("kind") == "CronJob"
    if said is None or owner.key[0] != "Job" or from_cron:
        return 1
    if not str(said).isdecimal():
        raise ValueError(f"is {said!r} on Job {owner.key[2]}, not a number of pods")
    return int(str(said))


def _skips_grouper(pod: Manifest, owner: Owner) -> bool:
    key = keys.SKIP_GROUPER_ANNOTATION
    return "true" in (annotations_of(pod).get(key), owner.annotations.get(key))


def _age(pod: Manifest) -> tuple[str, str]:
    return (text(at(pod, "metadata", "creationTimestamp")), kinds.full_name(pod))
