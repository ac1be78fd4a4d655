"""Reservation pods: each holds one device for the pods that share it (spec 3 B11, spec 6 C55).

The kubelet assigns the devices of a node, and the scheduler does not know their names. A pod that
requests a whole device is therefore placed on the node, and its program writes the UUID of the
assigned device into an annotation. The pod is created already bound: no scheduler handles it.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.reading import mapping

PROGRAM = ("run", "reservation")
"""Arguments of its image. KAI's program ignores arguments, so an image of KAI works too."""
FAKE = "--fake"
"""One more argument for nodes without GPUs: the program invents a device."""

_CONTAINER = "resource-reservation"
_DEVICE = {keys.NVIDIA_GPU: "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservations:
    """The common settings of an installation's reservation pods.

    `app`: their label of that name. `resources`: requests and limits besides the device.
    `pod_security`, `container_security`: the `securityContext` of the pod and of its container.
    `runtime_class`: "": the node's default. `timeout`: how long their program may take, in seconds.
    `fake`: nodes are simulated.
    """

    image: str
    namespace: str = keys.RESERVATION
    app: str = keys.RESERVATION
    account: str = keys.RESERVATION
    resources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pod_security: Mapping[str, Any] = field(default_factory=dict)
    container_security: Mapping[str, Any] = field(default_factory=dict)
    runtime_class: str = ""
    timeout: float = 40.0
    fake: bool = False


def reservation_name(node: str, group: str) -> str:
    """The name of the reservation pod of a GPU group.

    >>> reservation_name("node-a", "g1")
    'gpu-reservation-79a9de7e68ba7e9a'
    """
    digest = hashlib.sha256(f"{node}/{group}".encode()).hexdigest()
    return f"gpu-reservation-{digest[:16]}"


def reservation_pod(
    node: str,
    group: str,
    tolerations: Iterable[Mapping[str, Any]],
    reservations: Reservations,
) -> dict[str, Any]:
    """The reservation pod of a GPU group, as the API server accepts it.

    `tolerations`: those of the first pod that shares the device; that pod is allowed on the node.
    """
    labels = {keys.APP_LABEL: reservations.app, keys.GPU_GROUP_LABEL: group}
    resources = {
        half: {**mapping(reservations.resources.get(half)), **_DEVICE}
        for half in ("requests", "limits")
    }
    container = {
        "name": _CONTAINER,
        "image": reservations.image,
        "imagePullPolicy": "IfNotPresent",
        "args": [*PROGRAM, *([FAKE] if reservations.fake else [])],
        "env": [
            _from_field("POD_NAME", "metadata.name"),
            _from_field("POD_NAMESPACE", "metadata.namespace"),
        ],
        "resources": resources,
    }
    if reservations.container_security:
        container["securityContext"] = copy.deepcopy(dict(reservations.container_security))
    spec: dict[str, Any] = {
        "nodeName": node,
        "serviceAccountName": reservations.account,
        "containers": [container],
    }
    if reservations.pod_security:
        spec["securityContext"] = copy.deepcopy(dict(reservations.pod_security))
    copied = [copy.deepcopy(dict(each)) for each in tolerations]
    if copied:
        spec["tolerations"] = copied
    if reservations.runtime_class:
        spec["runtimeClassName"] = reservations.runtime_class
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": reservation_name(node, group),
            "namespace": reservations.namespace,
            "labels": labels,
            "annotations": {keys.KARPENTER_KEEP_ANNOTATION: "true"},
        },
        "spec": spec,
    }


def _from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
