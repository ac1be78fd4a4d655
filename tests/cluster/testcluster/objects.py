"""Manifests for tests, in a short form."""

from collections.abc import Mapping
from typing import Any

from .client import Object

GPU = "nvidia.com/gpu"
SCHEDULER = "kai-scheduler"


def node(
    name: str,
    gpus: int = 8,
    *,
    cpu: str = "128",
    memory: str = "2Ti",
    pods: int = 110,
    gpu_memory_mib: int = 81_920,
    labels: Mapping[str, str] | None = None,
) -> Object:
    """A node that kwok makes Ready at once. Without GPUs it has no labels about them."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    own = {"kubernetes.io/hostname": name}
    if gpus:
        room[GPU] = str(gpus)
        own |= {f"{GPU}.memory": str(gpu_memory_mib), f"{GPU}.count": str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **(labels or {})}},
        "status": {"capacity": room, "allocatable": room},
    }


def namespace(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def pod(
    name: str,
    namespace: str,
    gpus: int = 1,
    *,
    cpu: str = "",
    memory: str = "",
    queue: str = "",
    scheduler: str = SCHEDULER,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container. `spec` replaces fields of its spec.

    Annotations that the simulated kubelet understands are listed in stages.yaml.
    """
    labels = {**({"kai.scheduler/queue": queue} if queue else {}), **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": dict(annotations or {}),
        },
        "spec": {**pod_spec(gpus, cpu=cpu, memory=memory, scheduler=scheduler), **spec},
    }


def pod_spec(
    gpus: int = 1, *, cpu: str = "", memory: str = "", scheduler: str = SCHEDULER
) -> Object:
    """For pods and for templates of workloads; a Deployment needs restartPolicy "Always"."""
    limits = {GPU: str(gpus)} if gpus else {}
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    return {
        "schedulerName": scheduler,
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "none",
                "resources": {"limits": limits, "requests": {**requests, **limits}},
            }
        ],
    }


def queue(name: str, parent: str = "", *, gpu: float = -1, cpu: float = -1) -> Object:
    """A queue (scheduling.run.ai/v2) with these quotas; -1 means no limit. Its CRD must be
    installed."""
    resources = {
        kind: {"quota": quota, "limit": -1, "overQuotaWeight": 1}
        for kind, quota in (("gpu", gpu), ("cpu", cpu), ("memory", -1))
    }
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {**({"parentQueue": parent} if parent else {}), "resources": resources},
    }


def pod_group(
    name: str, namespace: str, minimum: int = 1, *, queue: str = "default-queue", **spec: Any
) -> Object:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queue": queue, "minMember": minimum, **spec},
    }


def job(name: str, namespace: str, pods: int, spec: Object, **annotations: str) -> Object:
    """An indexed Job that starts all its pods at once. `annotations` of the pods: their keys are
    written with an underscore, run_for="1s" is sim/run-for."""
    metadata = {
        "annotations": {f"sim/{key.replace('_', '-')}": v for key, v in annotations.items()}
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "completionMode": "Indexed",
            "parallelism": pods,
            "completions": pods,
            "template": {"metadata": metadata, "spec": spec},
        },
    }
