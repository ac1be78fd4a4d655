"""Pods that have succeeded and are gone: the status of their Job or JobSet still counts them.

A pod that has succeeded lowers the minimum of its pod group, because it does not start again.
`kubectl get` does not print pods that were deleted after their end, so the minimum of a group that
kai creates is lowered by the numbers in the status.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kai.api import keys, kinds
from kai.api.owning import Key
from kai.api.reading import annotations_of, at, labels_of, objects, text, whole_number
from kai.grouping import controller_of
from kai.grouping.job_sets import replica_name

Manifest = Mapping[str, Any]


def with_lower_minimums(
    groups: Iterable[dict[str, Any]], pods: Iterable[Manifest], owners: Mapping[Key, Manifest]
) -> list[dict[str, Any]]:
    """The pod groups; `pods` are all pods, and those of these groups name them."""
    members: dict[str, list[Manifest]] = {}
    for pod in pods:
        namespace = text(at(pod, "metadata", "namespace"))
        name = f"{namespace}/{annotations_of(pod).get(keys.POD_GROUP_ANNOTATION)}"
        members.setdefault(name, []).append(pod)
    return [_lowered(each, members.get(kinds.full_name(each), []), owners) for each in groups]


def _lowered(
    group: dict[str, Any], pods: list[Manifest], owners: Mapping[Key, Manifest]
) -> dict[str, Any]:
    spec = group["spec"]
    if spec.get("subGroups"):
        gone = _gone_of_job_set(pods, owners)
        lower = [_part(each, gone.get(each["name"], 0)) for each in spec["subGroups"]]
        return {**group, "spec": {**spec, "subGroups": lower}} if gone else group
    gone_pods = _gone_of_job(pods, owners)
    if not gone_pods or "minMember" not in spec:
        return group
    return {**group, "spec": {**spec, "minMember": max(1, spec["minMember"] - gone_pods)}}


def _part(part: dict[str, Any], gone: int) -> dict[str, Any]:
    if not gone or "minMember" not in part:
        return part
    return {**part, "minMember": max(0, part["minMember"] - gone)}


def _gone_of_job(pods: list[Manifest], owners: Mapping[Key, Manifest]) -> int:
    """How many pods of the Job that owns all of these have succeeded and are gone."""
    jobs = {_job_of(pod) for pod in pods}
    if len(jobs) != 1:
        return 0
    [key] = jobs
    job = owners.get(key) if key is not None else None
    return 0 if job is None else max(0, _succeeded(job) - _that_succeeded(pods))


def _gone_of_job_set(pods: list[Manifest], owners: Mapping[Key, Manifest]) -> dict[str, int]:
    """The same by sub-group, for the JobSet that the labels of these pods name."""
    named = {
        (text(at(pod, "metadata", "namespace")), text(labels_of(pod).get(keys.JOBSET_NAME_LABEL)))
        for pod in pods
    }
    if len(named) != 1:
        return {}
    [(namespace, name)] = named
    job_set = owners.get(("JobSet", namespace, name), {})
    there: dict[tuple[str, str], list[Manifest]] = {}
    for pod in pods:
        labels = labels_of(pod)
        index = str(labels.get(keys.JOBSET_INDEX_LABEL))
        there.setdefault((text(labels.get(keys.JOBSET_JOB_LABEL)), index), []).append(pod)
    done = {
        text(each.get("name")): whole_number(each.get("succeeded")) or 0
        for each in objects(at(job_set, "status", "replicatedJobsStatus"))
    }
    gone: dict[str, int] = {}
    for job in objects(at(job_set, "spec", "replicatedJobs")):
        job_name = text(job.get("name"))
        replicas = [str(index) for index in range(whole_number(job.get("replicas", 1)) or 0)]
        here = {index: there.get((job_name, index), []) for index in replicas}
        ended = sum(bool(each) and _that_succeeded(each) == len(each) for each in here.values())
        # Which Jobs have succeeded is known only if they are in the input.
        ended_without_pods = done.get(job_name, 0) - ended
        for index in replicas:
            child = owners.get(("Job", namespace, f"{name}-{job_name}-{index}"))
            if child is not None:
                count = max(0, _succeeded(child) - _that_succeeded(here[index]))
            elif not here[index] and ended_without_pods > 0:
                count, ended_without_pods = _ALL, ended_without_pods - 1
            else:
                continue
            gone[replica_name(job_name, index)] = count
    return gone


_ALL = 10**9


def _job_of(pod: Manifest) -> Key | None:
    owner = controller_of(pod)
    if owner is None or owner.get("kind") != "Job":
        return None
    return ("Job", text(at(pod, "metadata", "namespace")), text(owner.get("name")))


def _succeeded(job: Manifest) -> int:
    return whole_number(at(job, "status", "succeeded")) or 0


def _that_succeeded(pods: Iterable[Manifest]) -> int:
    return sum(at(pod, "status", "phase") == "Succeeded" for pod in pods)
