"""Assigns all pods of an input to pod groups, existing and new ones (spec 6 C24-C31).

Every pod has a top owner: the pod itself, or the object at the end of its owner references. The
owner's kind decides whether all its pods form one group (a Job, a StatefulSet) or each pod its own
(a Deployment), how many start together, and the sub-groups.

KAI names a group pg-<owner>-<uid>, with -group-<index> for a replica of a LeaderWorkerSet. A
hand-written object has no uid; its group is pg-<owner>. Only if two groups would get the same name,
five letters are appended to each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys, kinds
from kai.api.names import LONGEST_NAME, fitting
from kai.api.owning import Key, Manifest, Owners
from kai.api.reading import annotations_of, at, labels_of, text
from kai.grouping import gangs
from kai.grouping.gangs import gang_of
from kai.grouping.owners import Owner, key_of, top_owner_in
from kai.grouping.parts import Gang
from kai.grouping.pod_groups import Rules, named_queue, pod_group
from kai.grouping.replicas import InvalidField


@dataclass(frozen=True, slots=True)
class Problem:
    """A pod that cannot be grouped, and the cause."""

    pod: Manifest
    field: str
    message: str


@dataclass(slots=True)
class Grouped:
    """New pod groups, the group of every pod that needs one, and the pods that cannot be
    grouped."""

    pod_groups: list[dict[str, Any]] = field(default_factory=list)
    group_of_pod: dict[str, str] = field(default_factory=dict)  # by "namespace/name"
    sub_group_of_pod: dict[str, str] = field(default_factory=dict)  # only pods in a sub-group
    problems: list[Problem] = field(default_factory=list)
    unknown_gangs: set[Key] = field(default_factory=set)  # owners whose gang is not known
    without_queue: set[Key] = field(default_factory=set)  # owners for which no queue is named


def group(
    pods: Sequence[Manifest],
    workloads: Mapping[Key, Manifest],
    existing_groups: Iterable[Manifest],
    rules: Rules,
    *,
    scheduler: str = keys.SCHEDULER_NAME,
) -> Grouped:
    """Groups the pods of a scheduler that belong to no pod group of the input."""
    # A leader owns its workers.
    owners = Owners({**{key_of("Pod", pod): pod for pod in pods}, **workloads})
    existing = {kinds.full_name(each).rpartition("/")[2] for each in existing_groups}
    result = Grouped()
    named: dict[tuple[str, str], list[tuple[Owner, Manifest]]] = {}  # namespace, annotation
    owned: dict[tuple[Key, str], list[tuple[Owner, Manifest]]] = {}  # owner and replica
    for pod in pods:
        if at(pod, "spec", "schedulerName") != scheduler:
            continue
        try:
            owner = top_owner_in(pod, owners)
        except InvalidField as error:
            result.problems.append(Problem(pod, error.field, error.message))
            continue
        given = text(annotations_of(pod).get(keys.POD_GROUP_ANNOTATION))
        if given in existing:
            continue
        if given:
            # The input lacks the group that the pod names. It is created again, without its
            # minimum.
            named.setdefault((at(pod, "metadata", "namespace"), given), []).append((owner, pod))
        elif _skips_grouper(pod, owner):
            if at(pod, "status", "phase") == "Pending" and not at(pod, "spec", "nodeName"):
                where = f"metadata.annotations[{keys.SKIP_GROUPER_ANNOTATION}]"
                problem = "requests that no pod group is created for it, and names none"
                result.problems.append(Problem(pod, where, problem))
        else:
            owned.setdefault((owner.key, owner.replica), []).append((owner, pod))

    for (_, name), members in sorted(named.items()):
        _make(result, name, members, rules)
    wanted = Counter(members[0][0].group_name for members in owned.values())
    for (key, _), members in sorted(owned.items(), key=lambda item: item[0]):
        owner = members[0][0]
        name = owner.group_name
        if owner.uid and name in existing:  # KAI created it, and its pods lost the annotation
            _make(result, name, members, rules, exists=True)
            continue
        if wanted[name] > 1 or name in existing:
            import hashlib  # importing it takes longer than grouping a small cluster

            end = "-" + hashlib.sha256("/".join(key).encode()).hexdigest()[:5]
            name = fitting(name, LONGEST_NAME - len(end)) + end
        _make(result, name, members, rules)
    return result


def _make(
    result: Grouped,
    name: str,
    members: list[tuple[Owner, Manifest]],
    rules: Rules,
    *,
    exists: bool = False,
) -> None:
    """Creates a group for these pods; an existing group is not changed (spec 4 C2)."""
    pods = [pod for _, pod in members]
    if not exists and all(at(pod, "status", "phase") in ("Succeeded", "Failed") for pod in pods):
        return
    owner, first = min(members, key=lambda member: _age(member[1]))
    try:
        gang = gang_of(owner, pods)
    except InvalidField as error:
        result.problems += [Problem(pod, error.field, error.message) for pod in pods]
        return
    if not exists:
        result.pod_groups.append(pod_group(name, owner, first, gang, rules))
        if not named_queue(owner, labels_of(first), rules):
            result.without_queue.add((owner.described or owner.reference)[1:4])
        if _is_unknown(owner):
            result.unknown_gangs.add(owner.key)
    for pod in pods:
        _assign(result, name, gang, pod)


def _is_unknown(owner: Owner) -> bool:
    """Whether the input does not tell how many pods of this owner start together."""
    if gangs.KNOWN.get(owner.key[0]) is not None:
        return not owner.manifest
    return owner.row.makes_pods is False or owner.row is kinds.known("")


def _assign(result: Grouped, name: str, gang: Gang, pod: Manifest) -> None:
    try:
        sub_group = gang.sub_group_of(pod)
    except InvalidField as error:
        result.problems.append(Problem(pod, error.field, error.message))
        return
    result.group_of_pod[kinds.full_name(pod)] = name
    if sub_group:
        result.sub_group_of_pod[kinds.full_name(pod)] = sub_group


def _skips_grouper(pod: Manifest, owner: Owner) -> bool:
    key = keys.SKIP_GROUPER_ANNOTATION
    return "true" in (annotations_of(pod).get(key), owner.annotations.get(key))


def _age(pod: Manifest) -> tuple[str, str]:
    return (text(at(pod, "metadata", "creationTimestamp")), kinds.full_name(pod))
