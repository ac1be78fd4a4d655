#!/usr/bin/env python3
"""Random cluster snapshots for scheduler tests.

Writes cluster states (Kubernetes objects as JSON, in the layout of a KAI Scheduler
``snapshot.json``) that exercise one scheduling feature each, chosen by *family*.
Everything is drawn from a random generator seeded with the family and the case number,
so a case can be made again at any time and no two runs of this program differ.

    generate.py --family reclaim --seed 1 --count 60 --out DIR
    generate.py --family all --seed 1 --count 60 --out DIR          (DIR/<family>/...)

A case file is ``{"id", "about", "snapshot"}``. Only the Python standard library is used.
"""

import argparse
import json
import random
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

SCHEDULER = "kai-scheduler"
ALL_ACTIONS = "allocate, consolidation, reclaim, preempt, stalegangeviction"
PLUGINS = (
    "predicates proportion priority nodeavailability resourcetype podaffinity elastic kubeflow ray"
    " subgrouporder taskorder nominatednode dynamicresources minruntime topology snapshot"
    " sg-nodelocalgreedy sg-multinodegang"
)
"""In the order in which an installed scheduler has them."""
STRATEGIES = ["binpack", "binpack", "spread"]
LAST_START = "kai.scheduler/last-start-timestamp"
UNLIMITED = (-1, 1, -1)

# Durations are written in nanoseconds.
SECOND = 1_000_000_000

# Far from any clock: everything that started long ago started in 2024, pods that are being deleted
# have a deadline that is never reached, and minimum run times are either over long ago or a
# century.
LONG_AGO = "2024-01-01T00:00:00Z"
NEVER = "2099-01-01T00:00:00Z"
CENTURY = "876000h"

PRIORITY_CLASSES = {"low": 25, "train": 50, "high": 75, "build": 100, "inference": 125}
PREEMPTIBLE = ["low", "train", "high"]
MIG_PROFILES = {
    f"nvidia.com/mig-{each}": int(each[0]) for each in ("1g.10gb", "2g.20gb", "3g.40gb")
}


def scheduler_params(**changes):
    """The scheduler's command line settings, at their usual values."""
    params = {
        "schedulerName": SCHEDULER,
        "partitionParams": {
            "NodePoolLabelKey": "kai.scheduler/node-pool",
            "NodePoolLabelValue": "",
        },
        "maxNumberConsolidationPreemptees": 16,
        "useSchedulingSignatures": True,
        "fullHierarchyFairness": True,
        "allowConsolidatingReclaim": True,
        "numOfStatusRecordingWorkers": 5,
        "globalDefaultStalenessGracePeriod": 60 * SECOND,
        "schedulePeriod": SECOND,
        "stuckInReleasingThreshold": 120 * SECOND,
        "queueLabelKey": "kai.scheduler/queue",
    }
    params.update(changes)
    return params


def scheduler_config(actions=ALL_ACTIONS, gpu="binpack", cpu="binpack", arguments=None, depth=None):
    arguments = {**(arguments or {}), "nodeplacement": {"gpu": gpu, "cpu": cpu}}
    by_strategy = {
        "binpack": ("gpupack", "nodeplacement", "gpusharingorder"),
        "spread": ("gpuspread", "nodeplacement"),
    }
    plugins = [
        {"name": name, **({"arguments": arguments[name]} if arguments.get(name) else {})}
        for name in (*PLUGINS.split(), *by_strategy[gpu])
    ]
    depths = {"queueDepthPerAction": depth} if depth else {}
    return {"actions": actions, "tiers": [{"plugins": plugins}], **depths}


# --------------------------------------------------------------------------------------
# Cluster under construction
# --------------------------------------------------------------------------------------


@dataclass
class Node:
    """A node and its free resources."""

    name: str
    gpus: int = 8
    cpu: int = 64
    memory: int = 512
    gpu_memory: int = 81920  # MiB of one GPU
    mig: dict = field(default_factory=dict)
    pods: int = 110
    labels: dict = field(default_factory=dict)
    taints: list = field(default_factory=list)
    unschedulable: bool = False
    ready: bool = True

    def __post_init__(self):
        self.cpu *= 1000  # millicores
        self.memory *= 1024  # MiB
        self.free_cpu, self.free_memory, self.free_pods = self.cpu, self.memory, self.pods
        self.free_gpus, self.free_mig = self.gpus, dict(self.mig)
        self.shared = {}  # group name -> free share of that GPU

    def fits(self, pod):
        return (
            pod.cpu <= self.free_cpu
            and pod.memory <= self.free_memory
            and self.free_pods >= 1
            and pod.gpus <= self.free_gpus
            and all(self.free_mig.get(name, 0) >= count for name, count in pod.mig.items())
            and all(self.labels.get(key) == value for key, value in (pod.selector or {}).items())
        )

    def take(self, pod):
        self.free_cpu -= pod.cpu
        self.free_memory -= pod.memory
        self.free_gpus -= pod.gpus
        self.free_pods -= 1
        for name, count in pod.mig.items():
            self.free_mig[name] -= count

    def to_json(self, uid):
        amounts = {
            "cpu": str(self.cpu // 1000),
            "memory": f"{self.memory // 1024}Gi",
            "pods": str(self.pods),
        }
        labels = {"kubernetes.io/hostname": self.name}
        if self.gpus or self.mig:
            labels["nvidia.com/gpu.memory"] = str(self.gpu_memory)
            labels["nvidia.com/gpu.count"] = str(self.gpus or 8)
        if self.gpus:
            amounts["nvidia.com/gpu"] = str(self.gpus)
        if self.mig:
            labels["nvidia.com/mig.strategy"] = "mixed"
            for name, count in self.mig.items():
                amounts[name] = str(count)
        labels.update(self.labels)
        spec = {}
        if self.taints:
            spec["taints"] = self.taints
        if self.unschedulable:
            spec["unschedulable"] = True
        node = {"metadata": {"name": self.name, "uid": uid, "labels": labels}}
        if spec:
            node["spec"] = spec
        node["status"] = {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True" if self.ready else "False"}],
        }
        return node


@dataclass
class Pod:
    """The request of one pod, and its node if it runs."""

    gpus: int = 0
    cpu: int = 1000
    memory: int = 1024
    fraction: float | None = None
    gpu_memory: int | None = None
    devices: int | None = None
    mig: dict = field(default_factory=dict)
    selector: dict | None = None
    affinity: dict | None = None
    tolerations: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)
    subgroup: str | None = None
    gated: bool = False
    node: str | None = None
    groups: list = field(default_factory=list)  # shared GPUs it runs on
    releasing: bool | str = False  # being deleted, or the time by which it is
    bound: bool = False  # bound, containers not started
    request: str | None = None  # phase of the bind request that put it there
    phase: str | None = None  # "Succeeded"

    def share_on(self, node):
        """Share of one GPU of the node."""
        if self.fraction is not None:
            return self.fraction
        if self.gpu_memory is not None:
            usable = node.gpu_memory - node.gpu_memory % 100
            return self.gpu_memory / usable
        return 0

    def to_json(self, name, namespace, group, uid, created):
        meta = {
            "name": name,
            "namespace": namespace,
            "uid": uid,
            "creationTimestamp": created,
            "annotations": {"pod-group-name": group},
        }
        labels = dict(self.labels)
        annotations = meta["annotations"]
        if self.fraction is not None:
            annotations["gpu-fraction"] = repr(self.fraction)
        if self.gpu_memory is not None:
            annotations["gpu-memory"] = str(self.gpu_memory)
        if self.devices is not None:
            annotations["gpu-fraction-num-devices"] = str(self.devices)
        if self.subgroup:
            labels["kai.scheduler/subgroup-name"] = self.subgroup
        if self.groups and self.request not in ("Pending", "Failed"):
            annotations["received-resource-type"] = "Fraction"
        if self.groups and not self.request:
            labels["runai-gpu-group"] = self.groups[0]
            for other in self.groups[1:]:
                labels["runai-gpu-group/" + other] = other
        if labels:
            meta["labels"] = labels
        if self.releasing:
            meta["deletionTimestamp"] = self.releasing if isinstance(self.releasing, str) else NEVER
            meta["deletionGracePeriodSeconds"] = 30
        requests = {}
        if self.cpu:
            requests["cpu"] = f"{self.cpu}m" if self.cpu % 1000 else str(self.cpu // 1000)
        if self.memory:
            requests["memory"] = (
                f"{self.memory}Mi" if self.memory % 1024 else f"{self.memory // 1024}Gi"
            )
        if self.gpus:
            requests["nvidia.com/gpu"] = str(self.gpus)
        for profile, count in self.mig.items():
            requests[profile] = str(count)
        spec = {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        }
        if self.node and self.request not in ("Pending", "Failed"):
            spec["nodeName"] = self.node
        if self.selector:
            spec["nodeSelector"] = self.selector
        if self.affinity:
            spec["affinity"] = self.affinity
        if self.tolerations:
            spec["tolerations"] = self.tolerations
        if self.gated:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        phase = self.phase or ("Running" if self.node and not self.bound else "Pending")
        if self.request in ("Pending", "Failed"):
            phase = "Pending"
        return {"metadata": meta, "spec": spec, "status": {"phase": phase}}

    def request_to_json(self, name, namespace, uid):
        """The bind request with which the scheduler requested the pod's place."""
        spec = {"podName": name, "selectedNode": self.node}
        if self.groups:
            spec["receivedResourceType"] = "Fraction"
            spec["receivedGPU"] = {
                "count": self.devices or 1,
                "portion": f"{self.fraction or 0:.2f}",
            }
            spec["selectedGPUGroups"] = self.groups
        else:
            spec["receivedResourceType"] = "Regular"
            spec["receivedGPU"] = {"count": self.gpus, "portion": "1.00" if self.gpus else "0.00"}
        status = {"phase": self.request}
        if self.request == "Failed":
            status["failedAttempts"] = 3
        return {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "labels": {"selected-node": self.node},
            },
            "spec": spec,
            "status": status,
        }


class Cluster:
    """Collects nodes, queues and pod groups and writes them as a snapshot."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.queues, self.groups, self.topologies, self.other_pods = [], [], [], [], []
        self.requests = []
        self.config, self.params = scheduler_config(), scheduler_params()
        self.running_groups = self.pending_groups = 0
        self._clock = 0
        self._names = {}

    # -- small helpers ---------------------------------------------------------------

    def uid(self):
        return f"{self.rng.getrandbits(32):08x}"

    def time(self):
        """Creation times increase; sometimes two objects share one."""
        if self.rng.random() < 0.8:
            self._clock += self.rng.randint(1, 600)
        minutes, seconds = divmod(self._clock, 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        return f"2024-02-{1 + days % 28:02d}T{hours:02d}:{minutes:02d}:{seconds:02d}Z"

    def name(self, prefix):
        self._names[prefix] = self._names.get(prefix, 0) + 1
        return f"{prefix}-{self._names[prefix]:02d}"

    @property
    def gpus(self):
        return sum(node.gpus for node in self.nodes)

    @property
    def free_gpus(self):
        return sum(node.free_gpus for node in self.nodes)

    # -- building --------------------------------------------------------------------

    def add_nodes(self, count, **settings):
        made = []
        for _ in range(count):
            node = Node(f"n{len(self.nodes) + 1:02d}", **settings)
            self.nodes.append(node)
            made.append(node)
        return made

    def add_queue(self, name, parent=None, gpu=UNLIMITED, cpu=UNLIMITED, memory=UNLIMITED, **spec):
        """gpu/cpu/memory are (quota, over-quota weight, limit)."""
        resources = {
            kind: dict(zip(("quota", "overQuotaWeight", "limit"), amount, strict=True))
            for kind, amount in (("gpu", gpu), ("cpu", cpu), ("memory", memory))
        }
        more = {key: value for key, value in {"parentQueue": parent, **spec}.items() if value}
        metadata = {"name": name, "uid": self.uid(), "creationTimestamp": self.time()}
        self.queues.append({"metadata": metadata, "spec": {"resources": resources, **more}})
        return name

    def place(self, pod, nodes=None):
        """Puts a running pod on a node with room; False if there is none."""
        fitting = [node for node in (nodes or self.nodes) if node.fits(pod)]
        if not fitting:
            return False
        node = self.rng.choice(fitting)
        node.take(pod)
        pod.node = node.name
        return True

    def place_shared(self, pod, nodes=None):
        """Puts a running pod that shares GPUs on a node, opening new shared GPUs as needed."""
        candidates = list(nodes or self.nodes)
        self.rng.shuffle(candidates)
        count = pod.devices or 1
        for node in candidates:
            if node.mig or not node.fits(pod):
                continue
            share = pod.share_on(node)
            if share > 1:
                continue
            usable = [group for group, free in node.shared.items() if free >= share - 1e-9]
            self.rng.shuffle(usable)
            if self.rng.random() < 0.3:
                usable = usable[: len(usable) // 2]
            chosen = usable[:count]
            if len(chosen) < count and count - len(chosen) > node.free_gpus:
                continue
            while len(chosen) < count:
                group = (
                    f"{node.name}-gpu{node.gpus - node.free_gpus}-{self.rng.getrandbits(16):04x}"
                )
                node.free_gpus -= 1
                node.shared[group] = 1.0
                chosen.append(group)
            for group in chosen:
                node.shared[group] -= share
            node.take(pod)
            pod.node, pod.groups = node.name, chosen
            return True
        return False

    def add_group(
        self, queue, pods, *, priority="train", sub_groups=None, topology=None, annotations=None,
        min_member=None, preemptibility=None, **spec,
    ):  # fmt: skip
        """Adds a pod group; each pod has its own state."""
        running = any(pod.node for pod in pods)
        name = self.name("run" if running else "job")
        namespace = "ns-" + queue
        created = self.time()
        body = {
            "queue": queue,
            "minMember": min_member,
            "priorityClassName": priority,
            "preemptibility": preemptibility,
            "subGroups": sub_groups or None,
            "topologyConstraint": topology,
            **spec,
        }
        body = {key: value for key, value in body.items() if value is not None}
        where = {"name": name, "namespace": namespace}
        meta = {**where, "uid": self.uid(), "creationTimestamp": created}
        notes = dict(annotations or {})
        if running:
            notes.setdefault(LAST_START, created)
        if notes:
            meta["annotations"] = {key: value for key, value in notes.items() if value is not None}
        documents = [
            pod.to_json(f"{name}-{index}", namespace, name, self.uid(), created)
            for index, pod in enumerate(pods)
        ]
        for index, pod in enumerate(pods):
            if pod.request:
                self.requests.append(pod.request_to_json(f"{name}-{index}", namespace, self.uid()))
        self.groups.append(({"metadata": meta, "spec": body}, documents))
        self.running_groups += running
        self.pending_groups += any(not pod.node and not pod.phase for pod in pods)
        return name

    def run(self, queue, pods, shared=False, **settings):
        """Adds a running group if all its pods fit; returns whether they did."""
        before = [
            {**vars(node), "free_mig": dict(node.free_mig), "shared": dict(node.shared)}
            for node in self.nodes
        ]
        for pod in pods:
            if not (self.place_shared(pod) if shared else self.place(pod)):
                for node, state in zip(self.nodes, before, strict=True):
                    vars(node).update(state)
                for each in pods:
                    each.node, each.groups = None, []
                return False
        self.add_group(queue, pods, **settings)
        return True

    def until_used(self, gpus, tries):
        """At most so many tries, until so many GPUs are in use."""
        for _ in range(tries):
            if self.gpus - self.free_gpus >= gpus:
                return
            yield

    def add_topology(self, name, levels):
        self.topologies.append(
            {
                "metadata": {"name": name, "uid": self.uid()},
                "spec": {"levels": [{"nodeLabel": label} for label in levels]},
            }
        )

    # -- writing ---------------------------------------------------------------------

    def about(self):
        return (
            f"{len(self.nodes)} nodes, {len(self.queues)} queues, {len(self.groups)} pod groups; "
            f"{self.running_groups} running, {self.pending_groups} with pending pods"
        )

    def snapshot(self):
        raw = {
            "pods": self.other_pods + [pod for _, pods in self.groups for pod in pods],
            "nodes": [node.to_json(f"node-{node.name}") for node in self.nodes],
            "queues": self.queues,
            "podGroups": [group for group, _ in self.groups],
            "priorityClasses": [
                {"metadata": {"name": name, "uid": "pc-" + name}, "value": value}
                for name, value in PRIORITY_CLASSES.items()
            ],
        }
        if self.requests:
            raw["bindRequests"] = self.requests
        if self.topologies:
            raw["topologies"] = self.topologies
        return {"config": self.config, "schedulerParams": self.params, "rawObjects": raw}


# --------------------------------------------------------------------------------------
# Pieces shared by the families
# --------------------------------------------------------------------------------------


def gpu_pod(gpus=1, **settings):
    """A pod with whole GPUs and a modest part of the processors."""
    return Pod(**{"gpus": gpus, "cpu": 1000 * max(1, gpus), "memory": 4096, **settings})


def copies(pod, count):
    return [deepcopy(pod) for _ in range(count)]


def weighted(rng, table):
    """Picks a key of {value: weight}."""
    return rng.choices(list(table), weights=list(table.values()))[0]


def split(rng, total, parts):
    """Splits an integer at random."""
    cuts = sorted(rng.randint(0, total) for _ in range(parts - 1))
    return [high - low for low, high in zip([0, *cuts], [*cuts, total], strict=False)]


def two_level_queues(cluster, quotas, parents=1, weights=None, limits=None, **settings):
    """Leaf queues with the given GPU quotas below one or more parents; returns the leaf names."""
    names = []
    homes = [index % parents for index in range(len(quotas))]
    for parent in range(parents):
        total = sum(quota for quota, home in zip(quotas, homes, strict=False) if home == parent)
        cluster.add_queue(f"dept-{chr(97 + parent)}", None, gpu=(total, 1, -1))
    for index, (quota, home) in enumerate(zip(quotas, homes, strict=False)):
        weight = weights[index] if weights else 1
        limit = limits[index] if limits else -1
        names.append(
            cluster.add_queue(
                f"team-{chr(97 + index)}",
                f"dept-{chr(97 + home)}",
                gpu=(quota, weight, limit),
                **settings,
            )
        )
    return names


def reservation_pods(cluster):
    """The helper pods that hold a shared GPU on behalf of the pods sharing it."""
    for node in cluster.nodes:
        for group in node.shared:
            name = "gpu-reservation-" + group
            pod = Pod(gpus=1, cpu=0, memory=0)
            pod.node = node.name
            document = pod.to_json(name, "kai-resource-reservation", "", cluster.uid(), LONG_AGO)
            del document["metadata"]["annotations"]
            document["metadata"]["labels"] = {
                "app": "kai-resource-reservation",
                "runai-gpu-group": group,
            }
            cluster.other_pods.append(document)
            node.free_pods -= 1


def foreign_pods(cluster, count):
    """Running pods of another scheduler."""
    for index in range(count):
        pod = Pod(gpus=cluster.rng.choice([0, 0, 1]), cpu=cluster.rng.choice([500, 2000, 4000]))
        if cluster.place(pod):
            document = pod.to_json(f"other-{index}", "elsewhere", "", cluster.uid(), LONG_AGO)
            document["spec"]["schedulerName"] = "default-scheduler"
            del document["metadata"]["annotations"]
            cluster.other_pods.append(document)


# --------------------------------------------------------------------------------------
# Families
# --------------------------------------------------------------------------------------


def family_fairness(cluster):
    """Queue trees of two or three levels with random quotas, weights, limits and priorities."""
    rng = cluster.rng
    cluster.add_nodes(
        rng.randint(2, 6), gpus=rng.choice([4, 8]), cpu=rng.choice([32, 64]), memory=256
    )
    if rng.random() < 0.3:
        cluster.add_nodes(rng.randint(1, 2), gpus=0, cpu=64, memory=256)
    total = cluster.gpus
    total_cpu = sum(node.cpu for node in cluster.nodes)
    total_memory = sum(node.memory for node in cluster.nodes)
    by_cpu = rng.random() < 0.4

    def amounts(gpu_quota, gpu_limit_chance=0.25):
        limit = -1
        if rng.random() < gpu_limit_chance:
            limit = weighted(
                rng, {0: 1, rng.randint(1, max(1, total // 2)): 8, gpu_quota + rng.randint(0, 3): 6}
            )
        gpu = (gpu_quota, rng.choice([0, 1, 1, 1, 2, 3, 0.5]), limit)
        cpu = memory = (-1, 1, -1)
        if by_cpu:
            cpu = (
                rng.choice([-1, 0, 1000 * rng.randint(1, total_cpu // 3000)]),
                rng.choice([0, 1, 2]),
                rng.choice([-1, -1, 1000 * rng.randint(4, total_cpu // 1000)]),
            )
            if rng.random() < 0.5:
                memory = (
                    rng.choice([-1, 0, 1000 * rng.randint(1, total_memory // 3000)]),
                    rng.choice([0, 1, 2]),
                    rng.choice([-1, -1, 1000 * rng.randint(16, total_memory // 1000)]),
                )
        return {"gpu": gpu, "cpu": cpu, "memory": memory}

    def priority():
        return weighted(rng, {None: 7, 80: 1, 120: 1, 200: 1})

    departments = rng.randint(1, 3)
    leaves = []
    for index, quota in enumerate(
        split(rng, max(1, int(total * rng.choice([0.6, 0.9, 1, 1.2]))), departments)
    ):
        department = f"dept-{chr(97 + index)}"
        own = -1 if rng.random() < 0.1 else quota
        cluster.add_queue(department, None, priority=priority(), **amounts(own, 0.1))
        teams = rng.randint(1 if departments > 1 else 2, 3)
        for number, part in enumerate(split(rng, quota, teams)):
            team = f"{department}-team-{number + 1}"
            quota_here = weighted(rng, {part: 8, -1: 1, 0: 2})
            cluster.add_queue(team, department, priority=priority(), **amounts(quota_here))
            if rng.random() < 0.2:
                for side, piece in enumerate(split(rng, part, 2)):
                    leaf = f"{team}-{'xy'[side]}"
                    cluster.add_queue(leaf, team, priority=priority(), **amounts(piece, 0.15))
                    leaves.append(leaf)
            else:
                leaves.append(team)
    favourites = [rng.choice([0.3, 1, 1, 3]) for _ in leaves]

    target = total * rng.choice([0, 0.3, 0.5, 0.7, 0.9])
    for _ in cluster.until_used(target, 60):
        queue = rng.choices(leaves, weights=favourites)[0]
        cluster.run(
            queue,
            copies(gpu_pod(rng.choice([1, 1, 2, 4])), rng.choice([1, 1, 1, 2])),
            priority=rng.choice([*PREEMPTIBLE, "train", "build"]),
        )
    wanted, limit = 0, cluster.free_gpus * rng.choice([0.8, 1.3, 2]) + 2
    for _ in range(40):
        if wanted >= limit:
            break
        queue = rng.choice(leaves)
        if rng.random() < 0.15:
            cluster.add_group(
                queue,
                copies(Pod(cpu=1000 * rng.randint(1, 8), memory=8192), rng.randint(1, 3)),
                min_member=1,
                priority="train",
            )
            wanted += 0.5
            continue
        gpus, count = rng.choice([1, 1, 1, 2, 2, 4]), rng.choice([1, 1, 1, 2, 3])
        cluster.add_group(
            queue,
            copies(gpu_pod(gpus), count),
            min_member=rng.choice([1, count]),
            priority=weighted(rng, {"train": 6, "low": 1, "high": 1, "build": 2, "inference": 1}),
        )
        wanted += gpus * count
    arguments = {}
    if rng.random() < 0.15:
        arguments["proportion"] = {"kValue": rng.choice(["0.5", "2"])}
    if rng.random() < 0.1:
        foreign_pods(cluster, 2)
    cluster.config = scheduler_config(
        rng.choice(["allocate", "allocate", ALL_ACTIONS]), arguments=arguments
    )


def random_constraints(rng, labels):
    """A node selector or a required node affinity over the labels that nodes carry."""
    kind = rng.choice(["selector", "in", "notin", "exists", "gt", "either"])
    key, values = rng.choice(sorted(labels.items()))
    value = rng.choice(values)
    if kind == "selector":
        return {key: value}, None

    def term(operator, names=None, label=key):
        expression = {"key": label, "operator": operator}
        if names:
            expression["values"] = names
        return {"matchExpressions": [expression]}

    if kind == "in":
        terms = [term("In", [value])]
    elif kind == "notin":
        terms = [term("NotIn", [value])]
    elif kind == "exists":
        terms = [term(rng.choice(["Exists", "DoesNotExist"]))]
    elif kind == "gt":
        terms = [term(rng.choice(["Gt", "Lt"]), [str(rng.randint(2, 5))], "generation")]
    else:
        terms = [term("In", [value]), term("Exists", None, rng.choice(sorted(labels)))]
    return None, {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }


def family_allocate(cluster):
    """Placement on equal and mixed nodes: gangs, elastic groups, priorities, labels, taints."""
    rng = cluster.rng
    labels = {"disk": ["ssd", "hdd"], "pool": ["red", "blue"]}
    size = weighted(rng, {rng.randint(2, 5): 6, rng.randint(5, 12): 3, rng.randint(12, 20): 1})
    mixed = rng.random() < 0.6
    dedicated = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
    for _ in range(size):
        gpus = rng.choice([0, 4, 4, 8, 8]) if mixed else 8
        (node,) = cluster.add_nodes(
            1,
            gpus=gpus,
            cpu=rng.choice([16, 32, 64]) if mixed else 64,
            memory=rng.choice([64, 256]) if mixed else 256,
            pods=rng.choice([110, 110, 110, 5]) if mixed else 110,
        )
        if rng.random() < 0.7:
            node.labels["disk"] = rng.choice(labels["disk"])
        if rng.random() < 0.5:
            node.labels["pool"] = rng.choice(labels["pool"])
        if rng.random() < 0.5:
            node.labels["generation"] = str(rng.randint(1, 6))
        if rng.random() < 0.15:
            node.taints.append(
                dict(dedicated, effect=rng.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"]))
            )
        if rng.random() < 0.06:
            node.unschedulable = True
        elif rng.random() < 0.04:
            node.ready = False
    total = cluster.gpus
    quotas = [total, rng.choice([total, total // 2, 2])]
    leaves = two_level_queues(
        cluster,
        quotas,
        parents=rng.choice([1, 2]),
        limits=[-1, rng.choice([-1, -1, max(1, total // 3)])],
    )
    target = total * rng.choice([0, 0.2, 0.5, 0.7])
    for _ in cluster.until_used(target, 30):
        pods = copies(gpu_pod(rng.choice([1, 1, 2, 3])), rng.choice([1, 1, 2]))
        if rng.random() < 0.12:
            for pod in pods:
                pod.releasing = rng.choice([NEVER, NEVER, LONG_AGO])
        elif rng.random() < 0.1:
            for pod in pods:
                pod.request = rng.choice(["Pending", "Pending", "Succeeded"])
        elif rng.random() < 0.05:
            for pod in pods:
                pod.bound = True
        cluster.run(rng.choice(leaves), pods, priority=rng.choice([*PREEMPTIBLE, "build"]))
    if rng.random() < 0.3:
        foreign_pods(cluster, rng.randint(1, 3))
    for _ in range(rng.randint(3, 14)):
        queue = rng.choice(leaves)
        shape = weighted(rng, {"single": 4, "gang": 4, "elastic": 3, "cpu": 2})
        selector, affinity, tolerations = None, None, []
        if rng.random() < 0.3:
            selector, affinity = random_constraints(rng, labels)
        if rng.random() < 0.25:
            tolerations = [
                {
                    "key": "dedicated",
                    "operator": rng.choice(["Exists", "Equal"]),
                    "effect": "NoSchedule",
                }
            ]
            if tolerations[0]["operator"] == "Equal":
                tolerations[0]["value"] = rng.choice(["ml", "ml", "web"])
            if rng.random() < 0.4:
                del tolerations[0]["effect"]
        settings = {"selector": selector, "affinity": affinity, "tolerations": tolerations}
        if shape == "cpu":
            pod = Pod(
                cpu=rng.choice([500, 1000, 4000, 12000]),
                memory=rng.choice([1024, 8192, 32768]),
                **settings,
            )
            count = rng.choice([1, 1, 2, 4])
        else:
            pod = gpu_pod(rng.choice([1, 1, 2, 2, 4, 8]), **settings)
            count = 1 if shape == "single" else rng.randint(2, 5)
        minimum = {
            "single": 1,
            "gang": count,
            "elastic": rng.randint(1, count),
            "cpu": rng.randint(1, count),
        }[shape]
        pods = copies(pod, count)
        if rng.random() < 0.08 and count > 1:
            rule = {
                "labelSelector": {"matchLabels": {"spread": "yes"}},
                "topologyKey": "kubernetes.io/hostname",
            }
            for each in pods:
                each.labels["spread"] = "yes"
                each.affinity = {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}
                }
        if rng.random() < 0.05:
            pods[-1].gated = True
        cluster.add_group(
            queue,
            pods,
            min_member=minimum,
            priority=weighted(rng, {"train": 6, "low": 1, "high": 2, "build": 2, "inference": 1}),
            preemptibility=weighted(rng, {None: 8, "preemptible": 1, "non-preemptible": 1}),
        )
    cluster.config = scheduler_config(
        "allocate", gpu=rng.choice(STRATEGIES), cpu=rng.choice(STRATEGIES)
    )


def shared_pod(rng, gpu_memory=81920):
    """A pod that requests a fraction of one or of several GPUs."""
    cpu = rng.choice([500, 1000])
    kind = weighted(rng, {"fraction": 6, "memory": 2, "several": 2})
    if kind == "memory":
        return Pod(
            cpu=cpu,
            memory=2048,
            gpu_memory=rng.choice([gpu_memory // 8, gpu_memory // 4, gpu_memory // 2, 20000, 5000]),
        )
    fraction = rng.choice([0.1, 0.2, 0.25, 0.25, 0.3, 0.5, 0.5, 0.5, 0.7, 0.75])
    if kind == "several":
        if rng.random() < 0.3:
            return Pod(cpu=cpu, memory=2048, gpu_memory=gpu_memory // 4, devices=2)
        return Pod(cpu=cpu, memory=2048, fraction=fraction, devices=rng.choice([2, 2, 3]))
    return Pod(cpu=cpu, memory=2048, fraction=fraction)


def family_gpusharing(cluster):
    """Parts of GPUs: fractions, GPU memory, several devices, MIG slices, next to whole-GPU pods."""
    rng = cluster.rng
    memory = rng.choice([81920, 40960, 15360])
    cluster.add_nodes(
        rng.randint(1, 4), gpus=rng.choice([2, 2, 4]), cpu=64, memory=256, gpu_memory=memory
    )
    if rng.random() < 0.25:
        cluster.add_nodes(1, gpus=2, cpu=64, memory=256, gpu_memory=rng.choice([81920, 40960]))
    whole = cluster.gpus
    with_mig = rng.random() < 0.25
    if with_mig:
        cluster.add_nodes(
            rng.randint(1, 2),
            gpus=0,
            cpu=64,
            memory=256,
            gpu_memory=81920,
            mig={name: rng.randint(1, 4) for name in rng.sample(sorted(MIG_PROFILES), 2)},
        )
    evicting = rng.random() < 0.4
    quotas = split(rng, whole, 2) if evicting else [whole, whole]
    leaves = two_level_queues(cluster, quotas)
    # An installed scheduler keeps the bind requests of running pods, and pods on several shared
    # GPUs are identified only by them; without them the pods' labels count.
    by_request = rng.random() < 0.5
    target = whole * (rng.choice([0.8, 1]) if evicting else rng.choice([0, 0.4, 0.7]))
    for _ in range(40):
        used = sum(
            node.gpus - node.free_gpus - sum(max(0, free) for free in node.shared.values())
            for node in cluster.nodes
        )
        if used >= target:
            break
        queue = leaves[0] if evicting and rng.random() < 0.8 else rng.choice(leaves)
        priority = rng.choice(PREEMPTIBLE) if evicting else rng.choice([*PREEMPTIBLE, "build"])
        if rng.random() < 0.2:
            cluster.run(queue, [gpu_pod(1)], priority=priority)
        else:
            pods = [shared_pod(rng, memory)]
            if by_request:
                pods[0].request = weighted(rng, {"Succeeded": 6, "Pending": 1})
            if pods[0].request != "Pending" and rng.random() < 0.08:
                pods[0].releasing = NEVER
            cluster.run(queue, pods, shared=True, priority=priority)
    for _ in range(rng.randint(3, 10)):
        queue = leaves[1] if evicting and rng.random() < 0.8 else rng.choice(leaves)
        kind = weighted(rng, {"shared": 8, "whole": 2, "mig": 4 if with_mig else 0})
        count = rng.choice([1, 1, 1, 2, 3])
        if kind == "mig":
            slices = sorted(name for node in cluster.nodes for name in node.mig)
            pod = Pod(
                cpu=1000,
                memory=2048,
                mig={rng.choice(slices + sorted(MIG_PROFILES)[:1]): rng.choice([1, 1, 2])},
            )
        elif kind == "whole":
            pod = gpu_pod(rng.choice([1, 1, 2]))
        else:
            pod = shared_pod(rng, memory)
        cluster.add_group(
            queue,
            copies(pod, count),
            min_member=rng.choice([1, count]),
            priority=weighted(rng, {"train": 5, "high": 2, "build": 2, "inference": 1}),
        )
    if rng.random() < 0.3:
        reservation_pods(cluster)
    cluster.config = scheduler_config(
        ALL_ACTIONS if evicting else "allocate", gpu=rng.choice(STRATEGIES)
    )


def equal_nodes(cluster):
    """Adds some; returns the number of GPUs of each."""
    rng = cluster.rng
    size = weighted(rng, {rng.randint(1, 3): 5, rng.randint(3, 6): 3, rng.randint(8, 12): 1})
    per_node = rng.choice([2, 4, 4, 8])
    cluster.add_nodes(size, gpus=per_node, cpu=64, memory=256)
    return per_node


def family_reclaim(cluster):
    """A queue above its share uses what another queue within its share requests."""
    rng = cluster.rng
    per_node = equal_nodes(cluster)
    total = cluster.gpus
    count = rng.randint(2, 4)
    parents = rng.choice([1, 1, 2])
    quotas = [max(0, part) for part in split(rng, total, count)]
    rng.shuffle(quotas)
    quotas[-1] = max(quotas[-1], min(total, rng.randint(1, per_node)))
    runtime = rng.random()
    settings = {}
    if runtime < 0.12:
        settings["reclaimMinRuntime"] = CENTURY
    elif runtime < 0.25:
        settings["reclaimMinRuntime"] = "1s"
    elif runtime < 0.3:
        settings["preemptMinRuntime"] = CENTURY
    leaves = two_level_queues(
        cluster,
        quotas,
        parents=parents,
        weights=[rng.choice([0, 1, 1, 2]) for _ in quotas],
        **settings,
    )
    if rng.random() < 0.25:
        for queue in cluster.queues:
            if rng.random() < 0.4:
                queue["spec"]["priority"] = rng.choice([80, 120])
    claimants = leaves[-1:] if count == 2 or rng.random() < 0.6 else leaves[-2:]
    holders = [leaf for leaf in leaves if leaf not in claimants]
    fill = total * rng.choice([0.85, 0.95, 1, 1, 1])
    for _ in cluster.until_used(fill, 120):
        kind = weighted(rng, {"single": 6, "gang": 3, "elastic": 3, "claimant": 0.7})
        queue = rng.choice(claimants if kind == "claimant" else holders)
        gpus = rng.choice([1, 1, 1, 2, per_node])
        pods = copies(
            gpu_pod(min(gpus, per_node)), 1 if kind in ("single", "claimant") else rng.randint(2, 4)
        )
        minimum = rng.randint(1, len(pods)) if kind == "elastic" else len(pods)
        annotations = {LAST_START: None} if settings and rng.random() < 0.3 else {}
        cluster.run(
            queue,
            pods,
            min_member=minimum,
            annotations=annotations,
            priority=weighted(rng, {"train": 8, "low": 2, "high": 2, "build": 1}),
            preemptibility=weighted(rng, {None: 12, "non-preemptible": 1}),
        )
    room = {leaf: max(1, quota) for leaf, quota in zip(leaves, quotas, strict=False)}
    for _ in range(rng.randint(1, 5)):
        queue = rng.choice(claimants) if rng.random() < 0.85 else rng.choice(holders)
        pods_count = weighted(rng, {1: 5, 2: 3, 3: 1, 4: 1})
        gpus = rng.choice([1, 1, 2, per_node])
        while (
            gpus * pods_count > room[queue] and (gpus > 1 or pods_count > 1) and rng.random() < 0.9
        ):
            if pods_count > 1:
                pods_count -= 1
            else:
                gpus = max(1, gpus // 2)
        extra = {"preemptionDelay": CENTURY} if rng.random() < 0.05 else {}
        cluster.add_group(
            queue,
            copies(gpu_pod(gpus), pods_count),
            min_member=rng.choice([1, pods_count, pods_count]),
            priority=weighted(rng, {"train": 6, "low": 1, "high": 1, "build": 3}),
            **extra,
        )
    arguments = {}
    if rng.random() < 0.1:
        arguments["proportion"] = {"relcaimerSaturationMultiplier": rng.choice(["1.5", "2"])}
    if rng.random() < 0.15:
        arguments["minruntime"] = {
            "defaultReclaimMinRuntime": rng.choice(["1s", CENTURY]),
            "reclaimResolveMethod": rng.choice(["lca", "queue"]),
        }
    cluster.params = scheduler_params(allowConsolidatingReclaim=rng.random() < 0.85)
    cluster.config = scheduler_config(
        rng.choice([ALL_ACTIONS, ALL_ACTIONS, "allocate, reclaim"]),
        gpu=rng.choice(STRATEGIES),
        arguments=arguments,
    )


def family_preempt(cluster):
    """Within one queue, more important groups need what less important ones use."""
    rng = cluster.rng
    per_node = equal_nodes(cluster)
    total = cluster.gpus
    count = rng.randint(1, 3)
    quotas = [total] if count == 1 else split(rng, total, count)
    settings = {}
    runtime = rng.random()
    if runtime < 0.1:
        settings["preemptMinRuntime"] = CENTURY
    elif runtime < 0.25:
        settings["preemptMinRuntime"] = "1s"
    leaves = two_level_queues(
        cluster,
        quotas,
        limits=[rng.choice([-1, -1, max(1, quota)]) for quota in quotas],
        **settings,
    )
    room = dict(zip(leaves, quotas, strict=False))
    for _ in range(120):
        if cluster.free_gpus <= total * 0.1 * rng.random():
            break
        queue = rng.choice([leaf for leaf in leaves if room[leaf] > 0] or leaves)
        kind = weighted(rng, {"single": 6, "gang": 3, "elastic": 3})
        pods = copies(
            gpu_pod(rng.choice([1, 1, 2, per_node])), 1 if kind == "single" else rng.randint(2, 4)
        )
        minimum = rng.randint(1, len(pods)) if kind == "elastic" else len(pods)
        annotations = {LAST_START: None} if settings and rng.random() < 0.3 else {}
        if cluster.run(
            queue,
            pods,
            min_member=minimum,
            annotations=annotations,
            priority=weighted(rng, {"low": 4, "train": 6, "high": 1, "build": 0.7}),
            preemptibility=weighted(rng, {None: 15, "preemptible": 1, "non-preemptible": 1}),
        ):
            room[queue] -= sum(pod.gpus for pod in pods)
    for _ in range(rng.randint(1, 5)):
        queue = rng.choice(leaves)
        pods_count = weighted(rng, {1: 5, 2: 3, 3: 1, 4: 1})
        gpus = rng.choice([1, 1, 2, per_node])
        extra = {"preemptionDelay": CENTURY} if rng.random() < 0.05 else {}
        cluster.add_group(
            queue,
            copies(gpu_pod(gpus), pods_count),
            min_member=rng.choice([1, pods_count, pods_count]),
            priority=weighted(rng, {"low": 0.5, "train": 1, "high": 5, "build": 4, "inference": 2}),
            **extra,
        )
    cluster.config = scheduler_config(
        rng.choice([ALL_ACTIONS, ALL_ACTIONS, "allocate, preempt"]), gpu=rng.choice(STRATEGIES)
    )


def family_consolidation(cluster):
    """Free GPUs are scattered; moving running pods together makes room."""
    rng = cluster.rng
    size = weighted(rng, {rng.randint(2, 4): 6, rng.randint(4, 8): 3, rng.randint(10, 14): 1})
    per_node = rng.choice([2, 4, 4, 8])
    cluster.add_nodes(size, gpus=per_node, cpu=64, memory=256)
    total = cluster.gpus
    leaves = two_level_queues(
        cluster, [total, total] if rng.random() < 0.5 else split(rng, total, 2)
    )
    shared = rng.random() < 0.15
    for node in cluster.nodes:
        wanted = (
            rng.randint(1, max(1, per_node // 2))
            if rng.random() < 0.9
            else rng.randint(1, per_node)
        )
        while node.gpus - node.free_gpus < wanted:
            left = wanted - (node.gpus - node.free_gpus)
            gpus = min(left, rng.choice([1, 1, 2]))
            queue = rng.choice(leaves)
            kind = weighted(rng, {"one": 8, "gang": 2})
            priority = weighted(rng, {"train": 7, "low": 2, "high": 2, "build": 0.6})
            if shared and rng.random() < 0.5:
                pod = Pod(cpu=1000, memory=2048, fraction=rng.choice([0.5, 0.6]))
                if cluster.place_shared(pod, [node]):
                    cluster.add_group(queue, [pod], min_member=1, priority=priority)
                    continue
            pods = [gpu_pod(gpus)]
            if not cluster.place(pods[0], [node]):
                break
            if kind == "gang":
                partner = gpu_pod(gpus)
                if cluster.place(
                    partner,
                    [each for each in cluster.nodes if each.free_gpus > per_node // 2] or [node],
                ):
                    pods.append(partner)
            cluster.add_group(queue, pods, min_member=rng.choice([1, len(pods)]), priority=priority)
    for number in range(rng.randint(1, 3)):
        queue = rng.choice(leaves)
        gpus = rng.choice(
            [per_node, per_node, per_node, max(1, per_node - 1), max(1, per_node // 2)]
        )
        count = weighted(rng, {1: 8, 2: 1, 3: 0.3})
        if number == 0:
            gpus, count = per_node, 1
        cluster.add_group(
            queue,
            copies(gpu_pod(gpus), count),
            min_member=count,
            priority=weighted(rng, {"train": 6, "low": 1, "high": 2, "build": 0.4}),
        )
    cluster.params = scheduler_params(
        maxNumberConsolidationPreemptees=weighted(rng, {16: 8, 1: 1, 3: 1, 0: 0.3})
    )
    cluster.config = scheduler_config(
        rng.choice([ALL_ACTIONS, "allocate, consolidation"]),
        gpu=rng.choice(["binpack", "binpack", "binpack", "spread"]),
    )


LEVELS = ["example.com/zone", "example.com/rack", "kubernetes.io/hostname"]


def topology_nodes(cluster, zones, racks, hosts, per_node):
    """Nodes labelled by zone and rack."""
    for zone in range(zones):
        for rack in range(racks):
            for _ in range(hosts):
                (node,) = cluster.add_nodes(1, gpus=per_node, cpu=64, memory=256)
                node.labels[LEVELS[0]] = f"zone-{zone + 1}"
                # Rack names repeat in every zone on purpose.
                node.labels[LEVELS[1]] = f"rack-{rack + 1}"


def random_constraint(rng, levels, name="site"):
    """A required level, a preferred level, or a required one with a narrower preferred one."""
    constraint = {"topology": name}
    kind = weighted(rng, {"required": 4, "preferred": 4, "both": 3})
    first = rng.randrange(len(levels))
    if kind == "required":
        constraint["requiredTopologyLevel"] = levels[first]
    elif kind == "preferred":
        constraint["preferredTopologyLevel"] = levels[first]
    else:
        first = rng.randrange(max(1, len(levels) - 1))
        constraint["requiredTopologyLevel"] = levels[first]
        constraint["preferredTopologyLevel"] = levels[min(len(levels) - 1, first + 1)]
    return constraint


def family_topology(cluster):
    """Gangs that must or should stay within a zone, a rack or a host."""
    rng = cluster.rng
    depth = rng.choice([2, 2, 3])
    levels = LEVELS[:depth] if depth == 3 or rng.random() < 0.7 else [LEVELS[0], LEVELS[2]]
    per_node = rng.choice([2, 4, 4, 8])
    topology_nodes(cluster, rng.randint(2, 3), rng.randint(1, 3), rng.randint(1, 3), per_node)
    cluster.add_topology("site", levels)
    if rng.random() < 0.15:
        cluster.add_nodes(1, gpus=per_node, cpu=64, memory=256)  # a node outside the topology
    total = cluster.gpus
    evicting = rng.random() < 0.3
    quotas = split(rng, total, 2) if evicting else [total, total]
    leaves = two_level_queues(cluster, quotas)
    target = total * (rng.choice([0.8, 0.95]) if evicting else rng.choice([0, 0.2, 0.35, 0.5]))
    for _ in cluster.until_used(target, 80):
        queue = leaves[0] if evicting and rng.random() < 0.85 else rng.choice(leaves)
        cluster.run(
            queue,
            copies(gpu_pod(rng.choice([1, 1, 2])), rng.choice([1, 1, 2])),
            min_member=1,
            priority=weighted(rng, {"train": 6, "low": 2, "high": 1}),
        )
    for _ in range(rng.randint(1, 5)):
        queue = leaves[1] if evicting and rng.random() < 0.8 else rng.choice(leaves)
        priority = weighted(rng, {"train": 6, "high": 2, "build": 1})
        constraint = random_constraint(rng, levels) if rng.random() < 0.85 else None
        if constraint and rng.random() < 0.04:
            constraint["topology"] = "nowhere"
        if rng.random() < 0.35:
            parts = rng.randint(2, 3)
            sub_groups, pods = [], []
            for part in range(parts):
                name, count = f"part-{part + 1}", rng.randint(1, 3)
                sub = {"name": name, "minMember": count}
                if rng.random() < 0.7:
                    sub["topologyConstraint"] = random_constraint(rng, levels)
                sub_groups.append(sub)
                pods += copies(gpu_pod(rng.choice([1, 1, 2]), subgroup=name), count)
            cluster.add_group(
                queue,
                pods,
                sub_groups=sub_groups,
                priority=priority,
                topology=constraint if rng.random() < 0.7 else None,
            )
        else:
            gpus = rng.choice([1, 1, 2, per_node])
            count = rng.randint(1, max(2, min(8, int(total * 0.5 / gpus))))
            pods = copies(gpu_pod(gpus), count)
            started = rng.randint(1, count - 1) if count > 1 and rng.random() < 0.15 else 0
            for pod in pods[:started]:
                cluster.place(pod)
            cluster.add_group(
                queue,
                pods,
                min_member=rng.choice([count, count, max(1, count // 2)]),
                priority=priority,
                topology=constraint,
            )
    cluster.config = scheduler_config(
        ALL_ACTIONS if evicting or rng.random() < 0.3 else "allocate", gpu=rng.choice(STRATEGIES)
    )


def tree_of_sub_groups(rng, gpus):
    """A random hierarchy of sub-groups; returns (sub groups, extra pod group fields, pods)."""
    sub_groups, pods, spec = [], [], {}
    shape = weighted(rng, {"flat": 5, "nested": 4, "replicas": 3})

    def leaf(name, parent=None, low=1, high=3):
        minimum = rng.randint(0 if rng.random() < 0.1 else 1, high)
        count = minimum + weighted(rng, {0: 6, 1: 2, 2: 1, -1: 0.4})
        entry = {"name": name, "minMember": minimum}
        if parent:
            entry["parent"] = parent
        sub_groups.append(entry)
        size = rng.choice(gpus)
        for _ in range(max(low if minimum else 0, count)):
            pods.append(
                gpu_pod(size, subgroup=name) if size else Pod(cpu=2000, memory=4096, subgroup=name)
            )

    if shape == "flat":
        for index in range(rng.randint(2, 4)):
            leaf(f"role-{index + 1}")
        if rng.random() < 0.3:
            spec["minSubGroup"] = rng.randint(1, len(sub_groups))
    elif shape == "nested":
        for index in range(rng.randint(1, 2)):
            parent = f"stage-{index + 1}"
            entry = {"name": parent}
            sub_groups.append(entry)
            children = rng.randint(1, 3)
            for child in range(children):
                leaf(f"{parent}-role-{child + 1}", parent, high=2)
            if rng.random() < 0.35:
                entry["minSubGroup"] = rng.randint(1, children)
        if rng.random() < 0.5:
            leaf("driver", high=1)
    else:
        replicas = rng.randint(2, 4)
        for index in range(replicas):
            parent = f"replica-{index + 1}"
            sub_groups.append({"name": parent})
            leaf(f"{parent}-leader", parent, high=1)
            leaf(f"{parent}-workers", parent, high=2)
        spec["minSubGroup"] = rng.randint(1, replicas)
    return sub_groups, spec, pods


def family_subgroups(cluster):
    """Pod groups made of sub-groups, each with its own minimum, some partly running."""
    rng = cluster.rng
    per_node = rng.choice([2, 4, 8])
    cluster.add_nodes(rng.randint(2, 6), gpus=per_node, cpu=64, memory=256)
    total = cluster.gpus
    evicting = rng.random() < 0.4
    leaves = two_level_queues(cluster, split(rng, total, 2) if evicting else [total, total])
    gpus = [0, 1, 1, 1, 2]
    target = total * (rng.choice([0.7, 0.9, 1]) if evicting else rng.choice([0, 0.3, 0.6]))
    for _ in cluster.until_used(target, 80):
        queue = leaves[0] if evicting and rng.random() < 0.85 else rng.choice(leaves)
        priority = weighted(rng, {"train": 6, "low": 3, "high": 1})
        if rng.random() < 0.5:
            sub_groups, spec, pods = tree_of_sub_groups(rng, gpus)
            if not cluster.run(queue, pods, sub_groups=sub_groups, priority=priority, **spec):
                break
        else:
            cluster.run(
                queue, copies(gpu_pod(1), rng.choice([1, 2])), min_member=1, priority=priority
            )
    for _ in range(rng.randint(2, 6)):
        queue = leaves[1] if evicting and rng.random() < 0.7 else rng.choice(leaves)
        sub_groups, spec, pods = tree_of_sub_groups(rng, gpus)
        if rng.random() < 0.12:
            for pod in rng.sample(pods, len(pods) // 2):
                cluster.place(pod)
        if rng.random() < 0.05 and pods:
            pods[-1].subgroup = "unknown"
        if not pods:
            continue
        cluster.add_group(
            queue,
            pods,
            sub_groups=sub_groups,
            priority=weighted(rng, {"train": 5, "high": 3, "build": 1}),
            **spec,
        )
    cluster.config = scheduler_config(ALL_ACTIONS if evicting else "allocate")


def family_stalegang(cluster):
    """Gangs with fewer running pods than they need."""
    rng = cluster.rng
    per_node = rng.choice([4, 8])
    cluster.add_nodes(rng.randint(1, 4), gpus=per_node, cpu=64, memory=256)
    total = cluster.gpus
    leaves = two_level_queues(cluster, split(rng, total, 2))
    for _ in range(rng.randint(2, 6)):
        queue = rng.choice(leaves)
        needed = rng.randint(2, 4)
        alive = rng.randint(1, needed) if rng.random() < 0.8 else needed
        annotations, extra, sub_groups = {}, {}, None
        pods = copies(gpu_pod(rng.choice([0, 1, 1, 2])), alive)
        if rng.random() < 0.3:
            sub_groups = [
                {"name": "leader", "minMember": 1},
                {"name": "workers", "minMember": needed - 1},
            ]
            for index, pod in enumerate(pods):
                pod.subgroup = "leader" if index == 0 and rng.random() < 0.8 else "workers"
        if rng.random() < 0.75:
            annotations["kai.scheduler/stale-podgroup-timestamp"] = rng.choice(
                [LONG_AGO, LONG_AGO, LONG_AGO, NEVER]
            )
        grace = weighted(rng, {None: 6, "0s": 3, CENTURY: 1, "-1s": 1})
        if grace:
            extra["stalenessGracePeriod"] = grace
        if not all(cluster.place(pod) for pod in pods):
            for pod in pods:
                if not pod.node:
                    pod.gated = False
        pods = [pod for pod in pods if pod.node]
        if not pods:
            continue
        if rng.random() < 0.3:
            for _ in range(rng.randint(1, needed - alive + 1)):
                pods.append(
                    gpu_pod(
                        rng.choice([1, 2, per_node]), subgroup="workers" if sub_groups else None
                    )
                )
        if rng.random() < 0.1:
            done = gpu_pod(1, subgroup="workers" if sub_groups else None)
            done.phase, done.node = "Succeeded", cluster.nodes[0].name
            pods.append(done)
        if rng.random() < 0.1:
            pods[0].releasing = NEVER
        cluster.add_group(
            queue,
            pods,
            min_member=None if sub_groups else needed,
            sub_groups=sub_groups,
            priority=rng.choice([*PREEMPTIBLE, "build"]),
            annotations=annotations,
            **extra,
        )
    for _ in range(rng.randint(0, 3)):
        cluster.add_group(
            rng.choice(leaves),
            copies(gpu_pod(rng.choice([1, 2, 4])), rng.randint(1, 2)),
            min_member=1,
            priority=rng.choice(["train", "high"]),
        )
    cluster.params = scheduler_params(
        globalDefaultStalenessGracePeriod=weighted(rng, {60 * SECOND: 6, -1 * SECOND: 1, 0: 1})
    )
    cluster.config = scheduler_config(rng.choice([ALL_ACTIONS, "allocate, stalegangeviction"]))


def family_mixed(cluster):
    """A larger cluster with everything at once."""
    rng = cluster.rng
    zones = rng.randint(2, 3)
    hosts = rng.randint(2, 4)
    topology_nodes(cluster, zones, rng.randint(2, 4), hosts, 8)
    cluster.add_topology("site", LEVELS[:2])
    for node in cluster.nodes:
        if rng.random() < 0.3:
            node.labels["disk"] = "ssd"
    cluster.add_nodes(rng.randint(2, 6), gpus=4, cpu=32, memory=128)
    cluster.add_nodes(rng.randint(1, 4), gpus=0, cpu=64, memory=256)
    while len(cluster.nodes) < 20:
        cluster.add_nodes(1, gpus=8, cpu=64, memory=256)
    total = cluster.gpus
    sharing = 2 if rng.random() < 0.5 else 0
    leaves, quotas = [], {}
    departments = rng.randint(2, 3)
    for index, quota in enumerate(split(rng, total, departments)):
        department = f"dept-{chr(97 + index)}"
        cluster.add_queue(department, None, gpu=(quota, rng.choice([1, 1, 2]), -1))
        for number, part in enumerate(split(rng, quota, rng.randint(2, 3))):
            leaf = f"{department}-team-{number + 1}"
            limit = -1 if rng.random() < 0.85 else part + rng.randint(0, 16)
            cluster.add_queue(
                leaf,
                department,
                gpu=(part, rng.choice([0, 1, 1, 2]), limit),
                priority=weighted(rng, {None: 8, 80: 1, 120: 1}),
                reclaimMinRuntime=weighted(rng, {None: 10, CENTURY: 1, "1s": 1}),
            )
            leaves.append(leaf)
            quotas[leaf] = part
    heavy = rng.sample(leaves, max(1, len(leaves) // 3))
    number = rng.randint(30, 120)
    running = int(number * rng.choice([0.5, 0.6, 0.75]))
    for _ in range(running):
        queue = rng.choice(heavy) if rng.random() < 0.5 else rng.choice(leaves)
        priority = weighted(rng, {"train": 7, "low": 2, "high": 1, "build": 1})
        kind = weighted(rng, {"whole": 8, "shared": sharing, "cpu": 1, "tree": 1})
        if kind == "shared":
            cluster.run(queue, [shared_pod(rng)], shared=True, priority=priority)
        elif kind == "cpu":
            cluster.run(
                queue,
                copies(Pod(cpu=rng.choice([1000, 4000]), memory=8192), rng.randint(1, 3)),
                min_member=1,
                priority=priority,
            )
        elif kind == "tree":
            sub_groups, spec, pods = tree_of_sub_groups(rng, [1, 1, 2])
            cluster.run(queue, pods, sub_groups=sub_groups, priority=priority, **spec)
        else:
            pods = copies(gpu_pod(rng.choice([1, 2, 2, 4, 8])), rng.choice([1, 1, 2, 3]))
            if rng.random() < 0.04:
                for pod in pods:
                    pod.releasing = NEVER
            cluster.run(queue, pods, min_member=rng.randint(1, len(pods)), priority=priority)
    for _ in range(number - cluster.running_groups):
        queue = rng.choice(leaves)
        priority = weighted(rng, {"train": 6, "low": 1, "high": 2, "build": 2, "inference": 1})
        kind = weighted(rng, {"whole": 7, "shared": sharing, "cpu": 1, "tree": 1, "topology": 2})
        if kind == "shared":
            count = rng.choice([1, 1, 2])
            cluster.add_group(
                queue, copies(shared_pod(rng), count), min_member=count, priority=priority
            )
        elif kind == "cpu":
            cluster.add_group(
                queue,
                copies(Pod(cpu=rng.choice([1000, 4000, 16000]), memory=8192), rng.randint(1, 3)),
                min_member=1,
                priority=priority,
            )
        elif kind == "tree":
            sub_groups, spec, pods = tree_of_sub_groups(rng, [1, 1, 2])
            if pods:
                cluster.add_group(queue, pods, sub_groups=sub_groups, priority=priority, **spec)
        elif kind == "topology":
            count = rng.randint(2, 8)
            cluster.add_group(
                queue,
                copies(gpu_pod(rng.choice([1, 2, 4])), count),
                min_member=count,
                priority=priority,
                topology=random_constraint(rng, LEVELS[:2]),
            )
        else:
            count = rng.choice([1, 1, 1, 2, 4])
            selector = {"disk": "ssd"} if rng.random() < 0.1 else None
            cluster.add_group(
                queue,
                copies(gpu_pod(rng.choice([1, 2, 4, 8]), selector=selector), count),
                min_member=rng.randint(1, count),
                priority=priority,
            )
    actions = weighted(
        rng, {ALL_ACTIONS: 6, "allocate, reclaim, preempt, stalegangeviction": 3, "allocate": 1}
    )
    depth = {"reclaim": 5, "preempt": 5} if "reclaim" in actions and rng.random() < 0.1 else None
    cluster.config = scheduler_config(actions, gpu=rng.choice(STRATEGIES), depth=depth)


FAMILIES = {
    "fairness": family_fairness,
    "allocate": family_allocate,
    "gpusharing": family_gpusharing,
    "reclaim": family_reclaim,
    "preempt": family_preempt,
    "consolidation": family_consolidation,
    "topology": family_topology,
    "subgroups": family_subgroups,
    "stalegang": family_stalegang,
    "mixed": family_mixed,
}


# --------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------


def generate(family, seed):
    rng = random.Random(f"{family}/{seed}")
    cluster = Cluster(rng)
    FAMILIES[family](cluster)
    return {"id": f"{family}-{seed:03d}", "about": cluster.about(), "snapshot": cluster.snapshot()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=[*sorted(FAMILIES), "all"], required=True)
    parser.add_argument("--seed", type=int, default=1, help="number of the first case")
    parser.add_argument("--count", type=int, default=1, help="how many cases")
    parser.add_argument("--out", type=Path, help="directory to write to", required=True)
    options = parser.parse_args()
    for family in sorted(FAMILIES) if options.family == "all" else [options.family]:
        folder = options.out / family if options.family == "all" else options.out
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(options.seed, options.seed + options.count):
            case = generate(family, seed)
            (folder / f"{case['id']}.json").write_text(json.dumps(case, indent=1))


if __name__ == "__main__":
    main()
