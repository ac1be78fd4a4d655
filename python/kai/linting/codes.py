"""The codes of findings with their descriptions: the rows of docs/reference/lint.md.

>>> sorted(matching(["queue-cycle", "zenml"]))
['queue-cycle', 'zenml-unknown-setting', 'zenml-value']
"""

from __future__ import annotations

from collections.abc import Iterable

from kai.api.nearest import did_you_mean
from kai.errors import InvalidRequestError

CODES = {
    "fraction-refused": "gpu-fraction is not a plain number above 0 and below 1",
    "fraction-rounded": "gpu-fraction has more than two decimals: KAI gives the pod 0.125 as 0.12",
    "gpu-memory-refused": "gpu-memory is not a whole number of MiB; KAI does not read 5Gi",
    "fraction-and-memory": "gpu-fraction and gpu-memory are both set",
    "devices-without-share": "a number of devices is set without gpu-fraction or gpu-memory",
    "devices-refused": "the number of devices is not a whole number of at least 1",
    "mps-without-share": "mps is set without a part of a GPU",
    "whole-gpu-beside-fraction": (
        "a container requests or limits whole GPUs or MIG slices, and the pod a part of a GPU; "
        "0 counts, too"
    ),
    "gpus-in-claims-only": (
        "a pod requests GPUs of a device plugin, or a part of one, and the given nodes have GPUs "
        "only as devices of claims (DRA)"
    ),
    "container-missing": "gpu-fraction-container-name names a container that does not exist",
    "container-not-named": (
        "the first container gets the part; it is, or may be, one that the orchestrator adds"
    ),
    "nvfractions-refused": (
        "an annotation of KAI 0.18 that names the container is wrong: not a quantity, an unknown "
        "or a second container, a request above its limit, or the devices, which KAI writes"
    ),
    "visible-devices": (
        "NVIDIA_VISIBLE_DEVICES is set on the container that gets the part: KAI replaces it"
    ),
    "guard-without-share": (
        "kai.scheduler/gpu-guard is true on a pod without gpu-fraction and gpu-memory, such as one "
        "with whole GPUs: it has no effect"
    ),
    "guard-limit-replaced": (
        "the container sets KAI_GUARD_LIMIT or KAI_GUARD_LIMITS: the guard replaces them by the "
        "pod's share"
    ),
    "preload-by-reference": (
        "the container has LD_PRELOAD by reference (valueFrom), so the guard cannot be added to it"
    ),
    "part-of-share": (
        "a memory setting of JAX or PyTorch looks like a part of the whole GPU: with the guard, it "
        "is a part of the pod's share"
    ),
    "resource-unknown": (
        "a container requests a resource that no node has, and that resembles a GPU resource or an "
        "annotation: nvidia.com/gpus"
    ),
    "ray-num-gpus": "a Ray group with a part of a GPU has no valid num-gpus",
    "not-text": (
        "a label, an annotation or a queue is a number or a boolean: YAML reads it so without "
        "quotes"
    ),
    "not-a-mapping": (
        "labels, annotations, resources, limits, requests or a container is not a mapping, as in "
        "limits: 1Gi"
    ),
    "not-a-list": "containers is not a list",
    "quantity-refused": (
        "an amount of a resource is not a quantity (1Gx), less than 0, more than 2^63 - 1, or a "
        "part of a device"
    ),
    "name-refused": (
        "a name, a generateName or a namespace is missing, is not a DNS name, such as My_Pod, or "
        "is too long"
    ),
    "kind-unknown": "the kind is missing, or its group has no such kind, such as Jobs",
    "name-twice": (
        "different objects of one file have the same kind, namespace and name; plans use none of "
        "them"
    ),
    "value-refused": "the reader of plans refuses the value: another type, or out of range",
    "schema-refused": (
        "the API server refuses the value of a field, which plans do not read: another type, an "
        "unknown value, or a name or label with other characters; or a required field is missing"
    ),
    "annotation-ignored": (
        "KAI does not read the annotation in this place: GPU keys on a workload, topology keys on "
        "its pods, or the key of a label"
    ),
    "annotation-as-label": "a label has the key of an annotation",
    "annotation-value": (
        "an annotation that is true or false has another value, such as yes or True: it counts as "
        "absent"
    ),
    "field-unknown": (
        "the kind, or a pod, has no such field, and the API server drops it; for kinds of other "
        "projects, only fields that resemble a known one are found"
    ),
    "field-ignored": (
        "KAI does not read the field, although kube-scheduler does: topologySpreadConstraints, "
        "preferred node affinity, preemptionPolicy: Never, resources of the pod as a whole"
    ),
    "gang-ignored": (
        "a label or an annotation makes a gang for another scheduler, such as Volcano, and KAI "
        "does not read it"
    ),
    "key-unknown": "an unknown key that resembles one of KAI's keys, with or without a prefix",
    "min-member-key": (
        "kai.scheduler/min-member is set: KAI's examples have it, but its code does not read it"
    ),
    "min-member-refused": "the minimum of pods is not a whole number of at least 1",
    "duration-refused": "a duration is not valid, such as one without a unit",
    "preemptibility-unknown": "the value is neither preemptible nor non-preemptible",
    "topology-incomplete": "a level is set without a topology, or a topology without a level",
    "scheduling-policy-ignored": (
        "Kubeflow's scheduling policy has queue or priorityClass, which KAI ignores"
    ),
    "ray-submission-mode": (
        "the submitter pod of a RayJob starts after its cluster: KubeRay refuses it if it is "
        "configured for KAI"
    ),
    "scheduler-missing": "schedulerName is not kai-scheduler; a warning if an operator may set it",
    "scheduler-other": (
        "another scheduler places a pod with a part of a GPU, which only KAI can; or the name is "
        "misspelt"
    ),
    "node-unknown": "a pod is on a node that is not among the given nodes: plans leave it out",
    "priority-unknown": (
        "the PriorityClass is not among the given ones, or resembles one of kai install"
    ),
    "queue-missing": (
        "no queue is named, or its name is empty; an error if all queues are given, and not "
        "default-queue"
    ),
    "queue-annotation": "the queue is set as an annotation, not as a label",
    "queue-legacy": "only the queue label of KAI before 0.6 is set",
    "queue-overruled": "the workload and its pods name different queues",
    "queue-unknown": "the queue does not exist; an error if all queues are given",
    "queue-not-leaf": "the queue of a pod has child queues",
    "queue-without-parent": (
        "a leaf queue has no parent: KAI ignores it with --full-hierarchy-fairness=false"
    ),
    "queue-cycle": "a Queue is its own ancestor",
    "queue-parent-unknown": "a Queue's parent does not exist; an error if all queues are given",
    "queue-without-resources": "a Queue has no spec.resources: KAI's webhook refuses it",
    "queue-name": "the name of a Queue is too long for the label by which pods name it",
    "queue-quantity": "an amount of a Queue is not a number, or is below 0",
    "queue-unit": (
        "an amount of a Queue is in another unit: CPUs are thousandths of a core, memory is MB"
    ),
    "queue-quota-above-limit": (
        "a Queue has a quota above its limit of a resource: the webhook of kai refuses it; a "
        "warning if it is above the limit of an ancestor"
    ),
    "queue-without-quota": (
        "a given queue, or default-queue, has no quota, and the pods are not preemptible: they "
        "never start"
    ),
    "queue-in-use": "a Queue that has child queues or pods is deleted (only in the webhook)",
    "queue-limit-zero": "a Queue has no limit of a resource, which counts as 0",
    "claim-queue": (
        "a ResourceClaim for GPUs that pods share has no label of the queue of these pods: they "
        "wait"
    ),
    "claim-unknown": (
        "a pod names a ResourceClaim or ResourceClaimTemplate that is not among the given ones"
    ),
    "device-class-unknown": "a claim names a DeviceClass that is not among the given ones",
    "pod-group-structure": (
        "subgroups of a PodGroup have the same name, an unknown parent, a cycle, or two kinds of "
        "minimum"
    ),
    "pod-group-minimum": (
        "a subgroup of a PodGroup has no minimum or one of the wrong kind, or needs more subgroups "
        "than there are"
    ),
    "sub-group-unknown": (
        "a pod names no sub-group of its PodGroup, or one that does not exist or has no pods of "
        "its own: it does not count"
    ),
    "topology-alias": "an alias of a Topology occurs twice, or is also a label of a level",
    "topology-unknown": (
        "the Topology has no such level, or is not among the given ones: the pods wait"
    ),
    "zenml-unknown-setting": (
        "ZenML stores the key and ignores it, such as node_selector instead of node_selectors"
    ),
    "zenml-value": "ZenML refuses the value",
    "document-unreadable": (
        "kubectl would refuse the YAML document, for example because a key occurs twice"
    ),
    "ignore-unused": "a comment # kai: ignore ignores nothing",
}


def matching(names: Iterable[str]) -> frozenset[str]:
    """The codes that the names select: a code, or the first words of several codes (queue).

    Raises InvalidRequestError for a name that selects no code.
    """
    found: set[str] = set()
    for name in names:
        meant = {code for code in CODES if code == name or code.startswith(f"{name}-")}
        if not meant:
            raise InvalidRequestError(f"there is no code {name!r}{did_you_mean(name, CODES)}")
        found |= meant
    return frozenset(found)
