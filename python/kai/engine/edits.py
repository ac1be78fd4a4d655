"""Changed objects of a cluster, for `kai.Cluster.cordon`, `.drain`, `.scale` and others.

Each function takes a Kubernetes object and returns a new one; the argument is not changed.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from kai.api import keys, times
from kai.api.reading import annotations_of, at, controller_of, mapping
from kai.api.reading import objects as objects_of
from kai.engine import objects
from kai.engine.objects import QueueOptions

Manifest = Mapping[str, Any]

_NUMBER_AT_END = re.compile(r"[0-9]{1,18}$")
BINDER_ANNOTATIONS = (
    keys.RECEIVED_TYPE_ANNOTATION,
    keys.NUMA_OBSERVED_ANNOTATION,
    keys.NUMA_PREDICTED_ANNOTATION,
    keys.TOPOLOGY_RANK_ANNOTATION,
    keys.TOPOLOGY_DOMAIN_ANNOTATION,
)
"""Fields that a pod gets with its node and loses when it has to wait again."""
_OF_ONE_NODE = {
    "spec": ("providerID", "podCIDR", "podCIDRs"),
    "status": ("addresses", "nodeInfo", "volumesAttached", "volumesInUse"),
}
_OF_ITS_STATE = frozenset(
    f"node.kubernetes.io/{state}"
    for state in (
        "unschedulable",
        "not-ready",
        "unreachable",
        "network-unavailable",
        "memory-pressure",
        "disk-pressure",
        "pid-pressure",
    )
)
"""Taints that Kubernetes sets for a cordon, and for conditions of a node."""
_OF_THE_SERVER = ("resourceVersion", "uid", "managedFields", "selfLink", "deletionTimestamp")


def cordoned(node: Manifest, value: bool) -> dict[str, Any]:
    """The node, cordoned or not."""
    changed = copied(node)
    spec = changed.setdefault("spec", {})
    if value:
        spec["unschedulable"] = True
    else:
        spec.pop("unschedulable", None)
    return changed


def waiting(pod: Manifest) -> dict[str, Any]:
    """The pod as it was before it got a node: it waits and uses nothing."""
    changed = parts_copied(pod)
    metadata = changed["metadata"]
    metadata.pop("deletionTimestamp", None)
    metadata.pop("deletionGracePeriodSeconds", None)
    set_or_remove(metadata, "labels", without_gpu_groups(metadata))
    annotations = dict(mapping(metadata.get("annotations")))
    for name in BINDER_ANNOTATIONS:
        annotations.pop(name, None)
    set_or_remove(metadata, "annotations", annotations)
    changed["spec"].pop("nodeName", None)
    changed["status"]["phase"] = "Pending"
    changed["status"].pop("extendedResourceClaimStatus", None)
    changed["status"].pop("startTime", None)
    return changed


def is_created_again(pod: Manifest) -> bool:
    """Whether a controller creates the pod again, unless its annotation has another answer."""
    movable = annotations_of(pod).get(keys.MOVABLE_ANNOTATION)
    return movable == "true" or (movable != "false" and controller_of(pod) is not None)


def stays(pod: Manifest) -> bool:
    """Whether a drain leaves the pod on its node: that of a DaemonSet, or of the node itself."""
    controller = controller_of(pod)
    return controller is not None and controller.get("kind") in ("DaemonSet", "Node")


def note_start(group: dict[str, Any], started_ns: int) -> None:
    """Records in the metadata of a pod group that it started, unless it started earlier."""
    annotations = group.setdefault("annotations", {})
    before = annotations.get(keys.LAST_START_ANNOTATION)
    if before is None or started_ns < times.to_ns(before):
        annotations[keys.LAST_START_ANNOTATION] = times.to_text(started_ns)


def parts_copied(pod: Manifest) -> dict[str, Any]:
    """A copy of the pod; its metadata, spec and status can be changed without changing the
    original."""
    changed = dict(pod)
    for part in ("metadata", "spec", "status"):
        changed[part] = dict(mapping(pod.get(part)))
    return changed


def without_gpu_groups(metadata: Manifest) -> dict[str, str]:
    """Its labels, without those that name the pod's shared GPUs."""
    return {
        label: value
        for label, value in mapping(metadata.get("labels")).items()
        if label != keys.GPU_GROUP_LABEL and not label.startswith(keys.GPU_GROUP_LABEL_PREFIX)
    }


def set_or_remove(
    metadata: dict[str, Any], name: str, value: Mapping[str, str] | list[Any]
) -> None:
    if value:
        metadata[name] = value
    else:
        metadata.pop(name, None)


def without_users(claim: Manifest, pods: Collection[str]) -> dict[str, Any] | None:
    """The resource claim without these pods as users; with its last user its devices are free
    again.

    None: it does not change. `pods`: names in its namespace.
    """
    reserved = [*objects_of(at(claim, "status", "reservedFor"))]
    left = [each for each in reserved if each.get("name") not in pods]
    if len(left) == len(reserved):
        return None
    status = {**claim["status"], "reservedFor": left}
    if not left:
        status.pop("reservedFor")
        status.pop("allocation", None)
    return {**claim, "status": status}


def pod_like(pod: Manifest, number: int) -> dict[str, Any]:
    """Another pod of its group, waiting."""
    changed = waiting(pod)
    metadata = changed["metadata"]
    uid = str(metadata.get("uid") or "")
    metadata["name"] = numbered(metadata["name"], number)
    _forget_the_server(metadata)
    metadata["uid"] = _uid_like(uid, at(pod, "metadata", "name"), number)
    return changed


def node_like(node: Manifest, name: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """Another node, empty, with its own name, ready and not cordoned."""
    changed = cordoned(node, value=False)
    metadata = changed["metadata"]
    _forget_the_server(metadata)
    own = dict(mapping(metadata.get("labels")))
    if keys.HOSTNAME_LABEL in own:
        own[keys.HOSTNAME_LABEL] = name
    metadata |= {"name": name, "uid": f"node-{name}", "labels": own | dict(labels)}
    for part, members in _OF_ONE_NODE.items():
        if isinstance(changed.get(part), dict):
            for member in members:
                changed[part].pop(member, None)
    spec, status = changed["spec"], changed.get("status")
    if taints := objects_of(spec.get("taints")):
        kept = [each for each in taints if each.get("key") not in _OF_ITS_STATE]
        set_or_remove(spec, "taints", kept)
    if isinstance(status, dict) and "conditions" in status:
        status["conditions"] = [{"type": "Ready", "status": "True"}]
    return changed


def queue_with(queue: Manifest, options: QueueOptions) -> dict[str, Any]:
    """The queue with the given options; the rest does not change.

    Raises InvalidClusterError for an amount that is not a quantity.
    """
    changed = copied(queue)
    spec = changed.setdefault("spec", {})
    resources = spec["resources"] = dict(mapping(spec.get("resources")))
    for resource in ("gpu", keys.CPU, keys.MEMORY):
        changes = objects.queue_resource(resource, options)
        if changes:
            resources[resource] = dict(mapping(resources.get(resource))) | changes
    if "parent" in options:
        spec["parentQueue"] = options["parent"]
        if not options["parent"]:
            del spec["parentQueue"]
    if "priority" in options:
        spec["priority"] = options["priority"]
    if options.get("created"):
        changed["metadata"]["creationTimestamp"] = options["created"]
    spec |= dict(options.get("spec") or {})
    return changed


def with_minimum(group: Manifest, min_member: int) -> dict[str, Any]:
    changed = copied(group)
    changed.setdefault("spec", {})["minMember"] = min_member
    return changed


def copied(manifest: Manifest) -> dict[str, Any]:
    changed: dict[str, Any] = copy.deepcopy(dict(manifest))
    return changed


# ---- names ---------------------------------------------------------------------------------------


def numbered(name: str, number: int) -> str:
    """The name with another number at its end, padded to the same width.

    >>> numbered("gpu-07", 12), numbered("train-9", 10), numbered("big", 1)
    ('gpu-12', 'train-10', 'big-1')
    """
    found = _NUMBER_AT_END.search(name)
    if found is None:
        return f"{name}-{number}"
    return f"{name[: found.start()]}{number:0{len(found.group())}d}"


def number_of(name: str) -> int:
    """The number at its end; -1 if it has none."""
    found = _NUMBER_AT_END.search(name)
    return int(found.group()) if found else -1


def new_numbers(like: str, names: Iterable[str]) -> Iterator[int]:
    """Numbers above those of all names with the same prefix."""
    stem = _NUMBER_AT_END.sub("", like) if number_of(like) >= 0 else f"{like}-"
    taken = [number_of(name) for name in names if _NUMBER_AT_END.sub("", name) == stem]
    number = max([0 if number_of(like) < 0 else number_of(like), *taken])
    while True:
        number += 1
        yield number


def _uid_like(uid: str, name: str, number: int) -> str:
    """Pods of equal age are ordered by their uids: the new uid sorts by the number."""
    found = _NUMBER_AT_END.search(uid)
    if found and number_of(uid) == number_of(name):
        return f"{uid[: found.start()]}{number:0{len(found.group())}d}"
    return f"{uid}-{number:08d}"


def _forget_the_server(metadata: dict[str, Any]) -> None:
    for member in _OF_THE_SERVER:
        metadata.pop(member, None)
