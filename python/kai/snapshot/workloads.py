"""The pods that the controllers of a cluster would create for a workload.

- A Job gets the smaller number of its parallelism and its remaining completions.
- A Deployment, ReplicaSet or StatefulSet gets its replicas.
- A PyTorchJob gets the replicas of its roles.
- A LeaderWorkerSet gets its leaders and workers, all at once: a plan shows where they could run,
  not the order in which they become ready.

The names of these pods end in numbers; a cluster uses five random letters for some kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.reading import annotations_of, at, labels_of, mapping, objects
from kai.grouping.replicas import (
    MOST_PODS,
    InvalidField,
    field_of,
    replica_size,
    replicas_of,
    roles_of,
    whole,
)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A pod to create: its template, and what the controller adds to it."""

    name: str
    template: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)


def pods_of(kind: str, workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pods of a workload, each with an owner reference to it; raises InvalidField."""
    metadata = workload["metadata"]
    if not isinstance(workload.get("spec"), Mapping):
        raise InvalidField("spec", "is missing")
    owner = {
        "apiVersion": workload.get("apiVersion", ""),
        "kind": kind,
        "name": metadata["name"],
        "controller": True,
    }
    if metadata.get("uid"):
        owner["uid"] = metadata["uid"]
    return [_pod(each, metadata, owner) for each in _planned(kind, workload)]


def _pod(
    planned: _Planned, workload: Mapping[str, Any], owner: Mapping[str, Any]
) -> dict[str, Any]:
    template = planned.template
    metadata = {
        "name": planned.name,
        "namespace": workload["namespace"],
        "ownerReferences": [owner],
        "labels": {**labels_of(template), **planned.labels},
        "annotations": {**annotations_of(template), **planned.annotations},
    }
    if workload.get("creationTimestamp"):
        metadata["creationTimestamp"] = workload["creationTimestamp"]
    return {"kind": "Pod", "metadata": metadata, "spec": dict(template["spec"])}


def _planned(kind: str, workload: Mapping[str, Any]) -> Iterator[_Planned]:
    if kind == "PyTorchJob":
        return _of_pytorch_job(workload)
    if kind == "LeaderWorkerSet":
        return _of_leader_worker_set(workload)
    return _of_replicas(kind, workload)


def _template(value: Any, field: str) -> Mapping[str, Any]:
    template = mapping(value)
    if not isinstance(template.get("spec"), Mapping):
        raise InvalidField(f"{field}.spec", "is missing, so kai cannot create its pods")
    return template


def _is_over(workload: Mapping[str, Any], *conditions: str) -> bool:
    return any(
        each.get("type") in conditions and each.get("status") == "True"
        for each in objects(at(workload, "status", "conditions"))
    )


# ---- one template --------------------------------------------------------------------------------


def _of_replicas(kind: str, workload: Mapping[str, Any]) -> Iterator[_Planned]:
    owner, spec = workload["metadata"]["name"], workload["spec"]
    number = _number_of_pods(kind, workload, spec)
    if number == 0:
        return
    template = _template(spec.get("template"), "spec.template")
    first = whole(mapping(spec.get("ordinals")), "start", 0, "spec.ordinals.start")
    for index in range(first, first + number):
        name = f"{owner}-{index}"
        yield _Planned(name, template, _given_labels(kind, owner, name, index, spec))


def why_stopped(kind: str, workload: Mapping[str, Any]) -> str:
    """That the workload is suspended or has ended, without a full stop; "" if it has not."""
    spec = mapping(workload.get("spec"))
    field = "spec.suspend"
    if kind == "PyTorchJob":
        spec, field = mapping(spec.get("runPolicy")), "spec.runPolicy.suspend"
    if spec.get("suspend") is True:
        return f"{field} is true"
    for condition in ("Complete", "Succeeded", "Failed", "Suspended"):
        if _is_over(workload, condition):
            return f"its condition {condition} is True"
    return ""


def why_without_pods(kind: str, workload: Mapping[str, Any]) -> str:
    """Why `pods_of` has no pods for this workload, without a full stop."""
    if why := why_stopped(kind, workload):
        return why
    if kind == "PyTorchJob":
        return "no role has replicas"
    if kind != "Job":
        return "spec.replicas is 0"
    is_none = at(workload, "spec", "parallelism") == 0
    return "spec.parallelism is 0" if is_none else "all its completions have succeeded"


def _number_of_pods(kind: str, workload: Mapping[str, Any], spec: Mapping[str, Any]) -> int:
    if kind != "Job":
        return whole(spec, "replicas", 1, "spec.replicas")
    if _is_over(workload, "Complete", "Failed", "Suspended") or spec.get("suspend") is True:
        return 0
    parallelism = whole(spec, "parallelism", 1, "spec.parallelism")
    completions = whole(spec, "completions", parallelism, "spec.completions")
    done = whole(mapping(workload.get("status")), "succeeded", 0, "status.succeeded")
    return max(0, min(parallelism, completions - done))


def _given_labels(
    kind: str, owner: str, name: str, index: int, spec: Mapping[str, Any]
) -> dict[str, str]:
    """The labels that the controller adds; selectors may use them."""
    if kind == "Job":
        labels = {keys.JOB_NAME_LABEL: owner, "job-name": owner}
        if spec.get("completionMode") == "Indexed":
            labels[keys.JOB_INDEX_LABEL] = str(index)
        return labels
    if kind == "StatefulSet":
        return {keys.POD_INDEX_LABEL: str(index), "statefulset.kubernetes.io/pod-name": name}
    return {}


# ---- PyTorchJob ----------------------------------------------------------------------------------


def _of_pytorch_job(job: Mapping[str, Any]) -> Iterator[_Planned]:
    owner = job["metadata"]["name"]
    suspended = at(job, "spec", "runPolicy", "suspend") is True
    if suspended or _is_over(job, "Succeeded", "Failed"):
        return
    for role, spec in roles_of(job).items():
        number = replicas_of(role, spec)
        template = _template(spec.get("template"), f"{field_of(role)}.template") if number else {}
        for index in range(number):
            labels = {
                keys.KUBEFLOW_OPERATOR_LABEL: "pytorchjob-controller",
                keys.KUBEFLOW_JOB_LABEL: owner,
                keys.REPLICA_TYPE_LABEL: role,
                keys.REPLICA_INDEX_LABEL: str(index),
            }
            if role == "master":
                labels[keys.KUBEFLOW_ROLE_LABEL] = role
            yield _Planned(f"{owner}-{role}-{index}", template, labels)


# ---- LeaderWorkerSet -----------------------------------------------------------------------------


def _of_leader_worker_set(lws: Mapping[str, Any]) -> Iterator[_Planned]:
    owner, spec = lws["metadata"]["name"], lws["spec"]
    replicas, size = whole(spec, "replicas", 1, "spec.replicas"), replica_size(lws)
    if replicas * size > MOST_PODS:
        message = (
            f"and size make {replicas * size} pods; kai makes at most {MOST_PODS} of a workload"
        )
        raise InvalidField("spec.replicas", message)
    place = "spec.leaderWorkerTemplate"
    templates = mapping(spec.get("leaderWorkerTemplate"))
    worker = _template(templates.get("workerTemplate"), f"{place}.workerTemplate")
    leader = worker
    if templates.get("leaderTemplate") is not None:
        leader = _template(templates["leaderTemplate"], f"{place}.leaderTemplate")
    for group in range(replicas):
        for index in range(size):
            name = f"{owner}-{group}-{index}" if index else f"{owner}-{group}"
            labels = {
                keys.LWS_NAME_LABEL: owner,
                keys.LWS_GROUP_INDEX_LABEL: str(group),
                keys.LWS_WORKER_INDEX_LABEL: str(index),
            }
            annotations = {keys.LWS_SIZE_ANNOTATION: str(size)}
            yield _Planned(name, worker if index else leader, labels, annotations)
