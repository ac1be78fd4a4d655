"""Shows the pod of each step, and where KAI would place it, without a cluster and without ZenML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from settings import STEPS

import kai
from kai.integrations import zenml

HERE = Path(__file__).parent
NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "zenml"


def pods_of_run(number: int) -> dict[str, dict[str, Any]]:
    """The pods of a run by step, as ZenML creates them."""
    pods: dict[str, dict[str, Any]] = {}
    for step, request in STEPS.items():
        if request is None:
            spec = {"schedulerName": "default-scheduler", "containers": [{"name": "main"}]}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec}
        else:
            pod = dict(zenml.build(request, as_native=False).pod)
        name = f"run-{number}-{step.replace('_', '-')}"
        pods[step] = {**pod, "metadata": {"name": name, "namespace": NAMESPACE, **pod["metadata"]}}
    return pods


def t4_pool() -> list[dict[str, Any]]:
    """Two nodes with one T4 each, with the labels and taints of GKE."""
    cluster = kai.Cluster().nodes(
        "gpu-pool-",
        2,
        gpus=1,
        cpus=4,
        memory="15Gi",
        gpu_memory_mib=15360,
        labels={
            "cloud.google.com/gke-accelerator": "nvidia-tesla-t4",
            "cloud.google.com/gke-nodepool": "gpu-pool",
        },
        taints=["nvidia.com/gpu=present:NoSchedule"],
    )
    return [{"apiVersion": "v1", "kind": "Node", **node} for node in cluster.objects["nodes"]]


def cluster_of(pods: Iterable[Mapping[str, Any]]) -> kai.Cluster:
    queues = yaml.safe_load_all((HERE / "queues.yaml").read_text(encoding="utf-8"))
    items = [*t4_pool(), *queues, *pods]
    cluster = kai.load(json.dumps({"kind": "List", "items": items}).encode(), now=NOW, strict=True)
    return cluster


def show(runs: int) -> None:
    """Prints the pods of a run, and where the pods of `runs` runs at once are placed."""
    every = [pods_of_run(number) for number in range(1, runs + 1)]
    for step, pod in every[0].items():
        print(f"# {step}")
        print(yaml.safe_dump(pod, sort_keys=False))
    plan = kai.Scheduler().plan(cluster_of(pod for pods in every for pod in pods.values()))
    bound = {each.pod: each for each in plan.decisions if isinstance(each, kai.Bind)}
    rows = [("run", "step", "scheduler", "queue", "GPU", "node")]
    for number, pods in enumerate(every, 1):
        for step, pod in pods.items():
            rows.append((str(number), step, *_placed(pod, bound)))
    print(_table(rows))
    waiting = [name for name, each in plan.pod_groups.items() if each.verdict != "placed"]
    if waiting:
        print(f"\n{plan.why(waiting[0])}")
    request = next(each for each in STEPS.values() if each is not None)
    print("\nGood to know:")
    for warning in zenml.build(request, as_native=False).warnings:
        print(f"- {warning}")


def _placed(pod: Mapping[str, Any], bound: Mapping[str, kai.Bind]) -> tuple[str, str, str, str]:
    metadata, spec = pod["metadata"], pod["spec"]
    if spec["schedulerName"] != "kai-scheduler":
        return "Kubernetes' own", "-", "-", "any with room"
    share = metadata["annotations"]["gpu-fraction"]
    placed = bound.get(f"{NAMESPACE}/{metadata['name']}")
    queue = metadata["labels"]["kai.scheduler/queue"]
    return "kai-scheduler", queue, share, placed.node if placed else "waits"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
