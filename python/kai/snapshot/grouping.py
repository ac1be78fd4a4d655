"""Pod groups for the pods that have none, as KAI's grouper would make them (spec 6 §6.4).

Every pod has a top owner: itself, or what its owner references lead to. The owner's kind says
whether all its pods are one group (a Job, a StatefulSet) or each its own (a Deployment), and how
many have to start together, and in which parts (gangs.py); its labels, then those of the pod, say
the queue and the priority, and its annotations where in a topology the group has to be.

KAI names a group pg-<owner>-<uid>, with -group-<index> for a replica of a LeaderWorkerSet.
Hand-written objects have no uid, and then the name is pg-<owner>; only when two groups would get
the same name, each gets five more letters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kai.api import defaults, keys, kinds
from kai.api.reading import annotations_of, at, first_text, labels_of, text
from kai.snapshot import gangs, segments
from kai.snapshot.gangs import Gang
from kai.snapshot.workloads import Nonsense

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
    replica: str = ""  # which of its groups this is, where a replica is a group: "0", "1", ...

    @property
    def group_name(self) -> str:
        name = f"pg-{self.key[2]}" + (f"-{self.uid}" if self.uid else "")
        return name + (f"-group-{self.replica}" if self.replica else "")


@dataclass(frozen=True, slots=True)
class Problem:
    """A pod that cannot be grouped, and why."""

    pod: Manifest
    field: str
    message: str


@dataclass(slots=True)
class Grouped:
    """New pod groups, where every pod that needs one belongs, and pods without one."""

    pod_groups: list[dict[str, Any]] = field(default_factory=list)
    group_of_pod: dict[str, str] = field(default_factory=dict)  # by "namespace/name"
    sub_group_of_pod: dict[str, str] = field(default_factory=dict)  # those that are in one
    problems: list[Problem] = field(default_factory=list)
    unknown_gangs: set[Key] = field(default_factory=set)  # owners of whom more should be known


def group(
    pods: Sequence[Manifest],
    workloads: Mapping[Key, Manifest],
    existing_groups: Iterable[Manifest],
    priority_classes: Iterable[str],
) -> Grouped:
    """Groups the pods of kai-scheduler that belong to no pod group of the input."""
    owners = {**{_key("Pod", pod): pod for pod in pods}, **workloads}  # a leader owns its workers
    existing = {kinds.full_name(each).rpartition("/")[2] for each in existing_groups}
    classes = frozenset(priority_classes)
    result = Grouped()
    named: dict[tuple[str, str], list[tuple[Owner, Manifest]]] = {}  # namespace, annotation
    owned: dict[tuple[Key, str], list[tuple[Owner, Manifest]]] = {}  # and the replica
    for pod in pods:
        if at(pod, "spec", "schedulerName") != keys.SCHEDULER_NAME:
            continue
        owner = _owner(pod, owners)
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
            owned.setdefault((owner.key, owner.replica), []).append((owner, pod))

    for (_, name), members in sorted(named.items()):
        _make(result, name, members, classes)
    wanted = Counter(members[0][0].group_name for members in owned.values())
    for (key, _), members in sorted(owned.items(), key=lambda item: item[0]):
        owner = members[0][0]
        name = owner.group_name
        if owner.uid and name in existing:  # KAI made it, and its pods lost the annotation
            _make(result, name, members, classes, exists=True)
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
    *,
    exists: bool = False,
) -> None:
    """Makes a group of these pods; one that exists already stays as it is (spec 4 K32)."""
    pods = [pod for _, pod in members]
    if not exists and all(at(pod, "status", "phase") in ("Succeeded", "Failed") for pod in pods):
        return
    owner, first = min(members, key=lambda member: _age(member[1]))
    try:
        gang = _gang(owner, pods)
    except Nonsense as error:
        result.problems += [Problem(pod, error.field, error.message) for pod in pods]
        return
    if not exists:
        result.pod_groups.append(_pod_group(name, owner, first, gang, classes))
        kind = owner.key[0]
        if kinds.known(kind).makes_pods is False or (kind in gangs.KNOWN and not owner.manifest):
            result.unknown_gangs.add(owner.key)
    for pod in pods:
        _assign(result, name, gang, pod)


def _assign(result: Grouped, name: str, gang: Gang, pod: Manifest) -> None:
    try:
        sub_group = gang.sub_group_of(pod)
    except Nonsense as error:
        result.problems.append(Problem(pod, error.field, error.message))
        return
    result.group_of_pod[kinds.full_name(pod)] = name
    if sub_group:
        result.sub_group_of_pod[kinds.full_name(pod)] = sub_group


def _key(kind: str, manifest: Manifest) -> Key:
    return (
        kind,
        text(at(manifest, "metadata", "namespace")),
        text(at(manifest, "metadata", "name")),
    )


def _owner(pod: Manifest, owners: Mapping[Key, Manifest]) -> Owner:
    """What the pod is grouped by: where its first owner references end, or itself (C25-C28)."""
    key = _key("Pod", pod)
    namespace = key[1]
    chain = [_as_owner(key, text(at(pod, "metadata", "uid")), pod)]
    while len(chain) < 10 and (reference := _first_owner(chain[-1].manifest)):
        key = (text(reference.get("kind")), namespace, text(reference.get("name")))
        found = owners.get(key, {})
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
        said = (top.labels, top.annotations)
        priority = kinds.KINDS["Deployment"].priority
        return Owner(chain[0].key, chain[0].uid, pod, *said, priority)
    return _replica(pod, top, owners)


def _replica(pod: Manifest, top: Owner, owners: Mapping[Key, Manifest]) -> Owner:
    """Every replica of a LeaderWorkerSet is a group of its own (spec 4 G7).

    Its pods name it in a label, too, for inputs without the StatefulSets that stand in between.
    """
    kind = "LeaderWorkerSet"
    key: Key = (kind, top.key[1], text(labels_of(pod).get(keys.LWS_NAME_LABEL)))
    if top.key[0] != kind and (found := owners.get(key)):
        top = _as_owner(key, text(at(found, "metadata", "uid")), found)
    if top.key[0] != kind:
        return top
    index = str(labels_of(pod).get(keys.LWS_GROUP_INDEX_LABEL))
    return replace(top, replica=index) if index.isdecimal() else top


def _as_owner(key: Key, uid: str, manifest: Manifest) -> Owner:
    said = (dict(labels_of(manifest)), dict(annotations_of(manifest)))
    return Owner(key, uid, manifest, *said, kinds.known(key[0]).priority)


def _first_owner(manifest: Manifest) -> Manifest | None:
    references = at(manifest, "metadata", "ownerReferences")
    first = references[0] if isinstance(references, list) and references else None
    return first if isinstance(first, Mapping) else None


def _pod_group(
    name: str, owner: Owner, pod: Manifest, gang: Gang, classes: frozenset[str]
) -> dict[str, Any]:
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
    if constraint := segments.constraint_of(
        text(owner.annotations.get(keys.TOPOLOGY_ANNOTATION)),
        text(owner.annotations.get(keys.TOPOLOGY_REQUIRED_ANNOTATION)),
        text(owner.annotations.get(keys.TOPOLOGY_PREFERRED_ANNOTATION)),
    ):
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


def _gang(owner: Owner, pods: Sequence[Manifest]) -> Gang:
    """One pod, unless the owner's kind knows better; raises Nonsense."""
    known = gangs.gang_of(owner.key[0], owner.manifest, pods)
    return known or Gang(_min_member(owner))


def _min_member(owner: Owner) -> int:
    """1, but a Job may say how many of its pods have to start together; raises Nonsense."""
    said = owner.annotations.get(keys.BATCH_MIN_MEMBER_ANNOTATION)
    from_cron = (_first_owner(owner.manifest) or {}).get("kind") == "CronJob"
    if said is None or kinds.known(owner.key[0]).gang != "owner" or from_cron:
        return 1
    if not str(said).isdecimal():
        where = f"metadata.annotations[{keys.BATCH_MIN_MEMBER_ANNOTATION}]"
        raise Nonsense(where, f"is {said!r} on Job {owner.key[2]}, not a number of pods")
    return int(str(said))


def _skips_grouper(pod: Manifest, owner: Owner) -> bool:
    key = keys.SKIP_GROUPER_ANNOTATION
    return "true" in (annotations_of(pod).get(key), owner.annotations.get(key))


def _age(pod: Manifest) -> tuple[str, str]:
    return (text(at(pod, "metadata", "creationTimestamp")), kinds.full_name(pod))
