"""Gangs: how many pods of a group start together, and the sub-groups (spec 6 C28).

PyTorchJobs, LeaderWorkerSets, JobSets and Ray clusters start in sub-groups. JobSets, Ray clusters
and the other training jobs have their own files. A gang here depends on the workload and on the
existing pods, in any order. KAI reads it from the latest pod, so pods with different annotations
make its group change back and forth (spec 4 W9). Here the template of the workers comes first, then
the worker with the lowest index that has the annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kai.api import keys, kinds
from kai.api.owning import Manifest
from kai.api.reading import annotations_of, at, labels_of, mapping, text, whole_number
from kai.grouping import grove, job_sets, ray, segments, training
from kai.grouping.owners import Owner, first_owner
from kai.grouping.parts import Gang, leaves
from kai.grouping.replicas import (
    InvalidField,
    min_available,
    replica_size,
    replicas_of,
    roles_of,
    whole,
)
from kai.grouping.segments import Constraint, SubGroup


def gang_of(owner: Owner, pods: Sequence[Manifest]) -> Gang:
    """The gang of these pods: minimum 1, unless the owner's kind has a rule.

    `pods` are those of one group: all of a PyTorchJob, or of one replica of a LeaderWorkerSet.
    Raises InvalidField for an invalid field of the owner or its pods.
    """
    known = KNOWN.get(owner.key[0]) if owner.row.group else None
    return known(owner, pods) if known and owner.manifest else Gang(_min_member(owner))


def _min_member(owner: Owner) -> int:
    """1, or the number of pods that a Job requires to start together. Raises InvalidField."""
    value = owner.annotations.get(keys.BATCH_MIN_MEMBER_ANNOTATION)
    from_cron = (first_owner(owner.manifest) or {}).get("kind") == "CronJob"
    if value is None or owner.row.gang != "owner" or from_cron:
        return 1
    minimum = whole_number(value)
    if minimum is None or minimum < 0:
        where = f"metadata.annotations[{keys.BATCH_MIN_MEMBER_ANNOTATION}]"
        raise InvalidField(where, f"{value!r} is not a number of pods, on Job {owner.key[2]}")
    return minimum


# ---- PyTorchJob ----------------------------------------------------------------------------------


def _pytorch_job(owner: Owner, pods: Sequence[Manifest]) -> Gang:
    """`master` and `worker`; the workers may be split into segments (spec 4 G2-G6)."""
    job = owner.manifest
    roles = roles_of(job)
    replicas = {role: replicas_of(role, spec) for role, spec in roles.items()}
    masters, workers = replicas.get("master", 0), replicas.get("worker", 0)
    elastic = mapping(at(job, "spec", "elasticPolicy"))
    at_once = sum(replicas.values())
    at_once = whole(elastic, "minReplicas", at_once, "spec.elasticPolicy.minReplicas")
    minimum = min_available(job, at_once)
    least_workers = max(0, minimum - masters)

    of_workers = [pod for pod in pods if _role(pod) == "worker"]
    template = mapping(at(roles, "worker", "template"))
    described = _Workers(template, of_workers, keys.REPLICA_INDEX_LABEL)
    size = _size_of_worker_segments(described)
    parts = [segments.leaf("master", masters)] if masters else []
    if size:
        everywhere = described.constraint(job)
        with _problem_at(_SIZE):
            parts += segments.of_workers(workers, size, least_workers, everywhere)
    elif "worker" in roles or least_workers:
        parts.append(segments.leaf("worker", least_workers))
    named = leaves(parts)

    def sub_group_of(pod: Manifest) -> str:
        role = _role(pod)
        if role == "worker" and size and "worker" not in named:
            role = segments.of_worker(_index(pod, keys.REPLICA_INDEX_LABEL, "replica"), size)
        return role if role in named else ""

    return Gang(minimum, parts, sub_group_of)


def _role(pod: Manifest) -> str:
    return text(labels_of(pod).get(keys.REPLICA_TYPE_LABEL)).lower()


_SIZE = f"metadata.annotations[{keys.SEGMENT_SIZE_ANNOTATION}]"


def _size_of_worker_segments(described: _Workers) -> int | None:
    """None: no segments (spec 4 G3). KAI divides by the 0 of a pod here (spec 4 W8)."""
    value, where = next(described.values_of(keys.SEGMENT_SIZE_ANNOTATION), (None, ""))
    if value is None:
        return None
    size = whole_number(value)
    if size is None:
        raise InvalidField(
            _SIZE, f'invalid segment size "{value}" on {where}: it is not a whole number'
        )
    if size <= 0:
        problem = f"segment size {size} on {where} needs to be a positive integer"
        raise InvalidField(_SIZE, problem)
    return size


# ---- LeaderWorkerSet -----------------------------------------------------------------------------


def _leader_worker_set(owner: Owner, pods: Sequence[Manifest]) -> Gang:
    """A leader and its workers: one replica, optionally split into segments (spec 4 G7-G10).

    With startup policy LeaderReady, the workers are created when the leader is ready. Until then
    only the leader has a minimum; the sub-groups keep their names and constraints. (KAI sees a
    replica of 1 pod that is smaller than its segments, and its group never starts (spec 4 W8). KAI
    also requires the workers as soon as the leader has a node, and treats a leader that is not
    ready yet as the rest of a broken gang.) Then the workers start together. Until one of them has
    a node, the group of the waiting leader is not stale.
    """
    lws, label = owner.manifest, keys.LWS_WORKER_INDEX_LABEL
    in_order = _by_index(pods, label)
    workers = [pod for pod in in_order if whole_number(labels_of(pod).get(label)) != 0]
    leader_first = _starts_with_leader(lws)
    alone = leader_first and not workers
    pods_wanted = _size_of_replica(lws, in_order if leader_first else ())

    template = mapping(at(lws, "spec", "leaderWorkerTemplate", "workerTemplate"))
    described = _Workers(template, workers, label)
    size, place = _size_of_replica_segments(lws, template)
    excluded = _excludes_leader(lws)
    if size is None:
        parts = [segments.leaf("leader", 1)]
        if pods_wanted > 1 and not alone:
            parts.append(segments.leaf("workers", pods_wanted - 1))
    else:
        everywhere = described.constraint(lws)
        with _problem_at(place):
            parts = segments.of_replica(
                pods_wanted, size, leader_excluded=excluded, constraint=everywhere
            )
        if alone:
            parts = [_without_minimum(part) if part["name"] != "leader" else part for part in parts]
    named = leaves(parts)

    def sub_group_of(pod: Manifest) -> str:
        index = _index(pod, label, "worker")
        name = "leader" if index == 0 else "workers"
        if index and size:
            segment = segments.segment_of(index, pods_wanted, size)
            if segment or excluded:
                name = f"segment-{segment}"
        return name if name in named else ""

    coming_up = leader_first and not any(at(pod, "spec", "nodeName") for pod in workers)
    wanted = 1 if alone else pods_wanted
    return Gang(wanted, parts, sub_group_of, coming_up=coming_up and not alone)


def _starts_with_leader(lws: Manifest) -> bool:
    policy = at(lws, "spec", "startupPolicy") or "LeaderCreated"
    if policy not in ("LeaderCreated", "LeaderReady"):
        raise InvalidField("spec.startupPolicy", f"is {policy!r}, not LeaderCreated or LeaderReady")
    return bool(policy == "LeaderReady")


def _size_of_replica(lws: Manifest, pods: Iterable[Manifest]) -> int:
    """Pods of a replica: from its own pods, otherwise from the LeaderWorkerSet (spec 4 G7)."""
    values = (annotations_of(pod).get(keys.LWS_SIZE_ANNOTATION) for pod in pods)
    value = next((each for each in values if each is not None), None)
    if value is None:
        return replica_size(lws)
    size = whole_number(value)
    if size is None or size < 1:
        place = f"metadata.annotations[{keys.LWS_SIZE_ANNOTATION}]"
        raise InvalidField(place, f"is {value!r}, not a number of pods")
    return size


def _size_of_replica_segments(lws: Manifest, template: Manifest) -> tuple[int | None, str]:
    """The segment size (None: no segments, spec 4 G8), and the place of the annotation."""
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    for value, place, where in (
        (at(lws, *path), ".".join(path), "LeaderWorkerSet"),
        (annotations_of(lws).get(keys.SEGMENT_SIZE_ANNOTATION), _SIZE, "LeaderWorkerSet"),
        (annotations_of(template).get(keys.SEGMENT_SIZE_ANNOTATION), _SIZE, "worker podTemplate"),
    ):
        if value is None:
            continue
        size = whole_number(value)
        if size is None:
            problem = f'invalid segment size "{value}" on {where}: it is not a whole number'
            raise InvalidField(place, problem)
        return size, place
    return None, ""


def _excludes_leader(lws: Manifest) -> bool:
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType")
    policy = at(lws, *path) or "LeaderWorker"
    if policy not in ("LeaderWorker", "LeaderExcluded"):
        raise InvalidField(".".join(path), f"is {policy!r}, not LeaderWorker or LeaderExcluded")
    return bool(policy == "LeaderExcluded")


def _without_minimum(part: SubGroup) -> SubGroup:
    return {**part, "minMember": 0} if "minMember" in part else part


# ---- both ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Workers:
    """The descriptions of a group's workers: their template, then their pods in order."""

    template: Manifest
    pods: Sequence[Manifest]
    index_label: str

    def values_of(self, key: str) -> Iterator[tuple[Any, str]]:
        """The values of an annotation, each with its place."""
        if (value := annotations_of(self.template).get(key)) is not None:
            yield value, "worker podTemplate"
        annotated = (pod for pod in self.pods if annotations_of(pod).get(key) is not None)
        for pod in _by_index(annotated, self.index_label):
            yield annotations_of(pod)[key], f"pod {kinds.full_name(pod)}"

    def constraint(self, workload: Manifest) -> Constraint | None:
        """The constraint of every segment; the workload may name the topology (spec 4 G5)."""
        named = annotations_of(workload).get(keys.TOPOLOGY_ANNOTATION)
        return segments.constraint_of(
            self._text(keys.TOPOLOGY_ANNOTATION) or text(named),
            self._text(keys.SEGMENT_REQUIRED_ANNOTATION),
            self._text(keys.SEGMENT_PREFERRED_ANNOTATION),
        )

    def _text(self, key: str) -> str:
        return next((text(value) for value, _ in self.values_of(key) if text(value)), "")


@contextmanager
def _problem_at(place: str) -> Iterator[None]:
    """Reports an error of the segment arithmetic as a problem of this field."""
    try:
        yield
    except ValueError as error:
        raise InvalidField(place, str(error)) from None


def _by_index(pods: Iterable[Manifest], label: str) -> list[Manifest]:
    def order(pod: Manifest) -> tuple[bool, int, str]:
        index = whole_number(labels_of(pod).get(label))
        return (index is None, index or 0, kinds.full_name(pod))

    return sorted(pods, key=order)


def _index(pod: Manifest, label: str, what: str) -> int:
    """The index of the replica or worker, with KAI's messages (spec 4 G6). Raises InvalidField."""
    place = f"metadata.labels[{label}]"
    value = labels_of(pod).get(label)
    if value is None:
        raise InvalidField(place, f"{what} index label not found on pod {kinds.full_name(pod)}")
    index = whole_number(value)
    if index is None:
        raise InvalidField(place, f"invalid {what} index {value}, err: it is not a whole number")
    if index < 0:
        raise InvalidField(place, f"{what} index {value} is not valid. It must be bigger than 0")
    return index


KNOWN: Mapping[str, Callable[[Owner, Sequence[Manifest]], Gang]] = {
    "PyTorchJob": _pytorch_job,
    "LeaderWorkerSet": _leader_worker_set,
    "JobSet": job_sets.gang,
    "PodGang": grove.gang,
    **dict.fromkeys(training.FAMILIES, training.gang),
    **{kind: ray.gang for kind, row in kinds.KINDS.items() if row.ray},
}
"""Kinds whose gang is read from the workload, with the function that reads it."""


def _describes_workers(pod: Manifest) -> bool:
    """Whether the pod can differ from the template: for a PyTorchJob, if it has such an
    annotation."""
    return not _OF_SEGMENTS.isdisjoint(annotations_of(pod))


_OF_SEGMENTS = frozenset((*keys.SEGMENTS, keys.TOPOLOGY_ANNOTATION))


def _any(_: Manifest) -> bool:
    return True


OF_PODS: Mapping[str, Callable[[Manifest], bool]] = {
    "PyTorchJob": _describes_workers,
    "LeaderWorkerSet": _any,
    "MPIJob": training.is_launcher,
}
"""Kinds whose gang also depends on existing pods, with a test for the relevant pods."""
