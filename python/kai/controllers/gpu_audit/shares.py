"""What each pod of a node may use of each device: from the pods as the scheduler has bound them,
and from what the kubelet has given to containers.

    shares = shares_of(pods, devices_given(pod_resources))
    shares["4ab1..."].of("GPU-8f2c...", total=80 << 30)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kai.api import keys
from kai.api.pod_resources import PodResources
from kai.api.reading import annotations_of, at, labels_of, mapping, objects, text, whole_number

_NVIDIA = "nvidia.com/"
_UUIDS = ("GPU-", "MIG-")


@dataclass(frozen=True, slots=True)
class Part:
    """Of each device that a pod has: a fraction, or bytes."""

    fraction: float = 0.0
    size: int = 0

    def of(self, total: int) -> int:
        return self.size or int(self.fraction * total)


@dataclass(frozen=True, slots=True)
class PodShare:
    """A pod, and its part of each device by UUID.

    is_known: False if the pod may use devices that its objects do not name: it is not judged.
    """

    namespace: str
    name: str
    uid: str
    parts: Mapping[str, Part] = field(default_factory=dict)
    is_known: bool = True

    def of(self, device: str, total: int) -> int | None:
        """Bytes; 0: it was given nothing of the device; None: unknown."""
        part = self.parts.get(device)
        if part is not None:
            return part.of(total)
        return 0 if self.is_known else None


Given = Mapping[str, tuple[str, ...]]
"""By "namespace/name", the devices that the kubelet has given to the pod's containers."""


def devices_given(pods: Iterable[PodResources]) -> dict[str, tuple[str, ...]]:
    """The devices of NVIDIA's device plugin, by pod."""
    return {
        each.pod: tuple(
            # A plugin that gives a device to several containers appends a number: GPU-8f2c...::1.
            device.partition("::")[0]
            for share in each.shares
            if share.resource.startswith(_NVIDIA)
            for device in share.devices
        )
        for each in pods
    }


def shares_of(
    pods: Iterable[Mapping[str, Any]],
    given: Given | None,
    *,
    reserving: str = keys.RESERVATION,
) -> dict[str, PodShare]:
    """The pods that run on the node, by UID, without reservation pods.

    given: None: the kubelet was not read. reserving: the namespace of reservation pods.
    """
    running = [pod for pod in pods if at(pod, "status", "phase") not in ("Succeeded", "Failed")]
    reservations = [pod for pod in running if _place(pod)[0] == reserving]
    device_of = {
        text(labels_of(pod).get(keys.GPU_GROUP_LABEL)): device
        for pod in reservations
        if (device := text(annotations_of(pod).get(keys.RESERVED_DEVICE_ANNOTATION)))
    }
    found = (_share(pod, given, device_of) for pod in running if _place(pod)[0] != reserving)
    return {each.uid: each for each in found}


def _share(pod: Mapping[str, Any], given: Given | None, device_of: Mapping[str, str]) -> PodShare:
    namespace, name = _place(pod)
    parts: dict[str, Part] = {}
    part, groups = _part(pod), list(_groups(pod))
    if part is not None:
        parts = {device_of[group]: part for group in groups if group in device_of}
        # Without its groups, another scheduler may have placed it.
        is_known = bool(groups) and len(parts) == len(groups)
    elif _requests_devices(pod):
        devices = (given or {}).get(f"{namespace}/{name}", ())
        parts = {device: Part(fraction=1.0) for device in devices if device.startswith(_UUIDS)}
        is_known = bool(devices) and len(parts) == len(set(devices))
    else:
        is_known = not at(pod, "spec", "resourceClaims")  # their devices have no UUID there
    return PodShare(namespace, name, text(at(pod, "metadata", "uid")), parts, is_known)


def _part(pod: Mapping[str, Any]) -> Part | None:
    """The request in its annotations; None without one."""
    annotations = annotations_of(pod)
    if keys.GPU_MEMORY_ANNOTATION in annotations:
        mib = whole_number(annotations[keys.GPU_MEMORY_ANNOTATION]) or 0
        return Part(size=mib << 20) if mib > 0 else None
    try:
        fraction = float(text(annotations.get(keys.GPU_FRACTION_ANNOTATION)))
    except ValueError:
        return None
    return Part(fraction=fraction) if 0 < fraction <= 1 else None


def _groups(pod: Mapping[str, Any]) -> Iterator[str]:
    for key, value in labels_of(pod).items():
        if key == keys.GPU_GROUP_LABEL or key.startswith(keys.GPU_GROUP_LABEL_PREFIX):
            yield text(value)


def _requests_devices(pod: Mapping[str, Any]) -> bool:
    containers = (
        *objects(at(pod, "spec", "containers")),
        *objects(at(pod, "spec", "initContainers")),
    )
    return any(
        name.startswith((keys.NVIDIA_GPU, keys.MIG_PREFIX)) and str(amount) != "0"
        for container in containers
        for name, amount in mapping(at(container, "resources", "limits")).items()
    )


def _place(pod: Mapping[str, Any]) -> tuple[str, str]:
    return text(at(pod, "metadata", "namespace")), text(at(pod, "metadata", "name"))
