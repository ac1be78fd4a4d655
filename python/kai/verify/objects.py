"""A second reader of raw Kubernetes objects, independent of the engine.

The engine reads objects in C++. The checks of its plans must not depend on that code, so this
module reads the few fields that they need from the JSON. Numbers are exact (``Fraction``): CPU in
cores, memory in bytes, everything else in units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from functools import lru_cache
from typing import Any

Json = dict[str, Any]

GPU_NAMES = ("nvidia.com/gpu", "amd.com/gpu")
GPU = "gpu"  # the name of whole devices in the amounts below, for all vendors

# Groups of statuses (spec 2 S4): active-allocated pods count towards a gang, and active-used pods
# occupy a node.
ACTIVE_ALLOCATED = frozenset({"Binding", "Bound", "Running", "Pipelined"})
ACTIVE_USED = ACTIVE_ALLOCATED | {"Releasing", "StuckInReleasing"}
ALLOCATED = ACTIVE_ALLOCATED - {"Pipelined"}

_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{suffix: Fraction(10 ** (3 * power)) for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?")


def quantity(text: object) -> Fraction:
    """The exact value of a Kubernetes quantity: ``"500m"``, ``"2Gi"``, ``"1e3"``, ``0.1``.

    >>> quantity("500m"), quantity("2Ki"), quantity("1e3")
    (Fraction(1, 2), Fraction(2048, 1), Fraction(1000, 1))
    """
    amount = _exact(str(text).strip())
    if amount is None:
        raise ValueError(f"{text!r} is not a quantity")
    return amount


@lru_cache(4096)  # the pods of a cluster request the same few amounts
def _exact(text: str) -> Fraction | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number, suffix = match.group(1), match.group(2) or ""
    if suffix and suffix[0] in "eE" and len(suffix) > 1:
        return Fraction(number + suffix)
    return Fraction(number) * _SUFFIXES[suffix]


def parse_time(text: str) -> datetime:
    """An RFC 3339 time."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


# The units of Go's durations, and the two that KAI's plugin arguments add (spec 1 F102).
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}
_DURATION_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h|d|w)")


def duration(text: object) -> timedelta | None:
    """A duration such as ``"1h30m"``; ``None`` if the text is not a duration.

    >>> duration("1h30m"), duration("-1s"), duration("soon")
    (datetime.timedelta(seconds=5400), datetime.timedelta(days=-1, seconds=86399), None)
    """
    written = str(text).strip()
    sign, parts = (-1, written[1:]) if written[:1] == "-" else (1, written)
    found = _DURATION_PART.findall(parts)
    if "".join(number + unit for number, unit in found) != parts or not found:
        return timedelta() if parts == "0" else None
    return sign * timedelta(seconds=sum(float(n) * _SECONDS[unit] for n, unit in found))


def plain(value: Fraction | float) -> str:
    """An amount as text for messages, without trailing zeros."""
    text = f"{float(value):.6f}".rstrip("0").rstrip(".")
    return re.sub(r"^-0$", "0", text)


@dataclass(frozen=True)
class Violation:
    """One rule that a plan breaks."""

    rule: str  # decision, capacity, device, node, affinity, gang, topology, limit, quota, victim...
    about: str
    text: str

    def __str__(self) -> str:
        return self.text


# --- names ---------------------------------------------------------------------------------------


def key_of(thing: Mapping[str, Any]) -> str:
    """``namespace/name``."""
    metadata = thing["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def annotations_of(thing: Mapping[str, Any]) -> Mapping[str, str]:
    return thing["metadata"].get("annotations") or {}


def labels_of(thing: Mapping[str, Any]) -> Mapping[str, str]:
    return thing["metadata"].get("labels") or {}


def spec_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    return thing.get("spec") or {}


def status_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    return thing.get("status") or {}


# --- requests of pods -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What one pod requests: amounts by resource, and its part of the shared devices."""

    amounts: Mapping[str, Fraction]  # with GPU for whole devices
    devices: int = 0  # the number of shared devices
    portion: Fraction | None = None  # of each device
    memory_mib: int | None = None  # on each device

    @property
    def shares(self) -> bool:
        return self.portion is not None or self.memory_mib is not None


def request_of(pod: Mapping[str, Any]) -> Request:
    """The request of a pod (spec 3 R1-R19, without dynamic resource allocation)."""
    amounts = _aggregate(spec_of(pod))
    amounts["pods"] = Fraction(1)
    notes = annotations_of(pod)
    memory = _positive_int(notes.get("gpu-memory"))
    portion = _portion(notes.get("gpu-fraction"))
    if memory is None and portion is None:
        return Request(amounts)
    amounts.pop(GPU, None)
    devices = _positive_int(notes.get("gpu-fraction-num-devices")) or 1
    if portion is not None:
        return Request(amounts, devices=devices, portion=portion)
    return Request(amounts, devices=devices, memory_mib=memory)


def _aggregate(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """Containers plus sidecars, or the largest initialisation step if larger; plus overhead."""
    app: dict[str, Fraction] = {}
    for container in spec.get("containers") or []:
        _add(app, _container(container))
    sidecars: dict[str, Fraction] = {}
    widest: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or []:
        own = _container(container)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, own)
            continue
        _add(own, sidecars)
        for name, amount in own.items():
            widest[name] = max(widest.get(name, Fraction(0)), amount)
    _add(app, sidecars)
    for name, amount in widest.items():
        app[name] = max(app.get(name, Fraction(0)), amount)
    overhead = {n: quantity(q) for n, q in (spec.get("overhead") or {}).items()}
    _add(app, {name: amount for name, amount in overhead.items() if name not in GPU_NAMES})
    return app


def _container(container: Mapping[str, Any]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    requests = (container.get("resources") or {}).get("requests") or {}
    for name, amount in requests.items():
        _add(found, {GPU if name in GPU_NAMES else name: quantity(amount)})
    return found


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _positive_int(text: str | None) -> int | None:
    try:
        number = int(text or "")
    except ValueError:
        return None
    return number if number > 0 else None


def _portion(text: str | None) -> Fraction | None:
    try:
        number = Fraction(text or "")
    except (ValueError, ZeroDivisionError):
        return None
    return number if 0 < number <= 1 else None


# --- nodes ---------------------------------------------------------------------------------------


def allocatable_of(node: Mapping[str, Any]) -> dict[str, Fraction]:
    found: dict[str, Fraction] = {}
    for name, amount in (status_of(node).get("allocatable") or {}).items():
        _add(found, {GPU if name in GPU_NAMES else name: quantity(amount)})
    return found


def device_memory_mib(node: Mapping[str, Any]) -> int:
    """Memory of one device (spec 3 G1); 100 if it is unknown."""
    try:
        memory = int(labels_of(node).get("nvidia.com/gpu.memory") or "")
    except ValueError:
        return 100
    if memory >= 1 << 20:
        memory >>= 20
    return memory - memory % 100


def unready_reasons(node: Mapping[str, Any]) -> list[str]:
    """The reasons why no new pod can be placed on this node (spec 3 P7)."""
    reasons = ["is cordoned"] if spec_of(node).get("unschedulable") else []
    conditions = {c.get("type"): c.get("status") for c in status_of(node).get("conditions") or []}
    if conditions.get("Ready") != "True":
        reasons.append("is not ready")
    reasons += [
        f"has {name}"
        for name in ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
        if conditions.get(name, "False") != "False"
    ]
    return reasons


# --- pods in the snapshot ------------------------------------------------------------------------


@dataclass(frozen=True)
class PodView:
    """A pod as the snapshot shows it."""

    key: str
    raw: Mapping[str, Any]
    status: str  # spec 2 S2
    node: str
    gpu_groups: tuple[str, ...]
    group: str  # the name of its pod group, "" without one
    subgroup: str
    request: Request


@dataclass(frozen=True)
class World:
    """A snapshot's objects by name, with the status of every pod."""

    snapshot: Mapping[str, Any]
    pods: Mapping[str, PodView]
    nodes: Mapping[str, Json]
    groups: Mapping[str, Json]  # by name alone, as KAI keys them (spec 2 G1)
    queues: Mapping[str, Json]
    priorities: Mapping[str, Json]
    scheduler: str = "kai-scheduler"
    pool: str = field(default="", kw_only=True)
    pool_key: str = field(default="kai.scheduler/node-pool", kw_only=True)

    def in_pool(self, thing: Mapping[str, Any]) -> bool:
        """Whether an object belongs to this scheduler's node pool."""
        if not self.pool_key:
            return True
        return labels_of(thing).get(self.pool_key, "") == self.pool

    def foreign(self, pod: PodView) -> bool:
        return spec_of(pod.raw).get("schedulerName") != self.scheduler

    def reservation(self, pod: PodView) -> bool:
        return labels_of(pod.raw).get("app") == "kai-resource-reservation"


def read_world(snapshot: Mapping[str, Any], *, now: str | datetime | None = None) -> World:
    """Reads ``{"schedulerParams", "rawObjects": {...}}``."""
    objects = snapshot.get("rawObjects") or {}
    params = snapshot.get("schedulerParams") or {}
    nodes = {node["metadata"]["name"]: node for node in objects.get("nodes") or []}
    requests = _bind_requests(objects.get("bindRequests") or [], nodes)
    clock = parse_time(now) if isinstance(now, str) else now
    threshold = params.get("stuckInReleasingThreshold") or 0
    stuck_after = timedelta(microseconds=threshold / 1000 if threshold > 0 else 120e6)
    pods = {}
    for raw in objects.get("pods") or []:
        key = key_of(raw)
        request = requests.get(key)
        pods[key] = PodView(
            key=key,
            raw=raw,
            status=_pod_status(raw, request, clock, stuck_after),
            node=spec_of(raw).get("nodeName") or (request or {}).get("selectedNode") or "",
            gpu_groups=_gpu_groups(raw, request),
            group=annotations_of(raw).get("pod-group-name", ""),
            subgroup=labels_of(raw).get("kai.scheduler/subgroup-name", "default"),
            request=request_of(raw),
        )
    partition = params.get("partitionParams") or {}
    return World(
        snapshot=snapshot,
        pods=pods,
        nodes=nodes,
        groups={g["metadata"]["name"]: g for g in objects.get("podGroups") or []},
        queues={q["metadata"]["name"]: q for q in objects.get("queues") or []},
        priorities={p["metadata"]["name"]: p for p in objects.get("priorityClasses") or []},
        scheduler=params.get("schedulerName") or "kai-scheduler",
        pool=partition.get("NodePoolLabelValue") or "",
        pool_key=partition.get("NodePoolLabelKey", "kai.scheduler/node-pool"),
    )


def _bind_requests(requests: Sequence[Json], nodes: Mapping[str, Json]) -> dict[str, Json]:
    """The valid BindRequests (spec 2 S3), by pod."""
    found: dict[str, Json] = {}
    for request in requests:
        spec, status = spec_of(request), status_of(request)
        limit = spec.get("backoffLimit")
        spent = limit is None or (status.get("failedAttempts") or 0) >= limit
        if spec.get("selectedNode") in nodes and not (status.get("phase") == "Failed" and spent):
            namespace = request["metadata"].get("namespace") or "default"
            found[f"{namespace}/{spec.get('podName')}"] = dict(spec)
    return found


def _pod_status(
    pod: Mapping[str, Any],
    request: Mapping[str, Any] | None,
    now: datetime | None,
    stuck_after: timedelta,
) -> str:
    phase = status_of(pod).get("phase")
    deleted = pod["metadata"].get("deletionTimestamp")
    if phase == "Running":
        if not deleted:
            return "Running"
        stuck = now is None or now - parse_time(deleted) > stuck_after
        return "StuckInReleasing" if stuck else "Releasing"
    if phase == "Pending":
        if deleted:
            return "Releasing"
        if spec_of(pod).get("nodeName"):
            return "Bound"
        if request is not None:
            return "Binding"
        return "Gated" if spec_of(pod).get("schedulingGates") else "Pending"
    return str(phase) if phase in ("Succeeded", "Failed") else "Unknown"


def _gpu_groups(pod: Mapping[str, Any], request: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The shared devices of a pod, from its BindRequest or else from its labels (spec 3 R20)."""
    chosen = (request or {}).get("selectedGPUGroups")
    if chosen:
        return tuple(chosen)
    labels = labels_of(pod)
    prefixed = sorted(v for k, v in labels.items() if k.startswith("runai-gpu-group/"))
    plain = labels.get("runai-gpu-group")
    return tuple(dict.fromkeys([*([plain] if plain else []), *prefixed]))


# --- pod groups ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class GroupNode:
    """One set in the tree of a pod group (spec 2 G5).

    A leaf contains pods, any other set contains sets.
    """

    name: str
    needed: int  # pods of a leaf, satisfied children of a set
    children: tuple[GroupNode, ...] = ()
    topology: Mapping[str, str] = field(default_factory=dict)

    @property
    def leaf(self) -> bool:
        return not self.children

    def leaves(self) -> Iterator[GroupNode]:
        if self.leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def sets(self) -> Iterator[GroupNode]:
        yield self
        for child in self.children:
            yield from child.sets()


def group_tree(group: Mapping[str, Any]) -> GroupNode:
    """The tree of a pod group; as in KAI, an invalid tree is one flat set with minimum 1."""
    spec = spec_of(group)
    constraint = _topology(spec)
    entries = {entry["name"]: entry for entry in spec.get("subGroups") or []}
    if not entries:
        minimum = spec.get("minMember")
        leaf = GroupNode("default", 1 if minimum is None else max(0, minimum))
        return GroupNode("", 1, (leaf,), constraint)
    parents = {name: (entry.get("parent") or "").lower() for name, entry in entries.items()}
    broken = len(entries) != len(spec.get("subGroups") or [])
    if broken or any(parent and parent not in entries for parent in parents.values()):
        return GroupNode("", 1, (GroupNode("default", 1),), constraint)

    def build(name: str) -> GroupNode:
        entry = entries[name]
        kids = tuple(build(child) for child in sorted(entries) if parents[child] == name)
        if kids:
            needed = entry.get("minSubGroup")
            return GroupNode(name, len(kids) if needed is None else needed, kids, _topology(entry))
        return GroupNode(name, max(0, entry.get("minMember") or 0), (), _topology(entry))

    roots = tuple(build(name) for name in sorted(entries) if not parents[name])
    needed = spec.get("minSubGroup")
    return GroupNode("", len(roots) if needed is None else needed, roots, constraint)


def _topology(spec: Mapping[str, Any]) -> Mapping[str, str]:
    constraint = spec.get("topologyConstraint") or {}
    return constraint if constraint.get("topology") else {}


def satisfied(node: GroupNode, counts: Mapping[str, int]) -> bool:
    """Whether a set has its minimum; ``counts`` is the number of pods by leaf (spec 2 G9)."""
    if node.leaf:
        return counts.get(node.name, 0) >= node.needed
    return sum(satisfied(child, counts) for child in node.children) >= node.needed


def priority_of(world: World, group: Mapping[str, Any]) -> int:
    """The priority of a pod group (spec 2 G4)."""
    named = world.priorities.get(spec_of(group).get("priorityClassName") or "")
    if named is not None:
        return int(named.get("value") or 0)
    for other in world.priorities.values():
        if other.get("globalDefault"):
            return int(other.get("value") or 0)
    return 50


def preemptible(world: World, group: Mapping[str, Any]) -> bool:
    stated = spec_of(group).get("preemptibility")
    if stated:
        return bool(stated == "preemptible")
    return priority_of(world, group) < 100
