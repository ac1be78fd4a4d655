"""Lint refuses what plans leave out: every field of an object is broken once, in every way."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

import kai
from kai.linting import lint

SPEC: dict[str, Any] = {
    "schedulerName": "kai-scheduler",
    "priorityClassName": "train",
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    },
    "containers": [
        {
            "name": "main",
            "image": "i",
            "ports": [{"containerPort": 80, "hostPort": 80}],
            "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": 1}, "requests": {"cpu": 1}},
        }
    ],
    "initContainers": [{"name": "init", "restartPolicy": "Always"}],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
}
METADATA: dict[str, Any] = {
    "name": "x",
    "uid": "u",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"kai.scheduler/queue": "vision"},
    "annotations": {"kai.scheduler/preemption-delay": "5m"},
}
SHARE = {"quota": 4, "limit": 8, "overQuotaWeight": 1}
VALID: dict[str, dict[str, Any]] = {
    "Pod": {"apiVersion": "v1", "spec": SPEC},
    "Job": {"apiVersion": "batch/v1", "spec": {"template": {"metadata": {}, "spec": SPEC}}},
    "Deployment": {
        "apiVersion": "apps/v1",
        "spec": {"selector": {}, "template": {"metadata": {"labels": {}}, "spec": SPEC}},
    },
    "Node": {
        "apiVersion": "v1",
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": False},
        "status": {"capacity": {"cpu": 4, "nvidia.com/gpu": "8"}},
    },
    "Queue": {
        "apiVersion": "scheduling.run.ai/v2",
        "spec": {
            "parentQueue": "default-parent-queue",
            "priority": 100,
            "reclaimMinRuntime": "5m",
            "resources": {"gpu": SHARE, "cpu": SHARE, "memory": SHARE},
        },
    },
    "PodGroup": {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "spec": {"minMember": 1, "queue": "vision", "stalenessGracePeriod": "5m"},
    },
    "PriorityClass": {"apiVersion": "scheduling.k8s.io/v1", "value": 100},
}
WRONG: tuple[Any, ...] = (5, -3, 1.5, True, "no such value", "", ["x"], {"x": "y"}, 1e300)


def paths(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if where:
        yield where
    if isinstance(value, dict):
        for key, each in value.items():
            yield from paths(each, (*where, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from paths(each, (*where, index))


# Without these fields an object has no pods to check; whether a parent exists is another question.
_TEMPLATE = ("spec", "template", "spec", "containers")
_WHOLE = (("metadata",), ("spec", "parentQueue"), *(_TEMPLATE[:end] for end in range(1, 5)))


def broken(kind: str) -> Iterator[tuple[tuple[Any, ...], Any, dict[str, Any]]]:
    valid = {"kind": kind, "metadata": METADATA, **VALID[kind]}
    for path in paths(valid):
        if path[0] in ("kind", "apiVersion") or path in _WHOLE:
            continue
        for wrong in WRONG:
            manifest = copy.deepcopy(valid)
            inner: Any = manifest
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = wrong
            yield path, wrong, manifest


@pytest.mark.parametrize("kind", VALID)
def test_valid_objects_are_accepted_by_both(kind: str) -> None:
    valid = {"kind": kind, "metadata": METADATA, **VALID[kind]}
    assert not kai.load(json.dumps(valid).encode()).rejected
    assert [each for each in lint(valid) if each.refused] == []


@pytest.mark.parametrize("kind", VALID)
def test_lint_refuses_what_the_plan_leaves_out(kind: str) -> None:
    missed, left_out = [], 0
    for path, wrong, manifest in broken(kind):
        if not kai.load(json.dumps(manifest).encode()).rejected:
            continue
        left_out += 1
        if not any(each.severity == "error" for each in lint(manifest)):
            missed.append((path, wrong))
    assert left_out > 10
    assert missed == []


@pytest.mark.parametrize("value", [b"x", object()], ids=["bytes", "object"])
def test_a_value_of_python_that_json_lacks_is_refused(value: Any) -> None:
    manifest = {"kind": "Pod", "metadata": METADATA, "spec": copy.deepcopy(SPEC)}
    manifest["spec"]["containers"][0]["image"] = value
    [found] = [each for each in lint(manifest) if each.code == "value-refused"]
    assert "cannot be written as JSON" in found.message
