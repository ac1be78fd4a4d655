"""The pods that a cluster's own controllers would make of a workload.

A Job gets as many pods as may run at once and are still to be done, a Deployment, ReplicaSet or
StatefulSet its replicas (all at once: a plan asks where they could run, not in which order they
become ready). Pods are numbered, where a cluster would draw five letters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kai.api import keys
from kai.api.reading import annotations_of, labels_of, mapping, objects

MOST_PODS = 100_000


class Nonsense(Exception):
    """A field of a workload that makes no sense."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


def pods_of(kind: str, workload: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pods, each with an owner reference to the workload; raises Nonsense."""
    metadata = workload["metadata"]
    spec = workload.get("spec")
    if not isinstance(spec, Mapping):
        raise Nonsense("spec", "is missing")
    number = _number_of_pods(kind, workload, spec)
    if number == 0:
        return []
    template = mapping(spec.get("template"))
    if not isinstance(template.get("spec"), Mapping):
        raise Nonsense("spec.template.spec", "is missing, so there is nothing to make pods of")
    first = _whole(mapping(spec.get("ordinals")), "start", 0, "spec.ordinals.start")
    owner = {
        "apiVersion": workload.get("apiVersion", ""),
        "kind": kind,
        "name": metadata["name"],
        "controller": True,
    }
    if metadata.get("uid"):
        owner["uid"] = metadata["uid"]
    pods = []
    for index in range(first, first + number):
        name = f"{metadata['name']}-{index}"
        own_metadata = {
            "name": name,
            "namespace": metadata["namespace"],
            "ownerReferences": [owner],
            "labels": _given_labels(kind, metadata["name"], name, index, spec)
            | dict(labels_of(template)),
            "annotations": dict(annotations_of(template)),
        }
        if metadata.get("creationTimestamp"):
            own_metadata["creationTimestamp"] = metadata["creationTimestamp"]
        pods.append({"kind": "Pod", "metadata": own_metadata, "spec": dict(template["spec"])})
    return pods


def _number_of_pods(kind: str, workload: Mapping[str, Any], spec: Mapping[str, Any]) -> int:
    if kind != "Job":
        return _whole(spec, "replicas", 1, "spec.replicas")
    status = mapping(workload.get("status"))
    over = any(
        each.get("type") in ("Complete", "Failed", "Suspended") and each.get("status") == "True"
        for each in objects(status.get("conditions"))
    )
    if over or spec.get("suspend") is True:
        return 0
    parallelism = _whole(spec, "parallelism", 1, "spec.parallelism")
    completions = _whole(spec, "completions", parallelism, "spec.completions")
    done = _whole(status, "succeeded", 0, "status.succeeded")
    return max(0, min(parallelism, completions - done))


def _whole(spec: Mapping[str, Any], member: str, default: int, field: str) -> int:
    value = spec.get(member)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Nonsense(field, f"is {value!r}, not a number of pods")
    if value > MOST_PODS:
        raise Nonsense(field, f"is {value}, and kai makes at most {MOST_PODS} pods of a workload")
    return value


def _given_labels(
    kind: str, owner: str, name: str, index: int, spec: Mapping[str, Any]
) -> dict[str, str]:
    """The labels that the controller adds and that selectors may look for."""
    if kind == "Job":
        labels = {keys.JOB_NAME_LABEL: owner, "job-name": owner}
        if spec.get("completionMode") == "Indexed":
            labels[keys.JOB_INDEX_LABEL] = str(index)
        return labels
    if kind == "StatefulSet":
        return {keys.POD_INDEX_LABEL: str(index), "statefulset.kubernetes.io/pod-name": name}
    return {}
