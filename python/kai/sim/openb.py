"""The Alibaba openb cluster as Kubernetes objects, in the format of a KAI snapshot.

    python -m kai.sim.openb > openb.json && kai plan openb.json

The lists are CSV files: nodes with a GPU model, pods with their requests and arrival times. All
pods are waiting, in the order of arrival; each is its own pod group in the queue of its QoS class,
and the queues, below one parent, have neither quota nor limit. The lists have no GPU memory. GPU
sharing uses fractions of a GPU here, so the memory only has to be large enough for exact rounding.

The lists are not part of kai. KAI_DATA names the folder with `openb/`; the folder `conformance`
beside it may contain KAI's decisions.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from kai.api import keys

Row = Mapping[str, str]
Json = dict[str, Any]

RECLAIM = "openb-reclaim-"  # recorded cases of a full cluster
PARENT_QUEUE = "openb"
DEFAULT_QUEUE = "pods"  # for lists without a QoS class
START = datetime(2025, 1, 1, tzinfo=timezone.utc)  # the lists count seconds from an unknown day
NOW = "2026-01-01T00:00:00Z"  # after the last arrival
WHOLE_GPU = 1000  # gpu_milli
GPU_MEMORY_MIB = 32_000


def folder(data: Path | None = None) -> Path:
    """The expected folder of the lists: from `data`, KAI_DATA, or the current folder."""
    return (data or Path(os.environ.get("KAI_DATA") or ".")) / "openb"


def _conformance(data: Path | None) -> Path:
    return folder(data).parent.resolve().parent / "conformance"


def file_of(name: str, data: Path | None = None) -> Path:
    """The file of a workload: "openb", "openb-LIST", or a recorded "openb-reclaim-31"."""
    if name.startswith(RECLAIM):
        return _conformance(data) / "random" / "second-large" / f"{name}.json"
    return folder(data) / f"openb_pod_list_{name.partition('-')[2] or 'default'}.csv"


def snapshot_of(name: str, data: Path | None = None) -> bytes:
    """The snapshot.json of a workload; a list has the configuration of KAI's recorded run.

    Raises OSError if its file does not exist.
    """
    if name.startswith(RECLAIM):
        return file_of(name, data).read_bytes()
    workload = name.partition("-")[2] or "default"
    settings: Json = {}
    if (record := _conformance(data) / "openb" / f"{workload}.json").is_file():
        record_of = json.loads(record.read_bytes())
        settings = {key: record_of[key] for key in ("config", "schedulerParams")}
    return json.dumps(snapshot(*read(workload, data), **settings)).encode()


def read(workload: str = "", data: Path | None = None) -> tuple[list[Row], list[Row]]:
    """The rows of all nodes, and of the pods of one list; default: the recorded one."""
    names = ("openb_node_list_all_node.csv", f"openb_pod_list_{workload or 'default'}.csv")
    nodes, pods = (_rows(folder(data) / name) for name in names)
    return nodes, pods


def gpu_nodes(data: Path | None = None) -> list[Row]:
    """The rows of the nodes that have GPUs."""
    return _rows(folder(data) / "openb_node_list_gpu_node.csv")


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_fractional(pod: Row) -> bool:
    return 0 < int(pod["gpu_milli"]) < WHOLE_GPU


def models_of(pod: Row) -> list[str]:
    """The GPU models it may use; if none is given: all."""
    return sorted({model for model in (pod.get("gpu_spec") or "").split("|") if model})


def snapshot(nodes: Iterable[Row], pods: Iterable[Row], **settings: Any) -> Json:
    """The rows as a snapshot; `settings`: its other members, such as `config`."""
    waiting = list(pods)
    queues = sorted({_queue_of(pod) for pod in waiting})
    return {
        **settings,
        "rawObjects": {
            "nodes": [_node(row) for row in nodes],
            "queues": [_queue(PARENT_QUEUE), *(_queue(name, PARENT_QUEUE) for name in queues)],
            "podGroups": [_pod_group(row) for row in waiting],
            "pods": [_pod(row) for row in waiting],
        },
    }


def _node(row: Row) -> Json:
    name, gpus = row["sn"], row["gpu"]
    labels = {"kubernetes.io/hostname": name}
    held = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", "pods": "110"}
    if int(gpus):
        labels |= {
            keys.GPU_PRODUCT_LABEL: row["model"],
            "nvidia.com/gpu.count": gpus,
            "nvidia.com/gpu.memory": str(GPU_MEMORY_MIB),
        }
        held["nvidia.com/gpu"] = gpus
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "status": {"allocatable": held, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _queue_of(pod: Row) -> str:
    return (pod.get("qos") or DEFAULT_QUEUE).lower()


def _queue(name: str, parent: str | None = None) -> Json:
    share = {"quota": 0, "limit": -1, "overQuotaWeight": 1}
    spec: Json = {"resources": dict.fromkeys(("gpu", "cpu", "memory"), share)}
    if parent:
        spec["parentQueue"] = parent
    return {"metadata": {"name": name, "uid": f"queue-{name}"}, "spec": spec}


def _metadata(row: Row, kind: str) -> Json:
    came = START + timedelta(seconds=int(row.get("creation_time") or 0))
    return {
        "name": row["name"],
        "namespace": "openb",
        "uid": f"{kind}-{row['name']}",
        "creationTimestamp": came.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _pod_group(row: Row) -> Json:
    spec = {"queue": _queue_of(row), "minMember": 1}
    return {"metadata": _metadata(row, "pod-group"), "spec": spec}


def _pod(row: Row) -> Json:
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    annotations = {"pod-group-name": row["name"]}
    if is_fractional(row):
        annotations["gpu-fraction"] = str(int(row["gpu_milli"]) / WHOLE_GPU)
    elif int(row["num_gpu"]):
        requests["nvidia.com/gpu"] = row["num_gpu"]
    container = {"name": "main", "resources": {"requests": requests}}
    spec: Json = {"schedulerName": "kai-scheduler", "containers": [container]}
    models = models_of(row)
    if len(models) == 1:
        spec["nodeSelector"] = {keys.GPU_PRODUCT_LABEL: models[0]}
    elif models:
        one_of = {"key": keys.GPU_PRODUCT_LABEL, "operator": "In", "values": models}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [one_of]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": required}
    metadata = {**_metadata(row, "pod"), "annotations": annotations}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


if __name__ == "__main__":
    json.dump(snapshot(*read(sys.argv[1] if sys.argv[1:] else "")), sys.stdout)
