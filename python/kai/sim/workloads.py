"""The workloads of ``kai bench``: clusters of any size, the same for the same seed.

    made = workload("fill-500")
    made.snapshot()               # the bytes of a snapshot.json

Each family is a function here, whose docstring says what it is; the number behind the name is that
of nodes (of queues: "queues"). Objects are small, 200 to 400 bytes. Bars and KAI's figures stand
beside.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kai.api import defaults, keys
from kai.engine import objects
from kai.errors import NotFoundError

NOW = "2026-01-01T00:00:00Z"
CREATED = "2025-01-01T00:00:00Z"
GPUS = 8  # of a node

# The ladder: milliseconds that a first plan should take at most, and what would be better still.
# Of "event", "events" and "quiet": what a further plan should take, with its events.
BARS_MS: Mapping[str, tuple[float, float]] = {
    "fill-500": (1.5, 0.6),
    "fill-5000": (20, 8),
    "fill-100000": (1000, 400),
    "shapes-500": (4.5, 1.2),
    "shapes-5000": (60, 16),
    "shapes-100000": (3000, 800),
    "gang3-5000": (0.02, 0.005),
    "gang250-5000": (0.15, 0.08),
    "unschedulable-1000": (0.1, 0.05),
    "late-1000": (0.2, 0.1),
    "reclaim-1000": (4, 2),
    "consolidation-50": (0.05, 0.03),
    "event-5000": (0.05, 0.015),
    "events-5000": (5, 2),
    "quiet-100000": (0.02, 0.005),
    "queues-10000": (30, 10),
}
# One cycle of KAI, all actions, without its reading of JSON (tests/bench/baseline.json).
KAI_MS: Mapping[str, float] = {
    "fill-500": 3023,
    "fill-5000": 299_654,
    "unschedulable-1000": 128_657,
    "late-1000": 637,
    "reclaim-1000": 79_998,
    "consolidation-50": 5.0,
}
LADDER = (
    "fill-500", "fill-5000", "shapes-500", "shapes-5000", "gang3-5000", "gang250-5000",
    "unschedulable-1000", "late-1000", "reclaim-1000", "consolidation-50", "event-5000",
    "events-5000", "quiet-5000", "queues-10000", "affinity-5000",
)  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """A cluster, and the events before each of its further plans."""

    name: str
    about: str
    build: Callable[[Snapshot], None]
    events_per_plan: int | None = None  # None: only first plans are of interest

    def snapshot(self) -> bytes:
        """The bytes of its snapshot.json; the same every time."""
        made = Snapshot(random.Random(self.name))
        self.build(made)
        return made.to_bytes()

    def events(self, plans: int) -> Iterator[list[bytes]]:
        """The events before each of so many plans: running pods that ended."""
        made = Snapshot(random.Random(self.name))
        self.build(made)
        running = [pod for pod in made.pods if '"Running"' in pod and keys.NVIDIA_GPU in pod]
        made.random.shuffle(running)
        per_plan = min(self.events_per_plan or 0, len(running) // plans)  # of a small cluster fewer
        for _ in range(plans):
            ended = [running.pop() for _ in range(per_plan)]
            yield [_as_event(pod.replace('"Running"', '"Succeeded"')) for pod in ended]


def workload(name: str) -> Workload:
    """The workload of a name such as "fill-500". Raises NotFoundError for any other."""
    family, _, size = name.rpartition("-")
    if family not in FAMILIES or not size.isdecimal() or int(size) < 1:
        known = ", ".join(FAMILIES)
        raise NotFoundError(f"no workload {name!r}: give one of {known}, with its size: fill-500")
    make = FAMILIES[family]
    about = inspect.getdoc(make) or ""
    per_plan = {"event": 1, "events": 1000, "quiet": 0}.get(family)
    return Workload(name, about, lambda made: make(made, int(size)), per_plan)


class Snapshot:
    """A snapshot in the making; pods as JSON, which are too many to be dictionaries."""

    def __init__(self, rng: random.Random) -> None:
        self.random = rng
        self.nodes: list[str] = []
        self.queues: list[str] = []
        self.groups: list[str] = []
        self.pods: list[str] = []
        self._templates: dict[str, str] = {}

    def queue(self, name: str, deserved: float = 0, parent: str | None = None) -> None:
        amounts = {"gpu": deserved, "cpu": None, "memory": None}
        no_limits = dict.fromkeys(amounts)
        self.queues.append(
            json.dumps(
                objects.queue(
                    name, parent=parent, deserved=amounts, limit=no_limits, weight=1,
                    priority=None, created=CREATED, spec=None,
                )
            )
        )  # fmt: skip

    def node(self, name: str, **options: Any) -> None:
        shape: dict[str, Any] = {
            "gpus": GPUS, "cpus": 128, "memory": "1024Gi", "pods": 110, "gpu_memory_mib": None,
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
        priority: str = defaults.TRAIN, **options: Any,
    ) -> None:  # fmt: skip
        """A pod group of equal pods that start together, waiting or running."""
        group = objects.pod_group(queue, name, created=CREATED)
        group["spec"] |= {"queue": queue, "priorityClassName": priority, "minMember": pods}
        self.groups.append(json.dumps(group))
        shape = json.dumps([options, node is None], sort_keys=True)
        if shape not in self._templates:
            self._templates[shape] = _pod_template(options, node is not None)
        pod = self._templates[shape].replace("@queue@", queue).replace("@group@", name)
        pod = pod.replace("@node@", node or "")
        self.pods += [pod.replace("@index@", str(index)) for index in range(pods)]

    def to_bytes(self) -> bytes:
        lists = {
            "nodes": self.nodes,
            "queues": self.queues,
            "priorityClasses": [json.dumps(each) for each in defaults.priority_classes()],
            "podGroups": self.groups,
            "pods": self.pods,
        }
        members = ",".join(f'"{name}":[{",".join(items)}]' for name, items in lists.items())
        return f'{{"rawObjects":{{{members}}}}}'.encode()


def _pod_template(options: Any, runs: bool) -> str:
    pod = objects.pod(
        "@queue@", "@group@", 0, phase="Running" if runs else "Pending",
        node="@node@" if runs else None, releasing=False, options=options, created=CREATED,
    )  # fmt: skip
    pod["metadata"] |= {"name": "@group@-@index@", "uid": "@queue@-@group@-@index@"}
    return json.dumps(pod)


def _as_event(pod: str) -> bytes:
    return f'{{"kind":"Pod",{pod[1:]}'.encode()


# ---- families ------------------------------------------------------------------------------------


def fill(made: Snapshot, nodes: int) -> None:
    """Empty nodes of 8 GPUs, and a waiting pod for every GPU."""
    made.all_nodes(nodes)
    made.queue("a", GPUS * nodes)
    for number in range(GPUS * nodes):
        made.group("a", f"job-{number:07d}", gpus=1, cpus=1)


def shapes(made: Snapshot, nodes: int) -> None:
    """As fill, with 12 shapes of nodes and 200 of pods: GPUs, CPUs, selectors, taints."""
    made.queue("a", GPUS * nodes)
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


def _full(made: Snapshot, nodes: int, free: int = 0, *, queue: str = "a") -> None:
    """A running one-GPU pod for each GPU, but for the last so many."""
    names = made.all_nodes(nodes)
    for number in range(GPUS * nodes - free):
        made.group(queue, f"old-{number:07d}", node=names[number // GPUS], gpus=1, cpus=1)


def gang3(made: Snapshot, nodes: int) -> None:
    """Busy nodes with 400 free GPUs, and a gang of 3 one-GPU pods."""
    made.queue("a", GPUS * nodes)
    _full(made, nodes, free=400)
    made.group("a", "gang", pods=3, gpus=1, cpus=1)


def gang250(made: Snapshot, nodes: int) -> None:
    """Busy nodes with 400 free GPUs, and a gang of 250 one-GPU pods."""
    made.queue("a", GPUS * nodes)
    _full(made, nodes, free=400)
    made.group("a", "gang", pods=250, gpus=1, cpus=1)


def unschedulable(made: Snapshot, nodes: int) -> None:
    """Full with another queue's work, exactly at its quota; a gang of whole nodes waits."""
    gang = max(2, nodes // 10)
    made.queue("a", GPUS * nodes)
    made.queue("b", GPUS * gang)
    _full(made, nodes)
    made.group("b", "gang", pods=gang, gpus=GPUS, cpus=1)


def late(made: Snapshot, nodes: int) -> None:
    """Full; half is beyond the holder's quota, but no node can be emptied for the gang."""
    gang = max(2, nodes // 10)
    made.queue("a", GPUS * nodes // 2)
    made.queue("b", GPUS * nodes // 2)
    for node in made.all_nodes(nodes):
        for number in range(GPUS):
            priority = defaults.TRAIN if number % 2 else "build"
            made.group("a", f"{node}-{number}", node=node, priority=priority, gpus=1, cpus=1)
    made.group("b", "gang", pods=gang, gpus=GPUS, cpus=1)


def reclaim(made: Snapshot, nodes: int) -> None:
    """Full with one queue's one-GPU pods; another asks for a gang of half the cluster."""
    made.queue("a", GPUS * nodes // 2)
    made.queue("b", GPUS * nodes // 2)
    _full(made, nodes)
    made.group("b", "gang", pods=GPUS * nodes // 2, gpus=1, cpus=1)


def consolidation(made: Snapshot, nodes: int) -> None:
    """Every node half full with one pod; a tenth as many pods want whole nodes."""
    made.queue("a", GPUS * nodes)
    for node in made.all_nodes(nodes):
        made.group("a", f"old-{node}", node=node, gpus=GPUS // 2, cpus=1)
    for number in range(nodes // 10):
        made.group("a", f"whole-{number}", gpus=GPUS, cpus=1)


def _crowded(made: Snapshot, nodes: int) -> None:
    """Full: 8 GPU pods and 20 small ones a node; two groups a node wait, of 100 classes."""
    made.queue("a", GPUS * nodes)
    names = made.all_nodes(nodes)
    for node in names:
        for number in range(GPUS):
            made.group("a", f"{node}-gpu-{number}", node=node, gpus=1, cpus=1)
        made.group("a", f"{node}-cpu", pods=20, node=node, cpus=1)
    for number in range(2 * nodes):
        kind = number % 100
        made.group("a", f"waits-{number:07d}", gpus=1 + kind % 4, cpus=1 + kind)


def event(made: Snapshot, nodes: int) -> None:
    """Full, two groups a node wait; a GPU pod ends, which lets one of them start."""
    _crowded(made, nodes)


def events(made: Snapshot, nodes: int) -> None:
    """The same, and a thousand pods end at once."""
    _crowded(made, nodes)


def quiet(made: Snapshot, nodes: int) -> None:
    """The same, and nothing happens."""
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


def affinity(made: Snapshot, nodes: int) -> None:
    """Empty nodes, and 2,000 pods in 20 services that want to be near their own."""
    made.queue("a", GPUS * nodes)
    made.all_nodes(nodes)
    for number in range(2000):
        service = {"app": f"service-{number % 20}"}
        made.group("a", f"job-{number:07d}", gpus=1, cpus=1, labels=service, affinity=service)


FAMILIES: Mapping[str, Callable[[Snapshot, int], None]] = {
    each.__name__: each
    for each in (
        fill, shapes, gang3, gang250, unschedulable, late, reclaim, consolidation, event, events,
        quiet, queues, affinity,
    )
}  # fmt: skip
