"""The gang of a JobSet: a sub-group for each replicated job, with one for each replica (spec 6
C28d).

With startup policy InOrder, a job starts when the job before it is ready. The group therefore waits
for the first job only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kai.api import keys
from kai.api.names import dns_label
from kai.api.owning import Manifest
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text, whole_number
from kai.grouping import segments
from kai.grouping.owners import Owner
from kai.grouping.parts import Gang, leaves
from kai.grouping.replicas import InvalidField, whole
from kai.grouping.segments import SubGroup

_MINIMUM = f"metadata.annotations[{keys.BATCH_MIN_MEMBER_ANNOTATION}]"


def gang(owner: Owner, _: Sequence[Manifest]) -> Gang:
    """Raises InvalidField for an invalid field of the JobSet."""
    jobs = objects(at(owner.manifest, "spec", "replicatedJobs"))
    parts: list[SubGroup] = []
    number = 0
    for index, job in enumerate(jobs):
        field = f"spec.replicatedJobs[{index}]"
        replicas = whole(job, "replicas", 1, f"{field}.replicas")
        if replicas:
            number += 1
            parts += _of_job(job, replicas, field)
    if not parts:
        raise InvalidField("spec.replicatedJobs", "has no job that creates pods")
    in_order = at(owner.manifest, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
    wanted = _at_least(owner.annotations, _MINIMUM, 1 if in_order else number)
    named = leaves(parts)

    def sub_group_of(pod: Manifest) -> str:
        labels = labels_of(pod)
        for key in (keys.JOBSET_JOB_LABEL, keys.JOBSET_INDEX_LABEL):
            if not labels.get(key):
                raise InvalidField(
                    f"metadata.labels[{key}]", "is missing; a pod of a JobSet has it"
                )
        name = replica_name(labels[keys.JOBSET_JOB_LABEL], labels[keys.JOBSET_INDEX_LABEL])
        return name if name in named else ""

    return Gang(0, parts, sub_group_of, min_sub_group=min(wanted, number))


def _of_job(job: Manifest, replicas: int, field: str) -> list[SubGroup]:
    name, template = text(job.get("name")), mapping(job.get("template"))
    if not name:
        raise InvalidField(f"{field}.name", "is missing")
    spec = mapping(template.get("spec"))
    pods = whole(spec, "parallelism", 1, f"{field}.template.spec.parallelism")
    # At most `completions` pods run at once; KAI waits for all of `parallelism`.
    pods = min(pods, whole(spec, "completions", pods, f"{field}.template.spec.completions"))
    annotations = annotations_of(template)
    pods = _at_least(annotations, f"{field}.template.{_MINIMUM}", pods)
    constraint = segments.constraint_of(*(text(annotations.get(key)) for key in keys.TOPOLOGY))
    parts = [segments.branch(name, replicas)]
    for index in range(replicas):
        leaf = segments.leaf(replica_name(name, index), pods, parent=name, constraint=constraint)
        parts.append(leaf)
    return parts


def replica_name(job: Any, index: Any) -> str:
    """The name of the sub-group of one replica of a replicated job."""
    return dns_label(f"{job}-replica-{index}")


def _at_least(annotations: Mapping[str, Any], field: str, default: int) -> int:
    """The value of the annotation, at least 1. Raises InvalidField."""
    value = annotations.get(keys.BATCH_MIN_MEMBER_ANNOTATION)
    if value is None:
        return default
    minimum = whole_number(value)
    if minimum is None or minimum < 1:
        raise InvalidField(field, f"is {value!r}, not a number of at least 1")
    return minimum
