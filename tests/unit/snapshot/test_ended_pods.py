"""Pods that have succeeded and are gone still count for their pod group, from the status."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kai

SPEC = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
CAPACITY = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8"}
NODE = {"kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": CAPACITY}}


def cluster(*manifests: Any) -> kai.Cluster:
    return kai.load("\n---\n".join(map(json.dumps, [NODE, *manifests])).encode())


def bound(*manifests: Any) -> int:
    plan = kai.Scheduler().plan(cluster(*manifests), now="2026-01-01T00:00:00Z")
    return len(plan.decisions)


def minimums(*manifests: Any) -> dict[str, int]:
    [group] = cluster(*manifests).objects["podGroups"]
    parts = group["spec"].get("subGroups", [group["spec"]])
    return {each.get("name", ""): each["minMember"] for each in parts if "minMember" in each}


def owned(name: str, job: str, phase: str = "Pending", **labels: str) -> dict[str, Any]:
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": job, "uid": job, "controller": True}
    metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
    return {"kind": "Pod", "metadata": metadata, "spec": SPEC, "status": {"phase": phase}}


def job(succeeded: int) -> dict[str, Any]:
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {
            "name": "j",
            "uid": "j",
            "annotations": {"kai.scheduler/batch-min-member": "4"},
        },
        "spec": {"parallelism": 4, "completions": 8, "template": {"spec": SPEC}},
        "status": {"succeeded": succeeded},
    }


def test_the_rest_of_a_job_starts_without_the_pods_that_have_succeeded() -> None:
    two = [owned(f"j-{index}", "j") for index in range(2)]
    assert bound(job(6)) == 2  # kai creates the two
    assert bound(job(6), *two) == 2
    assert bound(job(0), *two) == 0  # its other pods do not exist yet


@pytest.mark.parametrize(("gone", "minimum"), [(0, 4), (1, 3), (2, 2), (3, 1), (7, 1)])
def test_succeeded_pods_that_are_gone_lower_the_minimum(gone: int, minimum: int) -> None:
    pods = [owned("j-a", "j"), owned("j-b", "j", "Succeeded")]
    assert minimums(job(gone + 1), *pods) == {"": minimum}


def replicated(name: str, replicas: int) -> dict[str, Any]:
    spec = {"parallelism": 2, "completions": 2, "template": {"spec": SPEC}}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def job_set(**succeeded: int) -> dict[str, Any]:
    status = [{"name": name, "succeeded": number} for name, number in succeeded.items()]
    return {
        "kind": "JobSet",
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "metadata": {"name": "s", "uid": "s"},
        "spec": {"replicatedJobs": [replicated("prep", 1), replicated("train", 2)]},
        "status": {"replicatedJobsStatus": status},
    }


def of_set(job: str, index: int, phase: str = "Pending") -> list[dict[str, Any]]:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "s",
        "jobset.sigs.k8s.io/replicatedjob-name": job,
        "jobset.sigs.k8s.io/job-index": str(index),
    }
    name = f"s-{job}-{index}"
    return [owned(f"{name}-{each}", name, phase, **labels) for each in range(2)]


def test_a_job_set_starts_without_its_jobs_that_have_succeeded() -> None:
    assert bound(job_set(prep=1, train=1), *of_set("train", 1)) == 2
    assert bound(job_set(prep=1), *of_set("train", 1)) == 0  # the other replica has not run yet


def test_a_job_of_a_job_set_is_counted_once() -> None:
    both = [*of_set("train", 0, "Succeeded"), *of_set("train", 1)]
    assert minimums(job_set(prep=1, train=1), *both) == {
        "prep-replica-0": 0,
        "train-replica-0": 2,
        "train-replica-1": 2,
    }


def child(name: str, succeeded: int) -> dict[str, Any]:
    owner = {"kind": "JobSet", "apiVersion": "jobset.x-k8s.io/v1alpha2", "name": "s", "uid": "s"}
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": name, "ownerReferences": [{**owner, "controller": True}]},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": SPEC}},
        "status": {"succeeded": succeeded},
    }


def test_the_jobs_of_a_job_set_tell_which_have_succeeded() -> None:
    jobs = [child("s-train-1", 2), child("s-train-0", 1)]
    found = minimums(job_set(), *jobs, *of_set("train", 0))
    assert found == {"prep-replica-0": 2, "train-replica-0": 1, "train-replica-1": 0}
