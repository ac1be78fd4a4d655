"""Builds small snapshots, and decisions about their pods."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from kai.verify.validate import validate

NOW = "2026-01-01T12:00:00Z"
HOST = "kubernetes.io/hostname"


def bind(pod: str, node: str, *groups: str) -> SimpleNamespace:
    return SimpleNamespace(kind="bind", pod=f"ns/{pod}", node=node, gpu_groups=groups)


def pipeline(pod: str, node: str, *groups: str) -> SimpleNamespace:
    return SimpleNamespace(kind="pipeline", pod=f"ns/{pod}", node=node, gpu_groups=groups)


def evict(pod: str, action: str = "by hand", for_group: str | None = None) -> SimpleNamespace:
    """An eviction by an action without rules, unless one is named; ``for_group`` is a group of
    default/."""
    full_name = None if for_group is None else f"default/{for_group}"
    return SimpleNamespace(kind="evict", pod=f"ns/{pod}", action=action, for_group=full_name)


class Situation:
    """A snapshot under construction; every pod is in its own group by default."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("nodes", "queues", "podGroups", "pods", "priorityClasses")
        }

    def node(self, name: str, gpus: int = 1, **given: Any) -> Situation:
        held = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
        held.update(given.pop("allocatable", {}))
        labels = {HOST: name, "nvidia.com/gpu.memory": "10000", **given.pop("labels", {})}
        ready = {"type": "Ready", "status": "True"}
        status = {"allocatable": held, "conditions": given.pop("conditions", [ready])}
        node = {"metadata": {"name": name, "labels": labels}, "status": status, "spec": given}
        self.objects["nodes"].append(node)
        return self

    def queue(self, name: str, parent: str = "", **resources: Any) -> Situation:
        full = {r: {"quota": -1, "limit": -1, **resources.get(r, {})} for r in AMOUNTS}
        spec: dict[str, Any] = {"resources": full}
        for member in ("preemptMinRuntime", "reclaimMinRuntime"):
            if member in resources:
                spec[member] = resources[member]
        if parent:
            spec["parentQueue"] = parent
        self.objects["queues"].append({"metadata": {"name": name}, "spec": spec})
        return self

    def group(self, name: str, **spec: Any) -> Situation:
        spec.setdefault("queue", "q")
        metadata = {"name": name, "annotations": spec.pop("annotations", {})}
        metadata["creationTimestamp"] = spec.pop("created", "2025-01-01T00:00:00Z")
        self.objects["podGroups"].append({"metadata": metadata, "spec": spec})
        return self

    def priority(self, name: str, value: int) -> Situation:
        self.objects["priorityClasses"].append({"metadata": {"name": name}, "value": value})
        return self

    def pod(self, name: str, node: str = "", group: str = "", **given: Any) -> Situation:
        if not group:
            group = f"group-{name}"
            self.group(group)
        requests = given.pop("requests", {"nvidia.com/gpu": "1"})
        annotations = {"pod-group-name": group, **given.pop("annotations", {})}
        metadata = {"name": name, "namespace": "ns", "annotations": annotations}
        for field in ("labels", "deletionTimestamp"):
            if field in given:
                metadata[field] = given.pop(field)
        status = {"phase": given.pop("phase", "Running" if node else "Pending")}
        container = {"resources": {"requests": requests}, "ports": given.pop("ports", [])}
        spec = {"schedulerName": "kai-scheduler", "containers": [container], **given}
        if node:
            spec["nodeName"] = node
        self.objects["pods"].append({"metadata": metadata, "spec": spec, "status": status})
        return self

    def broken(
        self,
        *decisions: SimpleNamespace,
        gpus: Mapping[str, tuple[float, float, float]] | None = None,
        as_kai: bool = False,
        **snapshot: Any,
    ) -> list[str]:
        """The violations of a plan with these decisions, as ``rule: text``.

        ``gpus`` are the plan's numbers of queues: deserved, fair share, allocated.
        """
        queues = {name: _numbers(*numbers) for name, numbers in (gpus or {}).items()}
        plan = SimpleNamespace(decisions=decisions, queues=queues)
        whole = {"rawObjects": self.objects, **snapshot}
        found = validate(whole, plan, now=NOW, as_kai=as_kai)
        return [f"{violation.rule}: {violation}" for violation in found]


def _numbers(deserved: float, fair_share: float, allocated: float) -> SimpleNamespace:
    names = {"limit": None, "allocated_non_preemptible": 0.0}
    gpu = SimpleNamespace(deserved=deserved, fair_share=fair_share, allocated=allocated, **names)
    rest = SimpleNamespace(deserved=None, fair_share=None, allocated=0.0, **names)
    return SimpleNamespace(gpu=gpu, cpu=rest, memory=rest)


AMOUNTS = ("cpu", "memory", "gpu")
