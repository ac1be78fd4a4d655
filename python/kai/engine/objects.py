"""Builds plain Kubernetes objects from options, for the builder methods of `kai.Cluster`.

Every function returns the dictionary that a snapshot of a real cluster would hold.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from kai.admission import fields
from kai.api import arguments, keys, quantities, rules
from kai.api.nearest import check_known, did_you_mean
from kai.errors import InvalidClusterError

if TYPE_CHECKING:
    from typing_extensions import Unpack

Amount = int | float | str
"""A number, or a Kubernetes quantity such as "500m" or "16Gi"."""

FAR_FUTURE = "2099-01-01T00:00:00Z"


class NodeOptions(TypedDict, total=False):
    """Options of `Cluster.node` and `Cluster.nodes`.

    >>> import kai
    >>> options: kai.NodeOptions = {"gpus": 8, "labels": {"rack": "r1"}}
    >>> kai.Cluster().nodes("n", 2, **options)
    <kai.Cluster: 2 nodes with 16 GPUs, 0 pod groups with 0 pods, 0 queues>
    """

    gpus: int
    """Whole GPUs; default 0."""
    cpus: Amount
    """CPU cores; default 64."""
    memory: Amount
    """Bytes, or a quantity such as "64Gi"; default "512Gi"."""
    pods: int
    """The most pods on the node; default 110."""
    gpu_memory_mib: int | None
    """MiB of each GPU; default 81920. None: the node has no label with it."""
    resources: Mapping[str, Amount]
    """Any other resource, by its Kubernetes name."""
    labels: Mapping[str, str]
    """Labels of the node."""
    taints: Iterable[str | Mapping[str, Any]]
    """In kubectl's format, "key=value:NoSchedule", or Kubernetes taints."""
    cordoned: bool
    """Whether it accepts no new pods."""
    ready: bool
    """Whether its kubelet is ready; default True."""


class QueueOptions(TypedDict, total=False):
    """Options of `Cluster.update_queue`; options that are not given do not change.

    >>> import kai
    >>> options: kai.QueueOptions = {"deserved_gpus": 4, "weight": 2}
    >>> kai.Cluster().queue("a").update_queue("a", **options)
    <kai.Cluster: 0 nodes, 0 pod groups with 0 pods, 1 queue>
    """

    parent: str | None
    """The parent queue; None: no parent."""
    deserved_gpus: Amount | None
    """Devices that the queue gets before surplus is distributed; None is unlimited."""
    deserved_cpus: Amount | None
    """The same in cores."""
    deserved_memory: Amount | None
    """The same in bytes, or as a quantity such as "64Gi"."""
    gpu_limit: Amount | None
    """The most devices that the queue may use; None is unlimited."""
    cpu_limit: Amount | None
    """The same in cores."""
    memory_limit: Amount | None
    """The same in bytes, or as a quantity such as "64Gi"."""
    weight: float
    """Its weight for surplus of all three resources, relative to its siblings."""
    priority: int
    """Queues with a higher priority get surplus first; default 100."""
    created: str
    """RFC 3339."""
    spec: Mapping[str, Any]
    """Fields that override its `spec`, for settings without an option."""


class PodOptions(TypedDict, total=False):
    """Options of `Cluster.pending`, `.running` and `.releasing` for the pods of a group.

    >>> import kai
    >>> options: kai.PodOptions = {"pods": 2, "gpus": 4, "min_member": 2}
    >>> kai.Cluster().queue("a").pending("a/x", **options)
    <kai.Cluster: 0 nodes, 1 pod group with 2 pods (2 pending), 1 queue>
    """

    pods: int
    """How many pods to add; default 1."""
    queue: str
    """The group's queue; default: the part of its name before the slash."""
    min_member: int
    """How many pods must start together; default 1."""
    priority: str | int
    """A priority class, or a number, for which a class is created; default "train" (50)."""
    preemptible: bool
    """Whether other groups may evict it; default: priorities below 100 are preemptible."""
    topology: str
    """The topology of its constraint; with `required_level`, `preferred_level` or both."""
    required_level: str
    """Its pods must be in one domain of that level: a label, or its alias."""
    preferred_level: str
    """Its pods should be in one domain of that level, or in few."""
    min_domains: int
    """The least number of domains of the preferred level."""
    max_domains: int
    """The most domains of the preferred level."""
    balanced: bool
    """Whether the domains get equal numbers of pods, or differ by one at most."""
    created: str
    """RFC 3339; default: one second younger than the previous group."""
    started: str
    """RFC 3339: when the pods started to run. Minimum run times of a group count from its first
    start; without one they protect nothing."""

    gpus: Amount
    """Whole GPUs of each pod."""
    gpu_fraction: float
    """A fraction of a GPU for each pod, instead of `gpus`."""
    gpu_memory_mib: int
    """A share of a GPU by its memory, instead of `gpus`."""
    gpu_devices: int
    """The number of GPUs on which each pod gets its fraction."""
    gpu_groups: Sequence[str]
    """For running pods with a GPU fraction: the names of their shared devices."""
    cpus: Amount
    """CPU cores of each pod."""
    memory: Amount
    """Memory of each pod: bytes, or a quantity such as "16Gi"."""
    resources: Mapping[str, Amount]
    """Any other resource of each pod, by its Kubernetes name."""

    node_selector: Mapping[str, str]
    """Labels a node must have."""
    tolerations: Iterable[str | Mapping[str, Any]]
    """Taints that the pods tolerate: "key", "key=value:NoSchedule", or Kubernetes tolerations."""
    affinity: Mapping[str, str]
    """Labels of pods that must be near (in one `topology_key` domain)."""
    anti_affinity: Mapping[str, str]
    """Labels of pods that must not be near."""
    topology_key: str
    """The node label that defines near; default: the host name."""
    labels: Mapping[str, str]
    """Labels of the pods."""
    annotations: Mapping[str, str]
    """Annotations of the pods."""
    gated: bool
    """Whether the pods have a scheduling gate, so that they are not scheduled yet."""
    pod_spec: Mapping[str, Any]
    """Fields that override the pods' `spec`, for settings without an option."""


class Objects(Sequence[dict[str, Any]]):
    """Objects of a cluster; each object that is read is a new copy."""

    def __init__(self, listed: tuple[dict[str, Any], ...]) -> None:
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[dict[str, Any], ...]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | tuple[dict[str, Any], ...]:
        if isinstance(index, slice):
            return tuple(map(_copied, self._listed[index]))
        return _copied(self._listed[index])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(_copied, self._listed)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Objects):
            return self._listed == other._listed
        return self._listed == tuple(other) if isinstance(other, (tuple, list)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._listed)


def _copied(manifest: dict[str, Any]) -> dict[str, Any]:
    """Copies JSON values ten times as fast as copy.deepcopy."""
    copied: dict[str, Any] = marshal.loads(marshal.dumps(manifest))
    return copied


def check_options(options: PodOptions) -> None:
    """Raises InvalidClusterError for options of the wrong type, and for levels without a
    topology."""
    arguments.check(options, PodOptions)
    for found in fields.of_pod_spec(options.get("pod_spec")):
        raise InvalidClusterError(f"pod_spec: {found.message}; {found.fix}")
    _check_gpus(options.get("gpus"))
    for option in _OF_A_TOPOLOGY:
        if option in options and "topology" not in options:
            raise InvalidClusterError(f"{option} needs a topology: give topology=..., too")


def _check_gpus(gpus: Amount | None) -> None:
    """Raises InvalidClusterError for a part of a GPU, which Kubernetes does not have."""
    try:
        exact = quantities.parse(gpus or 0)
    except ValueError as error:
        raise InvalidClusterError(f"gpus: {error}") from None
    if 0 < exact < 1:
        raise InvalidClusterError(
            f"gpus is {gpus}, and Kubernetes has whole GPUs: write gpu_fraction={float(exact):g}"
        )
    if exact % 1:
        raise InvalidClusterError(f"gpus is {gpus}: write a whole number")
    if exact < 0:
        raise InvalidClusterError(f"gpus is {gpus}: it must be at least 0")


_LEVELS = {"required_level": "requiredTopologyLevel", "preferred_level": "preferredTopologyLevel"}
_OF_A_TOPOLOGY = (*_LEVELS, "min_domains", "max_domains", "balanced")


def topology_constraint(options: PodOptions) -> dict[str, Any]:
    """The constraint of a pod group."""
    given: Mapping[str, Any] = options
    levels = {field: given[name] for name, field in _LEVELS.items() if name in given}
    return {"topology": options["topology"], **levels}


def domain_annotations(options: PodOptions) -> dict[str, str]:
    """The annotations of a pod group about its number of domains."""
    annotations = {}
    if "min_domains" in options:
        annotations[keys.MIN_DOMAINS_ANNOTATION] = str(options["min_domains"])
    if "max_domains" in options:
        annotations[keys.MAX_DOMAINS_ANNOTATION] = str(options["max_domains"])
    if options.get("balanced"):
        annotations[keys.BALANCED_DOMAINS_ANNOTATION] = "true"
    return annotations


def queue(name: str, **options: Unpack[QueueOptions]) -> dict[str, Any]:
    """A queue, unlimited without amounts. Options that are None count as absent."""
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {each: unlimited | queue_resource(each, options) for each in _DESERVED}
    parts = {"parentQueue": options.get("parent"), "priority": options.get("priority")}
    given = {field: value for field, value in parts.items() if value is not None}
    spec = options.get("spec")
    for found in fields.check("Queue", spec):
        raise InvalidClusterError(f"{found.message}; {found.fix}")
    metadata = _metadata(name, f"queue-{name}", created=options.get("created"))
    return {"metadata": metadata, "spec": {"resources": resources, **given, **(spec or {})}}


_DESERVED = {"gpu": "deserved_gpus", "cpu": "deserved_cpus", "memory": "deserved_memory"}
_LIMIT = {"gpu": "gpu_limit", "cpu": "cpu_limit", "memory": "memory_limit"}


def queue_resource(resource: str, options: QueueOptions) -> dict[str, Any]:
    """The options for one resource of a queue."""
    amounts: dict[str, Any] = {}
    given: Mapping[str, Any] = options
    if _DESERVED[resource] in given:
        amounts["quota"] = _in_queue_units(resource, given[_DESERVED[resource]])
    if _LIMIT[resource] in given:
        amounts["limit"] = _in_queue_units(resource, given[_LIMIT[resource]])
    if "weight" in given:
        amounts["overQuotaWeight"] = given["weight"]
    return amounts


def node(
    name: str,
    *,
    gpus: int,
    cpus: Amount,
    memory: Amount,
    pods: int,
    gpu_memory_mib: int | None,
    resources: Mapping[str, Amount] | None,
    labels: Mapping[str, str] | None,
    taints: Iterable[str | Mapping[str, Any]],
    cordoned: bool,
    ready: bool,
) -> dict[str, Any]:
    amounts = {keys.CPU: cpus, keys.MEMORY: memory, keys.PODS: pods}
    own_labels = {keys.HOSTNAME_LABEL: name}
    if gpus:
        amounts[keys.NVIDIA_GPU] = gpus
        own_labels[keys.GPU_COUNT_LABEL] = str(gpus)
        if gpu_memory_mib is not None:
            own_labels[keys.GPU_MEMORY_LABEL] = str(gpu_memory_mib)
    held = _quantities(amounts | dict(resources or {}))
    manifest: dict[str, Any] = {
        "metadata": _metadata(name, f"node-{name}", labels=own_labels | dict(labels or {})),
        "status": {
            "allocatable": held,
            "capacity": dict(held),
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }
    spec: dict[str, Any] = {}
    if cordoned:
        spec["unschedulable"] = True
    if written := [taint(each) for each in taints]:
        spec["taints"] = written
    if spec:
        manifest["spec"] = spec
    return manifest


def pod_group(namespace: str, name: str, *, created: str) -> dict[str, Any]:
    return {
        "metadata": _metadata(name, f"pod-group-{namespace}-{name}", namespace, created=created),
        "spec": {"minMember": 1},
    }


def pod(
    namespace: str,
    group: str,
    index: int,
    *,
    phase: str,
    node: str | None,
    releasing: bool,
    options: PodOptions,
    created: str | None,
) -> dict[str, Any]:
    name = f"{group}-{index}"
    annotations = {keys.POD_GROUP_ANNOTATION: group}
    labels: dict[str, str] = {}
    _request_gpu_share(options, annotations, labels, running=node is not None)
    manifest: dict[str, Any] = {
        "metadata": _metadata(
            name,
            f"pod-{namespace}-{group}-{index:06d}",
            namespace,
            labels=labels | dict(options.get("labels") or {}),
            annotations=annotations | dict(options.get("annotations") or {}),
            created=created,
        ),
        "spec": _pod_spec(options, node),
        "status": {"phase": phase},
    }
    if "started" in options:
        manifest["status"]["startTime"] = options["started"]
    manifest["metadata"]["ownerReferences"] = [_owner(namespace, group)]
    if releasing:
        # A deadline that never passes: the pod is being deleted for as long as the cluster is used.
        manifest["metadata"]["deletionTimestamp"] = FAR_FUTURE
    return manifest


def _owner(namespace: str, group: str) -> dict[str, Any]:
    """The controller of a group's pods: it creates a pod again that is evicted."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": group,
        "uid": f"job-{namespace}-{group}",
        "controller": True,
    }


def taint(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """A taint in the format of `kubectl taint`: key=value:effect, key:effect. Raises
    InvalidClusterError."""
    if not isinstance(text, str):
        return _members("taint", text, ("key", "value", "effect", "timeAdded"))
    key, value, effect = _split_taint("taint", text)
    if not key:
        raise InvalidClusterError(f"taint {text!r} has no key: write it as team=vision:NoSchedule")
    return {"key": key, "effect": effect or "NoSchedule"} | ({"value": value} if value else {})


def toleration(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """key tolerates every taint of that key; key=value:effect exactly that one.

    Raises InvalidClusterError.
    """
    if not isinstance(text, str):
        return _members("toleration", text, rules.TOLERATION_FIELDS)
    key, value, effect = _split_taint("toleration", text)
    if not key:
        advice = "write its key, or {'operator': 'Exists'} to tolerate everything"
        raise InvalidClusterError(f"toleration {text!r} has no key: {advice}")
    body: dict[str, Any] = {"operator": "Equal" if value else "Exists"}
    body["key"] = key
    return body | ({"value": value} if value else {}) | ({"effect": effect} if effect else {})


def _pod_spec(options: PodOptions, node: str | None) -> dict[str, Any]:
    amounts: dict[str, Amount] = {}
    for option, resource in (
        ("cpus", keys.CPU),
        ("memory", keys.MEMORY),
        ("gpus", keys.NVIDIA_GPU),
    ):
        amount = options.get(option)
        if isinstance(amount, (int, float, str)) and amount:
            amounts[resource] = amount
    requests = _quantities(amounts | dict(options.get("resources") or {}))
    container: dict[str, Any] = {"name": "main", "resources": {"requests": requests}}
    if keys.NVIDIA_GPU in requests:
        container["resources"]["limits"] = {keys.NVIDIA_GPU: requests[keys.NVIDIA_GPU]}
    spec: dict[str, Any] = {"schedulerName": keys.SCHEDULER_NAME, "containers": [container]}
    if node is not None:
        spec["nodeName"] = node
    if selector := options.get("node_selector"):
        spec["nodeSelector"] = dict(selector)
    if tolerations := [toleration(each) for each in options.get("tolerations") or ()]:
        spec["tolerations"] = tolerations
    if options.get("gated"):
        spec["schedulingGates"] = [{"name": "kai.scheduler/example"}]
    key = options.get("topology_key", keys.HOSTNAME_LABEL)
    affinity = {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": key}
            ]
        }
        for kind, labels in (
            ("podAffinity", options.get("affinity")),
            ("podAntiAffinity", options.get("anti_affinity")),
        )
        if labels
    }
    if affinity:
        spec["affinity"] = affinity
    return spec | dict(options.get("pod_spec") or {})


def _request_gpu_share(
    options: PodOptions, annotations: dict[str, str], labels: dict[str, str], *, running: bool
) -> None:
    fraction, memory = options.get("gpu_fraction"), options.get("gpu_memory_mib")
    if fraction is None and memory is None:
        return
    if options.get("gpus"):
        raise InvalidClusterError("a pod can request whole GPUs or a part of a GPU, but not both")
    if fraction is not None:
        annotations[keys.GPU_FRACTION_ANNOTATION] = str(fraction)
    if memory is not None:
        annotations[keys.GPU_MEMORY_ANNOTATION] = str(memory)
    if (devices := options.get("gpu_devices")) is not None:
        annotations[keys.GPU_DEVICES_ANNOTATION] = str(devices)
    groups = list(options.get("gpu_groups") or ())
    if running:
        annotations[keys.RECEIVED_TYPE_ANNOTATION] = "Fraction"
    if len(groups) == 1:
        labels[keys.GPU_GROUP_LABEL] = groups[0]
    for group in groups if len(groups) > 1 else ():
        labels[keys.GPU_GROUP_LABEL_PREFIX + group] = group


def _split_taint(what: str, text: str) -> tuple[str, str, str]:
    key_value, _, effect = text.partition(":")
    key, _, value = key_value.partition("=")
    if effect:
        _check_effect(f"{what} {text!r}", effect)
    return key, value, effect


def _members(what: str, given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """A copy with known members only."""
    check_known(given, known, f"a {what} has no member", InvalidClusterError)
    if given.get("effect"):
        _check_effect(f"a {what}", given["effect"])
    return dict(given)


def _check_effect(where: str, effect: object) -> None:
    if effect not in rules.EFFECTS:
        hint = did_you_mean(effect, rules.EFFECTS) or f": write one of {', '.join(rules.EFFECTS)}"
        raise InvalidClusterError(f"{where}: there is no effect {effect!r}{hint}")


def _metadata(
    name: str,
    uid: str,
    namespace: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: str | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    metadata["uid"] = uid
    if created is not None:
        metadata["creationTimestamp"] = created
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata


def _quantities(amounts: Mapping[str, Amount]) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def _in_queue_units(resource: str, amount: Amount | None) -> int | float:
    """Queues count GPUs, millicores and 10^6 bytes; -1 is unlimited (spec 5 A5)."""
    if amount is None:
        return -1
    try:
        exact = quantities.parse(amount)
    except ValueError as error:
        raise InvalidClusterError(str(error)) from None
    exact *= {"gpu": 1, "cpu": 1000, "memory": 1}[resource]
    exact /= 1_000_000 if resource == "memory" else 1
    return quantities.plain(exact)
