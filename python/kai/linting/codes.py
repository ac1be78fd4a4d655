"""Every code of a finding, and what is wrong: the rows of docs/reference/lint.md.

>>> sorted(matching(["queue-cycle", "zenml"]))
['queue-cycle', 'zenml-unknown-setting', 'zenml-value']
"""

from __future__ import annotations

from collections.abc import Iterable

from kai.api.nearest import did_you_mean
from kai.errors import InvalidRequestError

CODES = {
    "fraction-refused": "gpu-fraction is no plain number above 0 and below 1",
    "fraction-rounded": "two decimals do not tell it: 0.125 is announced as 0.12",
    "gpu-memory-refused": "gpu-memory is no whole number of MiB; 5Gi is one that KAI does not read",
    "fraction-and-memory": "both are there",
    "devices-without-share": "a number of devices without either",
    "devices-refused": "a number of devices that is none",
    "mps-without-share": "mps without a part of a GPU",
    "whole-gpu-beside-fraction": (
        "a limit or request of whole GPUs or slices, of any container, beside a part of "
        "one; 0 counts"
    ),
    "container-missing": "gpu-fraction-container-name names no container",
    "container-not-named": (
        "the part goes to the first container, which is the orchestrator's (Argo, KFP), or may be"
    ),
    "nvfractions-refused": (
        "annotations of KAI 0.18 that name the container: no quantity, no such container, "
        "several, a request above its limit, or the devices, which KAI writes"
    ),
    "visible-devices": (
        "NVIDIA_VISIBLE_DEVICES on the container that gets the part: KAI replaces it"
    ),
    "ray-num-gpus": "a Ray group with a part of a GPU does not say how many GPUs Ray may count on",
    "not-text": (
        "a label, an annotation or a queue is a number or truth value: YAML makes one of "
        "what is not quoted"
    ),
    "not-a-mapping": (
        "labels, resources, limits, requests or a container is something else: limits: 1Gi"
    ),
    "not-a-list": "containers is something else",
    "quantity-refused": (
        "an amount of a resource is no quantity, such as 1Gx, less than 0, or beyond 2^63 - 1"
    ),
    "annotation-ignored": (
        "nothing reads it there: GPU keys on a workload, topology on its pods, a label's key"
    ),
    "annotation-as-label": "the key of an annotation is a label",
    "field-unknown": (
        "the kind, or a pod, has no such field, and the API server drops it; of other projects'"
        " kinds a field that is almost a known one"
    ),
    "key-unknown": "a key of KAI's that is almost one it knows",
    "min-member-key": (
        "kai.scheduler/min-member, which KAI's examples write and its code does not read"
    ),
    "min-member-refused": "a number of pods that is none",
    "duration-refused": "a duration without a unit",
    "preemptibility-unknown": "neither preemptible nor non-preemptible",
    "topology-incomplete": "a level without a topology, or a topology without a level",
    "scheduling-policy-ignored": "queue or priorityClass of Kubeflow's scheduling policy",
    "ray-submission-mode": (
        "a RayJob whose submitter comes after its cluster, which KubeRay refuses where it "
        "is set up for KAI"
    ),
    "scheduler-missing": "nothing names KAI; a warning where an operator or its settings may",
    "scheduler-other": "another scheduler and a part of a GPU, which only KAI knows",
    "queue-missing": "no queue is named",
    "queue-annotation": "the queue is an annotation",
    "queue-legacy": "the queue is named by the label of KAI before 0.6 only",
    "queue-overruled": "the workload and its pods name different queues",
    "queue-unknown": "there is no such queue (an error where all queues were given)",
    "queue-not-leaf": "the queue has children",
    "queue-without-parent": "the queue has no parent",
    "queue-cycle": "a Queue that is its own ancestor",
    "queue-parent-unknown": "a Queue whose parent is not there",
    "queue-without-resources": "a Queue without spec.resources, which KAI's webhook refuses",
    "queue-limit-zero": "a Queue without a limit of a resource, which counts as 0",
    "zenml-unknown-setting": (
        "a key that ZenML keeps and never acts on, such as node_selector (node_selectors)"
    ),
    "zenml-value": "a value that ZenML refuses",
    "document-unreadable": (
        "a YAML document that kubectl would not take, such as one with a key twice"
    ),
    "ignore-unused": "a comment # kai: ignore that ignores nothing",
}


def matching(names: Iterable[str]) -> frozenset[str]:
    """The codes that are meant: by a whole code, or by what several begin with, up to a dash.

    Raises InvalidRequestError for a name of none.
    """
    found: set[str] = set()
    for name in names:
        meant = {code for code in CODES if code == name or code.startswith(f"{name}-")}
        if not meant:
            raise InvalidRequestError(f"there is no code {name!r}{did_you_mean(name, CODES)}")
        found |= meant
    return frozenset(found)
