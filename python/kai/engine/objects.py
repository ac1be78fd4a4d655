"""Plain Kubernetes objects from a few words, for the builder methods of `kai.Cluster`.

Every function returns the dictionary that a snapshot of a real cluster would hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from kai.admission import fields
from kai.api import keys, quantities, rules
from kai.api.nearest import did_you_mean
from kai.engine import arguments
from kai.errors import InvalidClusterError

Amount = int | float | str
"""A number, or a Kubernetes quantity such as "500m" or "16Gi"."""

FAR_FUTURE = "2099-01-01T00:00:00Z"


class PodOptions(TypedDict, total=False):
    """What `Cluster.pending`, `.running` and `.releasing` can say about the pods of a group."""

    pods: int
    """How many more pods the group gets; 1 unless given."""
    queue: str
    """The group's queue; the part before the slash of its name unless given."""
    min_member: int
    """How many pods have to start together; 1 unless given."""
    priority: str | int
    """A priority class, or a number, for which a class is made; "train" (50) unless given."""
    preemptible: bool
    """Whether others may take its place; unless given, priorities below 100 are preemptible."""
    topology: str
    """The topology that the group keeps to; with `required_level`, `preferred_level` or both."""
    required_level: str
    """Its pods have to be in one domain of that level: a label, or its alias."""
    preferred_level: str
    """They should be in one domain of that level, or in few."""
    min_domains: int
    """In how many domains of the preferred level they have to be at least."""
    max_domains: int
    """In how many domains of the preferred level they may be at most."""
    balanced: bool
    """Whether each of those gets as many pods as any other, or one more."""
    created: str
    """RFC 3339; unless given, each group is a second younger than the one described before it."""

    gpus: Amount
    """Whole GPUs of each pod."""
    gpu_fraction: float
    """A part of a GPU for each pod, instead of `gpus`."""
    gpu_memory_mib: int
    """A part of a GPU by its memory, instead of `gpus`."""
    gpu_devices: int
    """On how many GPUs each pod wants its part."""
    gpu_groups: Sequence[str]
    """For running pods with a part of a GPU: the names of the shared devices they are on."""
    cpus: Amount
    """CPU cores of each pod."""
    memory: Amount
    """Memory of each pod: bytes, or a quantity such as "16Gi"."""
    resources: Mapping[str, Amount]
    """Any other resource of each pod, by its Kubernetes name."""

    node_selector: Mapping[str, str]
    """Labels a node must have."""
    tolerations: Iterable[str | Mapping[str, Any]]
    """Taints the pods put up with: "key", "key=value:NoSchedule", or Kubernetes tolerations."""
    affinity: Mapping[str, str]
    """Labels of pods that must be near (in one `topology_key` domain)."""
    anti_affinity: Mapping[str, str]
    """Labels of pods that must not be near."""
    topology_key: str
    """The node label that says what near means; the host name unless given."""
    labels: Mapping[str, str]
    """Labels of the pods."""
    annotations: Mapping[str, str]
    """Annotations of the pods."""
    gated: bool
    """Whether the pods carry a scheduling gate, that is, are not to be scheduled yet."""
    pod_spec: Mapping[str, Any]
    """Members to put over the pods' `spec`, for whatever has no option of its own."""


def check_options(options: PodOptions) -> None:
    """Raises InvalidClusterError for options of another type, and for levels of no topology."""
    arguments.check(options, PodOptions)
    for option in _OF_A_TOPOLOGY:
        if option in options and "topology" not in options:
            raise InvalidClusterError(f"{option} is of no topology: give topology=... as well")


_OF_A_TOPOLOGY = ("required_level", "preferred_level", "min_domains", "max_domains", "balanced")


def topology_constraint(options: PodOptions) -> dict[str, Any]:
    """The constraint of a pod group."""
    constraint = {"topology": options["topology"]}
    if "required_level" in options:
        constraint["requiredTopologyLevel"] = options["required_level"]
    if "preferred_level" in options:
        constraint["preferredTopologyLevel"] = options["preferred_level"]
    return constraint


def domain_annotations(options: PodOptions) -> dict[str, str]:
    """The annotations of a pod group about how many domains it wants to be in."""
    annotations = {}
    if "min_domains" in options:
        annotations[keys.MIN_DOMAINS_ANNOTATION] = str(options["min_domains"])
    if "max_domains" in options:
        annotations[keys.MAX_DOMAINS_ANNOTATION] = str(options["max_domains"])
    if options.get("balanced"):
        annotations[keys.BALANCED_DOMAINS_ANNOTATION] = "true"
    return annotations


def queue(
    name: str,
    *,
    parent: str | None,
    deserved: Mapping[str, Amount | None],
    limit: Mapping[str, Amount | None],
    weight: float,
    priority: int | None,
    created: str | None,
    spec: Mapping[str, Any] | None,
) -> dict[str, Any]:
    resources = {
        resource: {
            "quota": _in_queue_units(resource, deserved[resource]),
            "limit": _in_queue_units(resource, limit[resource]),
            "overQuotaWeight": weight,
        }
        for resource in ("gpu", "cpu", "memory")
    }
    body: dict[str, Any] = {"resources": resources}
    if parent is not None:
        body["parentQueue"] = parent
    if priority is not None:
        body["priority"] = priority
    for found in fields.check("Queue", spec):
        raise InvalidClusterError(f"{found.message}; {found.fix}")
    body.update(spec or {})
    return {"metadata": _metadata(name, f"queue-{name}", created=created), "spec": body}


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
    _ask_for_gpu_share(options, annotations, labels, running=node is not None)
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
    if releasing:
        # A deadline that never comes: the pod is on its way out for as long as the cluster is used.
        manifest["metadata"]["deletionTimestamp"] = FAR_FUTURE
    return manifest


def taint(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """As `kubectl taint` writes it: key=value:effect, key:effect. Raises InvalidClusterError."""
    if not isinstance(text, str):
        return _members("taint", text, ("key", "value", "effect", "timeAdded"))
    key, value, effect = _split_taint("taint", text)
    if not key:
        raise InvalidClusterError(
            f"taint {text!r} has no key: write it as in team=vision:NoSchedule"
        )
    return {"key": key, "effect": effect or "NoSchedule"} | ({"value": value} if value else {})


def toleration(text: str | Mapping[str, Any]) -> dict[str, Any]:
    """key tolerates every taint of that key; key=value:effect exactly that one.

    Raises InvalidClusterError.
    """
    if not isinstance(text, str):
        return _members("toleration", text, rules.TOLERATION_FIELDS)
    key, value, effect = _split_taint("toleration", text)
    if not key:
        said = "write its key, or {'operator': 'Exists'} to tolerate everything"
        raise InvalidClusterError(f"toleration {text!r} has no key: {said}")
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


def _ask_for_gpu_share(
    options: PodOptions, annotations: dict[str, str], labels: dict[str, str], *, running: bool
) -> None:
    fraction, memory = options.get("gpu_fraction"), options.get("gpu_memory_mib")
    if fraction is None and memory is None:
        return
    if options.get("gpus"):
        raise InvalidClusterError("a pod asks for whole GPUs or for a part of one, not for both")
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
    """A copy, whose members are all known."""
    for member in given:
        if member not in known:
            raise InvalidClusterError(
                f"a {what} has no member {member!r}{did_you_mean(member, known)}"
            )
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
    return int(exact) if exact.denominator == 1 else float(exact)
