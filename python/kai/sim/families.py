"""Builds the clusters of workloads: each family is a function here, and its docstring describes it.

A function gets a `Snapshot` to fill, and a size. Objects are small, 200 to 400 bytes, except in
`real`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from kai.api import defaults, keys
from kai.engine import objects

CREATED = "2025-01-01T00:00:00Z"
GPUS = 8  # of a node


class Snapshot:
    """A snapshot under construction; pods are JSON texts, because they are too many for
    dictionaries."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.nodes: list[str] = []
        self.queues: list[str] = []
        self.topologies: list[str] = []
        self.groups: list[str] = []
        self.pods: list[str] = []
        self.config: dict[str, Any] | None = None  # None: KAI's own
        self.params: dict[str, Any] | None = None
        self._templates: dict[str, str] = {}

    def queue(self, name: str, deserved: float = 0, parent: str | None = None) -> None:
        made = objects.queue(name, parent=parent, deserved_gpus=deserved, created=CREATED)
        self.queues.append(json.dumps(made))

    def team(self, name: str, deserved: float = 0) -> None:
        """A queue in its own department, which deserves as much."""
        self.queue(f"dept-{name}", deserved)
        self.queue(name, deserved, f"dept-{name}")

    def node(self, name: str, **options: Any) -> None:
        shape: dict[str, Any] = {
            "gpus": GPUS, "cpus": 128, "memory": "1024Gi", "pods": 110, "gpu_memory_mib": 81920,
            "resources": None, "labels": None, "taints": (), "cordoned": False, "ready": True,
        }  # fmt: skip
        self.nodes.append(json.dumps(objects.node(name, **(shape | options))))

    def all_nodes(self, count: int) -> list[str]:
        names = [f"node-{number:06d}" for number in range(count)]
        for name in names:
            self.node(name)
        return names

    def group(
        self, queue: str, name: str, pods: int = 1, node: str | None = None,
        priority: str = defaults.TRAIN, constraint: Mapping[str, str] | None = None,
        change: Callable[[dict[str, Any]], None] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """A pod group of equal pods that start together, waiting or running.

        `change` may modify a pod; it must be the same for the same options.
        """
        group = objects.pod_group(queue, name, created=CREATED)
        group["spec"] |= {"queue": queue, "priorityClassName": priority, "minMember": pods}
        if constraint:
            group["spec"]["topologyConstraint"] = constraint
        self.groups.append(json.dumps(group))
        shape = json.dumps([options, node is None], sort_keys=True)
        if shape not in self._templates:
            self._templates[shape] = _pod_template(options, node is not None, change)
        pod = self._templates[shape].replace("@queue@", queue).replace("@group@", name)
        pod = pod.replace("@node@", node or "")
        self.pods += [pod.replace("@index@", str(index)) for index in range(pods)]

    def to_bytes(self) -> bytes:
        lists = {
            "nodes": self.nodes,
            "queues": self.queues,
            "priorityClasses": [json.dumps(each) for each in defaults.priority_classes()],
            "topologies": self.topologies,
            "podGroups": self.groups,
            "pods": self.pods,
        }
        members = ",".join(f'"{name}":[{",".join(items)}]' for name, items in lists.items())
        settings = {"config": self.config, "schedulerParams": self.params}
        given = [f'"{name}":{json.dumps(value)},' for name, value in settings.items() if value]
        return f'{{{"".join(given)}"rawObjects":{{{members}}}}}'.encode()


def _pod_template(
    options: Any, runs: bool, change: Callable[[dict[str, Any]], None] | None
) -> str:  # fmt: skip
    pod = objects.pod(
        "@queue@", "@group@", 0, phase="Running" if runs else "Pending",
        node="@node@" if runs else None, releasing=False, options=options, created=CREATED,
    )  # fmt: skip
    pod["metadata"] |= {"name": "@group@-@index@", "uid": "@queue@-@group@-@index@"}
    if change:
        change(pod)
    return json.dumps(pod)


# ---- places for what waits -----------------------------------------------------------------------


def fill(made: Snapshot, nodes: int) -> None:
    """Empty nodes of 8 GPUs, and a waiting pod for every GPU."""
    made.all_nodes(nodes)
    made.team("a", GPUS * nodes)
    for number in range(GPUS * nodes):
        made.group("a", f"job-{number:07d}", gpus=1, cpus=1)


def spread(made: Snapshot, nodes: int) -> None:
    """As fill, and pods are placed on the node with the most free GPUs."""
    fill(made, nodes)
    strategy = {"gpu": "spread", "cpu": "spread"}
    names = ("predicates", "proportion", "priority", "nodeavailability", "resourcetype", "elastic")
    plugins: list[dict[str, Any]] = [{"name": name} for name in names]
    plugins.append({"name": "nodeplacement", "arguments": strategy})
    made.config = {"actions": "allocate", "tiers": [{"plugins": plugins}]}


def shapes(made: Snapshot, nodes: int) -> None:
    """As fill, with 12 shapes of nodes and 200 of pods: GPUs, CPUs, selectors, taints."""
    made.team("a", GPUS * nodes)
    for number in range(nodes):
        shape = number % 12
        taints = ("pool=spot:NoSchedule",) if shape % 4 == 0 else ()
        made.node(
            f"node-{number:06d}", gpus=(4, GPUS)[shape % 2], cpus=64 + 16 * (shape % 3),
            labels={"pool": f"p{shape % 6}"}, taints=taints,
        )  # fmt: skip
    for number in range(GPUS * nodes):
        shape = made.random.randrange(200)
        options: dict[str, Any] = {"gpus": (1, 1, 2, 0)[shape % 4], "cpus": 1 + shape % 10}
        if shape % 3 == 0:
            options["node_selector"] = {"pool": f"p{shape % 6}"}
        if shape % 2 == 0:
            options["tolerations"] = ("pool",)
        made.group("a", f"job-{number:07d}", memory=f"{1 + shape // 10}Gi", **options)


def halves(made: Snapshot, nodes: int) -> None:
    """Empty nodes, and two waiting pods of half a GPU for every GPU."""
    made.all_nodes(nodes)
    made.team("a", GPUS * nodes)
    for number in range(2 * GPUS * nodes):
        made.group("a", f"half-{number:07d}", cpus="100m", gpu_fraction=0.5)


def mixed(made: Snapshot, nodes: int) -> None:
    """Empty nodes, and 8 groups per node of 1, 2, 4 or 8 GPUs in two queues: a quarter fits."""
    made.all_nodes(nodes)
    for queue in ("a", "b"):
        made.team(queue, GPUS * nodes / 2)
    for number in range(8 * nodes):
        made.group("ab"[number % 2], f"job-{number:07d}", gpus=(1, 2, 4, 8)[number // 2 % 4])


def cpus(made: Snapshot, nodes: int) -> None:
    """Nodes with and without GPUs, and 8 pods per node without GPUs, all with different
    requests."""
    made.team("a", GPUS * nodes)
    for number in range(nodes):
        made.node(f"node-{number:06d}", gpus=GPUS * (number % 2))
    count = 8 * nodes
    for number in range(count):
        memory = f"{1024 + number * 7919 % count}Mi"
        made.group("a", f"job-{number:07d}", cpus=f"{100 + number % 10_000}m", memory=memory)


def affinity(made: Snapshot, nodes: int) -> None:
    """Empty nodes, and 2,000 pods in 20 services with affinity to their own service."""
    made.team("a", GPUS * nodes)
    made.all_nodes(nodes)
    for number in range(2000):
        service = {"app": f"service-{number % 20}"}
        made.group("a", f"job-{number:07d}", gpus=1, cpus=1, labels=service, affinity=service)


def anti_affinity(made: Snapshot, nodes: int) -> None:
    """20 pods per node; each 25th node has a pod with anti-affinity to its kind, and one more
    waits."""
    made.team("a", GPUS * nodes)
    single: dict[str, Any] = {"labels": {"app": "single"}, "anti_affinity": {"app": "single"}}
    for number, node in enumerate(made.all_nodes(nodes)):
        alone = number % 25 == 0
        if alone:
            made.group("a", f"single-{number:05d}", node=node, cpus=1, **single)
        labels = {"app": "other"}
        made.group("a", f"others-{number:05d}", 20 - alone, node=node, cpus=1, labels=labels)
    made.group("a", "waits", gpus=1, cpus=1, **single)


# ---- gangs ---------------------------------------------------------------------------------------


def _full(made: Snapshot, nodes: int, free: int = 0, *, queue: str = "a") -> None:
    """A running one-GPU pod for each GPU, except the last `free` ones."""
    names = made.all_nodes(nodes)
    for number in range(GPUS * nodes - free):
        made.group(queue, f"old-{number:07d}", node=names[number // GPUS], gpus=1, cpus=1)


def gang3(made: Snapshot, nodes: int) -> None:
    """Busy nodes with 400 free GPUs, and a gang of 3 one-GPU pods; then a pod ends elsewhere."""
    made.team("a", GPUS * nodes)
    _full(made, nodes, free=400)
    made.group("a", "gang", pods=3, gpus=1, cpus=1)


def gang250(made: Snapshot, nodes: int) -> None:
    """Busy nodes with 400 free GPUs, and a gang of 250 one-GPU pods; then a pod ends elsewhere."""
    made.team("a", GPUS * nodes)
    _full(made, nodes, free=400)
    made.group("a", "gang", pods=250, gpus=1, cpus=1)


_IN_ONE_ZONE = {
    "topology": "site", "requiredTopologyLevel": "zone", "preferredTopologyLevel": "rack",
}  # fmt: skip


def _zones(made: Snapshot, nodes: int, *, racks: int) -> list[str]:
    """Eight zones, with this many racks."""
    levels = [{"nodeLabel": label} for label in ("zone", "rack", keys.HOSTNAME_LABEL)]
    made.topologies.append(
        json.dumps({"metadata": {"name": "site"}, "spec": {"levels": levels}})
    )  # fmt: skip
    made.team("a", GPUS * nodes)
    names = [f"node-{number:06d}" for number in range(nodes)]
    for number, name in enumerate(names):
        zone, rack = f"z{number * 8 // nodes}", number * racks // nodes
        made.node(name, labels={"zone": zone, "rack": f"{zone}-r{rack:04d}"})
    return names


def topology(made: Snapshot, nodes: int) -> None:
    """8 zones of 8 racks, and a gang of half as many pods as nodes in one zone."""
    _zones(made, nodes, racks=64)
    made.group("a", "gang", nodes // 2, constraint=_IN_ONE_ZONE, gpus=1, cpus=1)


def too_large(made: Snapshot, nodes: int) -> None:
    """8 zones, two free GPUs per node; a gang has one pod more than fit into any zone."""
    for number, node in enumerate(_zones(made, nodes, racks=max(8, nodes // 16))):
        made.group("a", f"runs-{number:05d}", node=node, priority="build", gpus=GPUS - 2, cpus=1)
    zone = -(-nodes // 8)
    made.group("a", "gang", 2 * zone + 1, constraint=_IN_ONE_ZONE, gpus=1, cpus=1)


def scattered(made: Snapshot, nodes: int) -> None:
    """8 zones, one free GPU per node; a gang of 8 pods with two GPUs waits."""
    for number, node in enumerate(_zones(made, nodes, racks=max(8, nodes // 16))):
        made.group("a", f"runs-{number:05d}", node=node, priority="build", gpus=GPUS - 1, cpus=1)
    made.group("a", "gang", 8, constraint=_IN_ONE_ZONE, gpus=2, cpus=1)


# ---- room by eviction ----------------------------------------------------------------------------


def unschedulable(made: Snapshot, nodes: int) -> None:
    """Full with pods of another queue, exactly at its quota; a gang of whole nodes waits."""
    _unschedulable(made, nodes, quota=GPUS * nodes)


def unschedulable_under(made: Snapshot, nodes: int) -> None:
    """The same, but the other queue is below its quota."""
    _unschedulable(made, nodes, quota=GPUS * (nodes + 1))


def _unschedulable(made: Snapshot, nodes: int, *, quota: int) -> None:
    gang = max(2, nodes // 10)
    made.team("a", quota)
    made.team("b", GPUS * gang)
    _full(made, nodes)
    made.group("b", "gang", pods=gang, gpus=GPUS, cpus=1)


def unschedulable_late(made: Snapshot, nodes: int) -> None:
    """Full; half is above the holder's quota, but no node can be emptied for the gang."""
    gang = max(2, nodes // 10)
    made.team("a", GPUS * nodes // 2)
    made.team("b", GPUS * nodes // 2)
    for node in made.all_nodes(nodes):
        for number in range(GPUS):
            priority = defaults.TRAIN if number % 2 else "build"
            made.group("a", f"{node}-{number}", node=node, priority=priority, gpus=1, cpus=1)
    made.group("b", "gang", pods=gang, gpus=GPUS, cpus=1)


def reclaim(made: Snapshot, nodes: int) -> None:
    """Full with one queue's one-GPU pods; another queue requests a gang of half the cluster."""
    made.team("a", GPUS * nodes // 2)
    made.team("b", GPUS * nodes // 2)
    _full(made, nodes)
    made.group("b", "gang", pods=GPUS * nodes // 2, gpus=1, cpus=1)


def preempt(made: Snapshot, nodes: int) -> None:
    """Full with one queue's one-GPU pods; one pod with a higher priority arrives."""
    made.team("a", GPUS * nodes)
    _full(made, nodes)
    made.group("a", "urgent", priority="build-preemptible", gpus=1, cpus=1)


def consolidation(made: Snapshot, nodes: int) -> None:
    """Every node half full with one pod; a tenth as many pods request whole nodes."""
    made.team("a", GPUS * nodes)
    for node in made.all_nodes(nodes):
        made.group("a", f"old-{node}", node=node, gpus=GPUS // 2, cpus=1)
    for number in range(nodes // 10):
        made.group("a", f"whole-{number}", gpus=GPUS, cpus=1)


def consolidation_small(made: Snapshot, nodes: int) -> None:
    """Every node is half full with four pods, and each of them may be moved."""
    made.team("a", GPUS * nodes)
    made.params = defaults.scheduler_params() | {"maxNumberConsolidationPreemptees": -1}
    for node in made.all_nodes(nodes):
        for number in range(GPUS // 2):
            made.group("a", f"old-{node}-{number}", node=node, gpus=1, cpus=1)
    for number in range(nodes // 10):
        made.group("a", f"whole-{number}", gpus=GPUS, cpus=1)


def saturated(made: Snapshot, nodes: int) -> None:
    """Full with pods of whole nodes, and 4,000 pods of 200 shapes wait."""
    made.team("a", GPUS * nodes)
    for node in made.all_nodes(nodes):
        made.group("a", f"old-{node}", node=node, gpus=GPUS, cpus=1)
    for number in range(4000):
        shape = number % 200
        made.group("a", f"job-{number:05d}", gpus=1 + shape % 8, cpus=f"{1000 + shape}m")


# ---- a cluster that lives on ---------------------------------------------------------------------


def _crowded(made: Snapshot, nodes: int) -> None:
    """Full: 8 GPU pods and 20 small ones per node; two groups per node wait, of 100 classes."""
    made.team("a", GPUS * nodes)
    names = made.all_nodes(nodes)
    for node in names:
        for number in range(GPUS):
            made.group("a", f"{node}-gpu-{number}", node=node, gpus=1, cpus=1)
        made.group("a", f"{node}-cpu", pods=20, node=node, cpus=1)
    for number in range(2 * nodes):
        kind = number % 100
        made.group("a", f"waits-{number:07d}", gpus=1 + kind % 4, cpus=1 + kind)


def event(made: Snapshot, nodes: int) -> None:
    """Full, two groups per node wait; a GPU pod ends, so one of them can start."""
    _crowded(made, nodes)


def events(made: Snapshot, nodes: int) -> None:
    """The same, and a thousand pods end at once."""
    _crowded(made, nodes)


def quiet(made: Snapshot, nodes: int) -> None:
    """The same, without any event."""
    _crowded(made, nodes)


def queues(made: Snapshot, count: int) -> None:
    """Queues in 4 levels below 10 roots, nine of ten leaves with a waiting pod; 100 nodes."""
    made.all_nodes(100)
    above: list[str | None] = [None]
    for level, width in enumerate((10, max(1, count // 200), max(1, count // 25))):
        names = [f"level{level}-{number}" for number in range(width)]
        for number, name in enumerate(names):
            made.queue(name, 100 * GPUS / width, above[number % len(above)])
        above = [*names]
        count -= width
    for number in range(count):
        name = f"leaf-{number}"
        made.queue(name, 0.1, above[number % len(above)])
        if number % 10:
            made.group(name, "job", gpus=1, cpus=1)


# ---- objects as an API server has them -----------------------------------------------------------


def real(made: Snapshot, nodes: int) -> None:
    """Full with gangs of 8 pods as an API server lists them: 8 KB, much of it managed fields."""
    made.team("a", GPUS * nodes)
    for number, node in enumerate(made.all_nodes(nodes)):
        made.group("a", f"train-{number:05d}", 8, node=node, change=_as_listed, gpus=1, cpus=8)


def _as_listed(pod: dict[str, Any]) -> None:
    """Adds what job controllers, users, the API server and the kubelet add to a pod."""
    owner = {"kind": "Job", "apiVersion": "batch/v1", "name": "@group@", "uid": "job-@group@"}
    pod["metadata"] |= {
        "generateName": "@group@-",
        "resourceVersion": "7000000",
        "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
    }
    pod["metadata"]["labels"] = {"app": "train", "team": "@queue@", "job-name": "@group@"}
    token = "kube-api-access-@index@"
    mounts = [
        {"name": "data", "mountPath": "/data"},
        {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"},
    ]
    value = "the value of setting {}, as the chart has it today"
    [main] = pod["spec"]["containers"]
    main |= {
        "image": "registry.example/vision/train:v1.2.3",
        "args": ["--epochs", "90", "--data", "/data", "--checkpoint-every", "1000"],
        "env": [{"name": f"SETTING_{n}", "value": value.format(n)} for n in range(14)],
        "volumeMounts": mounts,
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
    logs = {"cpu": "100m", "memory": "128Mi"}
    pod["spec"]["containers"].append(
        {
            "name": "logs",
            "image": "registry.example/logs:v4",
            "resources": {"requests": logs},
            "volumeMounts": mounts,
        }
    )
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [{"serviceAccountToken": {"expirationSeconds": 3607}}, {"configMap": root}]
    pod["spec"] |= {
        "volumes": [
            {"name": "data", "emptyDir": {}},
            {"name": token, "projected": {"sources": sources, "defaultMode": 420}},
        ],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "securityContext": {},
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute"}
            for what in ("not-ready", "unreachable")
        ],
        "priority": 50,
    }
    pod["status"] |= _status_of(pod["spec"]["containers"])
    pod["metadata"]["managedFields"] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": CREATED,
            "fieldsType": "FieldsV1",
            "fieldsV1": _managed(fields),
        }
        for manager, fields in (
            ("kube-controller-manager", {"metadata": pod["metadata"], "spec": pod["spec"]}),
            ("kubelet", {"status": pod["status"]}),
        )
    ]


def _status_of(containers: list[dict[str, Any]]) -> dict[str, Any]:
    """The kubelet's status of a running pod."""
    return {
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": CREATED}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "hostIP": "10.1.2.3",
        "podIPs": [{"ip": "10.4.5.6"}],
        "startTime": CREATED,
        "qosClass": "Burstable",
        "containerStatuses": [
            {
                "name": each["name"],
                "state": {"running": {"startedAt": CREATED}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": each["image"],
                "imageID": f"{each['image']}@sha256:{'9f86d081884c7d65' * 4}",
                "containerID": f"containerd://{'2c26b46b68ffc68f' * 4}",
            }
            for each in containers
        ],
    }


def _managed(value: object) -> dict[str, Any]:
    """The members of an object in the format of `managedFields`."""
    if isinstance(value, dict):
        return {f"f:{name}": _managed(each) for name, each in value.items()}
    if isinstance(value, list):
        named = [each for each in value if isinstance(each, dict) and "name" in each]
        return {f'k:{{"name":"{each["name"]}"}}': {".": {}, **_managed(each)} for each in named}
    return {}


FAMILIES: Mapping[str, Callable[[Snapshot, int], None]] = {
    each.__name__.replace("_", "-"): each
    for each in (
        fill, spread, shapes, halves, mixed, cpus, affinity, anti_affinity, gang3, gang250,
        topology, too_large, scattered, unschedulable, unschedulable_under, unschedulable_late,
        reclaim, preempt, consolidation, consolidation_small, saturated, event, events, quiet,
        queues, real,
    )
}  # fmt: skip
